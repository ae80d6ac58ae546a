"""The Pyomo models, solved by HiGHS through Pyomo.

This is for small instances, whose models a person can read. For more than some hundred thousand rows use
`solvers.programs.linear_program`, which hands the same program to HiGHS as arrays.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from formulations.answers.solution import Solution, StopReason
from formulations.arguments import Seconds, checked
from formulations.errors import InterruptedSolveError, InvalidInputError, SolverFailedError
from formulations.extras import naming_extras, package
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.programs.linear_program import LinearProgram
from solvers.closures.integer_objective import useful_rate
from solvers.programs.engines.answer import LinearAnswer, exponent_of, linear_answer, unscaled
from solvers.programs.engines.highs import TOLERANCE, integer_bound
from solvers.programs.linear_program import Form
from solvers.programs.rounding import integer_solution, relaxation_solution, unsolved
from solvers.programs.stoppable import MOST_PYOMO_NONZEROS, program_nonzeros, stoppable


@checked
@stoppable(program_nonzeros, MOST_PYOMO_NONZEROS, lambda given, seconds: replace(unsolved(given, seconds), method="pyomo_highs"))
def pyomo_highs(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    formulation: Form = "IP3",
    relax: bool = True,
    merge: bool = True,
) -> Solution:
    """A formulation as its Pyomo model, solved by HiGHS.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds for building and solving, see `solvers.programs.stoppable`; when they are over, as in `linear_program`.
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

    Raises
    ------
    InvalidInputError
        for a formulation that takes no lambda.
    """
    with naming_extras():
        from formulations.models import FORMULATIONS

    started = time.perf_counter()
    if formulation not in FORMULATIONS or formulation in ("IP0", "LP1"):
        raise InvalidInputError(f"formulation is {formulation!r}; with a lambda there are IP1, IP2, IP3 and closure")
    rate = useful_rate(problem, exact(lam, "lam"))
    model = FORMULATIONS[formulation](problem, lam=rate, relax=relax, merge=merge)
    program, answer = solve_model(model, time_limit=max(0.0, time_limit - (time.perf_counter() - started)))
    if not relax:
        solution = integer_solution(problem, lam, program, answer, started=started)
    else:
        solution = relaxation_solution(problem, lam, program, answer, formulation, merge=merge, tolerance=1e-9, started=started)
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
    SolverFailedError
        if the solver ends otherwise than at an optimum or the time limit.
    InterruptedSolveError
        after Ctrl-C; the model is as it was.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> model = pm.programs.FORMULATIONS["IP3"](two_trees(), lam=0.1, relax=True)
    >>> program, answer = pm.programs.solve_model(model)
    >>> pm.programs.read_pruning(model)
    Pruning(cost=3, error=0.125, 5 splits)
    """
    pyo = package("pyomo.environ")

    from formulations.models import standard_form

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
    variables = [v for component in model.component_objects(pyo.Var) for v in component.values()]
    rows = [c for component in model.component_objects(pyo.Constraint) for c in component.values()]
    if not variables:  # HiGHS calls an empty model's status unknown
        nothing = np.zeros(0)
        return program, linear_answer(program, StopReason.CONVERGED, nothing, nothing, iterations=0.0, seconds=0.0)
    k = exponent_of(program.cost)
    result = _solve(model, k, time_limit)
    stopped = _stop_reason(model, result)
    x = dual = None
    if result.solution_status.name != "noSolution":
        result.solution_loader.load_vars()
        x = np.array([v.value or 0.0 for v in variables], dtype=np.float64)  # a variable that is in no row has no value
    if stopped is StopReason.CONVERGED and not program.integer.any():
        found = result.solution_loader.get_duals()
        dual = unscaled(np.array([found.get(c, 0.0) for c in rows], dtype=np.float64), k)
    seconds = float(result.timing_info.highs_time)
    counts = {name: max(0.0, float(count)) for name, count in result.extra_info.items()}
    answer = linear_answer(program, stopped, x, dual, iterations=counts["simplex_iteration_count"], seconds=seconds)
    if dual is not None and answer.reduced_cost is not None:
        model.dual.update(zip(rows, dual.tolist(), strict=True))
        model.rc.update(zip(variables, answer.reduced_cost.tolist(), strict=True))
    if program.integer.any():
        claimed = -math.inf if result.objective_bound is None else float(result.objective_bound)
        answer = replace(answer, bound=integer_bound(program, claimed, k), nodes=counts["mip_node_count"])
    return program, answer


def _by_another(model: Any, program: LinearProgram, name: str) -> LinearAnswer:
    """The point of a solver that Pyomo knows by name."""
    pyo = package("pyomo.environ")

    engine = pyo.SolverFactory(name)
    if not engine.available(exception_flag=False):
        raise InvalidInputError(f"solver is {name!r}, which Pyomo does not find; install it, or give 'highs'")
    result = engine.solve(model)
    if str(result.solver.termination_condition) != "optimal":
        raise SolverFailedError(f"{name} ended the model {model.name} with {result.solver.termination_condition}")
    x = np.array([v.value or 0.0 for v in model.component_data_objects(pyo.Var)], dtype=np.float64)
    return linear_answer(program, StopReason.CONVERGED, x, None, iterations=0.0, seconds=0.0)


def _solve(model: Any, k: int, time_limit: float) -> Any:
    """Solve the model by HiGHS with its objective times 2^k, then restore the objective.

    Where presolve leaves HiGHS in doubt, with costs near 1e-17 beside some near 1e4, it solves once more without.
    """
    pyo = package("pyomo.environ")
    from pyomo.contrib.solver.common.factory import SolverFactory

    options = {
        "threads": 1,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
        "mip_feasibility_tolerance": TOLERANCE,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": 0.0,
    }
    # not HiGHS' own user_objective_scale: with it 1.13.1 reports the bound of an integer program in the scaled unit
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    objective.deactivate()
    model.scaled_objective = pyo.Objective(expr=2.0**k * objective.expr, sense=objective.sense)
    try:
        for presolve in ("choose", "off"):
            result = SolverFactory("highs").solve(
                model,
                time_limit=None if math.isinf(time_limit) else time_limit,
                solver_options=options | {"presolve": presolve},
                load_solutions=False,
                raise_exception_on_nonoptimal_result=False,
            )
            if result.termination_condition.name != "unknown":
                break
        return result
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted while HiGHS solved a Pyomo model, which is as it was") from stop
    finally:
        model.del_component("scaled_objective")
        objective.activate()


def _stop_reason(model: Any, result: Any) -> StopReason:
    reasons = {"convergenceCriteriaSatisfied": StopReason.CONVERGED, "maxTimeLimit": StopReason.TIME_LIMIT}
    name = result.termination_condition.name
    if name == "interrupted":
        raise InterruptedSolveError("interrupted while HiGHS solved a Pyomo model, which is as it was")
    if name not in reasons:
        raise SolverFailedError(f"HiGHS ended the model {model.name} with {name}")
    return reasons[name]
