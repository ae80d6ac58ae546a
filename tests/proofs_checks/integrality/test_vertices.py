"""Vertices of polyhedra, and reasons why all are integral."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from formulations.errors import InvalidInputError, SolverFailedError
from proofs_checks import check_integral_vertices, check_integrality, check_total_unimodularity, fractional_vertex
from proofs_checks.integrality import vertices as module
from proofs_checks.integrality.points import check_vertex, rank_and_kernel
from proofs_checks.integrality.polyhedron import Polyhedron
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.integrality.vertices import vertices
from proofs_checks.matrices.violation import determinant
from proofs_checks.verdict import Verdict
from prunemodels.example import problem as example
from solvers import solve_relaxation
from tests.proofs_checks.total_unimodularity import matrix_families as families

Corner = tuple[Fraction, ...]


def solved(rows: list[list[Fraction]]) -> Corner | None:
    """The one solution of as many equations (coefficients, right-hand side) as unknowns, by Cramer's rule; None if singular."""
    a = [row[:-1] for row in rows]
    below = determinant(a)
    if not below:
        return None
    n = len(a)
    return tuple(Fraction(determinant([[*r[:j], rows[i][n], *r[j + 1 :]] for i, r in enumerate(a)])) / below for j in range(n))


def by_bases(body: Polyhedron) -> set[Corner]:
    """All vertices: every choice of n sides, solved, and kept if feasible."""
    n = len(body.columns)
    sides = []
    for k in range(len(body.rows)):
        row = [Fraction(body.row(k).get(j, 0)) for j in range(n)]
        sides += [[*row, Fraction(b)] for b in {body.row_lower[k], body.row_upper[k]} if abs(b) != np.inf]
    for j in range(n):
        unit = [Fraction(int(i == j)) for i in range(n)]
        sides += [[*unit, Fraction(b)] for b in {body.lower[j], body.upper[j]} if abs(b) != np.inf]
    found = {solved(list(chosen)) for chosen in itertools.combinations(sides, n)}
    return {x for x in found if x is not None and body.violated(body.point(x)) is None}


def corners(body: Any, **options: Any) -> set[Corner]:
    """All vertices by the enumeration, each once."""
    found = vertices(body, **options)
    points = [tuple(Fraction(x) for x in point.values()) for point in found]
    assert len(set(points)) == len(points) == len(found)
    return set(points)


@st.composite
def polyhedra(draw: st.DrawFn, *, bounded: bool) -> Polyhedron:
    """Small rows of every kind over n <= 3 variables; integers, halves, repeated and empty rows."""
    n, m = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    entry = st.integers(-2, 2) | st.sampled_from([Fraction(1, 2), Fraction(-3, 2)])
    matrix = np.array([[draw(entry) for _ in range(n)] for _ in range(m)], dtype=object).reshape(m, n)
    lower, upper = [], []
    for _ in range(m):
        b = draw(st.integers(-2, 3))
        kind = draw(st.sampled_from(["<=", ">=", "=", "range"]))
        lower.append(-np.inf if kind == "<=" else b)
        upper.append(np.inf if kind == ">=" else b + 1 if kind == "range" else b)
    least = [draw(st.sampled_from([0, -1, Fraction(1, 3)])) for _ in range(n)]
    most = [x + draw(st.integers(0, 2)) if bounded else np.inf for x in least]
    return read_polyhedron(matrix, np.array(lower, dtype=object), np.array(upper, dtype=object), least, most)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(polyhedra(bounded=True))
def test_polytopes_have_the_vertices_of_their_bases(body: Polyhedron) -> None:
    """Double description finds the feasible basic solutions, each once, and nothing else; no direction leads out."""
    assert corners(body) == by_bases(body)
    assert vertices(body).bounded


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(polyhedra(bounded=False))
def test_unbounded_polyhedra_have_vertices_and_directions(body: Polyhedron) -> None:
    """So it is without upper bounds; the directions are the vertices of the recession cone cut at height 1."""
    expected = by_bases(body)
    assert corners(body) == expected
    n, m = len(body.columns), len(body.rows)
    rows = [[body.row(k).get(j, 0) for j in range(n)] for k in range(m)] + [[1] * n]
    low = np.array([-np.inf if b == -np.inf else 0 for b in body.row_lower] + [1], dtype=object)
    high = np.array([np.inf if b == np.inf else 0 for b in body.row_upper] + [1], dtype=object)
    away = by_bases(read_polyhedron(np.array(rows, dtype=object), low, high)) if expected else set()
    directions = vertices(body).directions
    assert {tuple(Fraction(int(x), int(d.sum())) for x in d) for d in directions} == away
    assert len(directions) == len(away)
    assert vertices(body).bounded == (not away)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_rank_and_kernel(data: st.DataObject) -> None:
    """The rank is NumPy's, and below n there is a direction that every row is orthogonal to; at n there is none."""
    m, n = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 5))
    entry = st.integers(-2, 2) | st.sampled_from([Fraction(1, 2), Fraction(2, 3)]) | st.just(0)
    rows = [[data.draw(entry) for _ in range(n)] for _ in range(m)]
    found, direction = rank_and_kernel([dict(enumerate(row)) for row in rows], range(n))
    assert found == np.linalg.matrix_rank(np.array(rows, dtype=float).reshape(m, n))
    assert (direction is None) == (found == n)
    if direction is not None:
        assert any(direction.values())
        assert all(sum(row[j] * x for j, x in direction.items()) == 0 for row in rows)


def test_corners_edges_and_inner_points_of_a_square() -> None:
    """A corner has rank 2; an edge's point rank 1, with the edge as direction; an inner point rank 0; outside is refuted."""
    square = read_polyhedron(np.zeros((0, 2)), upper=1, columns=["x", "y"])
    corner = check_vertex(square, [1, 0])
    assert corner.holds
    assert corner.certificate.direction is None
    assert str(corner.certificate) == "2 tight rows and bounds of rank 2, 2 variables; integral"
    edge = check_vertex(square, {"x": 0.25, "y": 1})
    assert edge.holds is False
    assert (edge.certificate.rank, edge.certificate.direction) == (1, {"x": 1})
    assert edge.certificate.fractional == ("x", Fraction(1, 4))
    assert str(edge.certificate) == "1 tight rows and bounds of rank 1, 2 variables; fractional, x = 1/4"
    assert check_vertex(square, [0.5, 0.5]).certificate.rank == 0
    outside = check_vertex(square, [2, 0])
    assert outside.holds is False
    assert str(outside.certificate) == "infeasible: x is 2, it must be <= 1"


def test_floats_next_to_a_vertex_are_told_from_a_point_that_is_none() -> None:
    """1/3 in floats is undecided, inside or outside, and the answer names the fractions; what is no vertex is a no."""
    thirds = read_polyhedron([[1, 2], [2, 1]], row_upper=1)
    for x in (1 / 3, 0.33333334):
        for point in ([x, x], np.array([x, x]), {"c0": x, "c1": x}):
            verdict = check_vertex(thirds, point)
            assert verdict.holds is None
            assert f"c0 = {x!r} stands for 1/3; give Fractions" in str(verdict)
            assert dict(verdict.certificate.near) == {"c0": Fraction(1, 3), "c1": Fraction(1, 3)}
            assert check_vertex(thirds, verdict.certificate.near).holds is True
    exact = [Fraction(repr(1 / 3))] * 2
    for point in (exact, body_point := thirds.point(exact), [0.25, 0.25], [0.3333, 0.3333]):
        assert check_vertex(thirds, point).holds is False
    assert check_vertex(thirds, body_point).certificate.near is None
    relaxation = solve_relaxation(example, 0.01, formulation="IP1")
    verdict = check_vertex(relaxation.program, relaxation.point)
    assert (verdict.holds, check_vertex(relaxation.program, verdict.certificate.near).holds) == (None, True)


def test_an_infeasible_point_of_full_rank_is_no_vertex() -> None:
    """Where two lines cross outside, the tight rows have full rank all the same."""
    body = read_polyhedron([[1, 1], [1, -1], [1, 0]], row_upper=[2, 2, 1])
    verdict = check_vertex(body, [2, 0])
    assert verdict.holds is False
    assert (verdict.certificate.rank, verdict.certificate.feasible) == (2, False)
    assert verdict.certificate.is_integral


def test_more_tight_rows_than_variables() -> None:
    """The tip of a pyramid over a square: four tight rows of rank 3; repeated rows add nothing to the rank."""
    pyramid = read_polyhedron([[1, 0, 1], [-1, 0, 1], [0, 1, 1], [0, -1, 1]], row_upper=1, lower=[-1, -1, 0])
    tip = check_vertex(pyramid, [0, 0, 1])
    assert tip.holds
    assert (len(tip.certificate.tight), tip.certificate.rank) == (4, 3)
    assert corners(pyramid) == {(0, 0, 1), (1, 1, 0), (1, -1, 0), (-1, 1, 0), (-1, -1, 0)}
    doubled = check_vertex(read_polyhedron([[1, 1], [2, 2]], row_upper=[1, 2]), [0.5, 0.5])
    assert doubled.holds is False
    assert doubled.certificate.rank == 1
    assert doubled.certificate.direction == {"c0": -1, "c1": 1}


def test_known_polytopes() -> None:
    """Cubes have 2^d vertices, cross-polytopes 2 d, the 4 x 4 assignment polytope the 24 permutations."""
    assert len(vertices(read_polyhedron(np.zeros((0, 9)), upper=1))) == 512
    signs = np.array(list(itertools.product([-1, 1], repeat=5)))
    cross = vertices(read_polyhedron(signs, row_upper=1, lower=-np.inf))
    assert {tuple(v.values()) for v in cross} == {tuple(s * row) for row in np.eye(5, dtype=int) for s in (1, -1)}
    assert cross.most_rays >= 10
    sums = np.vstack([np.kron(np.eye(4), np.ones((1, 4))), np.kron(np.ones((1, 4)), np.eye(4))])
    permutations = vertices(read_polyhedron(sums, 1, 1))
    assert len(permutations) == 24
    assert permutations.is_integral.all()


def test_odd_circles_have_one_fractional_vertex() -> None:
    """x_i + x_j <= 1 around a circle of 5: the 11 stable sets and the point of halves, and no other."""
    edges = np.array([[int(j in (i, (i + 1) % 5)) for j in range(5)] for i in range(5)])
    found = vertices(read_polyhedron(edges, row_upper=1))
    fractional = [dict(v) for v, whole in zip(found, found.is_integral, strict=True) if not whole]
    assert fractional == [dict.fromkeys([f"c{j}" for j in range(5)], Fraction(1, 2))]
    assert len(found) == 12
    assert repr(found) == "Vertices(12, 1 of them fractional)"


def test_more_than_64_constraints() -> None:
    """Tangents y >= 2 k x - k^2 of a parabola, k = 0 .. 149: neighbours meet at x = k + 1/2, three words of bits apart."""
    k = np.arange(150)
    body = read_polyhedron(np.column_stack([-2 * k, np.ones(150, dtype=int)]), -(k**2), lower=[0, 0], upper=[149, 30000])
    between = {(Fraction(2 * int(j) + 1, 2), Fraction(int(j) * (int(j) + 1))) for j in k[:-1]}
    assert corners(body) == between | {(0, 0), (149, 149**2), (0, 30000), (149, 30000)}


def test_numbers_beyond_64_bits() -> None:
    """Coefficients of 10^20 and corners of 10^30 are as exact as others: the same triangle, scaled."""
    big = 10**20
    scaled = read_polyhedron(np.array([[big, 3 * big]], dtype=object), row_upper=np.array([big * 10**30], dtype=object))
    assert corners(scaled) == {(0, 0), (10**30, 0), (0, Fraction(10**30, 3))}
    rng = np.random.default_rng(0)
    small = rng.integers(-9, 10, (7, 4))
    wide = small.astype(object) * (big + 1)
    plain = corners(read_polyhedron(small, row_upper=5, upper=3))
    assert plain == corners(read_polyhedron(wide, row_upper=5 * (big + 1), upper=3))
    # each row and bound times a factor of its own: other numbers on the way, the same polytope
    factor = rng.integers(1, 10**9, 7).astype(object) * 10**9 + 7
    mixed = read_polyhedron(small * factor[:, None], row_upper=5 * factor, upper=3)
    assert plain == corners(mixed)


def test_empty_polyhedra_and_points() -> None:
    """Rows that exclude each other leave no vertex and no direction, even with free variables; equations may leave one point."""
    for nothing in (
        read_polyhedron([[1, 1]], 3, 3, upper=1),
        read_polyhedron([[1, 1], [1, 1]], [1, 2], [1, 2]),
        read_polyhedron([[1, 0], [1, 0]], [2, -np.inf], [np.inf, 1], lower=-np.inf),
    ):
        found = vertices(nothing)
        assert (len(found), len(found.directions)) == (0, 0)
    assert corners(read_polyhedron([[1, 1], [1, -1], [2, 0]], [1, 0, 1], [1, 0, 1])) == {(Fraction(1, 2), Fraction(1, 2))}
    assert corners(read_polyhedron(np.zeros((1, 1)), 0, 0, 2, 2)) == {(2,)}
    assert len(vertices(read_polyhedron(np.zeros((1, 1)), 1, 1, 2, 2))) == 0


def test_lines_and_size_are_refused_with_the_reason() -> None:
    """A polyhedron with a line has no vertices; the line is named. One beyond the limit says how far it came."""
    with pytest.raises(InvalidInputError, match=r"contains a line, along \{'c0': -?1, 'c1': -?1\}"):
        vertices(read_polyhedron([[1, -1]], 0, 1, lower=-np.inf))
    with pytest.raises(InvalidInputError, match=r"over 100 rays with \d+ constraints left"):
        vertices(read_polyhedron(np.zeros((0, 9)), upper=1), most_rays=100)
    assert len(vertices(read_polyhedron(np.zeros((0, 6)), upper=1), most_rays=64)) == 64
    with pytest.raises(InvalidInputError, match="over 63 rays"):
        vertices(read_polyhedron(np.zeros((0, 6)), upper=1), most_rays=63)
    with pytest.raises(InvalidInputError, match="over 2 rays"):
        vertices(read_polyhedron(np.tril(np.ones((6, 6), dtype=int)), upper=1, row_upper=2), most_rays=2)


# balanced, and not totally unimodular: no odd cycle, but the four rows have the determinant -2 (Schrijver 1986, section 21.5)
BALANCED = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1]])


@pytest.mark.slow
def test_reasons_agree_with_all_vertices() -> None:
    """Packing, covering and partitioning with random matrices: a reason never meets a fractional vertex; each reason occurs."""
    rng = np.random.default_rng(2)
    methods: Counter[str] = Counter()
    for _ in range(150):
        shape = rng.integers(2, 6, size=2)
        matrix = (rng.random(shape) < rng.uniform(0.3, 0.8)).astype(np.int8)
        lower, upper = [(-np.inf, 1), (1, np.inf), (1, 1)][int(rng.integers(3))]
        verdict = check_integrality(read_polyhedron(matrix, lower, upper, upper=1))
        assert verdict.holds is check_integral_vertices(read_polyhedron(matrix, lower, upper, upper=1)).holds
        methods[re.sub(r".* is |;.*", "", verdict.method)] += 1
    assert set(methods) >= {"totally unimodular", "every vertex"}


def test_the_reason_is_named() -> None:
    """Of a network matrix; of a balanced one, which is not totally unimodular, and of an entry 2 none is."""
    for matrix, lower, upper, words in (
        (BALANCED, -np.inf, 1, "every vertex; no general reason is known"),
        (np.tril(np.ones((4, 4), dtype=int)), 0, 7, "columns is totally unimodular"),
        (np.array([[2]]), 0, 4, "every vertex; no general reason is known"),
    ):
        verdict = check_integrality(read_polyhedron(matrix, lower, upper))
        assert verdict.holds is True
        assert verdict.method.endswith(words)
        assert str(verdict.certificate).startswith(str(verdict.certificate.vertices))
    fractional = check_integrality(read_polyhedron(families.odd_cycle(3), row_upper=1))
    assert (fractional.holds, fractional.method) == (False, "every vertex")
    assert fractional.certificate.matrix.holds is False
    halves = check_integrality(read_polyhedron([[1]], row_upper=0.5))
    assert (halves.holds, halves.certificate.matrix) == (False, None)


def test_without_vertices_only_a_reason_decides() -> None:
    """Beyond the limit: yes by total unimodularity, None without a reason."""
    network = check_integrality(read_polyhedron(np.tril(np.ones((6, 6), dtype=int)), upper=1, row_upper=2), most_rays=2)
    assert network.holds is True
    assert str(network.certificate.vertices).startswith("the vertices were not listed: ")
    nothing = check_integrality(read_polyhedron(families.odd_cycle(5), upper=1, row_upper=2), most_rays=2)
    assert (nothing.holds, nothing.method) == (None, "no reason, too many vertices")


def test_a_contradiction_is_a_fault_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fractional vertex beside a reason is reported, not passed over."""
    monkeypatch.setattr(module, "check_total_unimodularity", lambda matrix: Verdict("it is unimodular", True, ""))
    with pytest.raises(SolverFailedError, match="a vertex is fractional although it is unimodular"):
        check_integrality(read_polyhedron(families.odd_cycle(3), row_upper=1))


@pytest.mark.slow
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


def test_a_large_program_is_decided_by_a_reason_alone() -> None:
    """A path of 20,000 variables, x_k - x_(k+1) <= 1, within bounds: its vertices are not begun, and dense rows never made."""
    n = 20_000
    matrix = sparse.diags_array([np.ones(n), -np.ones(n - 1)], offsets=[0, 1], shape=(n - 1, n), format="csr")
    body = read_polyhedron(matrix, row_upper=1, upper=1)
    with pytest.raises(InvalidInputError, match="19,999 rows and 20,000 columns have 800,019,999 entries with the bounds"):
        vertices(body)
    verdict = check_integrality(body)
    assert verdict.holds is True
    assert "totally unimodular" in verdict.method
