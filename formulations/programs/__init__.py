"""Formulations as arrays: columns, matrices, sizes, shortest paths, and files for other solvers."""
