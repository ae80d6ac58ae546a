"""What is said of a verdict names each step, the lines, and the reasons."""

from __future__ import annotations

import numpy as np

from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.total_unimodularity import Pieces, check_total_unimodularity
from proofs_checks.total_unimodularity.explanation import LEFT_OUT, REASONS, explain_unimodularity, leaves_of
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.composed_matrices import two_sum
from tests.proofs_checks.total_unimodularity.nested_sums import nested


def test_a_3_sum_is_explained_step_by_step() -> None:
    """R12 by hand: its 3-separation begins with a pivot, and leaves a network matrix and the transpose of one."""
    matrix = families.r12()
    text = explain_unimodularity(matrix, check_total_unimodularity(matrix))
    assert text.startswith(
        """The matrix with 6 rows and 6 columns is totally unimodular.

6 x 6, nothing left out
  6 x 6 (rows r0, r1, r2, ...; columns c0, c1, c2, ...): 3-sum after a pivot on row r0, column c0
    first part: 4 x 5, nothing left out
      4 x 5 (rows r1, r4, r5, c0'; columns r0, c2, c3, ...): transposed network matrix
    second part: 4 x 5, nothing left out
      4 x 5 (rows c0, r2, r3, first side'; columns c1, c4, c5, ...): network matrix

Network matrix: there is a directed tree"""
    )
    assert "Pivot: as in the simplex method" in text
    assert "R10:" not in text
    short = explain_unimodularity(matrix, check_total_unimodularity(matrix), most=2)
    assert "column c0\n... and 4 lines more\n\nNetwork" in short


def test_names_and_what_was_left_out_are_told() -> None:
    """R10 beside a zero row and a row with one nonzero, 2-summed to another R10; the names are the matrix's own."""
    matrix = two_sum(families.r10(), families.r10_of_ones())
    matrix = np.vstack([matrix, np.zeros(9, dtype=np.int8), np.eye(1, 9, dtype=np.int8)])
    rows = [f"row {i}" for i in range(len(matrix))]
    read = read_matrix(matrix, rows=rows)
    text = explain_unimodularity(read, check_total_unimodularity(read))
    assert "11 x 9, left out: 1 zero, 1 with one nonzero" in text
    assert "2-sum where " in text
    assert "(rows row 0, row 1, row 2, ...; " in text
    assert text.count(": R10\n") == 2
    assert "'" in text.split("\n\n")[1]


def test_other_verdicts_are_explained() -> None:
    """A network, the transpose of one, a violating submatrix, an entry, and what a reference counted."""
    for matrix, words in (
        (np.triu(np.ones((3, 3), dtype=np.int8)), "Here it is a tree with the 3 rows as arcs"),
        (families.cycles_of_k5().T, "Transposed network matrix"),
        (families.odd_cycle(3), "have a fractional solution. No smaller part"),
        (np.array([[2]]), "One entry is 2"),
    ):
        assert words in explain_unimodularity(matrix, check_total_unimodularity(matrix)).replace("\n", " ")
    counted = check_total_unimodularity(families.r10(), method="camion")
    assert "Method: Camion's Eulerian submatrices" in explain_unimodularity(families.r10(), counted)


def test_every_line_is_in_one_leaf() -> None:
    """In nested sums with lines left out at all depths; each kind of leaf has its reason."""
    kinds = set()
    for seed in range(12):
        matrix = nested(40, seed, leaves=6)
        pieces = check_total_unimodularity(matrix).certificate
        if not isinstance(pieces, Pieces):
            continue
        leaves = leaves_of(pieces, matrix.shape)
        assert np.array_equal(np.sort(np.concatenate([leaf.rows for leaf in leaves])), np.arange(matrix.shape[0]))
        assert np.array_equal(np.sort(np.concatenate([leaf.columns for leaf in leaves])), np.arange(matrix.shape[1]))
        kinds |= {leaf.kind for leaf in leaves}
    assert {"network matrix", "transposed network matrix", "R10", LEFT_OUT} <= kinds <= set(REASONS)
