"""Totally unimodular matrices of any size that are built of networks, transposed ones and R10 by 1-, 2- and 3-sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix

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
        tail, head = (x.tolist() for x in families.random_tree(size, rng))
        ends = rng.integers(0, size + 1, size=(2, size)).tolist()
        arcs = rng.permutation(size)[:triples].tolist()
        lines: list[tuple[int, int, int]] = []
        start, end = ends
        for arc in arcs:
            base = families.tree_paths(np.array(tail), np.array(head), range(size + 1), [tail[arc]] * (size + 1))
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
        matrix = families.tree_paths(np.array(tail), np.array(head), start, end)
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
            entries = families.r10() if kind == "R10" else fresh.entries
            column, row = whole.entries[:, -1:], entries[:1]
            below = np.zeros((len(entries) - 1, whole.entries.shape[1] - 1), dtype=np.int8)
            grown = Part(np.block([[whole.entries[:, :-1], column * row], [below, entries[1:]]]), [])
            grown.triples = [t for t in whole.triples if whole.entries.shape[1] - 1 not in t]
        else:
            grown = Part(families.block_diagonal(whole.entries, fresh.entries), whole.triples)
        if max(grown.entries.shape) > size:
            break
        whole = grown
    matrix = whole.entries
    for _ in range(pivots):
        matrix = families.pivoted(matrix, *rng.choice(np.argwhere(matrix)).tolist())
    matrix = matrix[rng.permutation(len(matrix))][:, rng.permutation(matrix.shape[1])]
    signs = [rng.choice(np.array([-1, 1], dtype=np.int8), size=k) for k in matrix.shape]
    shuffled: Matrix = matrix * signs[0][:, None] * signs[1]
    return np.ascontiguousarray(shuffled.T) if rng.random() < 0.5 else np.ascontiguousarray(shuffled)


def chain(size: int, seed: int | np.random.Generator, *, leaves: int = 8) -> Matrix:
    """A totally unimodular matrix with `size` rows and columns at most: leaves glued by 3-sums only, shuffled."""
    rng = np.random.default_rng(seed)
    whole = leaf(leaves, rng, transposed=True)
    while True:
        fresh = leaf(leaves, rng, transposed=bool(rng.random() < 0.5))
        rng.shuffle(whole.triples)
        grown = three_sum_of(whole, fresh)
        if max(grown.entries.shape) > size:
            return whole.entries[rng.permutation(len(whole.entries))][:, rng.permutation(whole.entries.shape[1])]
        whole = grown


def one_entry_changed(matrix: Matrix, seed: int | np.random.Generator) -> Matrix:
    """The matrix with one entry, zero or not, put to another of -1, 0 and 1."""
    rng = np.random.default_rng(seed)
    changed = matrix.copy()
    i, j = (int(rng.integers(k)) for k in matrix.shape) if rng.random() < 0.5 else rng.choice(np.argwhere(matrix)).tolist()
    changed[i, j] = rng.choice([x for x in (-1, 0, 1) if x != changed[i, j]])
    return changed
