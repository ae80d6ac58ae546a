"""The one call that solves an instance: at a lambda, within a budget, or within a budget for each class of examples.

    minimise  error + lam * cost                                                     over all prunings                      (1)
    minimise  error            s.t.  cost <= B                                                                              (2)
    minimise  error            s.t.  cost_c <= B_c           for every class c                                              (3)

`error` is the mean error on the error sample, `cost` the mean cost of an example of the cost sample, `cost_c` that of the
examples of class c.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar, overload

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.solution import Solution
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.programs.budget_rows import ClassBudgets
from formulations.timed_steps import timed_step
from solvers import SOLVERS, optimal_pruning
from solvers.budgets import BUDGET_SOLVERS, ClassBudgetsSolution, solve_budget, solve_class_budgets
from solvers.budgets.solve import METHODS

LOG = logging.getLogger(__name__)

T = TypeVar("T")

AUTO = "auto"
"""The name that lets `solve` choose the method."""

CLASS_METHODS = ("round", "exact")
"""Methods for budgets by class; ``"auto"`` is the first."""


@overload
def solve(
    problem: PruningProblem, *, lam: float | Fraction, method: str = ..., time_limit: float | None = ..., **options: Any
) -> Solution: ...
@overload
def solve(
    problem: PruningProblem, *, budget: Price, method: str = ..., time_limit: float | None = ..., **options: Any
) -> BudgetSolution: ...
@overload
def solve(
    problem: PruningProblem, *, budget: ClassBudgets, method: str = ..., time_limit: float | None = ..., **options: Any
) -> ClassBudgetsSolution: ...
@checked
def solve(
    problem: PruningProblem,
    *,
    lam: float | Fraction | None = None,
    budget: Price | ClassBudgets | None = None,
    method: str = AUTO,
    time_limit: Seconds | None = None,
    **options: Any,
) -> Solution | BudgetSolution | ClassBudgetsSolution:
    """The best pruning at a lambda, (1), within a budget, (2), or within a budget for each class of examples, (3).

        minimise  error + lam * cost                                                                                        (1)
        minimise  error       s.t.  cost <= budget                                                                          (2)
        minimise  error       s.t.  cost_c <= budget_c       for every class c                                              (3)

    Everything is minimised; errors, prices and lambda are never negative. Give either `lam` or `budget`.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0: how much more error is accepted to save one unit of mean cost.
    budget
        for (2) the largest mean cost of an example, >= 0, in the unit of the prices; the cost includes the evaluation of splits.
        For (3) a mapping from the class's name to ``(rows, budget)``: the rows of the cost sample, as a bool mask or as numbers,
        and their largest mean cost. Classes may overlap; rows in no class are not limited.
    method
        ``"auto"``, or a name.

        - for `lam` a name of `SOLVERS`. ``"auto"`` finds and proves the optimum by ``"min_cut"`` or ``"price_sharing"``, the one
          that is predicted to be faster for an instance of this size.
        - for a budget a name of `BUDGET_SOLVERS`. ``"path"`` returns the best breakpoint of the path within the budget.
          ``"best"`` continues from there with a search between the two breakpoints around the budget. ``"exact"`` continues
          with branch and bound. ``"auto"`` is ``"best"``.
        - for budgets by class ``"round"`` rounds the relaxation and leaves a gap. ``"exact"`` closes the gap by branch and bound,
          for small instances. ``"auto"`` is ``"round"``.
    time_limit
        seconds; for a budget, without the time for the path. At the limit the answer is the best pruning and the best bound found
        so far. Default: no limit of time; "auto", "best" and "exact" then have one of work, option ``work``, so that the same
        call gives the same answer under any load.
    **options
        options of the engine, see there: for example ``ties="largest"`` for `lam`, ``path=pruning_path(problem)`` for a budget.

    Returns
    -------
    Solution
        for `lam`. The pruning, its value, a proven lower bound of the optimum and a certificate of it.
    BudgetSolution
        for a budget. The pruning, whose cost is at most the budget in exact numbers, its error, a proven lower bound of the least
        error within the budget, and the relaxation's optimum.
    ClassBudgetsSolution
        for budgets by class: a pruning within all budgets and a proven lower bound.

        ``method`` of a `Solution` and of a `BudgetSolution` names the engine that gave the answer.

    Raises
    ------
    InvalidInputError
        if both or none of `lam` and `budget` are given; for a number that is negative, infinite or NaN; for an unknown method or
        option; and for inputs that the engine refuses.
    SolverFailedError
        if a solver of another library fails.
    InterruptedSolveError
        on Ctrl-C.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.solve(problem, lam=0.01)
    Solution(optimal, value=0.183433333, bound=0.183433333, Pruning(cost=13.4933, error=0.0485, 43 splits))
    >>> pm.solve(problem, budget=10)
    BudgetSolution(optimal, cost 10 of 10, error 0.137, bound 0.137)
    """
    if lam is not None and budget is not None:
        raise InvalidInputError(f"lam is {lam!r} and budget is {budget!r}; give only one of them")
    if lam is not None:
        return _for_lam(problem, lam, method, time_limit, options)
    if budget is None:
        raise InvalidInputError(
            "neither lam nor budget is given; give lam, error per unit of cost, or budget, the largest mean cost of an example"
        )
    if isinstance(budget, Mapping):
        return _for_classes(problem, budget, method, time_limit, options)
    return _for_budget(problem, budget, method, time_limit, options)


def _for_lam(
    problem: PruningProblem, lam: float | Fraction, method: str, time_limit: float | None, options: dict[str, Any]
) -> Solution:
    """Solve (1), by the engine that is predicted to be fastest, or by the named engine."""
    limit = math.inf if time_limit is None else time_limit
    engine: Callable[..., Solution] = optimal_pruning if method == AUTO else _chosen(SOLVERS, method, "lam")
    _check_options(engine, options, method)
    with timed_step(LOG, "pruning of %s at lambda %g by %s", problem, float(lam), method):
        solution = engine(problem, lam, time_limit=limit, **options)
    return solution if method == AUTO else replace(solution, method=method)


def _for_budget(
    problem: PruningProblem, budget: Price, method: str, time_limit: float | None, options: dict[str, Any]
) -> BudgetSolution:
    """Solve (2), by several engines one after the other, see `solve_budget`, or by the named engine."""
    name = "best" if method == AUTO else method
    engine: Callable[..., BudgetSolution] = _chosen(BUDGET_SOLVERS, name, "budget")
    limit = {} if time_limit is None else {"time_limit": time_limit}
    if name in METHODS:
        engine = partial(solve_budget, method=name)
    _check_options(engine, options, method)
    with timed_step(LOG, "pruning of %s within the budget %g by %s", problem, float(budget), name):
        return replace(engine(problem, budget, **limit, **options), method=name)


def _for_classes(
    problem: PruningProblem, budgets: ClassBudgets, method: str, time_limit: float | None, options: dict[str, Any]
) -> ClassBudgetsSolution:
    """Solve (3)."""
    name: Any = CLASS_METHODS[0] if method == AUTO else method
    _chosen(dict.fromkeys(CLASS_METHODS), name, "budgets by class")
    engine = partial(solve_class_budgets, method=name)
    _check_options(engine, options, method)
    return engine(problem, budgets, time_limit=math.inf if time_limit is None else time_limit, **options)


def _chosen(methods: Mapping[str, T], method: str, what: str) -> T:
    """The method of that name."""
    if method not in methods:
        raise InvalidInputError(f"there is no method {method!r} for {what}; there are {', '.join([AUTO, *methods])}")
    return methods[method]


def _check_options(engine: Callable[..., object], options: Mapping[str, object], method: str) -> None:
    """Refuse options that the engine does not have, or that the method has fixed."""
    fixed = {"time_limit", *(engine.keywords if isinstance(engine, partial) else ())}
    parameters = inspect.signature(engine).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in fixed]
    for name in options:
        if name not in known:
            raise InvalidInputError(f"the method {method!r} has no option {name!r}; it has {', '.join(known) or 'none'}")
