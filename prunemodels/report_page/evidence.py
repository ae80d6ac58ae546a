"""What is proven about a pruning: the verdicts of `proofs_checks` for a report.

Every report first checks its path again, whoever computed it. The pruning is then one of three: a row of the path, which is
optimal for an interval of lambda; the answer to a budget, which has a bound; or another pruning, which is compared with LP1's
relaxation at its own cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from proofs_checks.optimality.budget_solution import check_budget_solution
from proofs_checks.optimality.limits_solution import check_limits_solution
from proofs_checks.optimality.path_optimality import check_path
from proofs_checks.verdict import Verdict
from solvers.budgets import solve_budget
from solvers.budgets.by_path import exact_cost

ROUNDING = 1e-12
"""Bounds that differ by less count as equal."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The checks of a report.

    Parameters
    ----------
    of_path
        whether every row of the path is optimal.
    row
        the row of the path that equals the pruning; None where no row does.
    lam_from, lam_to
        the lambdas for which the row is optimal, both included; None without a row. ``lam_to`` is also None where the
        interval has no end.
    solution
        the answer to the budget, or to the pruning's own cost where it is not a row; None for a row without a budget.
    proven_bound
        the relaxation's bound, which the path proves, where the solution's is higher: that comes from branch and bound, without a
        certificate; else None.
    of_solution
        whether the solution is within the budget, and its error and bound (or the proven bound) are true; None where there is no
        solution.
    of_limits
        whether the pruning keeps to its limits, with the bound that multipliers prove; None without limits.
    cost, error
        exact cost and error of the pruning.
    rounded
        whether the instance had to be rounded to integers.
    """

    of_path: Verdict
    row: int | None
    lam_from: Fraction | None
    lam_to: Fraction | None
    solution: BudgetSolution | None
    proven_bound: float | None
    of_solution: Verdict | None
    of_limits: Verdict | None
    cost: Fraction
    error: Fraction
    rounded: bool

    @property
    def verdicts(self) -> list[Verdict]:
        """All checks."""
        return [v for v in (self.of_path, self.of_solution, self.of_limits) if v is not None]

    @property
    def holds(self) -> bool | None:
        """True where all checks hold, False where one is refuted, else None."""
        answers = [verdict.holds for verdict in self.verdicts]
        return False if False in answers else None if None in answers else True


def evidence_of(
    path: PruningPath, pruning: Pruning, solution: BudgetSolution | None, within: LimitsSolution | None = None
) -> Evidence:
    """Check the path, compare the pruning with it, and check the limits that it keeps to."""
    row = row_of(path, pruning)
    of_path = check_path(path)
    compared = solution
    if solution is None and row is None:
        at_own_cost = solve_budget(path.problem, exact_cost(pruning), method="path", path=path)
        compared = replace(at_own_cost, pruning=pruning, error=pruning.error)
    proven_bound = of_solution = None
    if compared is not None:
        if compared.bound > (value := float(compared.relaxation.value)) + ROUNDING:
            proven_bound = value
        checkable = compared if proven_bound is None else replace(compared, bound=proven_bound)
        of_solution = check_budget_solution(checkable, path)
        if proven_bound is not None and isinstance(of_solution.certificate, Mapping):
            told = {key: value for key, value in of_solution.certificate.items() if key != "gap"}  # the gap is the solution's
            of_solution = replace(of_solution, certificate=told)
    first, last = (None, None) if row is None else lam_interval(path, row)
    return Evidence(
        of_path,
        row,
        first,
        last,
        compared,
        proven_bound,
        of_solution,
        None if within is None else _check_within(within),
        pruning.exact_cost,
        pruning.exact_error,
        not path.problem.integers.exact,
    )


def _check_within(within: LimitsSolution) -> Verdict:
    """The check of limits, at the bound that the multipliers prove where branch and bound has a higher one."""
    proven = within.bound if within.proof is None else min(within.bound, within.proof.bound)
    return check_limits_solution(within.problem, replace(within, bound=proven))


def row_of(path: PruningPath, pruning: Pruning) -> int | None:
    """The row of the path that keeps the same splits; None where no row does."""
    rows = [k for k in range(len(path)) if path.n_splits[k] == pruning.n_splits]
    return next((k for k in rows if np.array_equal(path[k].kept, pruning.kept)), None)


def lam_interval(path: PruningPath, row: int) -> tuple[Fraction, Fraction | None]:
    """The lambdas for which a row is optimal."""
    first = row if path.ties == "smallest" else row - 1
    b = path.breakpoints
    return b[max(first, 0)], b[first + 1] if first + 1 < len(b) else None


def figures_of(verdict: Verdict) -> str:
    """The certificate of a verdict, in one line; floats with six digits."""
    if isinstance(verdict.certificate, Mapping):
        return ", ".join(f"{key} {f'{x:.6g}' if isinstance(x, float) else x}" for key, x in verdict.certificate.items())
    return "" if verdict.certificate is None else str(verdict.certificate)
