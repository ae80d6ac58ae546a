"""The exact optimum for one lambda, by the engine that is predicted to be faster for the size of the instance.

    min_cut          CUT_ARC a + CUT_SPLIT s                          seconds, a usage arcs, s splits                       (1)
    price_sharing    FULL_ROUNDS (ROUND_ARC a + ROUND_SPLIT s)                                                              (2)

These formulas are fitted to BP16's MiniBooNE and Covertype forests with 50 to 15,000 cost rows. Both are right within a factor of
3.3 (`python -m benchmarks --only sizes` sets them beside what it measures); the number of rounds is not known in advance. They
cross at 1.1 usage arcs for each split. Both engines prove the same optimum; only the time differs. Price sharing cuts a core of
at most 50,000 merged arcs at once, so instances with as few are left to `min_cut`. A larger core it cuts when its rounds have
cost as much in vain as a cut. So a wrong choice costs little.
"""

from __future__ import annotations

import math
from dataclasses import replace

from formulations.answers.solution import Solution
from formulations.arguments import Seconds, checked
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties, cut_seconds
from solvers.closures.min_cut import min_cut
from solvers.price_sharing import price_sharing
from solvers.price_sharing.stopping import SMALL_CORE, round_seconds

FULL_ROUNDS = 55
"""A run of price sharing takes as long as this many rounds with all splits open; ten of them merge purchases."""

CUT_TIME_MARGIN = 4.0
"""A cut cannot be stopped. It is chosen only if the time limit is at least this many times its predicted seconds."""


def predicted_seconds(n_arcs: int, n_splits: int) -> tuple[float, float]:
    """(1) and (2): seconds of `min_cut` and of `price_sharing` on an instance with so many usage arcs and splits."""
    return cut_seconds(n_arcs, n_splits), FULL_ROUNDS * round_seconds(n_arcs, n_splits)


@checked
def optimal_pruning(problem: PruningProblem, lam: float, *, time_limit: Seconds = math.inf, ties: Ties = "smallest") -> Solution:
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
    cut, sharing = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits)
    faster = cut > sharing and problem.n_usage_arcs > SMALL_CORE
    engine = price_sharing if faster or CUT_TIME_MARGIN * cut > time_limit else min_cut
    solution = engine(problem, lam, time_limit=time_limit, ties=ties)
    predicted = {"min_cut_seconds_predicted": cut, "price_sharing_seconds_predicted": sharing}
    return replace(solution, stats={**solution.stats, **predicted})
