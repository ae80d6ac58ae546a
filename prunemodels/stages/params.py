"""The numbers by which stages are judged and tables are prepared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StageParams:
    """How stages doubt and use each other's outputs, where policies look for thresholds, and how models read tables."""

    # Doubt, see `prunemodels.stages.doubt`.
    knots: int = 7  # of the piecewise linear functions of each number of the state, at its quantiles
    doubt_ridge: float = 10.0  # weight of the ridge of a learned doubt, in rows; the columns have variance 1
    noise: float = 1e-6  # by this share of the largest number, what models say in float32 may vary with the number of rows asked

    # Stacking, see `prunemodels.stages.stacking`.
    stack_ridge: float = 1.0  # weight of the ridge in (3), in rows
    stack_folds: int = 5  # folds of the rows; stacks are judged on each after being learned on the others
    smallest_probability: float = 1e-4  # smaller ones count as this one: a forest gives 0 to a class not seen at a leaf

    # Policies, see `prunemodels.stages.policy`.
    most_thresholds: int = 200  # that are tried at a stage: quantiles of the doubts
    fewest_rows_between: int = 12  # smallest number of rows between two thresholds that are tried
    smallest_price: float = 3e-4  # the smallest positive price of cost, as a share of the largest
    rounding: float = 1e-12  # a sum of costs that exceeds a budget by this share of it keeps the budget

    # Tables, see `prunemodels.stages.table_preparation` and `prunemodels.stages.raw_tables`.
    fewest_rows_of_level: int = 5  # a level of a category with fewer training rows is rare
    most_rare_words: int = 1_000  # rare levels that a model keeps by name; a column with more of them holds free text
    most_one_hot: int = 64  # largest number of levels of a column for linear models
    most_bins: int = 255  # largest number of levels of a column for other models: what scikit-learn's histograms take
    few_asked: int = 16  # up to this number of rows, models are asked as in `prunemodels.stages.few_rows`
    few_rows: int = 2_000  # below this number of rows boosting takes small trees, and forests are small
    # From there on, the weight of the ridge of leaves in boosting (`benchmarks.stage_models`); without it rare classes diverge.
    leaf_ridge: float = 5.0
    # From this number of rows on, larger trees are tried in the place of forests and strong ridges, which take long there.
    many_rows: int = 20_000
    # Rounds, leaves and learning rate of boosting: of quick trees below `few_rows` and from there on, and of full ones, in
    # fewer and larger steps than by default, for time.
    quick_small_trees: tuple[int, int, float] = (30, 7, 0.2)
    quick_trees: tuple[int, int, float] = (30, 15, 0.25)
    full_trees: tuple[int, int, float] = (40, 31, 0.25)
    # Largest number of bins of quick trees; with 255 they take longer on many columns, and tell places on a map apart better.
    quick_bins: int = 64
    many_classes: int = 8  # from this number on sets are compared by forests
    search_trees: int = 20  # of these; and of forests of stages below `few_rows`, and above
    quick_forest_trees: int = 50
    forest_trees: int = 60
    strengths: tuple[float, ...] = (1.0, 0.03)  # inverse weights of the ridge of linear models
    fewest_to_judge: int = 20  # with fewer values a column is not taken for one of identifiers
    # With fewer whole numbers than this, all must differ, and be dense or sparse: of 30 samples of 20, 30 and
    # 50 rows of each of nine tables 2 had a hint on a measurement, before 143 (cholesterol in 19 of 30 samples of 30 rows).
    many_to_judge: int = 100
    expected_pairs: float = 2.5  # dense: so many equal pairs were to be expected by chance
    sparse: float = 100.0  # sparse: the middle half is so many times wider than there are rows
    own_share: float = 0.9  # words and whole numbers are identifiers if more than this share of the rows has its own
    # Columns that say which rows belong together: a value stands in 2 to 20 rows on average, and the median of the other columns
    # varies within its rows by less than this share of its variance.
    least_groups: float = 0.05
    most_groups: float = 0.5
    nearly_equal: float = 0.5


PARAMS = StageParams()
