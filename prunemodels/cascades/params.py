"""The numbers by which cascades find their stages and policies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CascadeParams:
    """How rows are held out, how sets of items are found and ordered, and how policies are learned and judged."""

    # Held-out rows and fits, see `prunemodels.cascades.fitting`.
    cross_validated_below: int = 5_000  # examples: with fewer the default is several folds, from here on a single division
    folds: int = 4  # their number
    held_out_share: float = 0.25  # share of the examples that a single division holds out by default,
    most_held_out: int = 10_000  # but at most this number of them: they tell a mean cost to one per cent
    # A model of at most this many numbers is fitted in one thread: threads that wait for each other cost more than they save.
    one_thread_numbers: int = 2_000_000
    searched_rows: int = 5_000  # training rows of the models by which sets are found; stages are fitted on all rows
    compared_rows: int = 10_000  # training rows of the models by which the kinds of models are chosen
    # the sets on which they are: places among those that rise in price
    compared_sets: tuple[float, ...] = (0.0, 0.15, 0.3, 0.45, 0.6, 1.0)
    enough_compared: int = 500  # held-out rows, of one division or several, by which they are
    worth: float = 0.02  # share of the held-out loss by which a slow kind of model must lower it

    # Backward elimination, see `prunemodels.cascades.elimination`.
    several_above: int = 16  # with more items than this, several are dropped at once,
    dropped_share: float = 0.15  # this share of them
    measured_up_to: int = 12  # with at most this many items, training again decides among
    n_measured: int = 3  # this many items: those that by shuffling matter least for their price
    most_parts: int = 3  # largest number of divisions of the examples by which sets are found; fewer where
    enough_held_out: int = 1_250  # so many held-out rows are in them: as many as one division of 5,000 examples holds out
    shuffled_rows: int = 2_000  # largest number of held-out rows by which shuffled columns are judged

    # Sets that grow forward.
    most_grown: int = 6  # their number
    most_purchases: int = 16  # largest number of purchases from which they grow

    # Orders of sets, see `prunemodels.cascades.chains`.
    few_items: int = 5  # with at most this many priced items, every set of them has a model: 32 models, 120 orders
    most_chains: int = 6  # whose policies are learned
    scored_rows: int = 2_000  # by which more orders than that are compared
    prices_tried: int = 12  # prices of cost at which they are compared

    # Regions. On MiniBooNE they erred less than one chain for all rows at two to four features, and more from five on.
    fewest_rows_to_part: int = 20_000  # with fewer training rows there are no regions: each needs rows to choose purchases by
    # With a cap on what a row pays regions need fewer. On AFABench's cube (12,000 rows, two draws) accuracy with at most 3 and 5
    # of 20 features rises from 54.1 and 71.0 to 59.6 and 73.5 %, on MiniBooNE (8,000 rows, 3 and 5 of 50) from 87.3 and 90.3 to
    # 87.5 and 90.3 %; Covertype's falls from 70.2 and 76.3 to 69.8 and 76.3 %.
    fewest_rows_to_part_below_cap: int = 3_000
    fork: int = 2  # purchases after which rows part; one where a cap allows two
    meeting: int = 8  # purchases from which on there is one set for all again
    regions: int = 6  # largest number of regions
    fewest_rows_of_region: int = 20  # held-out rows by which a region's purchases are judged; with fewer rows do not part

    # Policies, see `prunemodels.cascades.learning`.
    levels: int = 32  # default number of levels of doubt at a stage
    most_levels: int = 10_000  # arrays have a row for each level,
    most_stages: int = 10_000  # and every stage is looked for along the path
    errors_apart: float = 2.0  # an earlier stage is the reference if the last one loses more by this many standard errors
    price_decimals: int = 4  # prices and weights with at most this many decimals are kept exactly,
    largest_whole_weight: int = 1_000  # weights up to this multiple of their common divisor
    # Losses are whole numbers of 2^-loss_bits of the largest, or more where their sum takes more than sum_bits: divided by the
    # number of rows, floats tell larger sums no longer to a thousandth of a unit, see `prunemodels.cascades.learning`.
    loss_bits: int = 30
    sum_bits: int = 41
    judging_folds: int = 5  # folds of the rows by which policies are judged
    judged_lams: int = 40  # largest number of prices of cost at which policies are judged: quantiles of the path's
    # With `max_error`, see `prunemodels.cascades.promised`: the share of the examples that is set apart to test the promise, and
    # the number of steps in which costs between two policies that are far apart are tried, from the dearest policy to nothing.
    promised_share: float = 0.25
    promised_steps: int = 20
    spent: float = 0.98  # a policy that spends less than this share of its budget says why

    # Prunings of one forest as stages, see `prunemodels.cascades.forest_exits`.
    longest_gap: float = 0.1  # between the costs of neighbouring stages, in costs of the unpruned forest; prunings fill it
    tried_rows: int = 64  # on which is tried whether a pipeline takes the rows, before anything is computed


PARAMS = CascadeParams()
