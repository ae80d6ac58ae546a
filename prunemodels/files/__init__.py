"""Forests, cascades, answers and matrices in files."""

FOREST_ENDINGS = (".skops", ".joblib")
"""Endings of files that hold a fitted forest or cascade."""

PROGRAM_ENDINGS = (".mps", ".lp")
"""Endings of files that hold a linear program."""

MATRIX_ENDINGS = (".npy", ".npz", ".mtx", ".csv", *PROGRAM_ENDINGS)
"""Endings of files that hold a matrix, or a program with one."""
