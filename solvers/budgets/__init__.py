"""The least error within a budget (LP1), to the end: engines, all a `formulations.budget_solution.BudgetSolver`."""

from formulations.budget_solution import BudgetSolver
from solvers.budgets.by_path import best_breakpoint
from solvers.budgets.exact import exact_budget
from solvers.budgets.hull import relaxed_optimum
from solvers.budgets.reference import brute_force_budget
from solvers.budgets.search import best_within
from solvers.budgets.solve import solve_budget

BUDGET_SOLVERS: dict[str, BudgetSolver] = {
    "path": best_breakpoint,
    "best": best_within,
    "exact": exact_budget,
    "brute_force": brute_force_budget,
}
"""By name; a new engine is one file and one line here."""

__all__ = [
    "BUDGET_SOLVERS",
    "best_breakpoint",
    "best_within",
    "brute_force_budget",
    "exact_budget",
    "relaxed_optimum",
    "solve_budget",
]
