"""The references by definition, and verdicts explained."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import submatrix
from proofs_checks.params import DEFAULTS
from proofs_checks.total_unimodularity import Pieces, check_total_unimodularity, subdeterminants
from proofs_checks.total_unimodularity.decide import by_subdeterminants, too_large
from proofs_checks.total_unimodularity.explanation import LEFT_OUT, REASONS, explain_unimodularity, leaves_of
from proofs_checks.total_unimodularity.ternary import least_violation
from proofs_checks.verdict import Verdict
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix, nested, two_sum


def minors(batch: NDArray[np.int64]) -> dict[tuple[tuple[int, ...], tuple[int, ...]], NDArray[np.int64]]:
    """All minors of a stack of matrices, by Laplace's expansion along the first row: {(rows, columns): values}."""
    _, m, n = batch.shape
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], NDArray[np.int64]] = {((), ()): np.ones(len(batch), dtype=np.int64)}
    for k in range(1, min(m, n) + 1):
        for rows, columns in itertools.product(itertools.combinations(range(m), k), itertools.combinations(range(n), k)):
            terms = (
                (-1) ** t * batch[:, rows[0], c] * found[rows[1:], columns[:t] + columns[t + 1 :]] for t, c in enumerate(columns)
            )
            found[rows, columns] = np.sum(list(terms), axis=0)
    return found


def check_minimal(matrix: Matrix, verdict: Verdict) -> None:
    """A no comes with a submatrix: the matrix's entries, determinant 2 or -2, and nothing smaller in it that violates."""
    assert families.proven(matrix, verdict) is False
    assert abs(verdict.certificate.determinant) == 2


def by_camion(matrix: Matrix) -> Verdict:
    """The answer of Camion's criterion, which the decomposition asks about few lines."""
    given = read_matrix(matrix)
    place = least_violation(matrix if len(matrix) <= matrix.shape[1] else np.ascontiguousarray(matrix.T))
    if place is None:
        return Verdict("", True, "")
    return Verdict("", False, "", submatrix(given, *(place if len(matrix) <= matrix.shape[1] else place[::-1])))


@pytest.mark.slow_cases("NO")
@pytest.mark.parametrize("family", ["YES", "NO"])
def test_families(family: str) -> None:
    """What is known to be totally unimodular holds; of what is known not to be, a minimal submatrix is found."""
    for name, factory in getattr(families, family):
        matrix = factory()
        verdict = by_subdeterminants(read_matrix(matrix))
        assert verdict.holds is (family == "YES"), (name, str(verdict))
        if family == "NO":
            check_minimal(matrix, verdict)


@pytest.mark.slow_cases("(3, 5)", "(4, 4)", "(5, 4)")
@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (3, 2), (3, 3), (3, 5), (4, 4), (5, 4)], ids=str)
def test_random_matrices(shape: tuple[int, int]) -> None:
    """On 200 random matrices a shape, dense and sparse, the definition and Camion's criterion say what all minors say."""
    rng = np.random.default_rng(0)
    density = rng.choice([0.3, 0.45, 0.6, 0.9], size=(200, 1, 1))
    batch = ((rng.random((200, *shape)) < density) * rng.choice([-1, 1], size=(200, *shape))).astype(np.int8)
    truth = np.all([np.abs(value) <= 1 for value in minors(batch.astype(np.int64)).values()], axis=0)
    assert shape[0] == 1 or 16 < truth.sum() < 199
    for matrix, yes in zip(batch, truth, strict=True):
        for verdict in (by_subdeterminants(read_matrix(matrix)), by_camion(matrix)):
            assert verdict.holds is bool(yes)
            if not yes:
                check_minimal(matrix, verdict)


@pytest.mark.parametrize("decide", [lambda matrix: by_subdeterminants(read_matrix(matrix)), by_camion])
@pytest.mark.parametrize("k", [3, 5, 7])
def test_odd_cycles_are_found_whole(k: int, decide: Callable[[Matrix], Verdict]) -> None:
    """An odd cycle is itself minimal: it is the answer, in a larger matrix as well, whichever way it lies."""
    cycle = families.odd_cycle(k)
    wide = np.hstack([np.zeros((k, 3), dtype=np.int8), cycle[:, ::-1], np.eye(k, 2, dtype=np.int8)])
    for matrix in (wide, np.ascontiguousarray(wide.T)):
        found = decide(matrix).certificate
        lines, across = (found.rows, found.columns) if matrix is wide else (found.columns, found.rows)
        assert lines == tuple(range(k))
        assert across == tuple(range(3, 3 + k))
        check_minimal(matrix, decide(matrix))


def test_another_entry_refutes_at_once() -> None:
    """An entry of 2 or 1/2 is a violating submatrix of order 1, at any size."""
    matrix = np.zeros((400, 500))
    matrix[7, 3] = 0.5
    verdict = by_subdeterminants(read_matrix(matrix))
    assert verdict.holds is False
    assert (verdict.certificate.rows, verdict.certificate.columns) == ((7,), (3,))
    assert verdict.certificate.determinant == Fraction(1, 2)
    assert verdict.certificate.row_names == ("r7",)


@pytest.mark.parametrize("shape", [(40, 40), (10**7, 10**9)], ids=str)
def test_beyond_the_limit_nothing_is_claimed(shape: tuple[int, int]) -> None:
    """Too large a matrix is undecided, and says how large, how much work, and what the limit is, however large it is."""
    steps = subdeterminants.steps(*shape)
    words = too_large(shape, steps, DEFAULTS.most_determinant_steps)
    assert steps > DEFAULTS.most_determinant_steps
    assert f"{shape[0]:,} x {shape[1]:,}" in words
    assert "more than 10^" in words
    assert f"the limit is {DEFAULTS.most_determinant_steps:,}" in words
    if shape[0] == 40:
        verdict = by_subdeterminants(read_matrix(np.eye(40, dtype=np.int8)))
        assert (verdict.holds, verdict.certificate) == (None, words)
        assert "totally unimodular: is undecided" in str(verdict)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (1, 6)], ids=str)
def test_counts_of_a_yes(shape: tuple[int, int]) -> None:
    """The count in the certificate, and the steps, are those of plain enumeration."""
    m, n = shape
    orders = range(1, min(m, n) + 1)
    assert subdeterminants.steps(m, n) == sum(k * math.comb(m, k) * math.comb(n, k) for k in orders)
    squares = sum(math.comb(m, k) * math.comb(n, k) for k in orders)
    given = read_matrix(families.random_network(m, n, 0))
    assert by_subdeterminants(given).certificate.startswith(f"all {squares:,} square")


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
    """A network, the transpose of one, a violating submatrix, an entry, and a count."""
    for matrix, words in (
        (np.triu(np.ones((3, 3), dtype=np.int8)), "Here it is a tree with the 3 rows as arcs"),
        (families.cycles_of_k5().T, "Transposed network matrix"),
        (families.odd_cycle(3), "have a fractional solution. No smaller part"),
        (np.array([[2]]), "One entry is 2"),
    ):
        assert words in explain_unimodularity(matrix, check_total_unimodularity(matrix)).replace("\n", " ")
    counted = check_total_unimodularity(families.r10(), method="subdeterminants")
    assert "Method: all square subdeterminants; all 251 square" in explain_unimodularity(families.r10(), counted)


@pytest.mark.slow
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
