"""2-sums are found, taken apart, and checked."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.total_unimodularity import Pieces, Split, TwoSum, check_pieces, check_total_unimodularity
from proofs_checks.total_unimodularity.pieces_check import wrong_with_two_sum
from proofs_checks.total_unimodularity.reductions import blocks_of
from proofs_checks.total_unimodularity.two_sums import find_two_sum, parts_of
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.composed_matrices import full_network, signed_fano, two_sum, with_column
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix
from tests.proofs_checks.total_unimodularity.proven import proven


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
    """Beyond R10, whose rows and columns come first, a matrix that only its decomposition refutes."""
    hard = with_column(seed)
    matrix = two_sum(families.r10(), hard[np.argsort(-np.abs(hard).sum(axis=1), kind="stable")])
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == "decomposition"
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
            assert sum(len(rows) + len(columns) for rows, columns in parts_of(split, read.shape)) == sum(matrix.shape) + 2


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
            dataclasses.replace(split, sum=dataclasses.replace(split.sum, first=split.sum.first[:-1])),
            "block 0: v and w do not meet, or",
        ),
        (dataclasses.replace(split, parts=tuple(belief if p is inner else p for p in split.parts)), "'belief' is no evidence"),
    ):
        tampered = Pieces(pieces.reductions, (dataclasses.replace(piece, evidence=evidence),))
        answer = check_pieces(matrix, tampered)
        assert answer.holds is False
        assert message in str(answer.certificate)
        assert not message.startswith("block") or str(answer.certificate).startswith(message)
