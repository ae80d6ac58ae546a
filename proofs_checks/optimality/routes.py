"""Send the rows down the trees a second time, by the thresholds: node by node, a parent's rows are divided among its children.

    rows of h = order[tree of h, start_h : stop_h],   those of the left child first                                        (1)

That keeps the rows of one leaf ascending, and leaves in the order of a depth-first walk: the order in which certificates store
their numbers. Nothing of `formulations.instance.routing` is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from formulations.sparse_arrays import check_sparse, dense_array


class Routes:
    """Which rows reach which node, by (1): `order` is int32, shape (T, N), `start` and `stop` int64, shape (n,)."""

    def __init__(self, ensemble: Ensemble, rows: NDArray[np.float32]) -> None:
        self.ensemble, self.n_rows = ensemble, rows.shape[0]
        self.order = np.tile(np.arange(self.n_rows, dtype=np.int32), (ensemble.n_trees, 1))
        self.start = np.zeros(ensemble.n_nodes, dtype=np.int64)
        self.stop = np.full(ensemble.n_nodes, self.n_rows, dtype=np.int64)
        for h in np.flatnonzero(ensemble.is_split):
            reaching = self.rows(h)
            x = rows[reaching, ensemble.feature[h]].astype(np.float64)
            goes_left = np.where(np.isnan(x), ensemble.missing_left[h], x <= ensemble.threshold[h])
            left, right, first = ensemble.left[h], ensemble.right[h], self.start[h]
            reaching[:] = np.concatenate([reaching[goes_left], reaching[~goes_left]])
            self.start[left], self.stop[right] = first, self.stop[h]
            self.stop[left] = self.start[right] = first + np.count_nonzero(goes_left)

    def rows(self, h: int | np.integer[Any]) -> NDArray[np.int32]:
        """The rows that reach node h: a view."""
        part: NDArray[np.int32] = self.order[self.ensemble.tree_of[h], self.start[h] : self.stop[h]]
        return part

    def node_sums(self, amounts: NDArray[Any]) -> list[int]:
        """Sum of the rows' integer amounts at every node."""
        sums: list[int] = []
        for t in range(self.ensemble.n_trees):
            nodes = self.ensemble.nodes_of(t)
            running = np.concatenate([np.zeros(1, dtype=amounts.dtype), np.cumsum(amounts[self.order[t]])])
            sums += (running[self.stop[nodes]] - running[self.start[nodes]]).tolist()
        return sums


def cost_rows(problem: PruningProblem, X: Any = None) -> NDArray[np.float32]:
    """The rows of the cost sample that count, as float32: of X, or of the table that the problem refers to."""
    table = problem.X if X is None else X
    if table is None:
        raise InvalidInputError("the problem carries no rows; give the cost sample as X")
    check_sparse(table, "X")
    made = problem.ensemble.made
    given: Any = table if made is None else made.features(table)
    given = dense_array(given, "X") if issparse(given) else given
    # the table as float32
    try:
        with np.errstate(over="ignore"):
            if hasattr(given, "iloc"):
                given = given.to_numpy(dtype=np.float32, na_value=np.nan)
            rows = np.asarray(given).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"X is not a table of numbers ({error}); give the cost sample") from error
    # a column for each feature, and the rows that the problem counts
    n_features = problem.ensemble.n_features
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise InvalidInputError(f"X has shape {rows.shape}, the trees ask for {n_features} features: give one column for each")
    chosen = problem.usage.rows
    if chosen.size == 0 or int(chosen.min()) < 0 or int(chosen.max()) >= rows.shape[0]:
        asked = f"rows up to {chosen.max()}" if chosen.size else "no row"
        raise InvalidInputError(f"X has {rows.shape[0]} rows, the problem counts {asked} of them; give the cost sample as it was")
    if X is not None and problem.X is not None and _length(problem.X) != rows.shape[0]:
        raise InvalidInputError(
            f"X has {rows.shape[0]} rows, the problem's cost sample has {_length(problem.X)}; give the same rows"
        )
    return rows[chosen]


def _length(table: Any) -> int:
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)
