"""Splits that are kept by the same columns.

Two splits of a tree have the same pattern if the same columns keep them. Their coupling rows are then equal until a new column
keeps only one of them. Each new column refines the patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.instance.ensemble import Ensemble
from solvers.column_generation.pricing import TreePruning


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns of all trees, numbered tree by tree.

    Parameters
    ----------
    of_node
        int64, shape (n,): the pattern of each node.
    members
        shape (patterns, columns): 1 where a column keeps the pattern's splits; columns in the order in which they were added.
    never, always
        bool, one for each pattern: kept by no column; kept by all columns of its tree.
    """

    of_node: NDArray[np.int64]
    members: sparse.csr_array
    never: NDArray[np.bool_]
    always: NDArray[np.bool_]


class Refinement:
    """The patterns of a growing list of columns."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._local = [np.zeros(n, dtype=np.int64) for n in np.diff(ensemble.tree_start).tolist()]
        self._kept: list[list[NDArray[np.bool_]]] = [[] for _ in range(ensemble.n_trees)]
        self._column: list[list[int]] = [[] for _ in range(ensemble.n_trees)]
        self._count = 0

    def add(self, columns: Iterable[TreePruning]) -> None:
        """Divide every pattern into the splits that a new column keeps and those that it does not keep."""
        for column in columns:
            t = column.tree
            kept = np.zeros(self._local[t].size, dtype=bool)
            kept[column.kept - self._ensemble.tree_start[t]] = True
            self._local[t] = np.unique(2 * self._local[t] + kept, return_inverse=True)[1].ravel()
            self._kept[t].append(kept)
            self._column[t].append(self._count)
            self._count += 1

    def patterns(self) -> Patterns:
        """The patterns for all columns added so far."""
        of_node, rows, cols, sizes, full, first = [], [], [], [], [], 0
        for local, kept, column in zip(self._local, self._kept, self._column, strict=True):
            found, at = np.unique(local, return_index=True)
            inside = np.array(kept)[:, at]
            j, pattern = np.nonzero(inside)
            rows.append(pattern + first)
            cols.append(np.array(column, dtype=np.int64)[j])
            sizes.append(inside.sum(axis=0))
            full.append(np.full(found.size, len(column)))
            of_node.append(local + first)
            first += found.size
        row, size = np.concatenate(rows), np.concatenate(sizes)
        members = sparse.csr_array((np.ones(row.size), (row, np.concatenate(cols))), shape=(first, self._count))
        return Patterns(np.concatenate(of_node), members, size == 0, size == np.concatenate(full))
