"""Why a polyhedron is integral: total unimodularity, a balanced matrix, a perfect one; vertices say the same."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
import pytest

from formulations.errors import InvalidInputError, SolverFailedError
from proofs_checks import (
    check_balanced,
    check_integral_vertices,
    check_integrality,
    check_perfect,
    check_total_unimodularity,
    check_vertex,
    fractional_vertex,
    read_polyhedron,
)
from proofs_checks.integrality import reasons, zero_one
from proofs_checks.matrices.violation import ViolatingSubmatrix, determinant
from proofs_checks.verdict import Verdict
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix

# balanced, and not totally unimodular: no odd cycle, but the four rows have the determinant -2 (Schrijver 1986, section 21.5)
BALANCED = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1]])
# all cliques of a path with a triangle at each inner edge: perfect, but the triangle of columns 1, 2, 4 is an odd cycle of rows
PERFECT = np.array([[1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1], [0, 1, 1, 0, 1, 0]])


def _balanced_by_definition(matrix: Matrix) -> bool:
    """No square submatrix of odd order has two ones in each row and column: all submatrices."""
    m, n = matrix.shape
    for order in range(3, min(m, n) + 1, 2):
        for rows in itertools.combinations(range(m), order):
            for columns in itertools.combinations(range(n), order):
                part = matrix[np.ix_(rows, columns)]
                if (part.sum(axis=0) == 2).all() and (part.sum(axis=1) == 2).all():
                    return False
    return True


def _random_01(rng: np.random.Generator, largest: int) -> Matrix:
    m, n = rng.integers(2, largest + 1, size=2).tolist()
    return (rng.random((m, n)) < rng.uniform(0.3, 0.8)).astype(np.int8)


def test_balanced_by_hand() -> None:
    """An odd cycle is not, an even one is; a matrix that is balanced and not totally unimodular; -1 and 2 are no entries."""
    verdict = check_balanced(families.odd_cycle(5))
    assert verdict.holds is False
    assert isinstance(verdict.certificate, ViolatingSubmatrix)
    assert verdict.certificate.order == 5
    assert check_balanced(families.odd_cycle(5)[:4]).holds is True
    assert check_balanced(families.odd_cycle(4)).holds is True
    assert check_balanced(BALANCED).holds is True
    assert check_total_unimodularity(BALANCED).holds is False
    assert "row r0, column c1 is -1, neither 0 nor 1" in check_balanced([[1, -1]]).certificate
    assert "row r0, column c1 is 2, neither 0 nor 1" in check_balanced([[1, 2]]).certificate


def test_balanced_agrees_with_the_definition() -> None:
    """In random matrices; the certificate of a no has two ones in each line and an odd order."""
    rng = np.random.default_rng(0)
    answers: Counter[bool | None] = Counter()
    for _ in range(150):
        matrix = _random_01(rng, 6)
        verdict = check_balanced(matrix)
        assert verdict.holds is _balanced_by_definition(matrix), matrix.tolist()
        answers[verdict.holds] += 1
        if verdict.holds is False:
            found = verdict.certificate
            entries = np.array(found.entries)
            assert found.order % 2
            assert (entries.sum(axis=0) == 2).all()
            assert (entries.sum(axis=1) == 2).all()
            assert abs(determinant(entries)) == 2
    assert min(answers[True], answers[False]) > 20


def test_perfect_by_hand() -> None:
    """A triangle as one row is; its edges alone are not, for want of a row; a circle of five edges needs three colours."""
    assert check_perfect([[1, 1, 1]]).holds is True
    edges = check_perfect(families.odd_cycle(3))
    assert edges.holds is False
    assert edges.certificate == "the columns c0, c1, c2 meet pairwise in rows, but not all in one"
    circle = check_perfect(families.odd_cycle(5))
    assert circle.holds is False
    assert circle.certificate == "the graph of the columns c0, c1, c2, c3, c4 needs 3 colours, its largest clique has 2 vertices"
    assert check_perfect(PERFECT).holds is True
    assert check_balanced(PERFECT).holds is False
    assert check_perfect([[0, -1]]).holds is False
    assert check_perfect([[0, 0]]).holds is True


def test_a_matrix_is_perfect_just_if_its_packing_polyhedron_is_integral() -> None:
    """Chvatal's theorem, in random matrices, against all vertices."""
    rng = np.random.default_rng(1)
    answers: Counter[bool | None] = Counter()
    for k in range(120):
        matrix = _random_01(rng, 5)
        if k % 4 == 0:  # few random ones are fractional
            matrix = np.vstack([np.hstack([families.odd_cycle(3), np.zeros((3, 1), dtype=np.int8)]), rng.integers(0, 2, (2, 4))])
        integral = check_integral_vertices(read_polyhedron(matrix, row_upper=1, upper=1)).holds
        assert check_perfect(matrix).holds is integral, matrix.tolist()
        answers[integral] += 1
    assert min(answers[True], answers[False]) > 10


def test_reasons_agree_with_all_vertices() -> None:
    """Packing, covering and partitioning with random matrices: a reason never meets a fractional vertex; each reason occurs."""
    rng = np.random.default_rng(2)
    methods: Counter[str] = Counter()
    for _ in range(150):
        matrix = _random_01(rng, 5)
        lower, upper = [(-np.inf, 1), (1, np.inf), (1, 1)][int(rng.integers(3))]
        verdict = check_integrality(read_polyhedron(matrix, lower, upper, upper=1))
        assert verdict.holds is check_integral_vertices(read_polyhedron(matrix, lower, upper, upper=1)).holds
        methods[re.sub(r".* is |;.*", "", verdict.method)] += 1
    assert set(methods) >= {"totally unimodular", "every vertex"}


def test_the_reason_is_named() -> None:
    """Of a balanced, of a perfect, of a network matrix, and of none."""
    for matrix, lower, upper, words in (
        (BALANCED, -np.inf, 1, "columns is balanced"),
        (BALANCED, 1, 1, "columns is balanced"),
        (PERFECT, -np.inf, 1, "columns is perfect"),
        (np.tril(np.ones((4, 4), dtype=int)), 0, 7, "columns is totally unimodular"),
        (np.array([[2]]), 0, 4, "every vertex; no general reason is known"),
    ):
        verdict = check_integrality(read_polyhedron(matrix, lower, upper))
        assert verdict.holds is True
        assert verdict.method.endswith(words)
        assert str(verdict.certificate).startswith(str(verdict.certificate.vertices))
    fractional = check_integrality(read_polyhedron(families.odd_cycle(3), row_upper=1))
    assert (fractional.holds, fractional.method) == (False, "every vertex")
    assert len(fractional.certificate.matrix) == 3


def test_without_vertices_only_a_reason_decides() -> None:
    """Beyond the limit: yes by total unimodularity, None without a reason."""
    network = check_integrality(read_polyhedron(np.tril(np.ones((6, 6), dtype=int)), upper=1, row_upper=2), limit=2)
    assert network.holds is True
    assert str(network.certificate.vertices).startswith("the vertices were not listed: ")
    nothing = check_integrality(read_polyhedron(families.odd_cycle(5), upper=1, row_upper=2), limit=2)
    assert (nothing.holds, nothing.method) == (None, "no reason, too many vertices")


def test_a_contradiction_is_a_fault_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fractional vertex beside a reason is reported, not passed over."""
    monkeypatch.setattr(reasons, "check_balanced", lambda matrix: Verdict("it is balanced", True, ""))
    with pytest.raises(SolverFailedError, match="a vertex is fractional although it is balanced"):
        check_integrality(read_polyhedron(families.odd_cycle(3), row_upper=1))


def test_limits_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many paths, too many columns: None, in words."""
    monkeypatch.setattr(zero_one, "MOST_PATHS", 3)
    assert check_balanced(families.odd_cycle(4)).holds is None
    assert "more than 3 chordless paths" in check_balanced(families.odd_cycle(4)).certificate
    monkeypatch.setattr(zero_one, "MOST_COLUMNS", 3)
    assert check_perfect(families.odd_cycle(4)).certificate == "there are 4 columns that are not zero, the limit is 3"


def test_hoffman_and_kruskal_both_ways() -> None:
    """Totally unimodular: integral for many whole sides. Not: some whole sides have the fractional vertex that is constructed."""
    rng = np.random.default_rng(3)
    answers: Counter[bool | None] = Counter()
    for _ in range(60):
        matrix = families.random_signs(int(rng.integers(2, 5)), int(rng.integers(2, 5)), 0.6, rng)
        verdict = check_total_unimodularity(matrix)
        answers[verdict.holds] += 1
        if verdict:
            for _ in range(5):
                sides = rng.integers(-2, 4, size=len(matrix)).tolist()
                assert check_integral_vertices(read_polyhedron(matrix, row_upper=sides)).holds is True
            continue
        polyhedron, point = fractional_vertex(matrix, verdict.certificate)
        assert not point.is_integral
        assert all(isinstance(side, int) for side in polyhedron.row_upper)
        assert check_vertex(polyhedron, point).holds is True
        assert check_integral_vertices(polyhedron).holds is False
    assert min(answers[True], answers[False]) > 10
    with pytest.raises(InvalidInputError, match="give a matrix of -1, 0 and 1"):
        fractional_vertex([[2]], check_total_unimodularity([[2]]).certificate)
