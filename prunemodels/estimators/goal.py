"""How a pruning is chosen, and the choice: by limits, a lambda, an increase of the error, or a rule.

A budget is one limit, of the mean cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import Budget, Limit
from formulations.instance.problem import PruningProblem
from prunemodels.ensemble_loss.objective import ensemble_path
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.evaluation.choosing import at_most, choose_row
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.models.costs import Costs
from prunemodels.models.forests.error_samples import ErrorSample, Given, OutOfBag
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.points import Rule
from solvers.budgets import solve_within
from solvers.budgets.solve import Method

Objective = Literal["trees", "ensemble"]


@dataclass(frozen=True)
class Goal:
    """At most one of `limits`, `lam` and `max_error_increase`; without one, the rule chooses."""

    limits: tuple[Limit, ...]  # what the pruning keeps to on the cost sample; empty: none were given.
    lam: float | Fraction | None  # error per unit of cost.
    max_error_increase: float | None  # how much larger than the unpruned forest's the held-out error may be.
    rule: Rule  # the rule that chooses if none of the three is given.
    method: Method  # of `prunemodels.solve` for limits.
    time_limit: float | None  # seconds: of the search within limits, and of the search for the forest's loss.
    objective: Objective = "trees"  # whose error is minimised: the mean of the trees' errors, or the forest's own loss.

    @classmethod
    @checked
    def of(
        cls,
        budget: Budget | None,
        limits: Sequence[Limit] | None,
        lam: float | Fraction | None,
        max_error_increase: float | None,
        choose: Rule,
        method: Method,
        time_limit: Seconds | None,
        objective: Objective = "trees",
    ) -> Self:
        """Check all arguments before any work, and make the goal.

        Raises
        ------
        InvalidInputError
            for more than one goal, a negative number, an empty list of limits, an unknown rule, method or objective, and the
            forest's loss without a budget or lambda.
        """
        goals = {"budget": budget, "limits": limits, "lam": lam, "max_error_increase": max_error_increase}
        given = [name for name, goal in goals.items() if goal is not None]
        if len(given) > 1:
            raise InvalidInputError(f"{' and '.join(given)} are both given; give one of {', '.join(goals)}, or none")
        for name in given:
            if name != "limits" and not (name == "lam" and goals[name] == float("inf")):
                exact(goals[name], name)
        if limits is not None and not limits:
            raise InvalidInputError("limits is empty; give at least one, as [pm.Limit(10)]")
        within = tuple(limits or ()) if budget is None else (Limit(budget),)
        if objective == "ensemble" and lam is None and not within:
            raise InvalidInputError(
                "objective is 'ensemble': give a budget or a lam; max_error_increase and choose look along the path of "
                "objective='trees'"
            )
        if objective == "ensemble" and within and not (len(within) == 1 and within[0].is_plain):
            raise InvalidInputError(
                f"limits is {list(within)!r}, but the search for objective='ensemble' knows one limit of the mean cost; give a "
                "budget, or take objective='trees'"
            )
        return cls(within, lam, max_error_increase, choose, method, time_limit, objective)

    @property
    def needs_labels(self) -> bool:
        """Whether the choice uses held-out errors."""
        return not self.limits and self.lam is None

    def within(
        self, problem: PruningProblem, path: PruningPath | None = None, *, progress: bool | None = False
    ) -> BudgetSolution | LimitsSolution:
        """The solution within the limits; without the path, only the part of it that is needed is computed."""
        return solve_within(problem, self.limits, method=self.method, time_limit=self.time_limit, path=path, progress=progress)

    def choose(
        self, path: PruningPath, evaluation: PathEvaluation | None
    ) -> tuple[Pruning, int | None, BudgetSolution | LimitsSolution | None]:
        """The pruning; its row if it is a row of the path; the solution if there are limits.

        If no row of the path has an error within `max_error_increase`, the answer is the unpruned forest.
        """
        if self.limits:
            solution = self.within(path.problem, path)
            return solution.pruning, None, solution
        if self.lam is not None:
            row: int | None = path.row_at_lam(self.lam)
        else:
            assert evaluation is not None  # the caller evaluates the path if `needs_labels`
            limit = self.max_error_increase
            row = choose_row(evaluation, self.rule) if limit is None else at_most(evaluation, float(limit))
        return (Pruning.unpruned(path.problem) if row is None else path[row]), row, None


def prune_by(
    goal: Goal, forest: Any, path: PruningPath, X: Any, y: Any, sample_weight: ArrayLike | None, *, held_out: bool
) -> PrunedForest:
    """Choose a pruning from a path and apply it; `held_out` says whether the labels y had no part in the path's errors."""
    evaluation = evaluate_path(path, X, y, sample_weight=sample_weight) if goal.needs_labels else None
    pruning, row, solution = goal.choose(path, evaluation)
    pruned = apply_pruning(pruning, forest)
    return PrunedForest(pruned, pruning, path, row, solution, evaluation, None, forest, y, held_out and evaluation is None)


def prune_for_loss(
    goal: Goal,
    forest: Any,
    X: Any,
    y: Any,
    *,
    costs: Costs,
    errors: ErrorSample,
    sample_weight: ArrayLike | None,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64],
) -> PrunedForest:
    """Search prunings for the forest's loss at the goal's lambda, or near its budget, and return the best one found.

    Parameters
    ----------
    goal
        a goal with a budget or a lambda; the lambda is loss per unit of cost.
    X, y, sample_weight
        the cost sample, its labels if they are known, and its weights.
    errors
        where the loss is measured: `Given` or `OutOfBag`.

    Raises
    ------
    InvalidInputError
        for any other error sample.
    """
    if not isinstance(errors, Given | OutOfBag):
        raise in_bag_refusal(errors)
    budgets = [limit.at_most for limit in goal.limits]
    path = ensemble_path(
        forest,
        X,
        None,
        costs=costs,
        errors=errors,
        lams=10 if goal.lam is None else [float(goal.lam)],
        budgets=budgets,
        sample_weight=sample_weight,
        evaluation_cost=evaluation_cost,
        time_limit=math.inf if goal.time_limit is None else goal.time_limit,
    )
    if budgets:
        pruning = path.at_cost(budgets[0])
    else:
        assert goal.lam is not None  # `Goal.of` has checked it
        pruning = path.at_lam(goal.lam)
    pruned = apply_pruning(pruning, forest)
    return PrunedForest(pruned, pruning, path.tree_path, None, None, None, path, forest, y, held_out=isinstance(errors, OutOfBag))


def in_bag_refusal(errors: object) -> InvalidInputError:
    """The error for an error sample that the forest was grown on."""
    return InvalidInputError(
        f"objective is 'ensemble', errors is {errors!r}; set errors to 'validation' or 'out-of-bag': the loss is too small on "
        "rows that the trees were grown on"
    )
