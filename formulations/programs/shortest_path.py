"""The prunings of one tree as the paths of a graph: BP16 section 6.2 and Figure 3, NWS15 section 5.

Give every usage row (u, m, i) of a split u a fictitious leaf below u, behind both children: by u, then by m as u charges it, then
along the range of S_u. A leaf may stand for all rows of u and m; then it has a range of them. Number the leaves of the extended
tree from left to right, 0 .. L - 1, and the boundaries between them 0 .. L. Every node and every fictitious leaf is an arc over
the leaves below it:

    z_h:          tail = first leaf below h,   head = 1 + last leaf below h                                                 (1)
    w^t_{m,i}:    tail = its own leaf,         head = tail + 1                                                              (2)

Every path from boundary 0 to boundary L is a pruning, and every pruning a path. This is what IP3's equations of the tree say: the
row of leaf k has its ones at the arcs over k,

    sum of the arcs with tail <= k < head = 1          k = 0 .. L - 1                                                      (3)

and the row operations -r_0, r_0 - r_1, ..., r_{L-2} - r_{L-1}, r_{L-1} turn (3) into the conservation of one unit of flow

    arcs into b - arcs out of b = -1 at b = 0, 1 at b = L, 0 between: a column has -1 at its tail, 1 at its head           (4)

which is the papers' network matrix. The papers number nodes and boundaries from 1, here they count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from formulations.arguments import Count, checked
from formulations.compiled import njit
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import Amount
from formulations.programs.linear_program import FOR_ALL, Block, Names

ALL_ROWS = -2
"""As the row of a fictitious leaf: it stands for several rows, written ``:``."""


@dataclass(frozen=True, eq=False)
class FictitiousLeaves:
    """Children of splits that stand for their usage rows."""

    node: NDArray[np.int32]  # int32: the split u that each hangs below, ascending; numbered in the forest
    # item, row: int32: m and i; i is `ALL_ROWS` where there are several, `FOR_ALL` for an item that is paid once for all.
    item: NDArray[np.int32]
    row: NDArray[np.int32]
    # start, stop: int64: the range of usage rows, among those of the forest, that each stands for.
    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    def block(self, name: str) -> Block:
        """Names: name[u,m,i]."""
        return _PathRows(name, (self.node, self.item, self.row))


class _PathRows(Block):
    """A block whose members may stand for several rows."""

    def key(self, k: int) -> tuple[int | str, ...]:
        """The k-th index."""
        return tuple(":" if part == ALL_ROWS else part for part in super().key(k))


@dataclass(frozen=True, eq=False)
class Runs:
    """A graph whose arc j, from tail[j] to head[j], stands for the arcs first[j] .. first[j] + length[j] - 1 of another."""

    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    first: NDArray[np.int64]
    length: NDArray[np.int64]
    n_boundaries: int


@dataclass(frozen=True, eq=False)
class TreeNetwork:
    """The graph of one tree: k arcs (1), one for each node, then those of (2)."""

    # problem, tree: the instance, and t.
    problem: PruningProblem
    tree: int
    # tail, head: int32, one for each arc: boundaries, tail < head. Arc j < k belongs to the tree's j-th node.
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    leaves: FictitiousLeaves  # the fictitious leaves, in the order of their arcs

    @cached_property
    def nodes(self) -> slice:
        """The tree's nodes among those of the forest."""
        return self.problem.ensemble.nodes_of(self.tree)

    @cached_property
    def n_nodes(self) -> int:
        """k, the tree's nodes, and how many arcs belong to them."""
        return int(self.nodes.stop - self.nodes.start)

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return len(self.tail)

    @property
    def n_boundaries(self) -> int:
        """L + 1; paths lead from boundary 0 to boundary L."""
        return int(self.head[0]) + 1

    @property
    def arcs(self) -> Names:
        """Names of the arcs, those of IP3's variables: ``z[3]``, ``w_t[0,1,5]``; ``w_t[0,1,:]`` stands for several rows."""
        return Names((Block("z", (self._node_ids,)), self.leaves.block("w_t")))

    @property
    def rows(self) -> list[str]:
        """Names of IP3's equations (3), one for each leaf: ``leaf[3]``, ``usage[0,1,5]``."""
        names = [""] * (self.n_boundaries - 1)
        real = ~self.problem.ensemble.is_split[self.nodes]
        named = [Block("leaf", (self._node_ids[real],)), self.leaves.block("usage")]
        places = np.concatenate([self.tail[: self.n_nodes][real], self.tail[self.n_nodes :]])
        for place, name in zip(places, Names(tuple(named)), strict=True):
            names[place] = name
        return names

    @cached_property
    def _node_ids(self) -> NDArray[np.int32]:
        return np.arange(self.nodes.start, self.nodes.stop, dtype=np.int32)

    @cached_property
    def first_arc(self) -> NDArray[np.int64]:
        """int64, shape (k,): the first arc (2) of each node, -1 where it has none."""
        first = np.full(self.n_nodes, -1)
        users, place = np.unique(self.leaves.node, return_index=True)
        first[users - self.nodes.start] = place + self.n_nodes
        return first

    @cached_property
    def runs(self) -> Runs:
        """The graph with the arcs (2) of each split as one: no other arc begins or ends between these consecutive arcs."""
        node = self.leaves.node
        begins = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: node.size])
        first = np.concatenate([np.arange(self.n_nodes), begins + self.n_nodes])
        stop = np.append(first[1:], self.n_arcs)
        ends, place = np.unique(np.concatenate([self.tail[first], self.head[stop - 1]]), return_inverse=True)
        tail, head = np.split(place.astype(np.int32), 2)
        return Runs(tail, head, first, stop - first, ends.size)

    def equations(self) -> sparse.csr_array:
        """(3): the 0-1 matrix, one row for each leaf from left to right, one column for each arc. Shape (L, arcs)."""
        length = self.head - self.tail
        column = np.repeat(np.arange(self.n_arcs), length)
        row = np.arange(column.size) - np.repeat(np.cumsum(length) - length - self.tail, length)
        return sparse.csr_array((np.ones(column.size), (row, column)), shape=(self.n_boundaries - 1, self.n_arcs))

    def incidence(self) -> sparse.csr_array:
        """(4): the network matrix, one row for each boundary; -1 at an arc's tail, 1 at its head. Shape (L + 1, arcs)."""
        ones = np.ones(self.n_arcs)
        column = np.arange(self.n_arcs)
        entries = (np.concatenate([-ones, ones]), (np.concatenate([self.tail, self.head]), np.concatenate([column, column])))
        return sparse.csr_array(entries, shape=(self.n_boundaries, self.n_arcs))

    def costs_by_split(self, stop_cost: NDArray[Amount], split_charge: NDArray[Amount]) -> NDArray[Amount]:
        """Costs of the arcs when keeping split h costs split_charge[h]; both of shape (n,), over the forest, of one type.

        The whole charge of a split lies on its first arc (2). A split that has none passes it down: a pruning that keeps h stops
        at exactly one of the nodes below h that begin at h's own first leaf, so each of their arcs has the charge.
        """
        ensemble = self.problem.ensemble
        stop, charge = stop_cost[self.nodes].copy(), split_charge[self.nodes]
        kept = ensemble.is_split[self.nodes] & (self.first_arc >= 0)
        own = np.zeros(len(self.leaves.node), dtype=stop.dtype)
        own[self.first_arc[kept] - self.n_nodes] = charge[kept]
        _hand_down(ensemble.left[self.nodes], self.nodes.start, self.first_arc, charge, stop)
        return np.concatenate([stop, own])

    def pruning_of(self, path: ArrayLike) -> NDArray[np.bool_]:
        """The pruning that a path, numbers of arcs, stands for: bool, shape (k,), whether each node is still a split."""
        arcs = np.asarray(path, dtype=np.int64)
        head = self.head[arcs]
        if not arcs.size or (self.tail[arcs] != np.append(0, head[:-1])).any() or head[-1] != self.n_boundaries - 1:
            raise InvalidInputError(f"path: the arcs {arcs.tolist()} do not lead from boundary 0 to {self.n_boundaries - 1}")
        # the arc over a node's first leaf ends inside of the node's range exactly where the node is a split
        over = np.searchsorted(head, self.tail[: self.n_nodes], side="right")
        kept: NDArray[np.bool_] = head[over] < self.head[: self.n_nodes]
        return kept

    def path_of(self, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The arcs of a pruning's path, in their order; `kept` as `pruning_of` gives it."""
        parent = self.problem.ensemble.parent[self.nodes] - self.nodes.start
        ends = ~kept & (kept[np.maximum(parent, 0)] | (parent < 0))
        on_path = np.concatenate([ends, kept[self.leaves.node - self.nodes.start]])
        arcs = np.flatnonzero(on_path)
        return arcs[np.argsort(self.tail[arcs])]

    def __repr__(self) -> str:
        return f"TreeNetwork(tree {self.tree}: {self.n_boundaries:,} boundaries, {self.n_arcs:,} arcs)"


def _leaves_of_tree(problem: PruningProblem, t: int, *, expanded: bool) -> FictitiousLeaves:
    """The fictitious leaves of tree t, without listing the usage rows unless `expanded`."""
    nodes, charges = problem.ensemble.nodes_of(t), problem.usage.charges
    first, last = charges.start[nodes.start], charges.start[nodes.stop]
    item = charges.item[first:last]
    node = np.repeat(np.arange(nodes.start, nodes.stop), np.diff(charges.start[nodes.start : nodes.stop + 1]))
    once = problem.costs.paid_once[item]
    lowest, highest = problem.usage.routing.start[node], problem.usage.routing.stop[node]
    count = np.where(once, 1, highest - lowest).astype(np.int64)
    stop = int(problem.usage.arcs_per_node[: nodes.start].sum()) + np.cumsum(count)
    start = stop - count
    order = problem.usage.routing.order[t]
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


def _leaves(
    node: NDArray[np.integer],
    item: NDArray[np.integer],
    row: NDArray[np.integer],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
) -> FictitiousLeaves:
    return FictitiousLeaves(node.astype(np.int32), item.astype(np.int32), row.astype(np.int32), start, stop[: start.size])


@checked
def tree_network(problem: PruningProblem, t: int, *, expanded: bool = False) -> TreeNetwork:
    """The graph whose paths are the prunings of tree t: BP16 section 6.2, NWS15 section 5.

    Parameters
    ----------
    expanded
        an arc for every usage row (m, i), as the papers draw it. Default: one for each split u and item m, which stands for the
        rows of all examples at u; the graph then has about as many arcs as the tree has nodes.

    Raises
    ------
    InvalidInputError
        if there is no tree t.

    Examples
    --------
    >>> import prunemodels as pm
    >>> network = pm.programs.tree_network(pm.datasets.two_trees(), 0, expanded=True)
    >>> [(name, int(tail), int(head)) for name, tail, head in zip(network.arcs, network.tail, network.head)][-1]
    ('w_t[2,1,0]', 3, 4)
    """
    ensemble = problem.ensemble
    if not 0 <= t < ensemble.n_trees:
        raise InvalidInputError(f"there is no tree {t}; the forest has the trees 0 to {ensemble.n_trees - 1}")
    nodes = ensemble.nodes_of(t)
    own = _leaves_of_tree(problem, t, expanded=expanded)
    tail, head = _extents(ensemble.left[nodes], ensemble.right[nodes], nodes.start, own.node)
    return TreeNetwork(problem, t, tail, head, own)


@checked
def tree_networks(problem: PruningProblem, *, expanded: bool = False) -> list[TreeNetwork]:
    """The graphs of all trees, see `tree_network`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> [network.n_arcs for network in pm.programs.tree_networks(pm.datasets.two_trees())]
    [7, 9]
    """
    return [tree_network(problem, t, expanded=expanded) for t in range(problem.ensemble.n_trees)]


@checked
def row_operations(n_rows: Count) -> sparse.csr_array:
    """The papers' row operations -r_0, r_0 - r_1, ..., r_{L-1} as a matrix, shape (L + 1, L).

    Their product with a tree's equations in IP3 is the conservation of one unit of flow in its `tree_network`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.programs.row_operations(2).toarray()
    array([[-1.,  0.],
           [ 1., -1.],
           [ 0.,  1.]])
    """
    operations = sparse.eye_array(n_rows + 1, n_rows, k=-1) - sparse.eye_array(n_rows + 1, n_rows)
    return sparse.csr_array(operations)


@njit(cache=True)
def _extents(left, right, first_node, user):  # type: ignore[no-untyped-def]
    """(1) and (2): leaves below each node, children first; then the first of them, parents first."""
    n, extra = left.shape[0], user.shape[0]
    tail = np.zeros(n + extra, dtype=np.int32)
    head = np.zeros(n + extra, dtype=np.int32)
    below = np.zeros(n, dtype=np.int32)
    # how many fictitious leaves each user has
    for j in range(extra):
        below[user[j] - first_node] += 1
    own = below.copy()
    # the size of each node's range
    for h in range(n - 1, -1, -1):
        below[h] = 1 if left[h] < 0 else below[h] + below[left[h] - first_node] + below[right[h] - first_node]
    # (1): the leaves below the left child come first, then those below the right one, then the node's own
    for h in range(n):
        head[h] = tail[h] + below[h]
        if left[h] >= 0:
            a, b = left[h] - first_node, right[h] - first_node
            tail[a] = tail[h]
            tail[b] = tail[h] + below[a]
    # (2): one after the other, the last of them where the node's range ends
    for j in range(extra):
        u = user[j] - first_node
        tail[n + j] = head[u] - own[u]
        head[n + j] = tail[n + j] + 1
        own[u] -= 1
    return tail, head


@njit(cache=True)
def _hand_down(left, first_node, first_arc, charge, stop):  # type: ignore[no-untyped-def]
    """Add the charges of splits without arcs to the arcs of the left-most nodes below them."""
    passed_down = np.zeros_like(stop)
    for h in range(stop.shape[0]):
        stop[h] += passed_down[h]
        if left[h] >= 0:
            passed_down[left[h] - first_node] = passed_down[h] + (charge[h] if first_arc[h] < 0 else 0)
