"""The exact optimum for one lambda by the engine that is faster at the instance's size.

    min_cut          CUT_ARC a                                seconds, a usage arcs                                            (1)
    price_sharing    ROUNDS_START + SHARING_ARC a                                                                              (2)

are a rough fit to 36 cuts of BP16's MiniBooNE and Covertype forests, 50 to 15,000 cost rows at three lambdas each, on a busy
machine (`benchmarks.crossover` repeats it). They cross at a million usage arcs. The number of arcs alone decides badly where the
data sets disagree: at 0.5 million arcs a cut was up to 5 times faster on Covertype, at 1.6 million price sharing up to 6 times on
MiniBooNE, and single times lie up to nine times off (2). Both prove the same optimum; only the time differs.
"""

from __future__ import annotations

import math
from dataclasses import replace

from formulations.problem import PruningProblem
from formulations.solution import Solution
from solvers.closure_cut import Ties
from solvers.min_cut import min_cut
from solvers.shared_prices import price_sharing

CUT_ARC = 0.65e-6
"""Seconds of a minimum cut for each usage arc."""

ROUNDS_START, SHARING_ARC = 0.5, 0.14e-6
"""Seconds of price sharing: to begin with, and for each usage arc."""

MARGIN = 4.0
"""A cut cannot be stopped: it is taken where a time limit leaves this many times its predicted seconds."""

ENGINES = (min_cut, price_sharing)
"""``stats["engine"]`` is a place in this list."""


def predicted_seconds(n_arcs: int) -> tuple[float, float]:
    """(1) and (2): seconds of `min_cut` and of `price_sharing` on an instance with so many usage arcs."""
    return CUT_ARC * n_arcs, ROUNDS_START + SHARING_ARC * n_arcs


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
        of the engine taken. ``stats`` says which and why: ``engine`` (0: `min_cut`, 1: `price_sharing`),
        ``min_cut_seconds_predicted``, ``price_sharing_seconds_predicted``, beside the engine's own.

    Raises
    ------
    InvalidInputError
        for a negative, NaN or infinite lambda.
    InterruptedSolveError
        on Ctrl-C.
    """
    cut, sharing = predicted_seconds(problem.n_usage_arcs)
    engine = int(cut > sharing or MARGIN * cut > time_limit)
    solution = ENGINES[engine](problem, lam, time_limit=time_limit, ties=ties)
    chosen = {"engine": float(engine), "min_cut_seconds_predicted": cut, "price_sharing_seconds_predicted": sharing}
    return replace(solution, stats={**solution.stats, **chosen})
