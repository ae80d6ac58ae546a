"""Formulations as arrays: columns, matrices, sizes, shortest paths, files that other solvers read."""
