"""Names that `run` and its neighbours still import; see `solvers.closures.integer_objective`."""

from __future__ import annotations

from fractions import Fraction

from formulations.instance.problem import PruningProblem
from solvers.closures.integer_objective import IntegerObjective, integer_objective

Whole = IntegerObjective


def whole(problem: PruningProblem, lam: Fraction) -> IntegerObjective:
    """The objective on the finest grid that fits."""
    return integer_objective(problem, lam).refined()
