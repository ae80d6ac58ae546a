"""The front door: any matrix, the fastest method, a certificate for yes and for no."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from formulations.errors import InvalidInputError
from formulations.matrix import MATRICES
from formulations.models import FORMULATIONS
from formulations.papers import two_trees
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.total_unimodularity import (
    METHODS,
    Piece,
    Pieces,
    Split,
    check_pieces,
    check_total_unimodularity,
    decide,
    find_network,
    violation_check,
)
from proofs_checks.total_unimodularity.blocks import hard_blocks
from proofs_checks.total_unimodularity.claim import TooLarge
from proofs_checks.total_unimodularity.reductions import COPY, UNIT, ZERO, Reductions, blocks_of, reduce_matrix
from proofs_checks.total_unimodularity.references import REFERENCES, cheapest_reference
from proofs_checks.total_unimodularity.shrinking import Unresolved, least_hard_part, violation_in
from proofs_checks.total_unimodularity.signing import wrong_cycle
from proofs_checks.total_unimodularity.subdeterminants import by_subdeterminants
from proofs_checks.total_unimodularity.two_sums import TwoSum, find_two_sum, wrong_with_two_sum
from proofs_checks.total_unimodularity.violation_check import check_violation
from proofs_checks.verdict import Verdict
from tests.instances import random_problem
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix


def proven(matrix: Any, verdict: Verdict) -> bool | None:
    """The verdict's answer, after its certificate was checked by the checker for its kind."""
    certificate = verdict.certificate
    if verdict.holds is None:
        return None
    if isinstance(certificate, ViolatingSubmatrix):
        checked = check_violation(matrix, certificate)
        assert checked.holds is True, checked
        assert str(checked.certificate).endswith(", minimal"), checked
        assert verdict.holds is False
    elif isinstance(certificate, Pieces):
        assert check_pieces(matrix, certificate).holds is True
        assert verdict.holds is True
    else:
        assert isinstance(certificate, NetworkMatrix)
        assert check_network_matrix(matrix, certificate).holds is True
        assert verdict.holds is True
    return verdict.holds


def two_sum(one: Matrix, other: Matrix) -> Matrix:
    """2-sum of [A | a] and [b; B]: [[A, a b], [0, B]]; totally unimodular just if both are (Schrijver 1986, section 19.4)."""
    corner = np.outer(one[:, -1], other[0]).astype(np.int8)
    below = np.zeros((len(other) - 1, one.shape[1] - 1), dtype=np.int8)
    return np.block([[one[:, :-1], corner], [below, other[1:]]])


def signed_fano() -> Matrix:
    """F7 with signs that pass `wrong_cycle`; some signs do not, F7 having no right ones."""
    matrix = families.fano()
    matrix[2, 2] = -1
    return matrix


def full_network(arcs: int, paths: int, seed: int) -> Matrix:
    """A random network matrix whose first row has the most entries."""
    matrix = families.random_network(arcs, paths, seed)
    return matrix[np.argsort(-np.abs(matrix).sum(axis=1), kind="stable")]


@pytest.mark.parametrize(("name", "factory"), families.YES, ids=[name for name, _ in families.YES])
def test_all_families_that_are_get_a_checked_yes(name: str, factory: Callable[[], Matrix]) -> None:
    """Every totally unimodular family is recognised, and its certificate holds."""
    matrix = factory()
    assert proven(matrix, check_total_unimodularity(matrix)) is True


@pytest.mark.parametrize(("name", "factory"), families.NO, ids=[name for name, _ in families.NO])
def test_all_families_that_are_not_get_a_minimal_violating_submatrix(name: str, factory: Callable[[], Matrix]) -> None:
    """Every other family is refuted; the submatrix has determinant 2 or -2 and no smaller one violates."""
    matrix = factory()
    verdict = check_total_unimodularity(matrix)
    assert proven(matrix, verdict) is False
    assert abs(verdict.certificate.determinant) == 2


@pytest.mark.parametrize(
    ("matrix", "method", "kind"),
    [
        ([[1, 2]], "entries", ViolatingSubmatrix),
        ([[1, 0, 1], [1, 1, 0], [0, 1, 1]], "signing", ViolatingSubmatrix),
        (families.random_network(6, 6, 0), "network matrix", NetworkMatrix),
        (families.cycles_of_k5().T, "transposed network matrix", NetworkMatrix),
        (signed_fano(), cheapest_reference(read_matrix(signed_fano()))[0], ViolatingSubmatrix),
        (families.block_diagonal(families.cycles_of_k5(), families.cycles_of_k5().T),
         "reductions and blocks: network matrix, transposed network matrix", Pieces),
    ],
)  # fmt: skip
def test_the_method_is_named(matrix: Any, method: str, kind: type) -> None:
    """What decided stands in the verdict, with a certificate of its kind."""
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == method
    assert isinstance(verdict.certificate, kind)
    assert verdict.claim.endswith("is totally unimodular")


def test_blocks_that_are_all_one_kind_get_one_tree() -> None:
    """Two transposes of network matrices beside a matrix that is both: one certificate, transposed."""
    both = families.random_network(5, 5, 1)
    matrix = families.block_diagonal(families.cycles_of_k5().T, both, families.cycles_of_k33().T)
    verdict = check_total_unimodularity(matrix)
    assert isinstance(verdict.certificate, NetworkMatrix)
    assert verdict.certificate.transposed
    assert proven(matrix, verdict) is True


def test_small_random_matrices_agree_with_the_definition() -> None:
    """A thousand of all densities: the same answer as all square subdeterminants, never undecided, all certificates checked."""
    rng = np.random.default_rng(0)
    answers = Counter()
    for _ in range(1000):
        m, n = rng.integers(1, 8, size=2).tolist()
        matrix = families.random_signs(m, n, float(rng.uniform(0.2, 0.8)), rng)
        answer = proven(matrix, check_total_unimodularity(matrix))
        assert answer is by_subdeterminants(read_matrix(matrix)).holds, matrix.tolist()
        answers[answer] += 1
    assert min(answers[True], answers[False]) > 200


def test_mixes_and_mutations_agree_with_the_definition() -> None:
    """Mixes of R10, R12, K5's and K3,3's cycles and networks, every other with one entry put at random."""
    bases = [families.r10, families.r12, families.cycles_of_k5, families.cycles_of_k33, lambda: families.random_network(6, 6, 7)]
    answers: Counter[tuple[bool | None, str]] = Counter()
    for seed in range(300):
        matrix = families.mixed(bases[seed % 5](), seed, steps=10, largest=8)
        rng = np.random.default_rng(seed)
        if seed % 2:
            matrix[tuple(rng.integers(matrix.shape))] = rng.choice([-1, 0, 1])
        verdict = check_total_unimodularity(matrix)
        assert proven(matrix, verdict) is by_subdeterminants(read_matrix(matrix)).holds, matrix.tolist()
        answers[verdict.holds, verdict.method.split(":")[0]] += 1
    assert answers[True, "reductions and blocks"] > 50
    assert answers[False, "signing"] > 10
    assert sum(answers[False, name] for name in REFERENCES) > 3


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_transposing_and_scaling_lines_change_no_answer(seed: int) -> None:
    """A matrix, its transpose and the matrix with lines negated and permuted are totally unimodular or not together."""
    rng = np.random.default_rng(seed)
    matrix = families.random_signs(int(rng.integers(2, 7)), int(rng.integers(2, 7)), 0.45, rng)
    other = (matrix * rng.choice([-1, 1], size=(len(matrix), 1)))[:, rng.permutation(matrix.shape[1])]
    answers = {check_total_unimodularity(a).holds for a in (matrix, matrix.T, other)}
    assert len(answers) == 1


# large matrices


def test_a_large_mix_is_decided_block_by_block() -> None:
    """Network, transposed network, R10, R12 and copies, negatives, unit and zero lines of them, shuffled: a checked yes."""
    blocks = [families.random_network(150, 150, 0), families.random_network(120, 170, 1).T, families.r10(), families.r12(),
              families.cycles_of_k5(), families.cycles_of_k33().T]  # fmt: skip
    matrix = families.mixed(families.block_diagonal(*blocks), 0, steps=80, largest=10_000, pivots=False)
    verdict = check_total_unimodularity(matrix)
    assert isinstance(verdict.certificate, Pieces)
    assert len(verdict.certificate.reductions) > 20
    assert {"network matrix", "transposed network matrix"} < {piece.kind for piece in verdict.certificate.pieces}
    assert proven(matrix, verdict) is True


@pytest.mark.parametrize("seed", range(3))
def test_one_flipped_sign_in_a_large_network_is_found(seed: int) -> None:
    """A chordless cycle of the wrong sum, minimal, in a network matrix with hundreds of rows."""
    matrix = families.random_network(250, 250, seed)
    rng = np.random.default_rng(seed)
    core = reduce_matrix(read_matrix(matrix))  # what is left of it lies on cycles
    places = np.argwhere(matrix[np.ix_(core.rows, core.columns)])
    i, j = places[rng.integers(len(places))]
    matrix[core.rows[i], core.columns[j]] *= -1
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == "signing"
    assert proven(matrix, verdict) is False
    assert abs(verdict.certificate.determinant) == 2


def test_an_odd_cycle_of_a_large_matrix_is_found() -> None:
    """Nine edges of an odd cycle, glued to a network matrix with 200 rows by a 2-sum: found, with its names."""
    matrix = two_sum(families.odd_cycle(9), full_network(200, 200, 3))
    rows = [f"row {i}" for i in range(len(matrix))]
    read = read_matrix(matrix, rows=rows)
    verdict = check_total_unimodularity(read)
    assert proven(read, verdict) is False
    assert verdict.certificate.order == 9
    assert verdict.certificate.row_names == tuple(f"row {i}" for i in verdict.certificate.rows)


def with_column(seed: int) -> Matrix:
    """A network matrix with 60 rows and one column more: four entries whose signs pass `wrong_cycle`."""
    network = families.random_network(60, 150, seed)
    rows = np.random.default_rng(seed).choice(60, 4, replace=False)
    for signs in itertools.product([1, -1], repeat=3):
        column = np.zeros((60, 1), dtype=np.int8)
        column[rows, 0] = (1, *signs)
        matrix = np.hstack([network, column])
        if wrong_cycle(read_matrix(matrix)) is None:
            return matrix
    raise AssertionError


@pytest.mark.parametrize("seed", range(6))
def test_a_violation_that_no_sign_gives_away_is_found_by_shrinking(seed: int) -> None:
    """One more column in a large network matrix, with signs that pass: a minimal violating submatrix of a few lines is found."""
    matrix = with_column(seed)
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == "shrinking"
    assert proven(matrix, verdict) is False
    assert matrix.shape[1] - 1 in verdict.certificate.columns


@pytest.mark.parametrize("column", [2, 7, 10, 11])
def test_the_least_part_that_is_not_easy_is_easy_without_any_line(column: int) -> None:
    """Shrunk from 60 rows, in terms of the whole matrix: without any one line, the part is totally unimodular."""
    matrix = with_column(column)
    read = read_matrix(matrix)
    everything = (np.arange(matrix.shape[0]), np.arange(matrix.shape[1]))
    for seed in range(4):
        rows, columns = least_hard_part(read, *everything, seed)
        assert find_network(read.part(rows, columns)) is None
        for k in range(len(rows)):
            assert next(hard_blocks(read, np.delete(rows, k), columns), None) is None
            assert by_subdeterminants(read.part(np.delete(rows, k), columns)).holds is True
        for k in range(len(columns)):
            assert next(hard_blocks(read, rows, np.delete(columns, k)), None) is None
            assert by_subdeterminants(read.part(rows, np.delete(columns, k))).holds is True


def test_what_shrinks_to_r10_is_no_violation() -> None:
    """R10 is not easy, and is without any of its lines: its determinant says that it is totally unimodular."""
    whole = (np.arange(5), np.arange(5))
    assert violation_in(read_matrix(families.r10()), whole, 0) == (5, 5)


def three_sum(size: int, seed: int) -> Matrix:
    """3-sum of a network matrix and the transpose of one: totally unimodular (Schrijver 1986, section 19.4).

    [[A, a b], [d c, B]] of [A a a; c 0 1] and [1 0 b; d d B]. In the first, c is an arc, and a a path that the arc prolongs.
    """
    tail, head = families.random_tree(size, seed)
    network = families.random_network(size, 2 * size, seed)
    used = np.abs(network).sum(axis=1)
    for arc in np.argsort(-used):
        for u in range(size + 1):
            a = families.tree_paths(tail, head, [u], [int(tail[arc])])[:, 0]
            if not a[arc] and np.abs(a).sum() > 2:
                a, c, big = np.delete(a, arc), network[arc], np.delete(network, arc, axis=0)
                return np.block([[big, np.outer(a, a)], [np.outer(c, c), big.T]]).astype(np.int8)
    raise AssertionError


@pytest.mark.parametrize("size", [8, 100])
def test_2_sums_are_taken_apart(size: int) -> None:
    """R10, a network matrix, a transposed one and R12 in a row of 2-sums, shuffled: a checked yes at any size."""
    rng = np.random.default_rng(size)
    network, other = full_network(size, size, size), full_network(size, size, size + 1)
    matrix = two_sum(families.r10(), two_sum(network, two_sum(other.T[:, ::-1], families.r12())))
    matrix = matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]
    for each in (matrix, matrix.T):
        verdict = check_total_unimodularity(each)
        assert isinstance(verdict.certificate, Pieces)
        assert "2-sum" in verdict.method
        assert proven(each, verdict) is True


def test_a_row_of_2_sums_is_taken_apart_and_checked() -> None:
    """Ten copies of R10, one glued to the other."""
    matrix = families.r10()
    for _ in range(9):
        matrix = two_sum(families.r10(), matrix)
    verdict = check_total_unimodularity(matrix)
    assert proven(matrix, verdict) is True


@pytest.mark.parametrize("seed", range(6))
def test_a_violation_in_a_part_of_a_2_sum_is_one_of_the_whole(seed: int) -> None:
    """F7, an odd cycle, or R10 with a flipped sign beyond a network matrix: refuted, with the rows and columns of the whole."""
    rng = np.random.default_rng(seed)
    bad = (signed_fano(), families.odd_cycle(7), families.one_sign_flipped(families.r10(), seed))[seed % 3]
    matrix = two_sum(bad, two_sum(families.r10(), full_network(60, 60, seed)))
    matrix = matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]
    assert proven(matrix, check_total_unimodularity(matrix)) is False


@pytest.mark.parametrize("seed", range(3))
def test_a_violation_that_only_a_part_shows_is_one_of_the_whole(seed: int) -> None:
    """Beyond R10, whose rows and columns come first, a matrix that only shrinking refutes: found when the 2-sum is undone."""
    hard = with_column(seed)
    matrix = two_sum(families.r10(), hard[np.argsort(-np.abs(hard).sum(axis=1), kind="stable")])
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == "shrinking"
    assert proven(matrix, verdict) is False


def _has_two_sum(matrix: Matrix) -> bool:
    """By trying all sides: two lines each, rank 1 in all between them."""
    m, n = matrix.shape
    for sides in range(1, 2 ** (m + n) - 1):
        first = np.array([sides >> k & 1 for k in range(m + n)], dtype=bool)
        if not 2 <= first.sum() <= m + n - 2:
            continue
        rows, columns = first[:m], first[m:]
        ranks = [np.linalg.matrix_rank(part) if part.size else 0
                 for part in (matrix[np.ix_(rows, ~columns)], matrix[np.ix_(~rows, columns)])]  # fmt: skip
        if sum(ranks) == 1:
            return True
    return False


def test_2_sums_are_found_where_there_are_any() -> None:
    """In small connected matrices, by all ways to part the lines; what is found passes the check, and so do its parts' sizes."""
    rng = np.random.default_rng(5)
    answers: Counter[bool] = Counter()
    while min(answers[True], answers[False]) < 30:
        matrix = families.random_signs(int(rng.integers(2, 6)), int(rng.integers(2, 5)), float(rng.uniform(0.3, 1)), rng)
        read = read_matrix(matrix)
        if len(blocks_of(read, np.arange(matrix.shape[0]), np.arange(matrix.shape[1]))) > 1:
            continue
        split = find_two_sum(read)
        assert (split is not None) is _has_two_sum(matrix), matrix.tolist()
        answers[split is not None] += 1
        if split is not None:
            assert wrong_with_two_sum(read, split) is None
            assert sum(len(rows) + len(columns) for rows, columns in split.parts(read.shape)) == sum(matrix.shape) + 2


def test_wrong_2_sums_are_rejected() -> None:
    """Every other choice of the first side, of v and of w, is rejected unless it has rank 1 between the sides."""
    matrix = two_sum(
        np.array([[1, 1, 1], [1, 0, 1], [0, 1, -1]], dtype=np.int8), np.array([[1, -1, 1], [1, 1, 0]], dtype=np.int8)
    )
    read = read_matrix(matrix)
    m, n = matrix.shape
    accepted = 0
    for sides in range(2 ** (m + n)):
        first = np.array([k for k in range(m + n) if sides >> k & 1], dtype=np.int64)
        inside = np.isin(np.arange(m + n), first)
        upper, lower = matrix[np.ix_(inside[:m], ~inside[m:])], matrix[np.ix_(~inside[:m], inside[m:])]
        rank = sum(np.linalg.matrix_rank(part) if part.size else 0 for part in (upper, lower))
        for v in range(m + n):
            w = int(np.random.default_rng(sides + v).integers(m + n))
            row, column = min(v, w), max(v, w) - m
            fits = 2 <= len(first) <= m + n - 2 and inside[v] and not inside[w] and row < m <= column + m and rank == 1
            fits = bool(fits and matrix[row, column])
            assert (wrong_with_two_sum(read, TwoSum(first, v, w)) is None) is fits
            accepted += fits
    assert accepted >= 3
    apart = read_matrix(families.block_diagonal(families.r10(), families.r10()))
    blocks = np.array([0, 1, 2, 3, 4, 10, 11, 12, 13, 14])
    assert "row r0" in str(wrong_with_two_sum(apart, TwoSum(blocks, 0, 15)))
    honest = find_two_sum(read)
    assert honest is not None
    twice = np.sort(np.append(honest.first, honest.first[0]))
    for change in (
        {"first": honest.first[::-1]},
        {"first": twice},
        {"first": honest.first - 5},
        {"v": -1},
        {"w": m + n},
        {"first": honest.first + 9},
    ):
        assert wrong_with_two_sum(read, dataclasses.replace(honest, **change)) is not None


def test_tampered_2_sums_are_rejected() -> None:
    """Sides that are none, parts exchanged, evidence within a part that fails: named with the part where it is."""
    matrix = two_sum(families.r10(), two_sum(families.r12(), families.r10_of_ones()))
    verdict = check_total_unimodularity(matrix)
    pieces = verdict.certificate
    assert isinstance(pieces, Pieces)
    (piece,) = pieces.pieces
    split = piece.evidence
    assert isinstance(split, Split)
    first, second = split.parts
    inner = max((first, second), key=lambda part: len(part.pieces))
    belief = dataclasses.replace(inner, pieces=tuple(dataclasses.replace(p, evidence="belief") for p in inner.pieces))
    for evidence, message in (
        (dataclasses.replace(split, parts=(second, first)), "part of block 0: "),
        (
            dataclasses.replace(split, two_sum=dataclasses.replace(split.two_sum, first=split.two_sum.first[:-1])),
            "block 0: v and w do not meet, or",
        ),
        (dataclasses.replace(split, parts=tuple(belief if p is inner else p for p in split.parts)), "'belief' is none of"),
    ):
        tampered = Pieces(pieces.reductions, (dataclasses.replace(piece, evidence=evidence),))
        answer = check_pieces(matrix, tampered)
        assert answer.holds is False
        assert message in str(answer.certificate)
        assert not message.startswith("block") or str(answer.certificate).startswith(message)


def test_an_undecided_verdict_says_what_was_tried() -> None:
    """A large 3-sum of a network matrix and a transposed one is totally unimodular; no method here says so: None, in words."""
    verdict = check_total_unimodularity(three_sum(60, 1))
    assert verdict.holds is None
    assert isinstance(verdict.certificate, Unresolved)
    text = str(verdict.certificate)
    assert "neither a network matrix nor the transpose of one nor a 2-sum" in text
    assert "shrunk 8 times" in text
    assert all(f"{m} x {n}" in text for m, n in verdict.certificate.rests)
    assert not verdict


def test_an_undecided_block_hides_no_violation_in_another() -> None:
    """One block is too hard, another is refuted: the answer is no, whichever comes first."""
    hard = three_sum(60, 1)
    for blocks in ((hard, families.odd_cycle(5)), (families.odd_cycle(5), hard)):
        matrix = families.block_diagonal(*blocks)
        assert proven(matrix, check_total_unimodularity(matrix)) is False


@pytest.mark.parametrize("small", [1e-4, 0.0])
def test_the_references_decide_small_blocks_before_and_after_shrinking(small: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where shrinking ends in a harmless part, a reference is asked: its violation is one of the whole matrix."""
    tried = []
    monkeypatch.setattr(decide, "violation_in", lambda *args: tried.append(args) or (5, 5))
    monkeypatch.setattr(decide, "SMALL", small)
    matrix = families.block_diagonal(families.random_network(5, 5, 0), signed_fano())
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == cheapest_reference(read_matrix(signed_fano()))[0]
    assert proven(matrix, verdict) is False
    assert len(tried) == (0 if small else 1)


# methods and what they are given


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_by_its_name(method: str) -> None:
    """A network matrix is one for all of them, and a 2 refutes at once."""
    assert check_total_unimodularity(families.random_network(5, 5, 2), method=method).holds is True
    refuted = check_total_unimodularity([[1, 0], [0, 2]], method=method)
    assert refuted.holds is False
    assert (refuted.certificate.rows, refuted.certificate.columns, refuted.certificate.determinant) == ((1,), (1,), 2)
    assert list(METHODS) == ["network", "subdeterminants", "ghouila_houri", "camion"]


def test_network_alone_is_honest() -> None:
    """Yes for a network matrix or its transpose, no where signs are wrong, None for R10 and for F7."""
    assert check_total_unimodularity(families.cycles_of_k5().T, method="network").method == "transposed network matrix"
    assert proven(families.odd_cycle(3), check_total_unimodularity(families.odd_cycle(3), method="network")) is False
    for matrix in (families.r10(), signed_fano()):
        verdict = check_total_unimodularity(matrix, method="network")
        assert verdict.holds is None
        assert "does not refute" in verdict.certificate


def test_a_reference_alone_says_when_a_matrix_is_too_large() -> None:
    """None beyond its limit."""
    verdict = check_total_unimodularity(np.ones((60, 60), dtype=int), method="camion")
    assert verdict.holds is None
    assert isinstance(verdict.certificate, TooLarge)


def test_an_unknown_method_is_refused() -> None:
    """The message names the methods."""
    with pytest.raises(InvalidInputError, match="'seymour'; choose one of network, subdeterminants, ghouila_houri, camion"):
        check_total_unimodularity([[1]], method="seymour")


def test_any_matrix_will_do() -> None:
    """Lists, floats, sparse arrays and fractions; one half refutes with its exact value."""
    for matrix in ([[1, -1], [1, 1]], np.array([[1.0, -1], [1, 1]]), sparse.coo_matrix([[1, -1], [1, 1]])):
        assert proven(matrix, check_total_unimodularity(matrix)) is False
    verdict = check_total_unimodularity([[1, Fraction(1, 2)]])
    assert verdict.certificate.determinant == Fraction(1, 2)
    assert verdict.certificate.column_names == ("c1",)


# certificates of the front door, tampered with


def _pieces() -> tuple[Matrix, Pieces]:
    blocks = [families.cycles_of_k5(), families.cycles_of_k5().T, families.r10()]
    matrix = families.mixed(families.block_diagonal(*blocks), 4, steps=30, largest=100, pivots=False, transpose=False)
    verdict = check_total_unimodularity(matrix)
    assert isinstance(verdict.certificate, Pieces)
    assert {int(k) for k in verdict.certificate.reductions.kind} == {ZERO, UNIT, COPY}
    return matrix, verdict.certificate


def test_pieces_are_printed_by_kind() -> None:
    """How many lines went, how many blocks there are of each kind."""
    matrix, pieces = _pieces()
    assert check_pieces(matrix, pieces).holds is True
    text = str(pieces)
    assert text.startswith(f"{len(pieces.reductions)} lines left out, blocks: ")
    assert "1 x network matrix" in text
    assert "1 x transposed network matrix" in text
    assert repr(pieces) == text
    assert "left)" not in text
    assert repr(pieces.reductions).startswith(f"Reductions({len(pieces.reductions)} lines left out, ")


def _step(pieces: Pieces, kind: int) -> int:
    return int(np.flatnonzero(pieces.reductions.kind == kind)[0])


def _with_steps(pieces: Pieces, **arrays: Any) -> Pieces:
    return dataclasses.replace(pieces, reductions=dataclasses.replace(pieces.reductions, **arrays))


def _changed(pieces: Pieces, name: str, k: int, value: int) -> Pieces:
    array = getattr(pieces.reductions, name).copy()
    array[k] = value
    return _with_steps(pieces, **{name: array})


def test_tampered_reductions_are_rejected() -> None:
    """A step of another kind, sign, partner or line, steps in another order, arrays of different lengths: each is named."""
    matrix, pieces = _pieces()
    steps = pieces.reductions
    zero, unit, copy = (_step(pieces, kind) for kind in (ZERO, UNIT, COPY))
    m = len(matrix)
    wrong = [
        (_changed(pieces, "kind", zero, UNIT), "a step names a line"),
        (_changed(pieces, "kind", unit, ZERO), f"step {unit}"),
        (_changed(pieces, "kind", unit, COPY), f"step {unit}"),
        (_changed(pieces, "kind", copy, UNIT), f"step {copy}"),
        (_changed(pieces, "kind", copy, 7), "not of any known kind as the step says"),
        (_changed(pieces, "sign", unit, -steps.sign[unit]), "is not a unit line as the step says"),
        (_changed(pieces, "sign", copy, -steps.sign[copy]), "is not a copy as the step says"),
        (_changed(pieces, "sign", copy, 0), f"step {copy}"),
        (_changed(pieces, "partner", copy, steps.line[copy]), f"step {copy}"),
        (_changed(pieces, "partner", copy, (steps.partner[copy] + m) % (m + matrix.shape[1])), f"step {copy}"),
        (_changed(pieces, "partner", unit, (steps.partner[unit] + 1) % (m + matrix.shape[1])), f"step {unit}"),
        (_changed(pieces, "partner", unit, -1), "a step names a line"),
        (_changed(pieces, "partner", unit, 10**6), "a step names a line"),
        (_changed(pieces, "line", copy, steps.line[unit]), "each once"),
        (_with_steps(pieces, kind=steps.kind[:-1]), "differ in length"),
        (_with_steps(pieces, line=steps.line[:-1], kind=steps.kind[:-1], partner=steps.partner[:-1], sign=steps.sign[:-1]),
         "each once"),
        (_with_steps(pieces, kind=steps.kind[::-1], line=steps.line[::-1], partner=steps.partner[::-1], sign=steps.sign[::-1]),
         "as the step says"),
    ]  # fmt: skip
    for tampered, message in wrong:
        verdict = check_pieces(matrix, tampered)
        assert verdict.holds is False, message
        assert message in str(verdict.certificate)


def test_a_copy_is_compared_with_its_own_line_only() -> None:
    """Row 2 is no copy of row 0, though it is of row 0 followed by what row 1 has left in that step."""
    matrix = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0]])
    line, kind, partner = [5, 2, 0, 1, 4, 3], [UNIT, COPY, UNIT, UNIT, ZERO, ZERO], [1, 0, 3, 4, -1, -1]
    none = np.zeros(0, dtype=np.int64)
    sign = np.array([1, 1, 1, 1, 0, 0], dtype=np.int8)
    steps = Reductions(np.array(kind, dtype=np.int8), np.array(line), np.array(partner), sign, none, none)
    assert check_pieces(matrix, Pieces(steps, ())).certificate == "step 1: row r2 is not a copy as the step says"


def test_tampered_blocks_are_rejected() -> None:
    """Evidence of another block, of another matrix, an unknown reference, rows that are missing or in two blocks."""
    matrix, pieces = _pieces()
    first, second, *rest = pieces.pieces
    for tampered, message in (
        ((dataclasses.replace(first, evidence=second.evidence), second, *rest), "block 0: "),
        ((dataclasses.replace(first, evidence="belief"), second, *rest), "block 0: 'belief' is none of subdeterminants, "),
        ((first, second), "each once"),
        ((first, dataclasses.replace(second, rows=first.rows), *rest), "each once"),
        ((first, dataclasses.replace(second, rows=first.rows), dataclasses.replace(first, rows=second.rows), *rest), "each once"),
        (
            (dataclasses.replace(first, rows=second.rows), dataclasses.replace(second, rows=first.rows), *rest),
            "joins two blocks",
        ),
    ):
        verdict = check_pieces(matrix, Pieces(pieces.reductions, tampered))
        assert verdict.holds is False, message
        assert message in str(verdict.certificate)


def test_pieces_of_another_matrix_are_rejected() -> None:
    """Each entry of the matrix counts: with any one changed, some step or block fails."""
    matrix, pieces = _pieces()
    for i, j in np.argwhere(matrix):
        changed = matrix.copy()
        changed[i, j] = 0
        assert check_pieces(changed, pieces).holds is False
    rng = np.random.default_rng(0)
    for _ in range(100):
        i, j = rng.integers(matrix.shape)
        changed = matrix.copy()
        changed[i, j] = (matrix[i, j] + 2) % 3 - 1
        assert check_pieces(changed, pieces).holds is False
    other = matrix.astype(float)
    other[0, 0] = 0.5
    assert "1/2, none of -1, 0, 1" in str(check_pieces(other, pieces).certificate)


def test_a_block_that_its_reference_refutes_is_rejected() -> None:
    """F7 with the name of a reference as evidence: the reference is asked again, and says no."""
    matrix = signed_fano()
    steps = reduce_matrix(read_matrix(matrix))
    piece = Piece(np.arange(3), np.arange(4), "subdeterminants")
    assert "block 0: " in str(check_pieces(matrix, Pieces(steps, (piece,))).certificate)


# violating submatrices


def test_a_violating_submatrix_is_checked_entry_by_entry() -> None:
    """Entries, determinant, names, indices and shape: each lie is named."""
    matrix = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1]])
    read = read_matrix(matrix)
    honest = submatrix(read, [0, 1, 2], [0, 1, 2])
    assert str(check_violation(matrix, honest).certificate) == "determinant 2, minimal"
    lines = honest.entries
    for change, message in (
        ({"entries": ((1, 1, 0), (0, 1, -1), (1, 0, 1))}, "the entry in row r1, column c2 is 1, not -1"),
        ({"determinant": -2}, "the determinant is 2, not -2"),
        ({"row_names": ("r0", "r1", "r3")}, "the names"),
        ({"column_names": ("c0", "c1", "x")}, "the names"),
        ({"rows": (0, 1, 3)}, "the entry in row r3, column c0 is 0, not 1"),
        ({"rows": (0, 1, 1)}, "rows (0, 1, 1): not different"),
        ({"columns": (0, 1, 3)}, "columns (0, 1, 3): not different columns of the matrix, which has 0 to 2"),
        ({"rows": (0, 1, -1)}, "not different rows"),
        ({"rows": (0, 1)}, "not square"),
        ({"entries": lines[:2]}, "not square"),
        ({"entries": (lines[0], lines[1], lines[2][:2])}, "not square"),
    ):
        verdict = check_violation(matrix, dataclasses.replace(honest, **change))
        assert verdict.holds is False
        assert message in str(verdict.certificate)
    harmless = submatrix(read, [0, 3], [0, 2])
    assert str(check_violation(matrix, harmless).certificate) == "the determinant is 1"


def test_a_violation_that_is_not_minimal_is_said_to_be_so() -> None:
    """An odd cycle beside a unit block violates with order 4, the cycle alone with order 3."""
    matrix = families.block_diagonal(families.odd_cycle(3), np.array([[1]], dtype=np.int8))
    verdict = check_violation(matrix, submatrix(read_matrix(matrix), range(4), range(4)))
    assert verdict.holds is True
    assert str(verdict.certificate) == "determinant 2, not minimal: a submatrix without row r3 violates as well"
    cycles = families.block_diagonal(families.odd_cycle(3), families.odd_cycle(5))
    verdict = check_violation(cycles, submatrix(read_matrix(cycles), range(8), range(8)))
    assert "determinant 4, not minimal" in str(verdict.certificate)


def test_minimality_agrees_with_the_definition() -> None:
    """Of random square matrices that violate, just those are minimal all of whose proper square submatrices are harmless."""
    rng = np.random.default_rng(1)
    minimal = Counter()
    while min(minimal[True], minimal[False]) < 15:
        k = int(rng.integers(2, 6))
        matrix = families.random_signs(k, k, 0.6, rng)
        read = read_matrix(matrix)
        found = submatrix(read, range(k), range(k))
        if found.determinant in (-1, 0, 1):
            continue
        truth = all(
            by_subdeterminants(read.part(np.delete(np.arange(k), i), np.delete(np.arange(k), j))).holds is True
            for i in range(k)
            for j in range(k)
        )
        assert str(check_violation(matrix, found).certificate).endswith(", minimal") is truth
        minimal[truth] += 1


def test_minimality_that_nothing_decides_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the general methods answer None, the submatrix violates all the same."""
    monkeypatch.setattr(violation_check, "check_total_unimodularity", lambda matrix: Verdict("", None, ""))
    matrix = np.array([[1, 1, 1], [1, -1, 0], [1, 0, -1]])
    verdict = check_violation(matrix, submatrix(read_matrix(matrix), range(3), range(3)))
    assert str(verdict.certificate) == "determinant 3, not known to be minimal"


# the formulations


def program(problem: Any, name: str, *, merge: bool = False, **options: Any) -> SignMatrix:
    """A formulation's matrix; lambda or budget 1 where it takes one."""
    if name != "IP0":
        options |= {"merge": merge, **({"budget": 1} if name == "LP1" else {"lam": 1})}
    return read_matrix(MATRICES[name](problem, **options))


@pytest.mark.parametrize("merge", [False, True])
def test_the_papers_formulations_are_recognised_without_knowing_the_forest(merge: bool) -> None:
    """IP0, IP3, the closure and, for each tree, IP2 of the papers' instance are transposes of network matrices."""
    problem = two_trees()
    cases = [(problem, name) for name in ("IP0", "IP3", "closure")]
    cases += [(problem.only_tree(t), "IP2") for t in range(2)]
    for instance, name in cases:
        matrix = program(instance, name, merge=merge)
        assert proven(matrix, check_total_unimodularity(matrix)) is True, name


@pytest.mark.parametrize("seed", range(12))
def test_random_forests_formulations_are_recognised(seed: int) -> None:
    """With everything that an instance can have, merged or not."""
    problem = random_problem(seed)
    for merge in (False, True):
        for name in ("IP0", "IP3", "closure"):
            matrix = program(problem, name, merge=merge)
            assert proven(matrix, check_total_unimodularity(matrix)) is True, name


def test_ip1_of_the_papers_is_refuted() -> None:
    """The naive rows violate: a minimal 3 x 3 submatrix of determinant 2 or -2 is found, with the names of rows and variables."""
    matrix = program(two_trees(), "IP1")
    verdict = check_total_unimodularity(matrix)
    assert proven(matrix, verdict) is False
    assert verdict.certificate.order == 3
    assert any(name.startswith("naive_usage[") for name in verdict.certificate.row_names)
    assert any(name.startswith("w[") for name in verdict.certificate.column_names)


def test_lp1_of_the_papers_is_refuted() -> None:
    """With unit prices the budget row closes a cycle of order 5 with determinant 2; another price is refuted by one entry."""
    matrix = program(two_trees(), "LP1")
    verdict = check_total_unimodularity(matrix)
    assert proven(matrix, verdict) is False
    assert verdict.certificate.order == 5
    assert abs(verdict.certificate.determinant) == 2
    assert "budget" in verdict.certificate.row_names
    dear = program(two_trees(prices=(1, 3, 1)), "LP1")
    verdict = check_total_unimodularity(dear)
    assert proven(dear, verdict) is False
    assert verdict.method == "entries"
    assert verdict.certificate.row_names == ("budget",)
    assert verdict.certificate.determinant == 3


def test_a_pyomo_model_is_taken_as_it_is() -> None:
    """The matrix of a model is read from it: IP3 holds, IP1 does not."""
    for name, holds in (("IP3", True), ("IP1", False)):
        model = FORMULATIONS[name](two_trees(), lam=1)
        matrix = read_matrix(model)
        assert proven(matrix, check_total_unimodularity(model)) is holds
