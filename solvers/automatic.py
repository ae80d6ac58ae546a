"""The exact optimum for one lambda, by the engine that is predicted to be faster for the size of the instance.

    min_cut          CUT_ARC a + CUT_SPLIT s                  seconds, a usage arcs, s splits                               (1)
    price_sharing    FULL_ROUNDS ROUND_ARC (a + SPLIT_COST s)                                                                (2)

These formulas are fitted to 36 pairs on BP16's MiniBooNE and Covertype forests, 50 to 15,000 cost rows at three lambdas each,
on a quiet machine, when price sharing still took more rounds (`benchmarks.crossover` repeats the measurement). (1) was right
within a factor of 2. (2) was right within a factor of 3, because the number of rounds is not known in advance. They cross at 8
usage arcs for each split: 0.3 million arcs on MiniBooNE, 1 million on Covertype, whose forest has three times the splits. Both
engines prove the same optimum; only the time differs. Once the rounds of price sharing have cost as much as a cut, it cuts the
undecided core. So a wrong choice in its favour takes at most about twice the time.
"""

from __future__ import annotations

import math
from dataclasses import replace

from formulations.answers.solution import Solution
from formulations.arguments import Seconds, checked
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties
from solvers.closures.min_cut import min_cut
from solvers.price_sharing import price_sharing
from solvers.price_sharing.stopping import SPLIT_COST

CUT_ARC, CUT_SPLIT = 0.35e-6, 0.8e-6
"""Seconds of a minimum cut for each usage arc and for each split."""

FULL_ROUNDS, ROUND_ARC = 90, 1.2e-9
"""A run of price sharing takes as long as this many rounds with all splits open; seconds of a round for each usage arc."""

CUT_TIME_MARGIN = 4.0
"""A cut cannot be stopped. It is chosen only if the time limit is at least this many times its predicted seconds."""


def predicted_seconds(n_arcs: int, n_splits: int) -> tuple[float, float]:
    """(1) and (2): seconds of `min_cut` and of `price_sharing` on an instance with so many usage arcs and splits."""
    return CUT_ARC * n_arcs + CUT_SPLIT * n_splits, FULL_ROUNDS * ROUND_ARC * (n_arcs + SPLIT_COST * n_splits)


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
    engine = price_sharing if cut > sharing or CUT_TIME_MARGIN * cut > time_limit else min_cut
    solution = engine(problem, lam, time_limit=time_limit, ties=ties)
    predicted = {"min_cut_seconds_predicted": cut, "price_sharing_seconds_predicted": sharing}
    return replace(solution, stats={**solution.stats, **predicted})
