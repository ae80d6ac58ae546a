"""Integer programs by branch and bound. IP1 needs it; the formulations with integral relaxations do not."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

from formulations.answers.solution import Solution
from formulations.arguments import Seconds, checked
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from solvers.closures.integer_objective import useful_rate
from solvers.programs.engines.highs import highs
from solvers.programs.linear_program import Form
from solvers.programs.relaxation import program_of
from solvers.programs.rounding import HIDDEN, integer_solution, unsolved
from solvers.programs.stoppable import MOST_NONZEROS, program_nonzeros, stoppable

AS_INTEGER: dict[str, Any] = {"method": "integer_program", "tolerance": HIDDEN}


@checked
@stoppable(program_nonzeros, MOST_NONZEROS, lambda given, seconds: replace(unsolved(given, seconds), **AS_INTEGER))
def integer_program(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    formulation: Form = "IP1",
    merge: bool = True,
) -> Solution:
    """The optimal pruning by HiGHS' branch and bound.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds for building and solving, see `solvers.programs.stoppable`; when they are over, the call returns the best pruning
        and the bound so far.
    formulation
        IP1, IP2 (one tree), IP3 or closure.
    merge
        one variable for purchases with the same usage: the same optimum, from a smaller program.

    Returns
    -------
    Solution
        without a certificate, because branch and bound gives none that could be checked. If it found nothing in time,
        `ItemDuals` prove the bound that the trees give without prices.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.integer_program(problem, 0.02)
    >>> print(f"value {solution.value:.5f}")
    value 0.30410
    """
    started = time.perf_counter()
    rate = useful_rate(problem, exact(lam, "lam"))
    program = program_of(problem, formulation, lam=rate, merge=merge)
    answer = highs(program, time_limit=max(0.0, time_limit - (time.perf_counter() - started)))
    return integer_solution(problem, lam, program, answer, started=started)
