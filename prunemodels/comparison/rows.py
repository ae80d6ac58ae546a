"""The rows of a comparison. Value, cost and error are computed here, from the instance and what an engine has kept.

For a lambda a row is about one pruning. For a budget it has two answers: LP1's relaxation, a mixture of two prunings,

    value  =  weight error_dearer + (1 - weight) error_cheaper,      weight cost_dearer + (1 - weight) cost_cheaper <= B     (1)

and the best pruning that the engine has found within the budget.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from formulations.answers.budget_solution import BudgetSolution, Mixture
from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solution
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from prunemodels.comparison.worker import Answer, MixtureAnswer, Run
from solvers.budgets.by_path import error_of, exact_cost


def _typed(columns: str) -> dict[str, str]:
    """Columns as ``name`` or ``name:type``, numbers where no type is told."""
    return {name: kind or "float64" for name, _, kind in (word.partition(":") for word in columns.split())}


LAST = "splits:Int64 cost {} seconds peak_memory_mb iterations nodes note:str"

TYPES = _typed(
    "solver:str status:str stopped:str method:str value bound gap relative_gap integral:boolean " + LAST.format("error")
)
"""The columns of the table and their types."""

BUDGET_TYPES = _typed(
    "budget solver:str status:str stopped:str value dual integral:boolean bound error gap relative_gap " + LAST.format("")
)
"""The columns of the table for budgets and their types."""

ROUNDING = 1e-9
"""The excess of a bound over a value that rounding explains, relative to the error of the all-roots forest."""


def row_of(problem: PruningProblem, run: Run, answer: Answer) -> dict[str, Any]:
    """The row of one engine at one lambda or budget; only bound, seconds, counts and dual value are taken from its answer."""
    row: dict[str, Any] = {"solver": run.solver, "status": answer.outcome, "stopped": "", "note": answer.note}
    row |= {"budget": float(run.number)} if run.is_budget else {"method": answer.method}
    row["seconds"] = answer.seconds
    if answer.outcome != "solved":
        return row
    try:
        row |= _at_budget(problem, run, answer) if run.is_budget else _at_lam(problem, run, answer)
    except InvalidInputError as error:
        what = "a pruning within the budget" if run.is_budget else "a pruning"
        return row | {"status": "crashed", "note": f"the engine returned something that is not {what}: {error}"}
    row |= {"stopped": str(answer.stopped), "bound": answer.bound}
    if answer.peak_bytes is not None:
        row["peak_memory_mb"] = answer.peak_bytes / 1e6
    return row | {name: answer.stats[name] for name in ("iterations", "nodes") if name in answer.stats}


def _at_lam(problem: PruningProblem, run: Run, answer: Answer) -> dict[str, Any]:
    """Value, gap and status at lambda."""
    pruning = None if answer.kept is None else Pruning(problem, answer.kept)
    value = math.inf if pruning is None else pruning.value(float(run.number))
    solution = Solution(problem, run.number, pruning, value, answer.bound, answer.stopped, answer.tolerance)
    row: dict[str, Any] = {"status": str(solution.status), "value": value, "integral": _integral(answer)}
    row |= {"gap": solution.gap, "relative_gap": solution.relative_gap}
    if pruning is not None:
        row |= {"splits": pruning.n_splits, "cost": pruning.cost, "error": pruning.error}
    return row


def _at_budget(problem: PruningProblem, run: Run, answer: Answer) -> dict[str, Any]:
    """Value (1), dual value, error, gap and status within a budget."""
    if answer.kept is None or answer.mixture is None:
        raise InvalidInputError("its answer has no pruning or no relaxation")
    budget = exact(run.number, "budget")
    pruning = Pruning(problem, answer.kept)
    if exact_cost(pruning) > budget:
        raise InvalidInputError(f"it costs {pruning.cost:.9g}, the budget is {float(budget):.9g}")
    mixture = _mixture(problem, budget, answer.mixture)
    found = BudgetSolution(problem, budget, pruning, error_of(pruning), answer.bound, mixture, answer.stopped)
    roots = Pruning.all_roots(problem).error
    open_part = found.gap / (roots - found.bound) if found.gap > BudgetSolution.HIDDEN * roots else 0.0
    row: dict[str, Any] = {"status": str(found.status), "value": float(mixture.value), "dual": float(mixture.lam)}
    row |= {"integral": mixture.is_integral, "error": found.error, "gap": found.gap, "relative_gap": open_part}
    return row | {"splits": pruning.n_splits, "cost": pruning.cost}


def _mixture(problem: PruningProblem, budget: Fraction, answer: MixtureAnswer) -> Mixture:
    """(1), recomputed.

    Raises
    ------
    InvalidInputError
        for a weight outside [0, 1] and for a mixture that costs more than the budget.
    """
    cheaper, dearer = Pruning(problem, answer.cheaper), Pruning(problem, answer.dearer)
    weight = answer.weight
    if not 0 <= weight <= 1:
        raise InvalidInputError(f"its relaxation has the weight {float(weight):.9g}, not one from 0 to 1")
    cost = weight * dearer.exact_cost + (1 - weight) * cheaper.exact_cost
    if cost > budget + Fraction(problem.integers.cost_rounding):
        raise InvalidInputError(f"its relaxation costs {float(cost):.9g}, the budget is {float(budget):.9g}")
    value = weight * dearer.exact_error + (1 - weight) * cheaper.exact_error
    return Mixture(budget, answer.lam, cheaper, dearer, weight, value)


def _integral(answer: Answer) -> bool | None:
    """Whether the engine's own point was integral; None without a point."""
    if "integral" in answer.stats:
        return bool(answer.stats["integral"])
    # engines for linear programs report `columns`; their pruning need not come from the program's point
    return None if answer.kept is None or "columns" in answer.stats else True


def note_wrong_bounds(rows: list[dict[str, Any]], scale: float, objective: str) -> None:
    """Note bounds that are above what some engine's pruning attains: its ``value`` at a lambda, its ``error`` at a budget."""
    valued = [row for row in rows if math.isfinite(row.get(objective, math.nan))]
    if not valued:
        return
    best = min(valued, key=lambda row: float(row[objective]))
    for row in rows:
        if row.get("bound", -math.inf) > best[objective] + ROUNDING * max(scale, abs(best[objective])):
            whose = "its own pruning" if row is best else f"the pruning of {best['solver']}"
            row["note"] = f"wrong bound: {row['bound']:.9g} is above {best[objective]:.9g}, the {objective} of {whose}"
