"""The exact optimum for one lambda by the engine that is faster at the instance's size.

    min_cut          CUT_ARC a + CUT_SPLIT s                  seconds, a usage arcs, s splits                               (1)
    price_sharing    ROUNDS ROUND_ARC (a + SPLIT_COST s)                                                                     (2)

are fitted to 36 pairs on BP16's MiniBooNE and Covertype forests, 50 to 15,000 cost rows at three lambdas each, on a quiet machine
(`benchmarks.crossover` repeats it): (1) is right within a factor of 2, (2) within 3, for nobody knows the rounds beforehand. They
cross at 8 usage arcs a split: 0.3 million on MiniBooNE, 1 million on Covertype, whose forest has three times the splits. Both
prove the same optimum; only the time differs. Price sharing gives up in favour of a cut of what is left when its rounds
have cost as much, so a wrong choice in its favour costs at most some twice the time.
"""

from __future__ import annotations

import math
from dataclasses import replace

from formulations.answers.solution import Solution
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties
from solvers.closures.min_cut import min_cut
from solvers.price_sharing import price_sharing
from solvers.price_sharing.stopping import SPLIT_COST

CUT_ARC, CUT_SPLIT = 0.35e-6, 0.8e-6
"""Seconds of a minimum cut for each usage arc and for each split."""

ROUNDS, ROUND_ARC = 90, 1.2e-9
"""Rounds of price sharing with everything open that take as long as a whole run, and seconds of a round for each usage arc."""

MARGIN = 4.0
"""A cut cannot be stopped: it is taken where a time limit leaves this many times its predicted seconds."""


def predicted_seconds(n_arcs: int, n_splits: int) -> tuple[float, float]:
    """(1) and (2): seconds of `min_cut` and of `price_sharing` on an instance with so many usage arcs and splits."""
    return CUT_ARC * n_arcs + CUT_SPLIT * n_splits, ROUNDS * ROUND_ARC * (n_arcs + SPLIT_COST * n_splits)


def optimal_pruning(problem: PruningProblem, lam: float, *, time_limit: float = math.inf, ties: Ties = "smallest") -> Solution:
    """The optimal pruning for one lambda, by `min_cut` or `price_sharing`, whichever is predicted to be faster.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds. Price sharing looks at it every round; a cut cannot be stopped, and is only taken well within the limit.
    ties
        which optimum, where there are several: the one with the fewest splits or the one with the most.

    Returns
    -------
    Solution
        of the engine taken, whose name is its ``method``. ``stats`` says why, beside the engine's own figures:
        ``min_cut_seconds_predicted`` and ``price_sharing_seconds_predicted``.

    Raises
    ------
    InvalidInputError
        for a negative, NaN or infinite lambda.
    InterruptedSolveError
        on Ctrl-C.
    """
    cut, sharing = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits)
    engine = price_sharing if cut > sharing or MARGIN * cut > time_limit else min_cut
    solution = engine(problem, lam, time_limit=time_limit, ties=ties)
    predicted = {"min_cut_seconds_predicted": cut, "price_sharing_seconds_predicted": sharing}
    return replace(solution, stats={**solution.stats, **predicted})
