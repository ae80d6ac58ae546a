"""Matrices and what is known of them: signs, violating submatrices, trees with paths, row operations."""
