"""Network matrices are recognised, their trees found, and nothing else is; reductions, signs, and how they are undone."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from formulations.errors import SolverFailedError
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import determinant
from proofs_checks.total_unimodularity import find_network, network_recognition, reductions
from proofs_checks.total_unimodularity.decide import check_violation
from proofs_checks.total_unimodularity.network_recognition import recognise_network
from proofs_checks.total_unimodularity.reductions import COPY, UNIT, ZERO, reduce_matrix
from proofs_checks.total_unimodularity.ternary import wrong_cycle
from tests.loops import looped
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix


def _certified(matrix: Matrix | SignMatrix, network: NetworkMatrix | None) -> bool:
    return network is not None and check_network_matrix(matrix, network).holds is True


@cache
def _trees(m: int) -> list[NDArray[np.int64]]:
    """All trees with m labelled arcs: arc v joins vertex v + 1 with any other. As the ways from vertex 0, a column a vertex."""
    trees = []
    for above in itertools.product(range(m + 1), repeat=m):
        way = np.zeros((m, m + 1), dtype=np.int64)
        for vertex in range(1, m + 1):
            v = vertex
            while v and not way[v - 1, vertex]:
                way[v - 1, vertex] = 1
                v = above[v - 1]
            if v:  # a circle
                break
        else:
            trees.append(way)
    return trees


@cache
def _path_sets(m: int) -> NDArray[np.bool_]:
    """The sets of columns that are paths of one tree, all of them; a column's number has base 3."""
    power = 3 ** np.arange(m)
    start, end = np.array(list(itertools.product(range(m + 1), repeat=2))).T
    sets = set()
    for way in _trees(m):
        paths = way[:, end] - way[:, start]
        for flip in itertools.product([1, -1], repeat=m):
            sets.add(np.bincount(power @ (paths * np.array(flip)[:, None] % 3), minlength=3**m).astype(bool).tobytes())
    return np.array([np.frombuffer(s, dtype=bool) for s in sets])


def _is_network(matrix: Matrix) -> bool:
    """By trying all trees."""
    return bool(_path_sets(len(matrix))[:, 3 ** np.arange(len(matrix)) @ (matrix.astype(np.int64) % 3)].all(axis=1).any())


def _nearly_network(m: int, n: int, rng: np.random.Generator) -> Matrix:
    """A random network matrix of few distinct lines, sometimes with one column put at random."""
    matrix = families.random_network(m, n, rng)[rng.permutation(m)]
    if rng.random() < 0.7:
        matrix[:, rng.integers(n)] = rng.integers(-1, 2, m)
    return matrix


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_answer_is_that_of_trying_all_trees(m: int) -> None:
    """Of thousands of small matrices just those are recognised that are network matrices of some tree."""
    rng = np.random.default_rng(m)
    answers = []
    for k in range(1200):
        n = int(rng.integers(1, 6))
        matrix = families.random_signs(m, n, float(rng.uniform(0.3, 1)), rng) if k % 2 else _nearly_network(m, n, rng)
        network = recognise_network(read_matrix(matrix))
        answers.append(network is not None)
        assert (network is not None) is _is_network(matrix), matrix.tolist()
        assert network is None or _certified(matrix, network)
    assert 100 < sum(answers) < 1100


@looped(("name", "factory"), families.NETWORK)
def test_network_families_are_recognised_with_and_without_reductions(name: str, factory: families.Family) -> None:
    """The families that are network matrices get a certificate, and so do their transposes."""
    matrix = factory()  # type: ignore[operator]
    for transposed, given_matrix in ((False, matrix), (True, matrix.T)):
        read = read_matrix(given_matrix)
        for find in (recognise_network, find_network):
            network = find(read, transposed=transposed)
            assert _certified(read, network)
            assert network is not None
            assert network.transposed is transposed


@pytest.mark.slow
def test_what_is_neither_is_not_recognised() -> None:
    """R10, R12, K5's and K3,3's cycles with their transposes, and what is not totally unimodular at all."""
    for name, factory in families.NEITHER + families.NO:
        read = read_matrix(factory())
        for transposed in (False, True):
            assert recognise_network(read, transposed=transposed) is None, name
            assert find_network(read, transposed=transposed) is None, name


@pytest.mark.parametrize("shape", ["path", "caterpillar", "star", "broom"])
def test_trees_of_extreme_shapes(shape: str) -> None:
    """Long paths split off one arc after the other, stars have no inner arc: none needs a deep recursion."""
    k = 300
    rng = np.random.default_rng(5)
    v = np.arange(1, k + 1)
    above = {
        "path": v - 1,
        "caterpillar": np.where(v % 2, np.maximum(v - 2, 0), v - 1),
        "star": np.zeros(k, dtype=np.int64),
        "broom": np.minimum(v - 1, k // 2),
    }[shape]
    order = rng.permutation(k)
    ends = rng.integers(0, k + 1, size=(2, k)).tolist()
    matrix = families.tree_paths(above[order], v[order], *ends)
    assert _certified(matrix, recognise_network(read_matrix(matrix)))


def test_the_fullest_rows_of_a_path_may_be_its_outermost() -> None:
    """Arcs 0, 1, 2 are a path whose ends 0 and 2 leave the others connected and have more entries than 1: 1 is tried as well.
    Arcs 3, 4, 5 meet arc 0 where it meets arc 1; arcs 6, 7, 8 meet arc 2 there. No other column has three entries.
    """
    columns = [(0, 1, 2), (0, 3), (0, 4), (0, 5), (3, 4), (4, 5), (3, 1), (2, 6), (2, 7), (2, 8), (6, 7), (7, 8), (6, 1)]
    inner, leaf = {"left": 0, "right": 1}, iter(range(2, 10))
    tail, head = np.zeros(9, dtype=np.int64), np.zeros(9, dtype=np.int64)
    for arc in range(9):
        tail[arc] = inner["left" if arc in (0, 1, 3, 4, 5) else "right"]
        head[arc] = 1 if arc == 1 else next(leaf)
    ends = [
        (int(head[c[0]]), int(head[c[-1]])) if 1 not in c or len(c) == 3 else (int(head[c[0]]), 1 - int(tail[c[0]]))
        for c in columns
    ]
    matrix = families.tree_paths(tail, head, [a for a, _ in ends], [b for _, b in ends])
    assert [tuple(sorted(c)) for c in columns] == [tuple(np.flatnonzero(column)) for column in matrix.T]
    assert _certified(matrix, recognise_network(read_matrix(matrix)))


def test_a_tree_that_fails_the_verification_is_a_fault_not_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every positive answer is verified: a wrong tree raises."""
    wrong = (np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32))
    monkeypatch.setattr(network_recognition, "tree_of", lambda *nonzeros: wrong)
    with pytest.raises(SolverFailedError, match="does not fit it"):
        recognise_network(read_matrix([[1, 1], [1, -1]]))
    circle = (np.array([0, 2, 3], dtype=np.int32), np.array([1, 3, 2], dtype=np.int32))
    monkeypatch.setattr(network_recognition, "tree_of", lambda *nonzeros: circle)
    with pytest.raises(SolverFailedError, match="does not fit it"):
        recognise_network(read_matrix([[1], [0], [0]]))
    monkeypatch.undo()
    bad = NetworkMatrix(np.array([0]), np.array([1]), np.array([0]), np.array([0]))
    monkeypatch.setattr(reductions, "lift", lambda *args, **options: bad)
    with pytest.raises(SolverFailedError, match="c0 is not the path"):
        find_network(read_matrix([[1]]))


def test_an_other_entry_is_no_network() -> None:
    """A 2 is in no network matrix."""
    for transposed in (False, True):
        assert recognise_network(read_matrix([[2, 1]]), transposed=transposed) is None
        assert find_network(read_matrix([[2, 1]]), transposed=transposed) is None


# reductions


def test_reductions_by_hand() -> None:
    """A zero row, a column with one entry, a copy and a negated copy go, and what they leave behind: here nothing is left."""
    matrix = read_matrix([[0, 0, 0, 0], [1, 1, -1, 0], [0, 1, -1, 1]])
    reductions = reduce_matrix(matrix)
    assert len(reductions) == 7
    assert not reductions.rows.size
    assert not reductions.columns.size
    assert (reductions.kind[0], reductions.line[0], reductions.partner[0]) == (ZERO, 0, -1)
    steps = set(zip(reductions.kind.tolist(), reductions.line.tolist(), reductions.partner.tolist(), strict=True))
    assert (UNIT, 3, 1) in steps  # column c0 has its only entry in row r1
    assert {kind for kind, _, _ in steps} == {ZERO, UNIT, COPY}
    copy = int(np.flatnonzero(reductions.kind == COPY)[0])
    assert reductions.sign[copy] in (-1, 1)


def _reducible(matrix: Matrix) -> bool:
    """Whether a zero or unit line, or a copy, is left; by looking at all pairs."""
    for lines in (matrix, matrix.T):
        if lines.size and (np.abs(lines).sum(axis=1) <= 1).any():
            return True
        for one, other in itertools.combinations(lines, 2):
            if np.array_equal(one, other) or np.array_equal(one, -other):
                return True
    return False


@looped("seed", range(24))
def test_every_step_is_allowed_and_none_is_left(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replayed on the dense matrix each step's condition holds in its turn, and the rest has nothing that may go. Sums that are
    equal by chance do no harm: with equal weights, most of them are.
    """
    if seed % 2:
        monkeypatch.setattr(reductions, "random_weights", lambda size: np.ones(size, dtype=np.int64))
    rng = np.random.default_rng(seed)
    base = families.random_signs(int(rng.integers(1, 7)), int(rng.integers(1, 7)), 0.6, rng)
    matrix = families.mixed(base, rng, steps=25, largest=16, pivots=False)
    m = len(matrix)
    steps = reduce_matrix(read_matrix(matrix))
    left = matrix.copy()

    def line(x: int) -> Matrix:
        return left[x] if x < m else left[:, x - m]

    for kind, x, partner, sign in zip(steps.kind, steps.line, steps.partner, steps.sign, strict=True):
        if kind == ZERO:
            assert not line(x).any()
        elif kind == UNIT:
            place = partner - m if x < m else partner
            assert line(x)[place] == sign
            assert np.abs(line(x)).sum() == 1
        else:
            assert (x < m) == (partner < m)
            assert x != partner
            assert np.array_equal(line(x), sign * line(partner))
            assert line(x).any()
        line(x)[:] = 0
    gone = set(steps.line.tolist())
    assert len(gone) == len(steps) == m + matrix.shape[1] - len(steps.rows) - len(steps.columns)
    assert sorted(gone | set(steps.rows.tolist()) | set((steps.columns + m).tolist())) == list(range(sum(matrix.shape)))
    assert not _reducible(matrix[np.ix_(steps.rows, steps.columns)])


def test_series_parallel_chains_vanish() -> None:
    """A path of a hundred thousand rows, each with two entries, is taken apart from its ends."""
    n = 100_000
    chain = sparse.diags_array([np.ones(n), -np.ones(n)], offsets=[0, 1], shape=(n, n + 1), format="csc")
    matrix = read_matrix(chain)
    reductions = reduce_matrix(matrix)
    assert len(reductions) == 2 * n + 1
    assert _certified(matrix, find_network(matrix))
    assert _certified(matrix, find_network(matrix, transposed=True))


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_reduced_networks_come_back_whole(seed: int, transposed: bool) -> None:
    """Blocks of network matrices with zero, unit and copied lines put in have one tree and paths for the whole."""
    rng = np.random.default_rng(seed)
    bases = [
        families.random_network(int(rng.integers(1, 8)), int(rng.integers(1, 8)), rng) for _ in range(int(rng.integers(1, 4)))
    ]
    matrix = families.mixed(families.block_diagonal(*bases), rng, steps=20, largest=30, pivots=False, transpose=False)
    given_matrix = matrix.T if transposed else matrix
    assert _certified(given_matrix, find_network(read_matrix(given_matrix), transposed=transposed))


# signs


@looped("seed", range(12))
def test_totally_unimodular_matrices_have_right_signs_and_a_flip_is_found(seed: int) -> None:
    """No chordless cycle is wrong in a totally unimodular matrix; with the sign of an entry on a cycle flipped, one is."""
    base = (families.r10, families.r12, families.cycles_of_k5)[seed % 3]()
    matrix = families.mixed(base, seed)
    assert wrong_cycle(read_matrix(matrix)) is None
    flipped = families.one_sign_flipped(matrix, seed)
    found = wrong_cycle(read_matrix(flipped))
    assert found is not None
    assert abs(determinant(found.entries)) == 2
    support = np.abs(np.array(found.entries))
    assert {*support.sum(axis=0).tolist(), *support.sum(axis=1).tolist()} == {2}  # a cycle without chords
    assert check_violation(flipped, found).holds is True


def test_the_wrong_cycle_of_an_odd_cycle_is_all_of_it() -> None:
    """A cycle of 101 rows and columns whose entries add up to 2 modulo 4 is the only one; minimal by its form."""
    matrix = families.odd_cycle(101)
    found = wrong_cycle(read_matrix(matrix))
    assert found is not None
    assert found.order == 101
    assert str(check_violation(matrix, found).certificate) == "determinant 2, minimal"
    matrix[0, 0] = -1
    assert wrong_cycle(read_matrix(matrix)) is None
