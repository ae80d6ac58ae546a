"""The optimum from a linear relaxation by any engine for linear programs, or from the integer program by branch and bound.

Where a user's own rows leave a model without a point, the fewest that contradict each other are named. A formulation has points,
so the cause lies in a user's rows and fixed variables. A set of them is a *conflict* if the formulation has no point with it, and
irreducible if it has one with every smaller set. QuickXplain (Junker, AAAI 2004) finds an irreducible conflict of k parts among n
with some k log(n / k) programs, each the formulation with some parts and no objective.

IP3, IP2 and the closure form have integral relaxations, so level-set rounding and the bound of the dual values meet. IP1's
relaxation may be fractional and its bound below the optimum: it needs branch and bound. No number of an engine is trusted, see
`solvers.programs.rounding`.

A Pyomo model is compiled to the same arrays (`formulations.models.standard_form`), which HiGHS solves. It is for small instances,
whose models a person can read.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from formulations.answers.solution import Solution, StopReason
from formulations.arguments import Seconds, checked, checking
from formulations.errors import InfeasibleModelError, InvalidInputError, SolverFailedError
from formulations.extras import naming_extras, package
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.programs.formulation import formulation_named
from formulations.programs.linear_program import LinearProgram
from solvers.closures.integer_objective import useful_rate
from solvers.programs.engines import PARAMS, Given, LinearAnswer, linear_answer, program_nonzeros, stoppable
from solvers.programs.highs import highs
from solvers.programs.rounding import engine_named, integer_solution, program_of, relaxation_solution, unsolved


def explained(model: Any, failed: SolverFailedError, seconds: float = math.inf) -> SolverFailedError:
    """The error of a model that a solver could not solve: with the conflict, if it has no point; else the solver's own.

    `seconds`: to look for a conflict; what is not shown to be without points by then counts as having some.
    """
    ends = time.perf_counter() + seconds
    from formulations.models.reading import columns_and_rows, own_rows

    # the model as a program, in which the user's rows and fixed variables can be left out
    variables, rows = columns_and_rows(model)
    fixed = {len(rows) + j: v for j, v in enumerate(variables) if v.fixed}
    program = _with_free_variables(model, list(fixed.values()))
    place = {id(row): k for k, row in enumerate(rows)}
    name = {place[id(row)]: row.name for row in own_rows(model)} | {k: f"{v.name} = {v.value:g}" for k, v in fixed.items()}

    def has_point(some: Sequence[int]) -> bool:
        off = np.array([k for k in name if k not in some and k < len(rows)], dtype=np.int64)
        on = np.array([k for k in some if k in fixed], dtype=np.int64)
        row_lower, row_upper, lower, upper = (
            a.copy() for a in (program.row_lower, program.row_upper, program.lower, program.upper)
        )
        row_lower[off], row_upper[off] = -np.inf, np.inf
        lower[on - len(rows)] = upper[on - len(rows)] = [fixed[int(k)].value for k in on]
        without = replace(
            program, cost=np.zeros_like(program.cost), row_lower=row_lower, row_upper=row_upper, lower=lower, upper=upper
        )
        try:
            highs(without, time_limit=max(0.0, ends - time.perf_counter()))
        except SolverFailedError:
            return False
        return True

    # rows that have no point together, but do without any one of them
    if has_point(list(name)):
        return SolverFailedError(f"the model {model.name}: {failed}")
    # the same in words
    words = [name[part] for part in irreducible(list(name), has_point)]
    if not words:
        cause = "the formulation's own rows have none, whichever of yours are left out; build it anew"
    elif len(words) == 1:
        cause = f"{words[0]} allows no pruning; deactivate it or let it allow more"
    else:
        left = len(words) - PARAMS.most_named
        *most, last = words[: PARAMS.most_named] + ([f"{left} more"] if left > 0 else [])
        cause = f"{', '.join(most)} and {last} contradict each other; deactivate one of them or let it allow more"
    return InfeasibleModelError(f"the model {model.name} has no feasible point: {cause}")


def _with_free_variables(model: Any, fixed: Sequence[Any]) -> LinearProgram:
    """The model as arrays, as if no variable was fixed."""
    from formulations.models import standard_form

    try:
        for variable in fixed:
            variable.unfix()
        return standard_form(model)
    finally:
        for variable in fixed:
            variable.fix()


def irreducible(parts: list[int], has_point: Callable[[Sequence[int]], bool]) -> list[int]:
    """A conflict among `parts`, which together have no point, of which no part can be left out; in their order."""

    def among(known: list[int], some: list[int], *, grown: bool) -> list[int]:
        if grown and not has_point(known):
            return []
        if len(some) == 1:
            return some
        half = len(some) // 2
        first, second = some[:half], some[half:]
        of_second = among(known + first, second, grown=True)
        return among(known + of_second, first, grown=bool(of_second)) + of_second

    return among([], parts, grown=True) if parts else []


def _unsolved_by(method: str) -> Callable[[Given, float], Solution]:
    """The solution of an engine that found nothing in time."""
    return lambda given, seconds: replace(unsolved(given, seconds), method=method)


@checking
@stoppable(program_nonzeros, PARAMS.most_nonzeros, _unsolved_by("linear_program"))
def linear_program(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    formulation: str = "IP3",
    engine: str = "highs",
    merge: bool = True,
) -> Solution:
    """The best level set of a relaxation, with a proven bound.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds for building and solving, see `solvers.programs.engines`; when they are over, the best level set of the last
        point, or the best pruning free of charge.
    formulation
        IP3 or closure: the optimum. IP2: the same for one tree. IP1: its bound may be below the optimum.
    engine
        a name in `solvers.programs.rounding.LINEAR_ENGINES`.
    merge
        one variable for purchases with the same usage: the same optimum, from a smaller program.

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
    return relaxation_solution(problem, lam, program, answer, formulation, merge=merge, started=started)


@checking
@stoppable(program_nonzeros, PARAMS.most_nonzeros, _unsolved_by("integer_program"))
def integer_program(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    formulation: str = "IP1",
    merge: bool = True,
) -> Solution:
    """The optimal pruning by HiGHS' branch and bound.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds for building and solving, see `solvers.programs.engines`; when they are over, the call returns the best pruning
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


@checking
@stoppable(program_nonzeros, PARAMS.most_pyomo_nonzeros, _unsolved_by("pyomo_highs"))
def pyomo_highs(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    formulation: str = "IP3",
    relax: bool = True,
    merge: bool = True,
) -> Solution:
    """A formulation as its Pyomo model, solved by HiGHS.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds for building and solving, see `solvers.programs.engines`; when they are over, as in `linear_program`.
    formulation
        IP1, IP2 (one tree), IP3 or closure.
    relax
        solve the linear relaxation and round it by level sets; with False the integer program.
    merge
        one variable for purchases with the same usage: the same optimum, from a smaller model.

    Returns
    -------
    Solution
        certificate: `ItemDuals` for a relaxation, none for an integer program.
    """
    with naming_extras():
        from formulations.models import FORMULATIONS

    started = time.perf_counter()
    formulation_named(formulation, FORMULATIONS)
    rate = useful_rate(problem, exact(lam, "lam"))
    model = FORMULATIONS[formulation](problem, lam=rate, relax=relax, merge=merge)
    program, answer = solve_model(model, time_limit=max(0.0, time_limit - (time.perf_counter() - started)))
    if not relax:
        solution = integer_solution(problem, lam, program, answer, started=started)
    else:
        solution = relaxation_solution(problem, lam, program, answer, formulation, merge=merge, started=started)
    return replace(solution, method="pyomo_highs")


@checked
def solve_model(model: Any, *, time_limit: Seconds = math.inf, solver: str = "highs") -> tuple[LinearProgram, LinearAnswer]:
    """Solve a model of `formulations.models` in place: its variables get values. Rows and objectives of one's own may be in it.

    A relaxation's dual values and reduced costs come back in ``model.dual`` and ``model.rc``, by constraint and by variable:
    d objective / d right-hand side of the row as it is written, and cost less what the rows' dual values charge.

    Parameters
    ----------
    time_limit
        seconds; for HiGHS alone.
    solver
        ``"highs"``, or any name that ``pyomo.environ.SolverFactory`` knows, as ``"glpk"`` or ``"cbc"``, whose program is
        installed. Another solver than HiGHS gives values, but neither dual values nor a bound.

    Returns
    -------
    LinearProgram, LinearAnswer
        the model as arrays, and the solver's answer in the same order: iterations, nodes, bound, how it stopped.

    Raises
    ------
    InvalidInputError
        for an unknown solver or one that is not installed, and for a model without one active objective.
    InfeasibleModelError
        if the model has no point; the message names the rows of the user's own, or fixed variables, that contradict each other.
    SolverFailedError
        if the solver ends otherwise than at an optimum or the time limit.
    InterruptedSolveError
        after Ctrl-C; the model is as it was.

    Examples
    --------
    >>> import prunemodels as pm
    >>> model = pm.programs.FORMULATIONS["IP3"](pm.datasets.two_trees(), lam=0.1, relax=True)
    >>> program, answer = pm.programs.solve_model(model)
    >>> pm.programs.read_pruning(model)
    Pruning(cost=3, error=0.125, 5 splits)
    """
    pyo = package("pyomo.environ")

    from formulations.models.reading import columns_and_rows, standard_form

    if not hasattr(model, "component_data_objects"):
        raise InvalidInputError(
            f"model is a {type(model).__name__}; give a Pyomo model, such as FORMULATIONS['IP3'](problem, lam=0.1)"
        )
    active = list(model.component_data_objects(pyo.Objective, active=True))
    if len(active) != 1:
        raise InvalidInputError(
            f"the model has {len(active)} active objectives; deactivate all but one: model.objective.deactivate()"
        )
    program = standard_form(model)
    if solver != "highs":
        return program, _by_another(model, program, solver)
    for suffix in ("dual", "rc"):
        model.del_component(suffix)
        model.add_component(suffix, pyo.Suffix(direction=pyo.Suffix.IMPORT))
    try:
        answer = highs(program, time_limit=time_limit)
    except SolverFailedError as error:
        raise explained(model, error, max(PARAMS.conflict_seconds, time_limit)) from error
    variables, rows = columns_and_rows(model)
    if answer.x is not None:
        for variable, value in zip(variables, answer.x.tolist(), strict=True):
            if not variable.fixed:
                variable.set_value(value, skip_validation=True)
    if answer.row_dual is not None and answer.reduced_cost is not None:
        sign = int(active[0].sense)  # -1 for a maximisation, which the program has as a minimisation
        model.dual.update(zip(rows, (sign * answer.row_dual).tolist(), strict=True))
        model.rc.update(zip(variables, (sign * answer.reduced_cost).tolist(), strict=True))
    return program, answer


def _by_another(model: Any, program: LinearProgram, name: str) -> LinearAnswer:
    """The point of a solver that Pyomo knows by name."""
    pyo = package("pyomo.environ")
    from formulations.models.reading import columns_and_rows

    engine = pyo.SolverFactory(name)
    if not engine.available(exception_flag=False):
        raise InvalidInputError(f"solver is {name!r}, which Pyomo does not find; install it, or give 'highs'")
    try:
        ended = str(engine.solve(model).solver.termination_condition)
    except RuntimeError as error:  # so some interfaces say that there is no point
        ended = str(error)
    if ended != "optimal":
        raise explained(model, SolverFailedError(f"{name} ended with {ended}"), PARAMS.conflict_seconds)
    x = np.array([v.value or 0.0 for v in columns_and_rows(model)[0]], dtype=np.float64)
    return linear_answer(program, StopReason.CONVERGED, x, None, iterations=0.0, seconds=0.0)
