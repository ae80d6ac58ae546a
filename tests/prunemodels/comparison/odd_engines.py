"""Engines that misbehave once they are warmed up: those for a lambda, and for a budget."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from formulations import InterruptedSolveError, Pruning, PruningProblem, Solution, SolverFailedError, StopReason
from prunemodels.comparison.processes import PARAMS
from solvers import min_cut
from solvers.within import best_breakpoint


def odd(work: Callable[[Any], Any], engine: Any = min_cut, warm_up: float = PARAMS.warm_up_lam) -> Any:
    """An engine that does something with the answer of another."""

    def solve(problem: PruningProblem, number: float, *, time_limit: float = math.inf) -> Any:
        solution = engine(problem, number)
        return solution if number == warm_up else work(solution)

    return solve


def raising(error: BaseException) -> Any:
    """An engine that fails."""

    def work(solution: Any) -> Any:
        raise error

    return odd(work)


@odd
def leave(solution: Any) -> Any:
    print("last words", file=sys.stderr, flush=True)
    os._exit(3)


@odd
def sleep(solution: Any) -> Any:
    if "ODD_PID" in os.environ:
        aside = os.environ["ODD_PID"] + ".new"
        with open(aside, "w") as file:
            file.write(str(os.getpid()))
        os.rename(aside, os.environ["ODD_PID"])
    time.sleep(600)


@odd
def hoard(solution: Any) -> Any:
    np.ones(12_500_000).sum()
    return solution


@odd
def chat(solution: Any) -> Any:
    print("printed")
    os.write(1, b"written")
    return solution


@odd
def lie(solution: Any) -> Any:
    pruning = SimpleNamespace(kept=~solution.problem.ensemble.is_split)
    return SimpleNamespace(pruning=pruning, stopped=StopReason.CONVERGED, bound=0.0, stats={}, method="")


def dawdle(problem: PruningProblem, lam: float, *, time_limit: float = math.inf) -> Solution:
    """An engine that is slow at first."""
    time.sleep(0.5 * (lam == PARAMS.warm_up_lam))
    return min_cut(problem, lam)


die = odd(lambda _: os.kill(os.getpid(), signal.SIGKILL))
divide, fail = odd(lambda _: 1 / 0), raising(SolverFailedError("lost its basis"))
ctrl_c, interrupted = raising(KeyboardInterrupt()), raising(InterruptedSolveError("interrupted"))
boast = odd(lambda solution: replace(solution, bound=solution.value + 1))
report = odd(lambda solution: replace(solution, stats={"integral": 0.0, "iterations": 7.0, "nodes": 3.0}))
give_up = odd(lambda solution: Solution(solution.problem, solution.lam, None, math.inf, 0.0, StopReason.TIME_LIMIT))
fall_back = odd(lambda solution: replace(solution, stopped=StopReason.TIME_LIMIT, stats={"columns": 5.0}))


def weighted(solution: Any, weight: int) -> Any:
    """The mixture with another weight of its dearer pruning."""
    relaxation = solution.relaxation
    return (relaxation.dearer, Fraction(weight)), (relaxation.cheaper, Fraction(1 - weight))


def unproven(solution: Any) -> Any:
    """The same pruning, of which nothing is known."""
    return replace(solution, bound=-math.inf)


prove_nothing, spend = odd(unproven, warm_up=math.nan), odd(unproven, best_breakpoint, math.nan)
overspend, overmix, overweigh, overprove = (
    odd(work, best_breakpoint, PARAMS.warm_up_budget)
    for work in (
        lambda solution: replace(solution, pruning=Pruning.unpruned(solution.problem)),
        lambda solution: replace(solution, relaxation=replace(solution.relaxation, mixture=weighted(solution, 1))),
        lambda solution: replace(solution, relaxation=replace(solution.relaxation, mixture=weighted(solution, 2))),
        lambda solution: replace(solution, bound=solution.error + 1),
    )
)
