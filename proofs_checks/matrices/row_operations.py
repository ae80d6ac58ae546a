"""From a tree's equations to its network matrix by row operations, entry by entry (NWS15 Lemma 4.1; BP16 section 6.2).

With r_1 .. r_L the rows of the 0-1 matrix, the network matrix has the rows

    n_0 = -r_1,    n_k = r_k - r_{k+1}  for 0 < k < L,    n_L = r_L                                                        (1)

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
from formulations.sparse_arrays import dense_array
from proofs_checks.verdict import Verdict, aligned

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
        ("network matrix", second, operations, [f"{name} is {{}}" for name in found.names]),  # (1)
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
