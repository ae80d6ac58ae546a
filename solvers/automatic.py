"""The exact optimum for one lambda, by the engine that is predicted to be faster for the size of the instance.

    min_cut          cut_arc a + cut_split s                          seconds, a usage arcs, s splits                       (1)
    price_sharing    full_rounds (round_arc a + round_split s)                                                              (2)

The factors are fields of `SharingParams`, fitted to BP16's MiniBooNE and Covertype forests with 50 to 15,000 cost rows. Both
predictions are right within a factor of 3.3 (`python -m benchmarks --only sizes` sets them beside what it measures); the number
of rounds is not known in advance. They cross at 1.1 usage arcs for each split. Both engines prove the same optimum; only the time
differs. Price sharing cuts a core of at most 50,000 merged arcs at once, so instances with as few are left to `min_cut`. It cuts
a larger core when its rounds without progress have cost as much as a cut. So a wrong choice costs little.
"""

from __future__ import annotations

import math
from dataclasses import replace

from formulations.answers.solution import Solution
from formulations.arguments import Seconds, checked, unchecked
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties
from solvers.closures.min_cut import min_cut
from solvers.price_sharing import price_sharing
from solvers.price_sharing.params import SharingParams


def predicted_seconds(n_arcs: int, n_splits: int, params: SharingParams) -> tuple[float, float]:
    """(1) and (2): what a cut of a whole instance and price sharing take, about."""
    return params.cut_seconds(n_arcs, n_splits), params.full_rounds * params.round_seconds(n_arcs, n_splits)


@checked
def optimal_pruning(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    ties: Ties = "smallest",
    params: SharingParams = SharingParams(),
) -> Solution:
    """The optimal pruning for one lambda, by `min_cut` or `price_sharing`, whichever is predicted to be faster.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds. Price sharing checks it in every round. A cut cannot be stopped, and is chosen only if it should end well within
        the limit.
    ties
        which optimum to return if there are several: the one with the fewest splits or the one with the most.
    params
        tuning numbers of price sharing and of the choice, see `solvers.price_sharing.params`.

    Returns
    -------
    Solution
        the solution of the chosen engine, whose name is its ``method``. Besides the engine's own figures, ``stats`` has
        ``min_cut_seconds_predicted`` and ``price_sharing_seconds_predicted``, on which the choice rests.

    Raises
    ------
    InvalidInputError
        for a negative, NaN or infinite lambda.
    InterruptedSolveError
        on Ctrl-C.
    """
    cut, sharing = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits, params)
    is_slower = cut > sharing and problem.n_usage_arcs > params.small_core
    if is_slower or params.cut_time_margin * cut > time_limit:
        solution = unchecked(price_sharing)(problem, lam, time_limit=time_limit, ties=ties, params=params)
    else:
        solution = unchecked(min_cut)(problem, lam, time_limit=time_limit, ties=ties)
    predicted = {"min_cut_seconds_predicted": cut, "price_sharing_seconds_predicted": sharing}
    return replace(solution, stats={**solution.stats, **predicted})
