"""Network matrices: the certificate of total unimodularity that can be checked in one pass over the nonzeros.

A directed tree has k arcs on the vertices 0 .. k. The **network matrix** of some paths in it has a row for each arc and a column
for each path: 1 where the path runs along the arc, -1 where it runs against it, 0 where it does not touch it. With D, the
incidence matrix of the tree (-1 at an arc's tail, 1 at its head),

    D M = P,     each column of P is  e_end - e_start,  or 0 for a path without arcs                              (1)

and D has full column rank, so a column of M that fulfils (1) *is* its path: no order of the arcs needs to be known. Network
matrices and their transposes are totally unimodular (Tutte 1965; Schrijver 1986, section 19.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.compiled import njit
from proofs_checks.matrices.sign_matrix import SignMatrix, line_names, read_matrix
from proofs_checks.verdict import DEFAULTS, Verdict, aligned

METHOD = "tree and paths, one pass over the nonzeros"


@checked
@dataclass(frozen=True, eq=False)
class NetworkMatrix:
    """A tree with k arcs on k + 1 vertices, and paths in it.

    Parameters
    ----------
    tail, head
        int, shape (k,): the arcs, one a row of the matrix.
    start, end
        int, one a column: where its path begins and ends; equal for a column of zeros.
    transposed
        whether it is the matrix's transpose that is the network matrix: arcs are its columns, paths its rows.
    names
        of the matrix's rows and of its columns, for printing; `check_network_matrix` puts in those of its matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import prunemodels as pm
    >>> network = pm.checks.NetworkMatrix(np.array([1, 2]), np.array([0, 0]), np.array([1]), np.array([2]))
    >>> network.n_vertices  # arcs 1 -> 0 and 2 -> 0, and the path from 1 to 2
    3
    >>> print(pm.checks.check_network_matrix([[1], [-1]], network).certificate)  # small ones are written out
    a tree with the 2 rows as arcs, in which the 1 columns are paths
    arc r0   1 -> 0
    arc r1   2 -> 0
    path c0  1 -> 2  + r0 - r1
    """

    tail: NDArray[np.integer[Any]]
    head: NDArray[np.integer[Any]]
    start: NDArray[np.integer[Any]]
    end: NDArray[np.integer[Any]]
    transposed: bool = False
    names: Any = None

    @property
    def n_vertices(self) -> int:
        """Number of vertices: one more than arcs."""
        return len(self.tail) + 1

    def __repr__(self) -> str:
        lines, across = ("rows", "columns") if not self.transposed else ("columns", "rows")
        return f"a tree with the {len(self.tail):,} {lines} as arcs, in which the {len(self.start):,} {across} are paths"

    def __str__(self) -> str:
        """In one line; below it, if small, the ends of each arc, and of each path, with the arcs along (+) and against (-) it."""
        if len(self.tail) + len(self.start) > DEFAULTS.written_lines:
            return repr(self)
        shape = len(self.tail), len(self.start)
        rows, columns = self.names or line_names(shape[::-1] if self.transposed else shape, None, None)
        arcs, paths = (columns, rows) if self.transposed else (rows, columns)
        lines = [[f"arc {arc}", f"{a} -> {b}", ""] for arc, a, b in zip(arcs, self.tail, self.head, strict=True)]
        for path, a, b in zip(paths, self.start, self.end, strict=True):
            along = " ".join(f"{'-' if sign < 0 else '+'} {arcs[k]}" for k, sign in self._path(int(a), int(b)))
            lines.append([f"path {path}", f"{a} -> {b}" if along else "", along])
        return "\n".join([repr(self), *aligned(lines, left=3)])

    def _path(self, start: int, end: int) -> list[tuple[int, int]]:
        """The arcs from one vertex to another, in their order, with 1 where the way runs along the arc, and -1 against it."""
        reached: dict[int, list[tuple[int, int]]] = {start: []}
        for _ in self.tail:  # each round reaches the vertices that are one arc farther
            for k, (a, b) in enumerate(zip(self.tail.tolist(), self.head.tolist(), strict=True)):
                for here, there, sign in ((a, b, 1), (b, a, -1)):
                    if here in reached and there not in reached:
                        reached[there] = [*reached[here], (k, sign)]
        return reached.get(end, [])


@checked
def check_network_matrix(matrix: Any, network: NetworkMatrix) -> Verdict:
    """Is the matrix, or its transpose, the network matrix of this tree and these paths?

    Time and memory are linear in the nonzeros.

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.read_matrix`.
    network
        the certificate, from any source.

    Returns
    -------
    Verdict
        certificate: the network, or the first thing that is wrong with it. A no refutes the certificate, not total unimodularity.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> program = pm.programs.FORMULATIONS["IP3"](problem, lam=1, relax=True)
    >>> network = pm.checks.formulation_network(problem, program)
    >>> pm.checks.check_network_matrix(program, network).holds
    True
    """
    given = read_matrix(matrix)
    kind = "the transpose of the network matrix" if network.transposed else "the network matrix"
    claim = (
        f"the matrix with {given.shape[0]:,} rows and {given.shape[1]:,} columns is {kind} of a tree, so it is totally unimodular"
    )
    wrong = _wrong_with(given, network)
    return Verdict(claim, wrong is None, METHOD, replace(network, names=(given.rows, given.columns)) if wrong is None else wrong)


def paths_in_tree(
    matrix: SignMatrix, tail: NDArray[Any], head: NDArray[Any], *, transposed: bool = False
) -> NetworkMatrix | None:
    """Make a certificate of a tree's arcs: find where the paths begin and end. None where a column is no path."""
    start, end = _ends(*_by_paths(matrix, transposed=transposed), tail, head)
    return None if (start == -2).any() else NetworkMatrix(tail, head, np.maximum(start, 0), np.maximum(end, 0), transposed)


def _by_paths(matrix: SignMatrix, *, transposed: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int8]]:
    """The nonzeros path by path: where each begins, the arcs, the signs."""
    body = matrix.entries.tocsr() if transposed else matrix.entries
    return body.indptr, body.indices, body.data


def _wrong_with(matrix: SignMatrix, network: NetworkMatrix) -> str | None:
    """The first thing that is wrong with a certificate."""
    if matrix.other is not None:
        i, j, value = matrix.other
        return f"the entry in row {matrix.rows[i]}, column {matrix.columns[j]} is {value}, none of -1, 0, 1"
    arcs, paths = (matrix.columns, matrix.rows) if network.transposed else (matrix.rows, matrix.columns)
    # the arrays: a number for each arc and path, and vertices that there are
    for what, array, names in (
        ("arcs", network.tail, arcs),
        ("arcs", network.head, arcs),
        ("paths", network.start, paths),
        ("paths", network.end, paths),
    ):
        if array.shape != (len(names),):
            return f"{array.size:,} {what} for {len(names):,} {'columns' if (names is matrix.columns) else 'rows'} of the matrix"
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < network.n_vertices:
            vertex = int(array.min() if array.min() < 0 else array.max())
            return f"{what} at vertex {vertex}; there are 0 to {network.n_vertices - 1}"
    # the arcs: a tree
    closing = _closes_a_circle(network.tail, network.head)
    if closing >= 0:
        return f"the arc {arcs[closing]} closes a circle: the arcs are no tree"
    # the columns: paths in it, between the stated vertices
    start, end = _ends(*_by_paths(matrix, transposed=network.transposed), network.tail, network.head)
    empty = (start == -1) & (network.start == network.end)
    wrong = ~empty & ((start != network.start) | (end != network.end))
    if wrong.any():
        bad = int(np.argmax(wrong))
        return f"{paths[bad]} is not the path from vertex {network.start[bad]} to vertex {network.end[bad]}"
    return None


@njit(cache=True)
def _closes_a_circle(tail, head):  # type: ignore[no-untyped-def]
    """The first arc whose ends earlier arcs join already, or -1: then k arcs on k + 1 vertices are a tree."""
    # union-find: the arcs before k join what has the same root
    above = np.arange(tail.shape[0] + 1)
    for k in range(tail.shape[0]):
        a, b = tail[k], head[k]
        while above[a] != a:
            above[a] = above[above[a]]
            a = above[a]
        while above[b] != b:
            above[b] = above[above[b]]
            b = above[b]
        if a == b:
            return k
        above[max(a, b)] = min(a, b)
    return -1


@njit(cache=True)
def _ends(pointer, arc, sign, tail, head):  # type: ignore[no-untyped-def]
    """Where the path of each column begins and ends, by (1); -1 for a column of zeros, -2 for one that is no path."""
    paths = pointer.shape[0] - 1
    start, end = np.full(paths, -1, np.int32), np.full(paths, -1, np.int32)
    excess = np.zeros(tail.shape[0] + 1, np.int32)
    for p in range(paths):
        # arcs in minus arcs out at each vertex
        for k in range(pointer[p], pointer[p + 1]):
            excess[head[arc[k]]] += sign[k]
            excess[tail[arc[k]]] -= sign[k]
        # a path has one vertex with -1, where it begins, and one with 1; the excess is put back to 0
        good = True
        ends = 0
        for k in range(pointer[p], pointer[p + 1]):
            for v in (tail[arc[k]], head[arc[k]]):
                if excess[v] != 0:
                    ends += 1
                    good = good and abs(excess[v]) == 1
                    if excess[v] > 0:
                        end[p] = v
                    else:
                        start[p] = v
                    excess[v] = 0
        # no ends at all: a column of zeros, or a circle, which is no path
        if not good or ends not in (0, 2) or (ends == 0 and pointer[p] < pointer[p + 1]):
            start[p] = end[p] = -2
    return start, end
