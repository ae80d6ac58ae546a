"""The least error within a budget, or within any number of limits: one search, and a proof for every bound.

Every engine for a budget is a `formulations.answers.limited_solution.LimitedSolver`.
"""

from formulations.answers.limited_solution import LimitedSolver
from solvers.within.by_path import relaxed_optimum
from solvers.within.by_programs import integer_program_within, linear_program_within, pyomo_within
from solvers.within.components import solve_lp1
from solvers.within.listing import brute_force_budget
from solvers.within.solve import METHODS, best_breakpoint, best_within, exact_budget, solve_limits

BUDGET_SOLVERS: dict[str, LimitedSolver] = {
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
    "METHODS",
    "best_breakpoint",
    "best_within",
    "brute_force_budget",
    "exact_budget",
    "integer_program_within",
    "linear_program_within",
    "pyomo_within",
    "relaxed_optimum",
    "solve_limits",
    "solve_lp1",
]
