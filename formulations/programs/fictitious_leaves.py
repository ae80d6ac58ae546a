"""The fictitious leaves of a tree: one for each usage row (u, m, i), or one for all rows of a split u and an item m.

They come in the order of the usage rows: by u, then by m as u charges it, then along the range of S_u. A leaf that stands for
several rows has a range of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance.problem import PruningProblem
from formulations.programs.columns import PurchaseColumns
from formulations.programs.linear_program import FOR_ALL, Block

ALL_ROWS = -2
"""As the row of a fictitious leaf: it stands for several rows, written ``:``."""


@dataclass(frozen=True, eq=False)
class FictitiousLeaves:
    """Children of splits that stand for their usage rows.

    Parameters
    ----------
    node
        int32: the split u that each hangs below, ascending; numbered in the forest.
    item, row
        int32: m and i; i is `ALL_ROWS` where there are several, `formulations.programs.linear_program.FOR_ALL` for an item that
        is paid once for all.
    start, stop
        int64: the range of usage rows, among those of the forest, that each stands for.
    """

    node: NDArray[np.int32]
    item: NDArray[np.int32]
    row: NDArray[np.int32]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    def block(self, name: str) -> Block:
        """Names: name[u,m,i]."""
        return _Rows(name, (self.node, self.item, self.row))


class _Rows(Block):
    """A block whose members may stand for several rows."""

    def key(self, k: int) -> tuple[int | str, ...]:
        """The k-th index."""
        return tuple(":" if part == ALL_ROWS else part for part in super().key(k))


def leaves_of_rows(problem: PruningProblem, t: int, *, expanded: bool) -> FictitiousLeaves:
    """The fictitious leaves of tree t, without listing the usage rows unless `expanded`."""
    nodes, charges = problem.ensemble.nodes_of(t), problem.usage.charges
    first, last = charges.start[nodes.start], charges.start[nodes.stop]
    item = charges.item[first:last]
    node = np.repeat(np.arange(nodes.start, nodes.stop), np.diff(charges.start[nodes.start : nodes.stop + 1]))
    once = problem.costs.paid_once[item]
    lowest, highest = problem.routing.start[node], problem.routing.stop[node]
    count = np.where(once, 1, highest - lowest).astype(np.int64)
    stop = int(problem.usage.arcs_per_node[: nodes.start].sum()) + np.cumsum(count)
    start = stop - count
    order = problem.routing.order[t]
    if expanded:
        place = np.arange(start[0], stop[-1]) - np.repeat(start - lowest, count) if count.size else np.zeros(0, dtype=np.int64)
        once, node, item = np.repeat(once, count), np.repeat(node, count), np.repeat(item, count)
        start = np.arange(count.sum()) + (start[0] if count.size else 0)
        # an item that is paid once may hang below a split that no row reaches: its place may be beyond the last row
        row = np.where(once, FOR_ALL, order[np.minimum(place, len(order) - 1)])
        return _leaves(node, item, row, start, start + 1)
    single = order[np.minimum(lowest, len(order) - 1)]
    row = np.where(once, FOR_ALL, np.where(count == 1, single, ALL_ROWS))
    used = count > 0
    return _leaves(node[used], item[used], row[used], start[used], stop[used])


def leaves_of_columns(columns: PurchaseColumns, nodes: slice, *, expanded: bool) -> FictitiousLeaves:
    """The fictitious leaves of the tree with the given nodes, for purchase variables that may be merged."""
    first, last = np.searchsorted(columns.node, [nodes.start, nodes.stop])
    node, column = columns.node[first:last], columns.column[first:last]
    item, row = columns.item[column], columns.row[column]
    begins = np.ones(node.size, dtype=bool)
    if not expanded:
        begins[1:] = (node[1:] != node[:-1]) | (item[1:] != item[:-1])
    start = np.flatnonzero(begins)
    stop = np.append(start[1:], node.size)
    group_row = np.where(stop - start == 1, row[start], ALL_ROWS)
    return _leaves(node[start], item[start], group_row, start + first, stop + first)


def _leaves(
    node: NDArray[np.integer],
    item: NDArray[np.integer],
    row: NDArray[np.integer],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
) -> FictitiousLeaves:
    return FictitiousLeaves(node.astype(np.int32), item.astype(np.int32), row.astype(np.int32), start, stop[: start.size])
