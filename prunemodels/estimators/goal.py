"""How a pruning is chosen: by limits, a lambda, an increase of the error, or a rule. A budget is one limit, of the mean cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.limit import Budget, Limit
from formulations.instance.problem import PruningProblem
from prunemodels.evaluation.choosing import at_most, choose_row
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.points import Rule
from solvers.budgets import solve_within
from solvers.budgets.solve import Method

Objective = Literal["trees", "ensemble"]


@dataclass(frozen=True)
class Goal:
    """At most one of `limits`, `lam` and `max_error_increase`; without one, the rule chooses.

    Parameters
    ----------
    limits
        what the pruning keeps to on the cost sample; empty: none were given.
    lam
        error per unit of cost.
    max_error_increase
        how much larger than the unpruned forest's the held-out error may be.
    rule
        the rule that chooses if none of the three is given.
    method
        of `prunemodels.solve` for limits.
    time_limit
        seconds: of the search within limits, and of the search for the forest's loss.
    objective
        whose error is minimised: the mean of the trees' errors, or the forest's own loss.
    """

    limits: tuple[Limit, ...]
    lam: float | Fraction | None
    max_error_increase: float | None
    rule: Rule
    method: Method
    time_limit: float | None
    objective: Objective = "trees"

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
