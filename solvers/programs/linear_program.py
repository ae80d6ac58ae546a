"""The optimum from a linear relaxation by any engine for linear programs, or from the integer program by branch and bound.

IP3, IP2 and the closure form have integral relaxations, so level-set rounding and the bound of the dual values meet. IP1's
relaxation may be fractional and its bound below the optimum: it needs branch and bound. No number of an engine is trusted, see
`solvers.programs.rounding`.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, Literal

from formulations.answers.solution import Solution
from formulations.arguments import Seconds, checked
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from solvers.closures.integer_objective import useful_rate
from solvers.programs.engines.highs import highs
from solvers.programs.relaxation import engine_named, program_of
from solvers.programs.rounding import HIDDEN, integer_solution, relaxation_solution, unsolved
from solvers.programs.stoppable import MOST_NONZEROS, program_nonzeros, stoppable

Form = Literal["IP1", "IP2", "IP3", "closure"]


@checked
@stoppable(program_nonzeros, MOST_NONZEROS, lambda given, seconds: replace(unsolved(given, seconds), method="linear_program"))
def linear_program(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    formulation: Form = "IP3",
    engine: str = "highs",
    merge: bool = True,
    tolerance: float = 1e-9,
) -> Solution:
    """The best level set of a relaxation, with a proven bound.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds for building and solving, see `solvers.programs.stoppable`; when they are over, the best level set of the last
        point, or the best pruning free of charge.
    formulation
        IP3 or closure: the optimum. IP2: the same for one tree. IP1: its bound may be below the optimum.
    engine
        a name in `solvers.programs.engines.LINEAR_ENGINES`.
    merge
        one variable for purchases with the same usage: the same optimum, from a smaller program.
    tolerance
        relative gap up to which the solution counts as optimal.

    Returns
    -------
    Solution
        certificate: `ItemDuals`. IP1's bound is that of its relaxation; the certificate proves it, and often a higher one.

    Raises
    ------
    InvalidInputError
        for unknown names and a negative lambda.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.linear_program(problem, 0.01, formulation="closure")
    >>> print(f"value {solution.value:.5f}, gap below 1e-6: {solution.gap < 1e-6}")
    value 0.18343, gap below 1e-6: True
    """
    started = time.perf_counter()
    rate = useful_rate(problem, exact(lam, "lam"))
    program = program_of(problem, formulation, lam=rate, relax=True, merge=merge)
    remaining = max(0.0, time_limit - (time.perf_counter() - started))
    answer = engine_named(engine)(program, time_limit=remaining)
    return relaxation_solution(problem, lam, program, answer, formulation, merge=merge, tolerance=tolerance, started=started)


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
