"""The one call that solves an instance: at a lambda, within a budget, or within any number of limits.

    minimise  error + lam * cost                                                     over all prunings                      (1)
    minimise  error            s.t.  cost <= B                                                                              (2)
    minimise  error            s.t.  use_r <= B_r            for every limit r                                              (3)

`error` is the mean error on the error sample, `cost` the mean cost of an example of the cost sample. What a limit is about says
`formulations.instance.limit.Limit`.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from numbers import Rational
from typing import Annotated, Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.solution import Solution
from formulations.arguments import Seconds, checked, checked_arguments
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.limit import Budget, Limit, limit_of_mean_cost
from formulations.instance.problem import PruningProblem
from formulations.long_steps import timed_step
from solvers import SOLVERS, optimal_pruning
from solvers.path.pruning_path import pruning_path
from solvers.within import BUDGET_SOLVERS, METHODS, solve_limits

LOG = logging.getLogger(__name__)

T = TypeVar("T")

Budgets = Annotated[Sequence[Price] | ArrayLike, "a list of numbers"]

AUTO = "auto"
"""The name that lets `solve` choose the method."""


@overload
def solve(
    problem: PruningProblem, *, lam: float | Fraction, method: str = ..., time_limit: float | None = ..., **options: Any
) -> Solution: ...
@overload
def solve(
    problem: PruningProblem, *, budget: Price, method: str = ..., time_limit: float | None = ..., **options: Any
) -> LimitedSolution: ...
@overload
def solve(
    problem: PruningProblem,
    *,
    budget: Sequence[Price] | NDArray[np.floating[Any]],
    method: str = ...,
    time_limit: float | None = ...,
    **options: Any,
) -> tuple[LimitedSolution, ...]: ...
@overload
def solve(
    problem: PruningProblem, *, limits: Sequence[Limit], method: str = ..., time_limit: float | None = ..., **options: Any
) -> LimitedSolution: ...
@checked
def solve(
    problem: PruningProblem,
    *,
    lam: float | Fraction | None = None,
    budget: Budget | Budgets | None = None,
    limits: Sequence[Limit] | None = None,
    method: str = AUTO,
    time_limit: Seconds | None = None,
    **options: Any,
) -> Solution | LimitedSolution | tuple[LimitedSolution, ...]:
    """The best pruning at a lambda, (1), within a budget, (2), or within any number of limits, (3).

        minimise  error + lam * cost                                                                                        (1)
        minimise  error       s.t.  cost <= budget                                                                          (2)
        minimise  error       s.t.  use_r <= B_r           for every limit r                                                (3)

    Everything is minimised; errors, prices and lambda are never negative. Give one of `lam`, `budget` and `limits`.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0: how much more error is accepted to save one unit of mean cost.
    budget
        the largest mean cost of an example, >= 0, in the unit of the prices; evaluation included. A list or array of budgets
        gives a solution for each: they share one path, and a pruning found for one is an answer for all larger ones, so the error
        falls with the budget.
    limits
        `Limit` objects: other currencies, shares of examples that ask for an item, groups of examples, every single example, the
        size of the forest. ``limits=[pm.Limit(10)]`` is ``budget=10``.
    method
        ``"auto"``, or a name.

        - for `lam` a name of `SOLVERS`. ``"auto"`` finds and proves the optimum by ``"min_cut"`` or ``"price_sharing"``, the one
          that is predicted to be faster for an instance of this size.
        - for a budget a name of `BUDGET_SOLVERS`. ``"path"`` returns the best breakpoint of the path within the budget.
          ``"best"`` continues from there with a search between the two breakpoints around the budget. ``"exact"`` continues
          with branch and bound. ``"auto"`` is ``"best"``.
        - for limits ``"path"``, ``"best"`` or ``"exact"``: the relaxation and the best pruning met on the way, the same with a
          search, the same with branch and bound to the end.
    time_limit
        seconds, the path and the proof included. At the limit the answer is the best pruning and the best bound found
        so far. Default: no limit of time; "auto", "best" and "exact" then have one of work, option ``work``, so that the same
        call gives the same answer under any load.
    **options
        options of the engine, see there: for example ``ties="largest"`` for `lam`, ``path=pruning_path(problem)`` for a budget.

    Returns
    -------
    Solution
        for `lam`. The pruning, its value, a proven lower bound of the optimum and a certificate of it.
    LimitedSolution
        for a budget or limits. A pruning within all of them in exact numbers, what it uses, its error, a lower bound of the least
        error with its proof, and the relaxation's optimum with its multipliers. For a list of budgets a tuple of them.

        ``method`` of each names the engine that gave the answer.

    Raises
    ------
    InvalidInputError
        unless one of `lam`, `budget` and `limits` is given; for a number that is negative, infinite or NaN; for an unknown method
        or option; and for inputs that the engine refuses.
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
    LimitedSolution(optimal, cost 10 of 10, error 0.137, bound 0.137)
    >>> pm.solve(problem, limits=[pm.Limit(10), pm.Limit(0.3, "texture")])
    LimitedSolution(optimal, cost 10 of 10, texture 0 of 0.3, error 0.137, bound 0.137)
    """
    given = {name: value for name, value in (("lam", lam), ("budget", budget), ("limits", limits)) if value is not None}
    if len(given) > 1:
        raise InvalidInputError(f"{' and '.join(f'{name} is {value!r}' for name, value in given.items())}; give only one of them")
    if lam is not None:
        engine: Callable[..., Solution] = optimal_pruning if method == AUTO else _chosen(SOLVERS, method, "lam")
        options = _options_of(engine, options, method)
        with timed_step(LOG, "pruning of %s at lambda %g by %s", problem, float(lam), method):
            solution = engine(problem, lam, time_limit=math.inf if time_limit is None else time_limit, **options)
        return solution if method == AUTO else replace(solution, method=method)
    if limits is not None:
        return _for_limits(problem, limits, method, time_limit, options)
    if budget is None:
        raise InvalidInputError(
            "neither lam, budget nor limits is given; give lam, error per unit of cost, budget, the largest mean cost of an "
            "example, or limits, a list of pm.Limit"
        )
    asked: Any = budget
    if isinstance(asked, Rational | Decimal) or not np.shape(asked):
        return _for_budget(problem, asked, method, time_limit, options)
    return _for_budgets(problem, _listed(asked), method, time_limit, options)


def _for_budget(
    problem: PruningProblem, budget: Price, method: str, time_limit: float | None, options: dict[str, Any]
) -> LimitedSolution:
    """Solve (2), as one limit, or by the named engine of another kind."""
    name = "best" if method == AUTO else method
    engine: Callable[..., LimitedSolution] = _chosen(BUDGET_SOLVERS, name, "budget")
    limit = {} if time_limit is None else {"time_limit": time_limit}
    options = _options_of(engine, options, method)
    with timed_step(LOG, "pruning of %s within the budget %g by %s", problem, float(budget), name):
        return replace(engine(problem, budget, **limit, **options), method=name)


def _listed(budgets: Any) -> list[Price]:
    """Several budgets as a list."""
    shape = np.shape(budgets)
    if len(shape) != 1:
        raise InvalidInputError(f"budget has shape {shape}; give a number, or a list of numbers")
    found: list[Price] = budgets.tolist() if hasattr(budgets, "tolist") else list(budgets)
    return found


def _for_budgets(
    problem: PruningProblem, budgets: Sequence[Price], method: str, time_limit: float | None, options: dict[str, Any]
) -> tuple[LimitedSolution, ...]:
    """Solve (2) for several budgets, from the least to the largest; `time_limit` is that of each."""
    if not budgets:
        raise InvalidInputError("budget is an empty list; give at least one budget")
    limits = [limit_of_mean_cost(problem, budget, f"budget[{k}]") for k, budget in enumerate(budgets)]
    if method in (AUTO, *METHODS) and options.get("path") is None:
        options = {**options, "path": pruning_path(problem, certificate=False)}
    order = sorted(range(len(budgets)), key=limits.__getitem__)
    found = {k: _for_budget(problem, budgets[k], method, time_limit, options) for k in order}
    for less, more in pairwise(order):  # what keeps to a budget keeps to a larger one
        if found[less].error < found[more].error:
            better = found[less]
            found[more] = replace(found[more], pruning=better.pruning, error=better.error, uses=better.uses)
    for more, less in pairwise(order[::-1]):  # and what proves a bound within a budget proves it within a smaller one
        if found[more].bound > found[less].bound:
            found[less] = replace(found[less], bound=found[more].bound, proof=found[more].proof)
    return tuple(found[k] for k in range(len(budgets)))


def _for_limits(
    problem: PruningProblem, limits: Sequence[Limit], method: str, time_limit: float | None, options: dict[str, Any]
) -> LimitedSolution:
    """Solve (3)."""
    name: Any = "best" if method == AUTO else method
    _chosen(dict.fromkeys(METHODS), name, "limits")
    options = _options_of(partial(solve_limits, method=name), options, method)
    return solve_limits(problem, limits, method=name, time_limit=time_limit, **options)


def _chosen(methods: Mapping[str, T], method: str, what: str) -> T:
    """The method of that name."""
    if method not in methods:
        raise InvalidInputError(f"there is no method {method!r} for {what}; there are {', '.join([AUTO, *methods])}")
    return methods[method]


def _options_of(engine: Callable[..., object], options: Mapping[str, object], method: str) -> dict[str, Any]:
    """The options, checked; those that the engine does not have, or that the method has fixed, are refused."""
    fixed = {"time_limit", *(engine.keywords if isinstance(engine, partial) else ())}
    parameters = inspect.signature(engine).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in fixed]
        for name in options:
            if name not in known:
                raise InvalidInputError(f"the method {method!r} has no option {name!r}; it has {', '.join(known) or 'none'}")
    return checked_arguments(engine, options)
