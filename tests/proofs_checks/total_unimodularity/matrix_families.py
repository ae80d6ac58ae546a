"""Matrices of which it is known whether they are totally unimodular (TU), each with the reason.

`NETWORK`, `TRANSPOSED_NETWORK` and `NEITHER` are TU, `YES` is all of them with their mixes, `NO` is not TU. Each is a list of
(name, factory); a factory takes nothing and returns entries of int8. All are small enough for the exponential references.
The functions make matrices of any size, from a seed or a generator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.total_unimodularity import Pieces, check_pieces
from proofs_checks.total_unimodularity.decide import check_violation
from proofs_checks.verdict import Verdict

Matrix = NDArray[np.int8]
Family = list[tuple[str, Callable[[], Matrix]]]
Seed = int | np.random.Generator


# totally unimodular


def random_tree(n_arcs: int, seed: Seed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Tails and heads of a random directed tree on the vertices 0 .. n_arcs: each vertex hangs on an earlier one."""
    rng = np.random.default_rng(seed)
    above = rng.integers(0, np.arange(1, n_arcs + 1)) if n_arcs else np.zeros(0, dtype=np.int64)
    below = np.arange(1, n_arcs + 1)
    down = rng.random(n_arcs) < 0.5
    return np.where(down, above, below), np.where(down, below, above)


def tree_paths(tail: NDArray[np.int64], head: NDArray[np.int64], start: Sequence[int], end: Sequence[int]) -> Matrix:
    """Network matrix: column p holds the signs of the arcs on the path from start[p] to end[p]; found by search."""
    near: list[list[tuple[int, int, int]]] = [[] for _ in range(len(tail) + 1)]
    for arc, (a, b) in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
        near[a].append((b, arc, 1))
        near[b].append((a, arc, -1))
    matrix = np.zeros((len(tail), len(start)), dtype=np.int8)
    for p, (a, b) in enumerate(zip(start, end, strict=True)):
        reached: dict[int, tuple[int, int, int]] = {}
        stack = [int(a)]
        while stack:
            v = stack.pop()
            for w, arc, sign in near[v]:
                if w != a and w not in reached:
                    reached[w] = (v, arc, sign)
                    stack.append(w)
        v = int(b)
        while v != a:
            v, arc, sign = reached[v]
            matrix[arc, p] = sign
    return matrix


def random_network(n_arcs: int, n_paths: int, seed: Seed) -> Matrix:
    """Random paths in a random directed tree. TU: Tutte 1965."""
    rng = np.random.default_rng(seed)
    tail, head = random_tree(n_arcs, rng)
    ends = rng.integers(0, n_arcs + 1, size=(2, n_paths)).tolist()
    return tree_paths(tail, head, *ends)


def cycles_of_k5() -> Matrix:
    """K5's fundamental cycles for the star at vertex 0: tree arcs 0 -> v, chords v -> w, v < w. The graph is not planar, so
    the transpose is no network matrix (Tutte).
    """
    chords = list(itertools.combinations(range(1, 5), 2))
    return tree_paths(np.zeros(4, dtype=np.int64), np.arange(1, 5), [v for v, _ in chords], [w for _, w in chords])


def cycles_of_k33() -> Matrix:
    """K3,3's fundamental cycles (sides 0, 1, 2 and 3, 4, 5) for the tree 0-3, 0-4, 0-5, 1-3, 2-3. Not planar either."""
    chords = [(v, w) for v in (1, 2) for w in (4, 5)]
    tail, head = np.array([0, 0, 0, 1, 2]), np.array([3, 4, 5, 3, 3])
    return tree_paths(tail, head, [v for v, _ in chords], [w for _, w in chords])


def r10() -> Matrix:
    """R10, a circulant: TU, neither network nor transposed network (Schrijver 1986, section 19.4)."""
    return np.array(
        [[1, -1, 0, 0, -1], [-1, 1, -1, 0, 0], [0, -1, 1, -1, 0], [0, 0, -1, 1, -1], [-1, 0, 0, -1, 1]], dtype=np.int8
    )


def r10_of_ones() -> Matrix:
    """R10's other representation, in zeros and ones (the same place)."""
    return np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 0, 0, 1, 1], [1, 1, 0, 0, 1]], dtype=np.int8)


def r12() -> Matrix:
    """R12 (Seymour 1980): TU, a 3-sum, neither network nor transposed network."""
    return np.array(
        [
            [1, 1, 1, 0, 0, 0],
            [1, 1, 0, 1, 0, 0],
            [1, 0, 0, 0, 1, 0],
            [0, 1, 0, 0, 0, 1],
            [0, 0, 1, 0, -1, -1],
            [0, 0, 0, 1, -1, -1],
        ],
        dtype=np.int8,
    )


# what keeps a matrix TU, or not TU


def block_diagonal(*blocks: Matrix) -> Matrix:
    """1-sum: TU if and only if every block is."""
    whole = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), dtype=np.int8)
    row = column = 0
    for block in blocks:
        whole[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return whole


def pivoted(matrix: Matrix, i: int, j: int) -> Matrix:
    """Pivot on e = a_ij = 1 or -1: rows e, c; b, D become -e, e c; e b, D - e b c. TU goes over (Schrijver 1986,
    section 19.4); where the matrix is not TU, entries other than -1, 0, 1 may come up.
    """
    e = int(matrix[i, j])
    b, c = matrix[:, j].astype(np.int64), matrix[i].astype(np.int64)
    result = matrix - e * np.outer(b, c)
    result[i], result[:, j] = e * c, e * b
    result[i, j] = -e
    small: Matrix = result.astype(np.int8)
    return small


def mixed(
    matrix: Matrix, seed: Seed, *, steps: int = 12, largest: int = 9, pivots: bool = True, transpose: bool = True
) -> Matrix:
    """Random steps that keep TU and not TU (but for pivots, which keep TU only).

    Permuted rows and columns, their negatives, copies, zero and unit ones, transposition, pivots; at most `largest` rows and
    columns, or as many as before. Without transposition, a network matrix stays one.
    """
    rng = np.random.default_rng(seed)
    kinds = ["permute", "negate", "copy", "unit", "zero", *["pivot"] * (3 * pivots), *["transpose"] * (2 * transpose)]
    for kind in rng.choice(kinds, size=steps):
        if kind == "transpose":
            matrix = matrix.T
        elif kind == "pivot":
            places = np.argwhere(matrix)
            if len(places):
                matrix = pivoted(matrix, *rng.choice(places).tolist())
        else:
            of_rows = bool(rng.random() < 0.5)
            lines = _with_lines(matrix if of_rows else matrix.T, str(kind), rng, largest)
            matrix = lines if of_rows else lines.T
    return np.ascontiguousarray(matrix)


def _with_lines(matrix: Matrix, kind: str, rng: np.random.Generator, largest: int) -> Matrix:
    """Change or add rows."""
    m, n = matrix.shape
    if kind == "permute":
        return matrix[rng.permutation(m)]
    if kind == "negate":
        negated: Matrix = matrix * rng.choice(np.array([-1, 1], dtype=np.int8), size=(m, 1))
        return negated
    line = np.zeros(n, dtype=np.int8)
    if kind == "copy" and m:
        line = matrix[rng.integers(m)] * rng.choice(np.array([-1, 1], dtype=np.int8))
    if kind == "unit" and n:
        line[rng.integers(n)] = rng.choice([-1, 1])
    longer: Matrix = np.insert(matrix, int(rng.integers(m + 1)), line, axis=0)
    return longer if m < largest else matrix


# not totally unimodular


def odd_cycle(k: int) -> Matrix:
    """Edge by vertex of a cycle with k edges, k odd: the determinant is 2, no proper submatrix violates."""
    return np.eye(k, dtype=np.int8) + np.roll(np.eye(k, dtype=np.int8), 1, axis=1)


def fano() -> Matrix:
    """F7's representation over GF(2) with ones: regular matroids have no F7 minor, so that no signing is TU (Tutte 1958)."""
    return np.array([[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]], dtype=np.int8)


def randomly_signed(matrix: Matrix, seed: Seed) -> Matrix:
    """The same support, random signs."""
    signs = np.random.default_rng(seed).choice(np.array([-1, 1], dtype=np.int8), size=matrix.shape)
    signed: Matrix = np.abs(matrix) * signs
    return signed


def flippable(matrix: Matrix) -> NDArray[np.int64]:
    """Places of the nonzeros that lie on a cycle of the support's bipartite graph, one a row: the edges that are no bridges."""
    m, _ = matrix.shape
    places = np.argwhere(matrix)
    on_cycle = []
    for k in range(len(places)):
        group = list(range(sum(matrix.shape)))
        for i, j in np.delete(places, k, axis=0).tolist():
            one, other = group[i], group[m + j]
            group = [other if g == one else g for g in group]
        on_cycle.append(group[places[k, 0]] == group[m + places[k, 1]])
    return places[np.array(on_cycle, dtype=bool)] if len(places) else places


def one_sign_flipped(matrix: Matrix, seed: Seed) -> Matrix:
    """A TU matrix with the sign of one nonzero on a cycle of its support changed: not TU any more.

    Two TU matrices with one support agree up to negated rows and columns (Camion 1963), which leave the product of the signs
    along a cycle as it is; the flip changes it.
    """
    i, j = np.random.default_rng(seed).choice(flippable(matrix)).tolist()
    flipped = matrix.copy()
    flipped[i, j] *= -1
    return flipped


def hidden(violating: Matrix, n_arcs: int, n_paths: int, seed: Seed) -> Matrix:
    """A matrix that is not TU within a network matrix: the two in a block diagonal, some of the other entries set, permuted."""
    rng = np.random.default_rng(seed)
    whole = block_diagonal(violating, random_network(n_arcs, n_paths, rng))
    m, n = violating.shape
    below = whole[m:, :n]
    below[rng.random(below.shape) < 0.2] = 1
    return whole[rng.permutation(len(whole))][:, rng.permutation(whole.shape[1])]


def random_signs(m: int, n: int, density: float, seed: Seed) -> Matrix:
    """Independent entries, 1 or -1 with half the density each. TU or not: ask a reference."""
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([-1, 0, 1], dtype=np.int8), size=(m, n), p=[density / 2, 1 - density, density / 2])


# the lists


def _flipped_network(n_arcs: int, n_paths: int, seed: int) -> Matrix:
    """Of the first network matrix from the seed on whose support has a cycle."""
    rng = np.random.default_rng(seed)
    while not len(flippable(matrix := random_network(n_arcs, n_paths, rng))):
        pass
    return one_sign_flipped(matrix, rng)


def _flipped_mix(base: Callable[[], Matrix], seed: int) -> Matrix:
    return one_sign_flipped(mixed(base(), seed), seed)


def _transposed(factory: Callable[[], Matrix]) -> Matrix:
    return np.ascontiguousarray(factory().T)


NETWORK: Family = [
    *[(f"network {m} x {n}, {s}", partial(random_network, m, n, s)) for m, n in ((4, 6), (7, 7), (9, 8)) for s in range(3)],
    ("cycles of K5", cycles_of_k5),
    ("cycles of K3,3", cycles_of_k33),
    *[(f"cycles of K5, mixed, {s}", lambda s=s: mixed(cycles_of_k5(), s, transpose=False)) for s in range(3)],
    *[(f"network, mixed, {s}", lambda s=s: mixed(random_network(6, 6, s), s, transpose=False)) for s in range(6)],
]
"""Network matrices."""

TRANSPOSED_NETWORK: Family = [(f"transpose of {name}", partial(_transposed, factory)) for name, factory in NETWORK]
"""Transposes of network matrices."""

NEITHER: Family = [
    ("R10", r10),
    ("R10 of ones", r10_of_ones),
    ("R12", r12),
    ("R12, transposed", partial(_transposed, r12)),
    ("K5 and its transpose", lambda: block_diagonal(cycles_of_k5(), cycles_of_k5().T)),
    ("K3,3 and its transpose", lambda: block_diagonal(cycles_of_k33(), cycles_of_k33().T)),
    ("R10 and a network", lambda: block_diagonal(r10(), random_network(4, 4, 0))),
    *[(f"R10, mixed, {s}", lambda s=s: mixed(r10(), s)) for s in range(5)],
    *[(f"R12, mixed, {s}", lambda s=s: mixed(r12(), s)) for s in range(5)],
]
"""TU, but neither network matrices nor their transposes (mixes as well: a minor of theirs is neither)."""

YES: Family = [
    *NETWORK,
    *TRANSPOSED_NETWORK,
    *NEITHER,
    ("zeros", lambda: np.zeros((4, 5), dtype=np.int8)),
    ("no rows", lambda: np.zeros((0, 5), dtype=np.int8)),
    ("no columns", lambda: np.zeros((4, 0), dtype=np.int8)),
    ("one entry", lambda: np.array([[-1]], dtype=np.int8)),
]
"""All that are totally unimodular."""

NO: Family = [
    ("least", lambda: np.array([[1, 1], [1, -1]], dtype=np.int8)),
    *[(f"odd cycle {k}", partial(odd_cycle, k)) for k in (3, 5, 7, 9)],
    *[(f"odd cycle, mixed, {s}", lambda s=s: mixed(odd_cycle(5), s, pivots=False)) for s in range(4)],
    *[(f"F7, {s}", lambda s=s: randomly_signed(fano(), s)) for s in range(4)],
    *[(f"F7's dual, {s}", lambda s=s: randomly_signed(fano().T, s)) for s in range(4)],
    *[(f"network, a sign flipped, {s}", partial(_flipped_network, 7, 7, s)) for s in range(8)],
    *[(f"R10 mixed, a sign flipped, {s}", partial(_flipped_mix, r10, s)) for s in range(5)],
    *[(f"R12 mixed, a sign flipped, {s}", partial(_flipped_mix, r12, s)) for s in range(5)],
    *[(f"F7 hidden, {s}", lambda s=s: hidden(fano(), 5, 5, s)) for s in range(3)],
    *[(f"odd cycle hidden, {s}", lambda s=s: hidden(odd_cycle(5), 4, 4, s)) for s in range(3)],
]
"""All that are not."""


def two_sum(one: Matrix, other: Matrix) -> Matrix:
    """2-sum of [A | a] and [b; B]: [[A, a b], [0, B]]; totally unimodular just if both are (Schrijver 1986, section 19.4)."""
    corner = np.outer(one[:, -1], other[0]).astype(np.int8)
    below = np.zeros((len(other) - 1, one.shape[1] - 1), dtype=np.int8)
    return np.block([[one[:, :-1], corner], [below, other[1:]]])


def signed_fano() -> Matrix:
    """F7 with signs that pass `wrong_cycle`; some signs do not, F7 having no right ones."""
    matrix = fano()
    matrix[2, 2] = -1
    return matrix


def full_network(arcs: int, paths: int, seed: int) -> Matrix:
    """A random network matrix whose first row has the most entries."""
    matrix = random_network(arcs, paths, seed)
    return matrix[np.argsort(-np.abs(matrix).sum(axis=1), kind="stable")]


Triple = tuple[int, int, int]
"""Row r and columns u and v, equal but for row r, where u is 0 and v is not: what a 3-sum glues at."""


@dataclass
class Part:
    """A totally unimodular matrix with triples that share no line."""

    entries: Matrix
    triples: list[Triple]


def leaf(size: int, seed: int | np.random.Generator, *, transposed: bool, triples: int = 3) -> Part:
    """A network matrix with `size` arcs, or the transpose of one, with some triples.

    Of a network: an arc r, a path u that ends at its tail, the path v that goes on along it. Of a transpose: an arc divided in
    two, u and v, and a path that ends at the division.
    """
    rng = np.random.default_rng(seed)
    while True:
        tail, head = (x.tolist() for x in random_tree(size, rng))
        ends = rng.integers(0, size + 1, size=(2, size)).tolist()
        arcs = rng.permutation(size)[:triples].tolist()
        lines: list[tuple[int, int, int]] = []
        start, end = ends
        for arc in arcs:
            base = tree_paths(np.array(tail), np.array(head), range(size + 1), [tail[arc]] * (size + 1))
            near = [w for w in range(size + 1) if not base[arc, w] and base[:, w].any()]
            if not near:
                break
            w = int(rng.choice(near))
            if transposed:
                middle, last = len(tail) + 1, head[arc]
                tail.append(middle)
                head.append(last)
                head[arc] = middle
                lines.append((len(start), len(tail) - 1, arc))
                start, end = [*start, w], [*end, middle]
            else:
                lines.append((arc, len(start), len(start) + 1))
                start, end = [*start, w, w], [*end, tail[arc], head[arc]]
        if len(lines) < triples:
            continue
        matrix = tree_paths(np.array(tail), np.array(head), start, end)
        part = Part(np.ascontiguousarray(matrix.T) if transposed else matrix, lines)
        if all(_fits(part.entries, triple) for triple in lines):
            return part


def _fits(entries: Matrix, triple: Triple) -> bool:
    """Whether a triple is one, and neither its columns nor its row are zero beyond it."""
    r, u, v = triple
    rest = np.delete(np.arange(len(entries)), r)
    across = np.delete(np.arange(entries.shape[1]), [u, v])
    same = np.array_equal(entries[rest, u], entries[rest, v]) and entries[r, u] == 0 != entries[r, v]
    return bool(same and entries[rest, u].any() and entries[r, across].any())


def three_sum_of(one: Part, other: Part) -> Part:
    """[[A, a b], [d c, B]] of [A a a; c 0 s] and [B d d; b 0 s] at the first triple of each; the signs s are made equal."""
    (r, u, v), (p, x, y) = one.triples[0], other.triples[0]
    first, second = one.entries, other.entries.copy()
    if first[r, v] != second[p, y]:
        second[p] *= -1
    a, c = np.delete(first[:, u], r), np.delete(first[r], [u, v])
    d, b = np.delete(second[:, x], p), np.delete(second[p], [x, y])
    left, right = np.delete(np.delete(first, r, 0), [u, v], 1), np.delete(np.delete(second, p, 0), [x, y], 1)
    whole = np.block([[left, np.outer(a, b)], [np.outer(d, c), right]]).astype(np.int8)
    triples = [*_moved(one.triples[1:], one.triples[0], 0, 0), *_moved(other.triples[1:], other.triples[0], *left.shape)]
    return Part(whole, triples)


def large_three_sum() -> Matrix:
    """3-sum of a network matrix and the transpose of one."""
    return three_sum_of(leaf(40, 1, transposed=False), leaf(40, 2, transposed=True)).entries


def _moved(triples: list[Triple], gone: Triple, rows: int, columns: int) -> list[Triple]:
    """Triples where their lines stand after the lines of another are gone and others come before."""
    r, u, v = gone
    return [(i - (i > r) + rows, j - (j > u) - (j > v) + columns, k - (k > u) - (k > v) + columns) for i, j, k in triples]


def nested(size: int, seed: int | np.random.Generator, *, leaves: int = 8, pivots: int = 0) -> Matrix:
    """A totally unimodular matrix with `size` rows and columns at most: 1-, 2- and 3-sums of leaves, shuffled and signed."""
    rng = np.random.default_rng(seed)
    whole = leaf(leaves, rng, transposed=bool(rng.random() < 0.5))
    while True:
        fresh = leaf(leaves, rng, transposed=bool(rng.random() < 0.5))
        kind = rng.choice(["1-sum", "2-sum", "3-sum", "3-sum", "3-sum", "3-sum", "R10"])
        if kind == "3-sum" and whole.triples:
            rng.shuffle(whole.triples)
            grown = three_sum_of(whole, fresh)
        elif kind == "R10" or kind == "2-sum":
            entries = r10() if kind == "R10" else fresh.entries
            column, row = whole.entries[:, -1:], entries[:1]
            below = np.zeros((len(entries) - 1, whole.entries.shape[1] - 1), dtype=np.int8)
            grown = Part(np.block([[whole.entries[:, :-1], column * row], [below, entries[1:]]]), [])
            grown.triples = [t for t in whole.triples if whole.entries.shape[1] - 1 not in t]
        else:
            grown = Part(block_diagonal(whole.entries, fresh.entries), whole.triples)
        if max(grown.entries.shape) > size:
            break
        whole = grown
    matrix = whole.entries
    for _ in range(pivots):
        matrix = pivoted(matrix, *rng.choice(np.argwhere(matrix)).tolist())
    matrix = matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]
    signs = [rng.choice(np.array([-1, 1], dtype=np.int8), size=k) for k in matrix.shape]
    shuffled: Matrix = matrix * signs[0][:, None] * signs[1]
    return np.ascontiguousarray(shuffled.T) if rng.random() < 0.5 else np.ascontiguousarray(shuffled)


def one_entry_changed(matrix: Matrix, seed: int | np.random.Generator) -> Matrix:
    """The matrix with one entry, zero or not, put to another of -1, 0 and 1."""
    rng = np.random.default_rng(seed)
    changed = matrix.copy()
    i, j = (int(rng.integers(k)) for k in matrix.shape) if rng.random() < 0.5 else rng.choice(np.argwhere(matrix)).tolist()
    changed[i, j] = rng.choice([x for x in (-1, 0, 1) if x != changed[i, j]])
    return changed


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
