"""Network matrices, the papers' row operations, and exact determinants."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.programs.shortest_path import tree_network, tree_networks
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import determinant, submatrix
from proofs_checks.total_unimodularity import formulation_network
from proofs_checks.total_unimodularity.formulation_network import PRINTED_TREES, check_printed_matrices
from tests.loops import looped
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix, odd_cycle, random_tree, tree_paths

# 0 -> 1 -> 2, 3 -> 1
TAIL, HEAD = np.array([0, 1, 3]), np.array([1, 2, 1])
START, END = np.array([0, 0, 2, 1]), np.array([2, 3, 1, 1])
HAND = np.array([[1, 1, 0, 0], [1, 0, -1, 0], [0, -1, 0, 0]], dtype=np.int8)
CERTIFICATE = NetworkMatrix(TAIL, HEAD, START, END)
WRITTEN = """a tree with the 3 rows as arcs, in which the 4 columns are paths
arc r0   0 -> 1
arc r1   1 -> 2
arc r2   3 -> 1
path c0  0 -> 2  + r0 + r1
path c1  0 -> 3  + r0 - r2
path c2  2 -> 1  - r1
path c3"""


def _random(seed: int, *, transposed: bool = False) -> tuple[Matrix, NetworkMatrix]:
    rng = np.random.default_rng(seed)
    arcs, paths = int(rng.integers(0, 12)), int(rng.integers(0, 12))
    tail, head = random_tree(arcs, rng)
    start, end = rng.integers(0, arcs + 1, size=(2, paths))
    matrix = tree_paths(tail, head, start.tolist(), end.tolist())
    return (matrix.T if transposed else matrix), NetworkMatrix(tail, head, start, end, transposed)


def test_the_hand_worked_tree_and_its_four_paths() -> None:
    """0-1-2 forwards; 0-1 forwards and 3-1 backwards; 1-2 backwards; no arc at all: the certificate holds."""
    verdict = check_network_matrix(HAND, CERTIFICATE)
    assert verdict.holds is True
    assert verdict.certificate.end is CERTIFICATE.end
    assert "3 rows and 4 columns is the network matrix" in verdict.claim
    assert str(verdict.certificate) == WRITTEN
    flipped = dataclasses.replace(CERTIFICATE, transposed=True)
    flipped = check_network_matrix(read_matrix(HAND.T, list("stuv"), list("abc")), flipped).certificate
    assert [line.split()[:2] for line in str(flipped).splitlines()[1:]] == [
        *(["arc", x] for x in "abc"),
        *(["path", x] for x in "stuv"),
    ]
    assert CERTIFICATE.n_vertices == 4


@looped("seed", range(30))
def test_what_is_written_out_is_the_matrix(seed: int) -> None:
    """Its signs, read back path by path, are the entries; a large network stays one line."""
    matrix, network = _random(seed, transposed=bool(seed % 2))
    certificate = check_network_matrix(matrix, network).certificate
    lines = str(certificate).splitlines()
    assert lines[0] == repr(certificate)
    if sum(matrix.shape) > 24:
        assert len(lines) == 1
        return
    read = np.zeros_like(matrix.T if seed % 2 else matrix)
    for line in lines[1 + len(network.tail) :]:
        _, path, *rest = line.split()
        for sign, arc in zip(rest[3::2], rest[4::2], strict=True):
            read[int(arc[1:]), int(path[1:])] = int(sign + "1")
    np.testing.assert_array_equal(read.T if seed % 2 else read, matrix)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"end": np.array([3, 3, 1, 1])}, "c0 is not the path from vertex 0 to vertex 3"),
        ({"start": np.array([0, 0, 1, 1]), "end": np.array([2, 3, 2, 1])}, "c2 is not the path from vertex 1 to vertex 2"),
        ({"start": np.array([0, 0, 2, 3])}, "c3 is not the path from vertex 3 to vertex 1"),
        ({"tail": np.array([0, 0, 3])}, "c0 is not the path"),
        ({"tail": np.array([0, 2, 3]), "head": np.array([1, 1, 1])}, "c0 is not the path"),
        ({"tail": np.array([0, 1, 2]), "head": np.array([1, 2, 0])}, "the arc r2 closes a circle"),
        ({"tail": np.array([0, 1, 1])}, "the arc r2 closes a circle"),
        ({"tail": np.array([0, 1]), "head": np.array([1, 2])}, "2 arcs for 3 rows of the matrix"),
        ({"head": np.array([1, 2])}, "2 arcs for 3 rows of the matrix"),
        ({"start": np.array([0, 0, 2])}, "3 paths for 4 columns of the matrix"),
        ({"end": np.array([2, 3, 1, 1, 0])}, "5 paths for 4 columns of the matrix"),
        ({"tail": np.array([0, 1, 4])}, "arcs at vertex 4; there are 0 to 3"),
        ({"head": np.array([1, -1, 1])}, "arcs at vertex -1"),
        ({"end": np.array([2, 3, 1, 4])}, "paths at vertex 4"),
        ({"start": np.array([-2, 0, 2, 1])}, "paths at vertex -2"),
        ({"transposed": True}, "3 arcs for 4 columns of the matrix"),
    ],
)
def test_a_tampered_certificate_is_rejected(change: dict[str, object], message: str) -> None:
    """A path's end or direction, an arc's, a circle, lengths, vertices that are not there, the wrong side: each is named."""
    verdict = check_network_matrix(HAND, dataclasses.replace(CERTIFICATE, **change))
    assert verdict.holds is False
    assert message in str(verdict.certificate)


def test_an_entry_that_is_none_of_the_signs_is_named() -> None:
    """A 2 keeps a matrix from being a network matrix, though the pattern of signs would do."""
    matrix = HAND.astype(float)
    matrix[2, 3] = 2
    verdict = check_network_matrix(matrix, CERTIFICATE)
    assert verdict.holds is False
    assert verdict.certificate == "the entry in row r2, column c3 is 2, none of -1, 0, 1"


@given(st.integers(0, 10**6), st.booleans())
def test_one_changed_entry_is_always_noticed(seed: int, transposed: bool) -> None:
    """A tree and two vertices have one path: no other matrix has this certificate."""
    matrix, network = _random(seed, transposed=transposed)
    assume(matrix.size)
    rng = np.random.default_rng(seed)
    i, j = (int(rng.integers(n)) for n in matrix.shape)
    changed = matrix.copy()
    changed[i, j] = (matrix[i, j] + 1 + int(rng.integers(1, 3))) % 3 - 1
    assert check_network_matrix(changed, network).holds is False


@pytest.mark.slow
@given(st.integers(0, 10**6))
def test_one_changed_vertex_is_noticed_unless_the_matrix_stays_the_same(seed: int) -> None:
    """The verdict is that of the matrix rebuilt from the changed certificate by a search in the tree."""
    matrix, network = _random(seed)
    rng = np.random.default_rng(seed)
    which = str(rng.choice(["tail", "head", "start", "end"]))
    array = getattr(network, which).copy()
    assume(array.size)
    array[rng.integers(array.size)] = rng.integers(network.n_vertices)
    changed = dataclasses.replace(network, **{which: array})
    joined = np.eye(network.n_vertices, dtype=bool)
    for a, b in zip(changed.tail, changed.head, strict=True):
        joined |= np.outer(joined[:, a] | joined[:, b], joined[a] | joined[b])
    same = bool(joined.all()) and np.array_equal(
        tree_paths(changed.tail, changed.head, changed.start.tolist(), changed.end.tolist()), matrix
    )
    assert check_network_matrix(matrix, changed).holds is same


@pytest.mark.slow_cases("False")
@pytest.mark.parametrize("transposed", [False, True])
@looped("seed", range(20))
def test_the_paths_are_found_in_a_tree(seed: int, transposed: bool) -> None:
    """From the tree alone, the ends of the paths come out so that the certificate holds."""
    matrix, network = _random(seed, transposed=transposed)
    found = paths_in_tree(read_matrix(matrix), network.tail, network.head, transposed=transposed)
    assert found is not None
    assert check_network_matrix(matrix, found).holds is True


@pytest.mark.parametrize("column", [[1, -1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, -1]])
def test_what_is_no_path_in_the_tree_is_refused(column: list[int]) -> None:
    """Two arcs that meet head to head with equal signs, and three at one vertex, are no path; the others before it are."""
    matrix = np.column_stack([HAND, column])
    if column == [0, 1, 1]:  # 3 -> 1 -> 2 is one
        assert paths_in_tree(read_matrix(matrix), TAIL, HEAD) is not None
    else:
        assert paths_in_tree(read_matrix(matrix), TAIL, HEAD) is None


@pytest.mark.parametrize("t", [0, 1])
def test_the_papers_trees(t: int) -> None:
    """Our graphs of the two trees carry the printed matrices; the certificate has both, with the operations as names."""
    network = tree_network(two_trees(), t, expanded=True)
    verdict = check_printed_matrices(t, network.equations(), network.incidence(), list(network.arcs))
    assert verdict, str(verdict)
    found = verdict.certificate
    assert found.names[0] == "-r1"
    assert found.names[1] == "r1 - r2"
    assert found.names[-1] == f"r{len(PRINTED_TREES[t].equations)}"
    assert found.network[1].tolist() == list(PRINTED_TREES[t].network[1])
    first_row = re.search(r"^ *-r1 (.*)$", str(found), re.MULTILINE)
    assert first_row is not None
    assert [int(x) for x in first_row.group(1).split()] == list(PRINTED_TREES[t].network[0])


@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("which", ["equations", "network"])
def test_every_entry_counts(which: str, t: int) -> None:
    """Any single entry of either matrix changed is noticed: against the printed ones, or by the row operations."""
    network = tree_network(two_trees(), t, expanded=True)
    true = {"equations": network.equations().toarray(), "network": network.incidence().toarray()}
    for i, j in np.ndindex(true[which].shape):
        wrong = {name: matrix.copy() for name, matrix in true.items()}
        wrong[which][i, j] += 1
        assert check_printed_matrices(t, **wrong, columns=list(network.arcs)).holds is False


def test_other_matrices_than_the_printed_ones_are_refuted() -> None:
    """A wrong entry, tree 2's matrices under tree 1's number, columns exchanged, a consistent pair that is not the papers'."""
    one, two = tree_networks(two_trees(), expanded=True)
    wrong = one.incidence().toarray()
    wrong[2, 3] = 0
    verdict = check_printed_matrices(0, one.equations(), wrong, list(one.arcs))
    assert "0 in row 3, column z4; r2 - r3 is 1" in str(verdict.certificate)
    assert check_printed_matrices(0, two.equations(), two.incidence(), list(two.arcs)).holds is False
    names = list(one.arcs)
    names[1], names[2] = names[2], names[1]
    assert "the papers have z1" in check_printed_matrices(0, one.equations(), one.incidence(), names).certificate
    equations, network = one.equations().toarray(), one.incidence().toarray()
    equations[:, [1, 2]], network[:, [1, 2]] = equations[:, [2, 1]], network[:, [2, 1]]
    assert "the papers print" in check_printed_matrices(0, equations, network, list(one.arcs)).certificate


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [
        ("network", lambda m: m[:-1], r"network has the shape \(5, 7\); \(5, 7\) equations and 7 names lead to \(6, 7\)"),
        ("equations", lambda m: m[:, :-1], "7 names lead to"),
        ("equations", lambda m: m / 2, r"no integer: 0\.5"),
        ("equations", lambda m: m[0], r"equations: shape \(7,\)"),
        ("network", lambda m: m.astype(str), "give a matrix of integers"),
    ],
)
def test_what_is_no_pair_of_matrices_is_refused(which: str, change: Any, message: str) -> None:
    """Shapes and entries."""
    network = tree_network(two_trees(), 0, expanded=True)
    pair = {"equations": network.equations().toarray(), "network": network.incidence().toarray()}
    with pytest.raises(InvalidInputError, match=message):
        check_printed_matrices(0, **pair | {which: change(pair[which])}, columns=list(network.arcs))


def test_figure_3_is_checked_beside_the_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arc of the figure that is not the network matrix's column is named."""
    one, two = PRINTED_TREES
    wrong = replace(one, arcs={**one.arcs, "z3": (2, 4)})
    monkeypatch.setattr(formulation_network, "PRINTED_TREES", (wrong, two))
    network = tree_network(two_trees(), 0, expanded=True)
    verdict = check_printed_matrices(0, network.equations(), network.incidence(), list(network.arcs))
    assert verdict.holds is False
    assert verdict.certificate == "the network matrix has 0 in row 4, column z3; the papers print 1"


INTEGERS = st.one_of(st.integers(-2, 2), st.integers(-(10**20), 10**20))
NUMBERS = st.one_of(INTEGERS, st.fractions(-2, 2, max_denominator=9))


def matrices(numbers: Any, *, square: bool) -> Any:
    """Lists of rows, up to 4 x 4, many of them singular."""

    def of_shape(shape: tuple[int, int]) -> Any:
        m, n = shape[0], shape[0] if square else shape[1]
        full = st.lists(st.lists(numbers, min_size=n, max_size=n), min_size=m, max_size=m)
        return st.one_of(full, full.map(lambda rows: [*rows[:-1], rows[0]] if m > 1 else rows))

    return st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(of_shape)


def leibniz(entries: list[list[Any]]) -> Any:
    """The determinant as a sum over permutations."""
    n = len(entries)
    total = 0
    for order in itertools.permutations(range(n)):
        inversions = sum(order[a] > order[b] for a, b in itertools.combinations(range(n), 2))
        total += (-1) ** inversions * math.prod(entries[i][order[i]] for i in range(n))
    return total


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(matrices(NUMBERS, square=True))
def test_determinants(entries: list[list[Any]]) -> None:
    """The sum over permutations, for integers of any size and fractions, mixed."""
    before = [list(row) for row in entries]
    assert determinant(entries) == leibniz(entries)
    assert entries == before


def test_by_hand() -> None:
    """Order 0, an exchange of rows, a zero column before the pivot, a type that stays integer."""
    assert determinant([]) == 1
    assert determinant([[1 if j in (i, (i + 1) % 301) else 0 for j in range(301)] for i in range(301)]) == 2
    assert determinant([[0, 1], [1, 0]]) == -1
    assert determinant([[0, 2, 1], [0, 1, 5], [3, 0, 0]]) == 27
    assert isinstance(determinant([[4, 2], [2, 4]]), int)
    assert determinant([[Fraction(1, 2), 1], [1, 4]]) == 1
    assert [determinant(odd_cycle(k).tolist()) for k in range(2, 8)] == [0, 2, 0, 2, 0, 2]
    entries: Any = np.array([[10**18, 1], [0, 10**18]])
    assert determinant(entries) == 10**36  # Python's integers take over from NumPy's


def test_what_has_no_determinant_is_refused() -> None:
    """Another number of rows than columns, rows of several lengths, floating-point numbers."""
    with pytest.raises(InvalidInputError, match="2 rows and 3 columns"):
        determinant([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(InvalidInputError, match="2 rows and 1 columns"):
        determinant([[1], [2]])
    with pytest.raises(TypeError):
        determinant([[0.5]])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="1 rows and 2 columns"):
        submatrix(read_matrix(np.eye(2)), [0], [0, 1])


def test_a_submatrix_with_its_determinant() -> None:
    """Rows and columns in ascending order, whatever order they come in; the table has the names and the determinant."""
    matrix = read_matrix([[1, 1, 0], [0, 0, 1], [-1, 1, 0]], rows=["up", "mid", "low"], columns=["a", "bb", "c"])
    found = submatrix(matrix, [2, 0], np.array([1, 0]))  # type: ignore[arg-type]
    assert (found.rows, found.columns, found.order) == ((0, 2), (0, 1), 2)
    assert found.entries == ((1, 1), (-1, 1))
    assert found.determinant == 2
    assert (found.row_names, found.column_names) == (("up", "low"), ("a", "bb"))
    assert str(found) == "\n".join(["      a  bb", "up    1   1", "low  -1   1", "determinant 2"])
    assert submatrix(matrix, [0], [2]).determinant == 0


def test_an_entry_that_is_no_sign_is_a_submatrix_alone() -> None:
    """The matrix keeps it aside: alone it is given exactly; among others it would be missing, so that is refused."""
    matrix = read_matrix([[1, 0.5], [1, 1]])
    alone = submatrix(matrix, [0], [1])
    assert (alone.entries, alone.determinant) == (((Fraction(1, 2),),), Fraction(1, 2))
    assert str(alone).endswith("determinant 1/2")
    with pytest.raises(InvalidInputError, match="the entry in row 0, column 1 is 1/2, which violates alone"):
        submatrix(matrix, [0, 1], [0, 1])
    assert submatrix(matrix, [1], [1]).determinant == 1
    assert submatrix(matrix, [0], [0]).determinant == 1
