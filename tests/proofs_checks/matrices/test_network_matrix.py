"""The certificate: a tree and paths, checked in one pass."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import read_matrix
from tests.loops import looped
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix, random_tree, tree_paths

# 0 -> 1 -> 2, 3 -> 1
TAIL, HEAD = np.array([0, 1, 3]), np.array([1, 2, 1])
START, END = np.array([0, 0, 2, 1]), np.array([2, 3, 1, 1])
HAND = np.array([[1, 1, 0, 0], [1, 0, -1, 0], [0, -1, 0, 0]], dtype=np.int8)
CERTIFICATE = NetworkMatrix(TAIL, HEAD, START, END)


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
    assert verdict.certificate is CERTIFICATE
    assert "3 rows and 4 columns is the network matrix" in verdict.claim
    assert str(CERTIFICATE) == "a tree with the 3 rows as arcs, in which the 4 columns are paths"
    assert CERTIFICATE.n_vertices == 4


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
