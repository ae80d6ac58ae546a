"""Several engines on one instance, at one lambda or within budgets: what each finds and proves, in what time and memory.

The engines run one after the other, each in a process of its own. Peak memory is then that of the engine, a crash ends nothing
else, and a time limit also holds for engines that never look at the clock. An engine returns prunings and a bound; value, cost
and error are computed here, from the instance and what the engine has kept.

For a lambda a row is about one pruning. For a budget it has two answers: LP1's relaxation, a mixture of two prunings,

    value  =  weight error_dearer + (1 - weight) error_cheaper,      weight cost_dearer + (1 - weight) cost_cheaper <= B     (1)

and the best pruning that the engine has found within the budget.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.answers.limited_solution import LP1Relaxation
from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solution
from formulations.arguments import Seconds, checked
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import limit_of_mean_cost
from formulations.instance.numbers import ROUNDING
from formulations.instance.problem import PruningProblem
from prunemodels.comparison.processes import Answer, MixtureAnswer, Run, in_processes, in_this_process
from solvers import SOLVERS
from solvers.within import BUDGET_SOLVERS
from solvers.within.by_path import budget_solution

BAR = "{desc} |{bar}| {elapsed}"
"""The progress bar, which names the running engine."""

Budgets = Price | Sequence[Price] | NDArray[np.float64]
"""One budget, or several."""


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


@checked
def compare(
    problem: PruningProblem,
    lam: float | Fraction | None = None,
    solvers: Sequence[str] | None = None,
    *,
    budget: Budgets | None = None,
    time_limit: Seconds = math.inf,
    isolate: bool = True,
    progress: bool = False,
) -> pd.DataFrame:
    """Run several engines on one instance, at one lambda or within one or several budgets.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    solvers
        names in `SOLVERS` or, for budgets, in `BUDGET_SOLVERS`; or ``"module:function"`` for an engine of your own that can be
        imported. Default: all of them.
    budget
        B >= 0, the largest mean cost of an example, in the unit of the prices; or several of them. Give either `lam` or `budget`.
    time_limit
        seconds for each engine. One that has not returned 5 s (or a fifth of the limit) later is killed.
    isolate
        run every engine in a process of its own, which adds about a second each. False: run all in this process; then no engine
        can be killed, a crash ends this process, and memory that was freed earlier and is used again is not counted.
    progress
        show on stderr which engine is running.

    Returns
    -------
    DataFrame
        One row an engine, in the order asked for, budget by budget. ``status``: optimal, feasible or unknown
        as in `Solution`; ``refused``, ``crashed`` or ``time limit`` (killed) where there is no answer, and ``note`` says why.
        ``method``: the engine that gave the answer, see `Solution`. ``integral``: whether the engine's own point was, before any
        rounding; <NA> without a point. ``seconds``: of the solve, after a warm-up on a tiny instance. ``peak_memory_mb``: 10^6
        bytes above what the process held before the solve. Numbers that an engine does not have are NaN. A bound above the value
        of some engine's pruning is wrong, and ``note`` says so.

        For budgets ``value`` is the error of the engine's optimum of LP1's relaxation, a mixture of two prunings; ``integral``
        says whether it is a single one. ``dual`` is lambda*, by how much the value falls for another unit of the budget: the
        budget row's dual value without its sign. ``error`` is that of the best pruning within the budget that the engine found,
        ``bound`` a proven lower bound of all such errors, ``gap`` the difference of these two, on which ``status`` depends.

    Raises
    ------
    InvalidInputError
        if both or none of lambda and budget are given; for unknown names or none, a negative lambda, budget or time limit, and an
        instance that cannot be pickled.
    InterruptedSolveError
        on Ctrl-C; the running process is ended.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> table = pm.compare(problem, lam=0.02, solvers=["min_cut", "price_sharing"], isolate=False)
    >>> print(table[["solver", "status", "value"]].round(5).to_string(index=False))
           solver  status  value
          min_cut optimal 0.3041
    price_sharing optimal 0.3041
    """
    numbers = [lam] if lam is not None else []
    if (lam is None) == (budget is None):
        given = "neither" if lam is None else "both"
        raise InvalidInputError(f"{given} of lam and budget given; give lam, error per unit of cost, or budget, one or several")
    if budget is not None:
        names = check_solvers(solvers, BUDGET_SOLVERS)
        numbers = list(check_budgets(budget, problem))
    else:
        names = check_solvers(solvers)
        exact(lam, "lam")
    runs = [Run(name, number, budget is not None) for number in numbers for name in names]
    answers = _answers(problem, runs, time_limit, isolate=isolate, progress=progress)
    rows = [row_of(problem, run, answer) for run, answer in zip(runs, answers, strict=True)]
    roots = Pruning.all_roots(problem).error
    for k in range(0, len(rows), len(names)):  # the rows of one lambda or budget
        note_wrong_bounds(rows[k : k + len(names)], roots, "value" if budget is None else "error")
    types = TYPES if budget is None else BUDGET_TYPES
    return pd.DataFrame(rows, columns=list(types)).astype(types)


def _answers(problem: PruningProblem, runs: list[Run], time_limit: float, *, isolate: bool, progress: bool) -> list[Answer]:
    """What all engines answer, one after the other."""
    answers, name = [], runs[0].solver
    ways = in_processes if isolate else in_this_process
    try:
        with (
            tqdm(total=len(runs), bar_format=BAR, leave=False, disable=not progress, file=sys.stderr) as bar,
            closing(ways(problem, runs, time_limit)) as results,
        ):
            for k, run in enumerate(runs):
                name = run.solver
                within = f" within {float(run.number):g}" if run.is_budget else ""
                bar.set_description_str(f"running {name}{within} ({k + 1} of {len(runs)})")
                answers.append(next(results))
                bar.update()
    except InterruptedSolveError:
        raise
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError(f"interrupted while {name} was solving; nothing was changed") from stop
    return answers


def check_solvers(solvers: Sequence[str] | None, known: Mapping[str, object] = SOLVERS) -> list[str]:
    """The names of the engines to run; all of the registry if None."""
    names = list(known if solvers is None else solvers)
    if not names:
        raise InvalidInputError(f"solvers is empty; name at least one of {', '.join(known)}")
    for name in names:
        if not isinstance(name, str) or (name not in known and ":" not in name):
            what = " for a budget" if known is BUDGET_SOLVERS else ""
            raise InvalidInputError(f"there is no solver {name!r}{what}; there are {', '.join(known)}")
    return names


def check_budgets(budget: object, problem: PruningProblem | None = None) -> list[Fraction]:
    """The budgets as fractions, of a problem as its engines read them."""
    if isinstance(budget, str) or not isinstance(budget, Sequence | np.ndarray):
        return [_limit(problem, budget, "budget")]
    if len(budget) == 0:
        raise InvalidInputError("budget is empty; give at least one")
    return [_limit(problem, b.item() if isinstance(b, np.generic) else b, f"budget[{k}]") for k, b in enumerate(budget)]


def _limit(problem: PruningProblem | None, budget: object, name: str) -> Fraction:
    return exact(budget, name) if problem is None else limit_of_mean_cost(problem, budget, name)


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
    if answer.bound == -math.inf:  # an engine that proves nothing
        row |= dict.fromkeys(("bound", "gap", "relative_gap"), math.nan)
    if answer.peak_bytes is not None:
        row["peak_memory_mb"] = answer.peak_bytes / 1e6
    return row | {name: answer.stats[name] for name in ("iterations", "nodes") if name in answer.stats}


def _at_lam(problem: PruningProblem, run: Run, answer: Answer) -> dict[str, Any]:
    """Value, gap and status at lambda."""
    pruning = None if answer.kept is None else Pruning(problem, answer.kept)
    value = math.inf if pruning is None else pruning.value(float(run.number))
    solution = Solution(problem, run.number, pruning, value, answer.bound, answer.stopped)
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
    if pruning.exact_cost > budget:
        raise InvalidInputError(f"it costs {pruning.cost:.9g}, the budget is {float(budget):.9g}")
    mixture = _mixture(problem, budget, answer.mixture)
    found = budget_solution(problem, budget, pruning, answer.bound, mixture, stopped=answer.stopped, stats={})
    row: dict[str, Any] = {"status": str(found.status), "value": float(mixture.value), "dual": float(mixture.lam)}
    row |= {"integral": mixture.is_integral, "error": found.error, "gap": found.gap, "relative_gap": found.relative_gap}
    return row | {"splits": pruning.n_splits, "cost": pruning.cost}


def _mixture(problem: PruningProblem, budget: Fraction, answer: MixtureAnswer) -> LP1Relaxation:
    """(1), recomputed; refused where the weight is outside [0, 1], and where the mixture costs more than the budget."""
    cheaper, dearer = Pruning(problem, answer.cheaper), Pruning(problem, answer.dearer)
    weight = answer.weight
    if not 0 <= weight <= 1:
        raise InvalidInputError(f"its relaxation has the weight {float(weight):.9g}, not one from 0 to 1")
    cost = weight * dearer.exact_cost + (1 - weight) * cheaper.exact_cost
    if cost > budget:
        raise InvalidInputError(f"its relaxation costs {float(cost):.9g}, the budget is {float(budget):.9g}")
    return LP1Relaxation.of_budget(budget, answer.lam, cheaper, dearer, weight)


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
