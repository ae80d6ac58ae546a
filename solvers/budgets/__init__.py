"""The least error within a budget (LP1, 0-1). Every engine is a `formulations.answers.budget_solution.BudgetSolver`."""

from formulations.answers.budget_solution import BudgetSolver
from solvers.budgets.by_path import best_breakpoint, relaxed_optimum
from solvers.budgets.by_programs import integer_program_within, linear_program_within, pyomo_within
from solvers.budgets.exact.solve import exact_budget
from solvers.budgets.limits.solve import solve_limits, solve_within
from solvers.budgets.listing import brute_force_budget
from solvers.budgets.rounding import solve_lp1
from solvers.budgets.search import best_within
from solvers.budgets.solve import solve_budget

BUDGET_SOLVERS: dict[str, BudgetSolver] = {
    "path": best_breakpoint,
    "best": best_within,
    "exact": exact_budget,
    "highs_lp1": linear_program_within,
    "pyomo_lp1": pyomo_within,
    "highs_lp1_integer": integer_program_within,
    "brute_force": brute_force_budget,
}
"""The engines by name. A new engine is one file and one line here."""

__all__ = [
    "BUDGET_SOLVERS",
    "best_breakpoint",
    "best_within",
    "brute_force_budget",
    "exact_budget",
    "integer_program_within",
    "linear_program_within",
    "pyomo_within",
    "relaxed_optimum",
    "solve_budget",
    "solve_limits",
    "solve_lp1",
    "solve_within",
]
