"""Is a matrix totally unimodular: every square submatrix has determinant -1, 0 or 1?"""
