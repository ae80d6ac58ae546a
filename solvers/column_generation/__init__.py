"""Dantzig-Wolfe decomposition: a loop that knows no trees, restricted masters, and pricing by trees."""

from solvers.column_generation.loop import generate_columns
from solvers.column_generation.solve import BUNDLE, PLAIN, DantzigWolfeSolution, Scheme, dantzig_wolfe

__all__ = ["BUNDLE", "PLAIN", "DantzigWolfeSolution", "Scheme", "dantzig_wolfe", "generate_columns"]
