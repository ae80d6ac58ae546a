"""IP3's matrix is the transpose of a network matrix: a complete certificate of NWS15's Theorem 4.2, at any size.

Take a directed tree with a hub R; its arcs are the variables:

    z_h        from the vertex of h's parent to the vertex of h; from R for a root                                          (1)
    w^t, w     each from a vertex of its own to R                                                                           (2)

Then every row is the signed path of the tree that its variables say:

    leaf       sum of z over the ancestors of l          R -> l                                                             (3)
    usage      w^t + sum of z over the ancestors of u    (t, m, i) -> R -> u                                                (4)
    coupling   w^t - w                                   (t, m, i) -> R -> (m, i), the last arc backwards                   (5)

Bounds on single variables are single arcs. IP0 has the rows (3); IP2 (3) and (4) with w for w^t; the closure's rows
y_h - y_parent and y_u - w are paths of two arcs through R if y is taken like w. IP1's rows z_h - w are no paths here, and on the
papers' trees in no other tree either: its matrix is not totally unimodular.

NWS15's own proof of Theorem 4.2 gives a partition of all rows; total unimodularity asks for one of every subset of them.

Row operations lead from a tree's equations to its network matrix, entry by entry (NWS15 Lemma 4.1; BP16 section 6.2). With r_1 to
r_L the rows of the 0-1 matrix, the network matrix has the rows

    n_0 = -r_1,    n_k = r_k - r_{k+1}  for 0 < k < L,    n_L = r_L                                                        (6)

and each of its columns holds one -1 and one 1, nothing else. What the papers print for their two trees is typed in below, in
their numbers; rows r1, r2, ... are the leaves from left to right, the fictitious ones among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.programs.linear_program import Names
from formulations.sparse_arrays import dense_array
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.total_unimodularity import check_total_unimodularity
from proofs_checks.verdict import Verdict, aligned

HUB = 0


@checked
def formulation_network(problem: PruningProblem, program: Any) -> NetworkMatrix | None:
    """The tree of (1) and (2) with the paths that the rows are; None where a row is no path in it, as in IP1 and LP1.

    Parameters
    ----------
    problem
        the instance: its nodes' parents are all that is used.
    program
        a formulation of it: `LinearProgram`, or Pyomo model. Variables named z are nodes, all others hang on the hub.

    Raises
    ------
    InvalidInputError
        for a variable z of a node that the forest does not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> pm.checks.formulation_network(problem, pm.programs.FORMULATIONS["IP3"](problem, lam=1, relax=True)).n_vertices
    20
    >>> print(pm.checks.formulation_network(problem, pm.programs.FORMULATIONS["IP1"](problem, lam=1, relax=True)))
    None
    """
    return _network(problem, read_matrix(program))


@checked
def check_formulation(problem: PruningProblem, program: Any) -> Verdict:
    """Is the formulation's matrix totally unimodular: by the tree of (1) and (2) if that serves, else in any other way.

    Parameters
    ----------
    problem, program
        see `formulation_network`.

    Returns
    -------
    Verdict
        certificate: a `NetworkMatrix`, or what `check_total_unimodularity` finds.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> pm.checks.check_formulation(problem, pm.programs.FORMULATIONS["IP3"](problem, lam=1, relax=True)).holds
    True
    >>> pm.checks.check_formulation(problem, pm.programs.FORMULATIONS["IP1"](problem, lam=1, relax=True)).holds
    False
    """
    matrix = read_matrix(program)
    network = None if matrix.other is not None else _network(problem, matrix)
    if network is not None:
        return check_network_matrix(matrix, network)
    return check_total_unimodularity(matrix)


def _network(problem: PruningProblem, matrix: SignMatrix) -> NetworkMatrix | None:
    node, column = _nodes(matrix.columns)
    parent = problem.ensemble.parent
    if node.size and not 0 <= int(node.min()) <= int(node.max()) < len(parent):
        wrong = node[(node < 0) | (node >= len(parent))][0]
        raise InvalidInputError(f"the program has a variable z[{wrong}], the forest has the nodes 0 to {len(parent) - 1}")
    vertex = np.full(len(parent), HUB, dtype=np.int32)
    vertex[node] = column + 1
    tail = np.arange(1, len(matrix.columns) + 1, dtype=np.int32)  # (2)
    head = np.full(len(tail), HUB, dtype=np.int32)
    above = parent[node]
    tail[column] = np.where(above >= 0, vertex[np.maximum(above, 0)], HUB)  # (1)
    head[column] = column + 1
    return paths_in_tree(matrix, tail, head, transposed=True)


def _nodes(columns: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes h that have a variable z_h, and its columns."""
    if isinstance(columns, Names):
        if not columns.has("z"):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        place = columns.of("z")
        block = next(block for block in columns.blocks if block.name == "z")
        return block.index[0].astype(np.int64), np.arange(place.start, place.stop)
    named = [(int(name[2:-1]), k) for k, name in enumerate(columns) if name.startswith("z[")]
    found = np.array(named, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


PrintedRows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PrintedTree:
    """One tree of the papers."""

    equations: PrintedRows  # one row a leaf: IP3's equations.
    # Figure 3: from which node to which each variable leads; ``z1`` is node 1, ``w21`` feature 2 of example 1.
    arcs: Mapping[str, tuple[int, int]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(self.arcs)

    @property
    def network(self) -> PrintedRows:
        """One row a node of Figure 3: -1 where a variable leads away from it, 1 where one arrives."""
        nodes = range(1, len(self.equations) + 2)
        return tuple(tuple((node == head) - (node == tail) for tail, head in self.arcs.values()) for node in nodes)


PRINTED_TREES = (
    PrintedTree(
        (
            (1, 1, 0, 0, 0, 0, 0),
            (1, 0, 1, 1, 0, 0, 0),
            (1, 0, 1, 0, 1, 0, 0),
            (1, 0, 1, 0, 0, 0, 1),
            (1, 0, 0, 0, 0, 1, 0),
        ),
        {"z1": (1, 6), "z2": (1, 2), "z3": (2, 5), "z4": (2, 3), "z5": (3, 4), "w11": (5, 6), "w21": (4, 5)},
    ),
    PrintedTree(
        (
            (1, 1, 1, 0, 0, 0, 0, 0, 0),
            (1, 1, 0, 1, 0, 0, 0, 0, 0),
            (1, 0, 0, 0, 1, 1, 0, 0, 0),
            (1, 0, 0, 0, 1, 0, 1, 0, 0),
            (1, 0, 0, 0, 1, 0, 0, 0, 1),
            (1, 0, 0, 0, 0, 0, 0, 1, 0),
        ),
        dict(
            zip(
                ("z6", "z7", "z8", "z9", "z10", "z11", "z12", "w21", "w31"),
                ((1, 7), (1, 3), (1, 2), (2, 3), (3, 6), (3, 4), (4, 5), (6, 7), (5, 6)),
                strict=True,
            )
        ),
    ),
)
"""Trees 1 and 2 of Figure 1."""


METHOD = "entry by entry"


@dataclass(frozen=True, eq=False)
class RowOperations:
    """Both matrices with the names of their columns, and how each row of the second follows from the first."""

    columns: tuple[str, ...]  # names
    # equations, network: int64, shapes (L, n) and (L + 1, n).
    equations: NDArray[np.int64]
    network: NDArray[np.int64]

    @property
    def names(self) -> list[str]:
        """The rows of the network matrix: ``-r1``, ``r1 - r2``, ..., ``r5``."""
        last = len(self.equations)
        return ["-r1", *(f"r{k} - r{k + 1}" for k in range(1, last)), f"r{last}"]

    def __str__(self) -> str:
        """Both matrices, one below the other."""
        plain = [f"r{k + 1}" for k in range(len(self.equations))]
        head, empty = ["", *self.columns], [""] * (len(self.columns) + 1)
        first, second = (
            [[name, *row] for name, row in zip(names, rows.tolist(), strict=True)]
            for names, rows in ((plain, self.equations), (self.names, self.network))
        )
        return "\n".join(aligned([head, *first, empty, head, *second]))


@checked
def check_printed_matrices(t: int, equations: Any, network: Any, columns: Sequence[str]) -> Verdict:
    """Are these the matrices that the papers print for their tree t, and do the row operations lead from one to the other?

    Parameters
    ----------
    t
        0 or 1: the papers' trees 1 and 2.
    equations, network
        shapes (L, n) and (L + 1, n), dense or scipy sparse.
    columns
        names as ours, ``z[0]`` for the papers' z1, ``w_t[0,1,0]`` for their w21.

    Returns
    -------
    Verdict
        certificate: `RowOperations`, or the first entry that is wrong.

    Raises
    ------
    InvalidInputError
        for shapes that do not fit.

    Examples
    --------
    >>> import prunemodels as pm
    >>> network = pm.programs.tree_network(pm.datasets.two_trees(), 0, expanded=True)
    >>> pm.checks.check_printed_matrices(0, network.equations(), network.incidence(), list(network.arcs)).holds
    True
    """
    printed = PRINTED_TREES[t]
    theirs = tuple(_papers_name(name) for name in columns)
    claim = f"tree {t + 1} has the 0-1 matrix and the network matrix that the papers print, and row operations join them"
    if theirs != printed.columns:
        return Verdict(claim, False, METHOD, f"the columns are {', '.join(theirs)}; the papers have {', '.join(printed.columns)}")
    first, second = _dense(equations, "equations"), _dense(network, "network")
    wanted = (first.shape[0] + 1, len(theirs))
    if second.shape != wanted or first.shape[1] != wanted[1]:
        raise InvalidInputError(
            f"network has the shape {second.shape}; {first.shape} equations and {wanted[1]} names lead to {wanted}"
        )
    found = RowOperations(theirs, first, second)
    nothing = np.zeros_like(first[:1])
    operations, prints = np.vstack([nothing, first]) - np.vstack([first, nothing]), ["the papers print {}"] * wanted[0]
    for what, ours, expected, says in (
        ("network matrix", second, operations, [f"{name} is {{}}" for name in found.names]),  # (6)
        ("0-1 matrix", first, np.array(printed.equations), prints),
        ("network matrix", second, np.array(printed.network), prints),  # whose columns have one -1 and one 1
    ):
        if ours.shape != expected.shape:
            return Verdict(claim, False, METHOD, f"the {what} has the shape {ours.shape}, the papers' {expected.shape}")
        for i, j in np.argwhere(ours != expected)[:1].tolist():
            wrong = f"the {what} has {ours[i, j]} in row {i + 1}, column {theirs[j]}; {says[i].format(expected[i, j])}"
            return Verdict(claim, False, METHOD, wrong)
    return Verdict(claim, True, METHOD, found)


def _papers_name(name: str) -> str:
    """``z[2]`` is the papers' z3, ``w_t[5,1,0]`` their w21."""
    kind, _, inside = name.rstrip("]").partition("[")
    numbers = [int(part) + 1 for part in inside.split(",")]
    return f"z{numbers[0]}" if kind == "z" else f"w{numbers[1]}{numbers[2]}"


def _dense(matrix: Any, what: str) -> NDArray[np.int64]:
    full = dense_array(matrix, what) if sparse.issparse(matrix) else np.asarray(matrix)
    if full.ndim != 2 or full.dtype.kind not in "iuf":
        raise InvalidInputError(f"{what}: shape {full.shape}, type {full.dtype}; give a matrix of integers")
    integers = full.astype(np.int64)
    if (integers != full).any():
        raise InvalidInputError(f"{what} has an entry that is no integer: {full[integers != full][0]}")
    return integers
