"""Every matrix is decided: taken apart into networks, transposes and R10, or refuted by a minimal submatrix."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from formulations.errors import SolverFailedError
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.total_unimodularity import (
    METHODS,
    Pieces,
    Split,
    ThreeSum,
    check_pieces,
    check_total_unimodularity,
    decomposition,
)
from proofs_checks.total_unimodularity.decide import check_violation
from proofs_checks.total_unimodularity.decomposition import decompose, minimal_violation
from proofs_checks.total_unimodularity.pieces_check import three_sum_parts
from proofs_checks.total_unimodularity.sums import sides_of_r12
from proofs_checks.verdict import CheckParams
from tests.loops import looped
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import (
    Matrix,
    large_three_sum,
    leaf,
    nested,
    one_entry_changed,
    proven,
    signed_fano,
    three_sum_of,
)


def kinds_within(pieces: Pieces) -> Counter[str]:
    """How many leaves and sums of each kind a decomposition has, at all depths."""
    found: Counter[str] = Counter()
    for piece in pieces.pieces:
        found[piece.kind] += 1
        if isinstance(piece.evidence, Split):
            for part in piece.evidence.parts:
                found += kinds_within(part)
    return found


def decided_alone(matrix: Matrix) -> bool:
    """The answer of the decomposition without what `check_total_unimodularity` tries before; its certificate is checked."""
    read = read_matrix(matrix)
    found = decompose(read)
    if isinstance(found, Pieces):
        assert check_pieces(read, found).holds is True
        return True
    checked = check_violation(read, minimal_violation(read, found))
    assert checked.holds is True
    assert str(checked.certificate).endswith(", minimal")
    return False


# the answers


def binary(*rows: str) -> Matrix:
    """A matrix of zeros and ones."""
    return np.array([[int(x) for x in row] for row in rows], dtype=np.int8)


REGULAR = {
    "R10": families.r10(),
    "R10 of ones": families.r10_of_ones(),
    "R12": families.r12(),
    "R12's dual": families.r12().T,
    "cycles of K5": families.cycles_of_k5(),
    "cocycles of K5": families.cycles_of_k5().T,
    "cycles of K3,3": families.cycles_of_k33(),
    "cocycles of K3,3": families.cycles_of_k33().T,
    "wheel with 4 spokes": np.eye(4, dtype=np.int8) - np.roll(np.eye(4, dtype=np.int8), 1, axis=1),
}

NOT_REGULAR = {
    "F7": binary("1101", "1011", "0111"),
    "F7's dual": binary("1101", "1011", "0111").T,
    "AG(3,2)": binary("0111", "1011", "1101", "1110"),
    "S8": binary("0111", "1011", "1101", "1111"),
    "PG(3,2)": np.array([x for x in itertools.product((0, 1), repeat=4) if sum(x) > 1], dtype=np.int8).T,
    "R10 and the sum of its basis": np.hstack([abs(families.r10()), binary("1", "1", "1", "1", "1")]),
}


@pytest.mark.slow
@looped("name", REGULAR)
def test_regular_matroids_of_the_literature(name: str) -> None:
    """Totally unimodular in every matrix that pivots lead to."""
    for seed in range(3):
        assert decided_alone(families.mixed(REGULAR[name], seed, steps=8, largest=13)) is True


@looped("name", NOT_REGULAR)
def test_other_binary_matroids_of_the_literature(name: str) -> None:
    """No signing is totally unimodular: all ones, and random signs."""
    for seed in range(4):
        matrix = families.randomly_signed(NOT_REGULAR[name], seed) if seed else np.ascontiguousarray(NOT_REGULAR[name])
        assert METHODS["subdeterminants"](read_matrix(matrix)).holds is False
        assert decided_alone(matrix) is False


def _random_matrix(seed: int) -> Matrix:
    """Of one of several kinds, up to 12 x 12: most random entries refute at once, so most are sums with some entries changed."""
    rng = np.random.default_rng(seed)
    if seed % 6 == 0:
        m, n = rng.integers(1, 13, size=2).tolist()
        return families.random_signs(m, n, float(rng.uniform(0.1, 0.6)), rng)
    kinds = (families.r10, families.r12, families.cycles_of_k5)
    if seed % 6 <= 3:
        matrix = families.mixed(kinds[seed % 6 - 1](), rng, steps=10, largest=12)
    else:
        matrix = nested(12, rng, leaves=seed % 6, pivots=int(rng.integers(9)))
    for _ in range(int(rng.integers(4))):
        matrix = one_entry_changed(matrix, rng)
    return matrix


@pytest.mark.slow
def test_random_matrices_agree_with_all_subdeterminants() -> None:
    """Of 300, the definition and both ways to the decomposition say the same; answers of both kinds are many."""
    answers: Counter[bool] = Counter()
    for seed in range(300):
        matrix = _random_matrix(seed)
        assert max(matrix.shape) <= 13
        truth = METHODS["subdeterminants"](read_matrix(matrix)).holds
        assert proven(matrix, check_total_unimodularity(matrix)) is truth, matrix.tolist()
        assert decided_alone(matrix) is truth, matrix.tolist()
        answers[bool(truth)] += 1
    assert min(answers.values()) > 60


@pytest.mark.slow
def test_nested_sums_are_decided() -> None:
    """1-, 2- and 3-sums, signed, pivoted and shuffled, up to 200 x 200: as they are and with an entry changed."""
    answers: Counter[bool | None] = Counter()
    for seed in range(30):
        matrix = nested(200, seed, leaves=4 + seed % 9, pivots=seed % 3)
        assert proven(matrix, check_total_unimodularity(matrix)) is True
        changed = one_entry_changed(matrix, seed)
        answers[proven(changed, check_total_unimodularity(changed))] += 1
    assert answers[None] == 0
    assert answers[False] > 10


def test_a_3_sum_of_large_networks_is_taken_apart() -> None:
    """A network matrix and a transposed one: a 3-sum of just these kinds."""
    matrix = large_three_sum()
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == "reductions and blocks: 3-sum"
    assert kinds_within(verdict.certificate)["3-sum"] == 1
    assert {"network matrix", "transposed network matrix"} <= set(kinds_within(verdict.certificate))
    assert proven(matrix, verdict) is True


def test_a_violation_deep_within_3_sums_is_one_of_the_whole() -> None:
    """F7 with signs that no chordless cycle betrays, 2-summed to the middle of a chain of 3-sums: followed back to the whole."""
    rng = np.random.default_rng(1)
    whole = leaf(6, rng, transposed=False)
    for k in range(4):
        whole = three_sum_of(leaf(6, rng, transposed=k % 2 == 0), whole)
    bad = signed_fano()
    column = next(j for j in range(whole.entries.shape[1]) if whole.entries[:, j].any())
    corner = np.outer(bad[:, -1], np.eye(1, whole.entries.shape[1], column, dtype=np.int8)[0])
    matrix = np.block([[bad, corner.astype(np.int8)], [np.zeros((len(whole.entries), 4), dtype=np.int8), whole.entries]])
    assert decided_alone(matrix) is False


# least minors


def test_r12_has_one_3_separation_into_six_and_six() -> None:
    """Of all 462: the one that Seymour names."""
    matrix = families.r12()
    found = []
    for others in itertools.combinations(range(1, 12), 5):
        first = np.array([0, *others])
        second = np.setdiff1d(np.arange(12), first)
        r1, c1, r2, c2 = (x for s in (first, second) for x in (s[s < 6], s[s >= 6] - 6))
        if sum(np.linalg.matrix_rank(part) for part in (matrix[np.ix_(r1, c2)], matrix[np.ix_(r2, c1)])) == 2:
            found.append(first.tolist())
    sides = sides_of_r12(matrix)
    assert sides is not None
    assert [sides[0].tolist()] == found


def test_a_violation_is_made_minimal_without_short_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the reference for few lines and without signing: what is left where no line can be left out is minimal."""
    monkeypatch.setattr(decomposition, "DEFAULTS", CheckParams(camion_lines=0))
    monkeypatch.setattr(decomposition, "wrong_cycle", lambda part: None)
    for seed in (*range(6), 28):  # of 28 a line took part twice
        read = read_matrix(one_entry_changed(nested(25, seed, leaves=6, pivots=seed % 3), seed))
        found = decompose(read)
        if not isinstance(found, Pieces):
            checked = check_violation(read, minimal_violation(read, found))
            assert str(checked.certificate).endswith(", minimal")


def test_a_least_minor_that_seymour_excludes_is_a_fault_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is reported as one, not taken for an answer."""
    monkeypatch.setattr(decomposition, "sides_of_r12", lambda entries: None)
    with pytest.raises(SolverFailedError, match="neither R12 nor"):
        decompose(read_matrix(families.r12()))
    monkeypatch.setattr(decomposition, "least_hard_minor", lambda entries: None)
    with pytest.raises(SolverFailedError, match="nor a 2-sum; please report"):
        decompose(read_matrix(families.r12()))


# the checker


def _three_sum() -> tuple[Matrix, Pieces, ThreeSum]:
    matrix = families.r12()
    verdict = check_total_unimodularity(matrix)
    (piece,) = verdict.certificate.pieces
    assert isinstance(piece.evidence, Split)
    assert isinstance(piece.evidence.sum, ThreeSum)
    return matrix, verdict.certificate, piece.evidence.sum


@pytest.mark.slow
@looped(
    ("change", "message"),
    [
        ({"first": np.array([0, 0, 1])}, "not different lines"),
        ({"first": np.array([0, 1, 99])}, "not different lines"),
        ({"row": 99}, "not on the second side"),
        ({"column": -1}, "not on the second side"),
        ({"sign": 0}, "the sign is 0"),
        ({"sign": 2}, "the sign is 2"),
        ({"pivot": (99, 0)}, "is no nonzero"),
        ({"pivot": (0, 4)}, "is no nonzero"),
        ({"first": np.array([1, 2, 5, 6, 8, 9])}, "not multiples of the one"),
    ],
)
def test_a_tampered_3_sum_is_rejected(change: dict[str, Any], message: str) -> None:
    """What is wrong with the numbers is named."""
    matrix, _, how = _three_sum()
    assert isinstance(three_sum_parts(read_matrix(matrix), how), list)
    assert message in str(three_sum_parts(read_matrix(matrix), dataclasses.replace(how, **change)))


def test_the_other_sign_of_a_3_sum_is_rejected_by_its_parts() -> None:
    """With it, neither part is totally unimodular, whatever evidence is given for them."""
    matrix, pieces, how = _three_sum()
    (piece,) = pieces.pieces
    assert isinstance(piece.evidence, Split)
    wrong = dataclasses.replace(piece.evidence, sum=dataclasses.replace(how, sign=-how.sign))
    answer = check_pieces(matrix, Pieces(pieces.reductions, (dataclasses.replace(piece, evidence=wrong),)))
    assert answer.holds is False
    assert "part of block 0: " in str(answer.certificate)
