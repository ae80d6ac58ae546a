"""How a pruning is chosen: by a budget, a lambda, an increase of the error, or a rule."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Self

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from prunemodels.evaluation.choosing import at_most, choose_row
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.points import Rule
from solvers.budgets.solve import Method, solve_budget

Objective = Literal["trees", "ensemble"]


@dataclass(frozen=True)
class Goal:
    """At most one of `budget`, `lam` and `max_error_increase`; without one, the rule chooses.

    Parameters
    ----------
    budget
        the largest cost on the cost sample.
    lam
        error per unit of cost.
    max_error_increase
        how much larger than the unpruned forest's the held-out error may be.
    rule
        the rule that chooses if none of the three numbers is given.
    method
        of `prunemodels.solve` for a budget.
    time_limit
        seconds: of the search for a budget, and of the search for the forest's loss.
    objective
        whose error is minimised: the mean of the trees' errors, or the forest's own loss.
    """

    budget: Price | None
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
        budget: Price | None,
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
            for more than one number, a negative number, an unknown rule, method or objective, and the forest's loss without a
            budget or lambda.
        """
        numbers = {"budget": budget, "lam": lam, "max_error_increase": max_error_increase}
        given = [name for name, number in numbers.items() if number is not None]
        if len(given) > 1:
            raise InvalidInputError(f"{' and '.join(given)} are both given; give one of {', '.join(numbers)}, or none")
        for name in given:
            if not (name == "lam" and numbers[name] == float("inf")):
                exact(numbers[name], name)
        if objective == "ensemble" and budget is None and lam is None:
            raise InvalidInputError(
                "objective is 'ensemble': give a budget or a lam; max_error_increase and choose look along the path of "
                "objective='trees'"
            )
        return cls(budget, lam, max_error_increase, choose, method, time_limit, objective)

    @property
    def needs_labels(self) -> bool:
        """Whether the choice uses held-out errors."""
        return self.budget is None and self.lam is None

    def within_budget(self, problem: PruningProblem, path: PruningPath | None = None) -> BudgetSolution:
        """The solution for the budget; without the path, only the part of it that is needed is computed."""
        assert self.budget is not None
        return solve_budget(problem, self.budget, method=self.method, time_limit=self.time_limit, path=path)

    def choose(self, path: PruningPath, evaluation: PathEvaluation | None) -> tuple[Pruning, int | None, BudgetSolution | None]:
        """The pruning; its row if it is a row of the path; the solution if there is a budget.

        If no row of the path has an error within `max_error_increase`, the answer is the unpruned forest.
        """
        if self.budget is not None:
            solution = self.within_budget(path.problem, path)
            return solution.pruning, None, solution
        if self.lam is not None:
            row: int | None = path.row_at_lam(self.lam)
        else:
            assert evaluation is not None  # the caller evaluates the path if `needs_labels`
            limit = self.max_error_increase
            row = choose_row(evaluation, self.rule) if limit is None else at_most(evaluation, float(limit))
        return (Pruning.unpruned(path.problem) if row is None else path[row]), row, None
