"""The reduction before the engines: what must go together is one split, and what can never pay is a leaf.

Let V_h be the worth of the best closure of the subtree of h that keeps h, without prices. Call a split *free* if it has
no usage arcs and its evaluation costs nothing. Let W_h be the worth of the best set of free splits that is connected, keeps h
and has nothing above h. For the smallest optima

    V_h <= 0                                                h is never kept: it becomes a leaf                            (1)
    h free,  W_h > 0                                        h is kept wherever its parent is: both are one split          (2)
    a group g of (2) without a price and with gain <= 0,
    with a single group c below it                          g is kept wherever c is: both are one split                   (3)

and for the largest with <, >= and <. The rules hold at every lambda >= 0 and whatever purchases are paid already, because

    (1)  without what it keeps at and below h, a closure costs no more, and it gains V_h or less in total less;
    (2)  a closure with the parent and without h can take h with the set that W_h is the worth of, for nothing;
    (3)  a closure with g and without c has nothing below g; without g it loses gain_g <= 0 and costs no more.

In each case the other closure is better, or as good and smaller (for the largest: larger). So the optima of the groups are the
optima of the splits, bit for bit. Within a budget some optimum obeys all three rules.

A group has a price at one of its splits at most, its *payer*: by (2) free splits join what is above them, by (3) what has no
price joins what is below. All groups below a group are below its payer, so groups in the order of their payers are a forest
with parents before children, whose ranges of rows, charges and usage arcs are the payers'. Answers and certificates of the
reduced forest become those of the forest as follows.

    a pruning or path            every split of a group has the group's level; by (1) a leaf of the reduction has none      (4)
    duals on usage arcs          those of a group are its payer's. Other splits that are ever kept have no arcs            (5)
    weights of shares            every split of a group has the group's weight                                             (6)
    scores                       those of a group are its payer's; other splits pay nothing                              (7)
    a group fixed in             its payer and what is above it. If the payer is pruned, so is all of (3); and forcing an
                                 ancestor out forces the payer out. Other splits of (2) stay open, where their worth
                                 counts as it should: they are free                                                        (8)
    a group fixed out            its payer; what is above it by (3) stays open, worth 0 at most                           (9)

In the proof of a path, (2) of `proofs_checks.optimality.path_optimality`, free splits of (2) pass on W_h >= 0, and those of (3)
take what the group below them has left over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.ensemble import PlainForest
from formulations.instance.node_errors import NodeErrors
from formulations.instance.numbers import Numbers
from formulations.instance.routing import Amount
from formulations.instance.usage import ForestUsage
from formulations.instance.usage_arcs import Charges

Ties = Literal["smallest", "largest"]


@dataclass(frozen=True, eq=False)
class Groups:
    """The splits that go together, and the nodes of the reduced forest, r of them: groups, and leaves for what is never kept."""

    # int32, shape (n,): the node of the reduced forest that each split belongs to, -1 for leaves and what is never kept.
    of: NDArray[np.int32]
    # int32, shape (r,): the payer of each group, at a leaf that of the group above it, or a root that is never kept.
    payer: NDArray[np.int32]
    first: NDArray[np.int32]  # int32, shape (r,): as `payer`, with the first split of each group in its place
    is_group: NDArray[np.bool_]  # bool, shape (r,)
    above: NDArray[np.int32]  # int32, shape (r,): the parents in the reduced forest, -1 at roots
    rest: NDArray[np.int32]  # int32: nodes of the forest that are leaves or never kept, below a split that is, and have an error
    leaf_of_rest: NDArray[np.int32]  # int32: the leaf of the reduced forest that each of them is a part of

    @classmethod
    def of_splits(cls, usage: ForestUsage, errors: NodeErrors, numbers: Numbers, ties: Ties) -> Groups:
        """(1) to (3)."""
        ensemble = usage.ensemble
        free = (usage.arcs_per_node == 0) & (numbers.evaluation == 0)
        places, sums = np.full((4, free.size), -1, dtype=np.int32), np.zeros((3, free.size), dtype=numbers.gain.dtype)
        _group(ensemble.parent, numbers.gain, ensemble.is_split, free, ties == "largest", places, sums)
        # nodes of the reduced forest: groups, roots that are never kept, and for each group a leaf where errors are left over
        top, payer = places[:2]
        firsts = np.flatnonzero(top == np.arange(top.size)).astype(np.int32)
        gone = ensemble.roots[top[ensemble.roots] < 0].astype(np.int32)
        under = np.where(ensemble.parent >= 0, top[ensemble.parent], -1)
        errs = np.any([c.e > 0 for c in errors.components], axis=0)
        rest = np.flatnonzero((top < 0) & (under >= 0) & errs).astype(np.int32)
        with_leaf = np.unique(under[rest]).astype(np.int32)
        first = np.concatenate([firsts, gone, with_leaf])
        is_leaf = np.arange(first.size) >= firsts.size + gone.size
        # they are numbered tree by tree, groups before leaves, by their payers
        own = np.where(payer[first] >= 0, payer[first], first)
        order = np.lexsort((own, is_leaf, ensemble.tree_of[first]))
        place = np.empty(order.size, dtype=np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        # the node of each split, and each node's parent
        node = np.full(top.size + 1, -1, dtype=np.int32)  # the last is for nodes without a group
        node[firsts] = place[: firsts.size]
        parent = np.where(is_leaf, node[first], node[under[first]])
        leaf = place[firsts.size + gone.size + np.searchsorted(with_leaf, under[rest])]
        is_group = np.arange(first.size) < firsts.size
        return cls(node[top], own[order], first[order], is_group[order], parent[order], rest, leaf.astype(np.int32))

    def sums(self, amount: NDArray[Amount]) -> NDArray[Amount]:
        """The sum over the splits of each group, 0 at leaves; shape (r,)."""
        total: NDArray[Amount] = np.zeros(self.payer.size, dtype=amount.dtype)
        grouped = self.of >= 0
        np.add.at(total, self.of[grouped], amount[grouped])
        return total

    def of_pruning(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The groups that a pruning of the forest keeps whole, as one of the reduced forest; bool, shape (r,)."""
        return self.is_group & kept[self.payer]

    def kept(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(4) for a pruning of the reduced forest; bool, shape (n,)."""
        return (self.of >= 0) & kept[self.of]

    def levels(self, level: NDArray[np.int32], never: int) -> NDArray[np.int32]:
        """(4) for levels of the reduced forest; int32, shape (n,)."""
        return np.where(self.of >= 0, level[self.of], np.int32(never))

    def weights(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """(6); float64, shape (n,)."""
        return np.where(self.of >= 0, weight[self.of], 0.0)

    def duals(self, dual: NDArray[np.int64], usage: ForestUsage) -> NDArray[np.int64]:
        """(5): duals on the usage arcs of the forest, whose usage this is, from those of the reduced one."""
        pays = np.zeros(self.of.size, dtype=bool)
        pays[self.payer[self.is_group]] = True
        of_forest = np.zeros(int(usage.arcs_per_node.sum()), dtype=np.int64)
        of_forest[np.repeat(pays, usage.arcs_per_node)] = dual
        return of_forest

    def fixed_in(self, groups: NDArray[np.int32], parent: NDArray[np.int32], fixed: NDArray[np.bool_]) -> NDArray[np.int32]:
        """(8): the payers of some groups and all splits above them that are not in `fixed` yet, which takes them up.

        `parent`: int32, shape (n,): of the forest. `fixed`: bool, shape (n,).
        """
        mark = fixed.copy()
        mark[self.payer[groups]] = True
        mark_above(parent, mark)
        new = np.flatnonzero(mark & ~fixed).astype(np.int32)
        fixed[new] = True
        return new


def reduced_usage(usage: ForestUsage, groups: Groups) -> ForestUsage:
    """The usage of the groups; rows, prices and the order of the rows are the forest's."""
    forest, charges, routing = usage.ensemble, usage.charges, usage.routing
    nodes = groups.payer
    count = np.where(groups.is_group, charges.start[nodes + 1] - charges.start[nodes], 0)
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(count)])
    place = np.repeat(charges.start[nodes] - start[:-1], count) + np.arange(start[-1])
    tree_start = np.searchsorted(forest.tree_of[nodes], np.arange(forest.n_trees + 1)).astype(np.int64)
    feature = np.where(groups.is_group, forest.feature[nodes], np.int32(-1))  # the payer's
    grouped = PlainForest(tree_start, groups.above, feature, groups.is_group)
    where = replace(routing, start=routing.start[nodes], stop=routing.stop[nodes])
    return ForestUsage(grouped, usage.costs, usage.evaluation, Charges(start, charges.item[place]), usage.weights, where)


def reduced_errors(errors: NodeErrors, groups: Groups) -> NodeErrors:
    """The error of each group where its first split is a leaf, and at leaves of what is a leaf there or never kept."""
    components = []
    for c in errors.components:
        left_over = np.bincount(groups.leaf_of_rest, weights=c.e[groups.rest], minlength=groups.first.size)
        is_leaf = np.zeros(groups.first.size, dtype=bool)
        is_leaf[groups.leaf_of_rest] = True
        components.append(replace(c, e=np.where(is_leaf, left_over, c.e[groups.first])))
    return NodeErrors(tuple(components))


def reduced_numbers(numbers: Numbers, groups: Groups) -> Numbers:
    """Gains and evaluation prices of the groups, in the same units."""
    return replace(numbers, gain=groups.sums(numbers.gain), evaluation=groups.sums(numbers.evaluation))


@njit(cache=True)
def mark_above(parent, mark):  # type: ignore[no-untyped-def]
    """Mark what is above the marked splits, in place."""
    for h in range(parent.shape[0] - 1, -1, -1):
        if mark[h] and parent[h] >= 0:
            mark[parent[h]] = True


@njit(cache=True)
def _group(parent, gain, is_split, free, largest, places, sums):  # type: ignore[no-untyped-def]
    """The first split of the group of each split that is ever kept, and its payer: rows 0 and 1 of `places`, which are -1 before.

    The other rows, and `sums`, zeros before, are room to work in: an array made here would be more to compile.
    """
    n = parent.shape[0]
    top, payer, only, below = places[0], places[1], places[2], places[3]
    worth, alone, total = sums[0], sums[1], sums[2]  # V and W, and the gain of each group
    for h in range(n):
        worth[h] = alone[h] = gain[h]
        below[h] = 0
    for h in range(n - 1, -1, -1):
        p = parent[h]
        if not is_split[h] or p < 0:
            continue
        if worth[h] > 0:
            worth[p] += worth[h]
        if free[h] and alone[h] > 0:
            alone[p] += alone[h]
    for h in range(n):
        p = parent[h]
        if not is_split[h] or not (worth[h] > 0 or (largest and worth[h] == 0)) or (p >= 0 and top[p] < 0):
            continue
        joins = p >= 0 and free[h] and (alone[h] > 0 or (largest and alone[h] == 0))
        top[h] = top[p] if joins else h
    for h in range(n):
        if top[h] >= 0:
            total[top[h]] += gain[h]
            if top[h] == h and parent[h] >= 0:
                below[top[parent[h]]] += 1
                only[top[parent[h]]] = h
    for h in range(n - 1, -1, -1):
        if top[h] != h:
            continue
        payer[h] = h
        if free[h] and below[h] == 1 and (total[h] < 0 or (not largest and total[h] == 0)):
            c = only[h]
            payer[h] = payer[c]
            top[c] = h
    for h in range(n):
        if top[h] >= 0 and top[top[h]] != top[h]:
            top[h] = top[top[h]]
    for h in range(n):
        if top[h] >= 0:
            payer[h] = payer[top[h]]
