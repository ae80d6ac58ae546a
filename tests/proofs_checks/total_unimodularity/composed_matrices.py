"""Matrices put together of the families: 2-sums, 3-sums, networks with something wrong beyond them."""

from __future__ import annotations

import itertools

import numpy as np

from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.total_unimodularity.signing import wrong_cycle
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix


def two_sum(one: Matrix, other: Matrix) -> Matrix:
    """2-sum of [A | a] and [b; B]: [[A, a b], [0, B]]; totally unimodular just if both are (Schrijver 1986, section 19.4)."""
    corner = np.outer(one[:, -1], other[0]).astype(np.int8)
    below = np.zeros((len(other) - 1, one.shape[1] - 1), dtype=np.int8)
    return np.block([[one[:, :-1], corner], [below, other[1:]]])


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


def signed_fano() -> Matrix:
    """F7 with signs that pass `wrong_cycle`; some signs do not, F7 having no right ones."""
    matrix = families.fano()
    matrix[2, 2] = -1
    return matrix


def full_network(arcs: int, paths: int, seed: int) -> Matrix:
    """A random network matrix whose first row has the most entries."""
    matrix = families.random_network(arcs, paths, seed)
    return matrix[np.argsort(-np.abs(matrix).sum(axis=1), kind="stable")]


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
