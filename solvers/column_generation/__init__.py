"""Dantzig-Wolfe decomposition: a loop that knows no trees, restricted masters, and pricing by trees."""

from solvers.column_generation.loop import generate_columns
from solvers.column_generation.scheme import PLAIN, STABILISED, Scheme
from solvers.column_generation.solve import Decomposition, dantzig_wolfe, decompose

__all__ = ["PLAIN", "STABILISED", "Decomposition", "Scheme", "dantzig_wolfe", "decompose", "generate_columns"]
