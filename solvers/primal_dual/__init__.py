"""Algorithm 1 of BP16, BudgetPrune: dual values on the coupling rows, trees solved separately."""

from solvers.primal_dual.algorithm import primal_dual

__all__ = ["primal_dual"]
