"""The least error within a budget, or within any number of limits: one search, and a proof for every bound.

Every engine for a budget is a `formulations.answers.limited_solution.LimitedSolver`.
"""

from formulations.answers.limited_solution import LimitedSolver
from solvers.engine import Engine
from solvers.within.by_path import brute_force_budget, relaxed_optimum, solve_lp1
from solvers.within.by_programs import integer_program_within, linear_program_within, pyomo_within
from solvers.within.solve import METHODS, best_breakpoint, best_within, exact_budget, solve_limits

BUDGET_ENGINES: dict[str, Engine[LimitedSolver]] = {
    "path": Engine(best_breakpoint, proves="bound"),
    "best": Engine(best_within, proves="bound"),
    "exact": Engine(exact_budget, proves="optimum"),
    "highs_lp1": Engine(linear_program_within, proves="bound"),
    "pyomo_lp1": Engine(pyomo_within, proves="bound"),
    "highs_lp1_integer": Engine(integer_program_within, proves="optimum"),
    "brute_force": Engine(brute_force_budget, proves="optimum", takes="small"),
}
"""The engines by name, and what each proves. A new engine is one file and one line here."""

BUDGET_SOLVERS: dict[str, LimitedSolver] = {name: engine.solve for name, engine in BUDGET_ENGINES.items()}
"""Their functions."""

__all__ = [
    "BUDGET_ENGINES",
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
