"""One walk along a path on other rows: the cost and the prediction of each row at every breakpoint.

A walk has the positions 0 to K: position 0 is the unpruned forest, position k + 1 the path's row k. Every split h is kept before
one position, its end, and is a leaf or gone from there on,

    h is a split at position p   exactly where   p < end_h,    end_h >= end of its children,  end_h >= 1                 (1)

so a row's leaf in a tree changes only where the topmost of some splits on its path ends. A row makes a purchase at all positions
before the largest end of the splits that need it. Sums over the rows are kept as differences between neighbouring positions:

    losses:  sum w l,  sum q l,  sum q l^2,  sum q d,  sum q d^2,   d = l - (loss at a reference position)               (2)
    costs:   sum w x,  sum q x,  sum q x^2                                                                              (3)

where q are the squares of the weights w as standard errors take them, see `prunemodels.statements.mean_bounds`, (5).
Losses are summed from position 0 forwards and costs from the last position backwards, so that small sums consist of small terms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import NestedPrunings
from formulations.compiled import njit
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import Reached, Routing
from formulations.instance.usage import Usage

KINDS = ("zero_one", "misclassification_costs", "squared_error", "absolute_error", "poisson")
"""The losses by their numbers in compiled code; see `TreeLoss`."""


class Ballot(NamedTuple):
    """The votes on each row at a position."""

    value: NDArray[np.float64]  # shape (n, C): what each node adds to the vote
    leaf: NDArray[np.int32]  # shape (T, N): where each row is in each tree
    total: NDArray[np.float64]  # shape (N, C): the sums of the votes


class NewLeaves(NamedTuple):
    """The splits that become leaves, sorted by position, and where they do."""

    node: NDArray[np.int64]
    position: NDArray[np.int32]


def ends_of(path: NestedPrunings) -> NDArray[np.int32]:
    """end_h of (1) for every split, 0 at leaves; int32, shape (n,)."""
    return np.where(path.problem.ensemble.is_split, path.rows_kept + 1, 0).astype(np.int32)


def walk_losses(
    ensemble: Ensemble,
    routing: Routing,
    end: NDArray[np.int32],
    value: NDArray[np.float64],
    truth: NDArray[np.float64],
    weights: NDArray[np.float64],
    reference: int,
    sums: NDArray[np.float64],
) -> None:
    """Add the differences of (2) to `sums`, shape (K + 1, 5).

    `value`: shape (n, C): what each node adds to the vote; for a regressor C = 1. `truth`: shape (N,): class index of each row,
    or its target. `reference`: the position that d of (2) is relative to. `weights`: shape (2, N): w and q.
    """
    kind = KINDS.index(ensemble.loss.name)
    costs = ensemble.loss.matrix if ensemble.loss.costs else np.zeros((1, 1))
    how = (kind, costs)
    reached = Reached(ensemble.tree_of, routing.order, routing.start, routing.stop)
    compared, loss = np.empty((2, routing.n_rows))
    ballot = Ballot(value, np.empty_like(routing.order), np.empty((routing.n_rows, value.shape[1])))
    _settle(reference, end, ensemble.parent, reached, ballot.leaf)
    _all_losses(ballot, truth, how, compared)
    _settle(0, end, ensemble.parent, reached, ballot.leaf)
    _all_losses(ballot, truth, how, loss)
    _add_all(loss, compared, weights, sums)
    nodes = _new_leaves(ensemble, end, len(sums))
    new = NewLeaves(nodes, end[nodes])
    _walk_losses(new, reached, ballot, truth, how, weights, compared, loss, sums)


def _new_leaves(ensemble: Ensemble, end: NDArray[np.int32], positions: int) -> NDArray[np.int64]:
    """The splits that become leaves at their end, sorted by end; a split whose parent has the same end disappears instead."""
    above = np.where(ensemble.parent < 0, positions, end[ensemble.parent])
    nodes = np.flatnonzero(ensemble.is_split & (end < above))
    return nodes[np.argsort(end[nodes], kind="stable")]


def walk_costs(
    usage: Usage, end: NDArray[np.int32], weights: NDArray[np.float64], sums: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Add the differences of (3), back from the last position, to `sums`, shape (K + 1, 3); `weights` as in `walk_losses`.

    Returns
    -------
    ndarray
        int32, shape (M,): items that are paid once for all rows are paid at all positions before this one; -1: never, or the
        item is paid by each row.
    """
    n, price = usage.n_rows, usage.costs.price
    bought_until = usage.highest_user(usage.splits, end)
    by_row, for_all = bought_until[: n * price.size], bought_until[n * price.size :]
    purchases = by_falling_end(np.flatnonzero(by_row > 0), by_row)
    evaluated = by_falling_end(np.flatnonzero(usage.split_price > 0), end)
    _walk_costs(purchases, by_row, price, evaluated, end, usage.split_price, usage.reached, weights, np.zeros(n), sums)
    return for_all


def by_falling_end(numbers: NDArray[np.integer[Any]], until: NDArray[np.int32]) -> NDArray[np.int64]:
    """The numbers, sorted by their ends in falling order."""
    return numbers[np.argsort(-until[numbers], kind="stable")].astype(np.int64)


@njit(cache=True)
def _walk_costs(  # type: ignore[no-untyped-def]
    purchases, by_row, item_price, evaluated, end, split_price, reached, weights, paid, sums
):
    """Going back, add to each row's cost at a position all purchases and evaluations that end right after it."""
    n = weights.shape[1]
    b, s = 0, 0
    for position in range(sums.shape[0] - 1, -1, -1):
        while b < purchases.shape[0] and by_row[purchases[b]] > position:
            i = purchases[b] % n
            _pay(i, item_price[purchases[b] // n], weights, paid, sums[position])
            b += 1
        while s < evaluated.shape[0] and end[evaluated[s]] > position:
            h = evaluated[s]
            for j in range(reached.start[h], reached.stop[h]):
                i = np.int64(reached.order[reached.tree_of[h], j])  # as above, so that `_pay` is compiled once
                _pay(i, split_price[h], weights, paid, sums[position])
            s += 1


@njit(cache=True)
def _pay(i, price, weights, paid, sums):  # type: ignore[no-untyped-def]
    """Add a price to the cost of row i, and to the sums (3)."""
    before = paid[i]
    paid[i] = before + price
    w, q = weights[0, i], weights[1, i]
    sums[0] += w * price
    sums[1] += q * price
    sums[2] += q * (paid[i] * paid[i] - before * before)


@njit(cache=True)
def _settle(position, end, parent, reached, leaf):  # type: ignore[no-untyped-def]
    """The leaf of every row in every tree at a position."""
    tree_of, order, start, stop = reached
    for h in range(end.shape[0]):
        if end[h] <= position and (parent[h] < 0 or end[parent[h]] > position):
            for j in range(start[h], stop[h]):
                leaf[tree_of[h], order[tree_of[h], j]] = h


@njit(cache=True)
def _all_losses(ballot, truth, how, loss):  # type: ignore[no-untyped-def]
    """The loss of every row at its leaves, with the votes summed afresh."""
    for i in range(truth.shape[0]):
        _sum_votes(i, ballot)
        loss[i] = _loss(i, ballot, truth, how)


@njit(cache=True)
def _add_all(loss, compared, weights, sums):  # type: ignore[no-untyped-def]
    """The sums (2) at position 0."""
    for i in range(loss.shape[0]):
        _move(i, 0.0, loss[i], 0.0, loss[i] - compared[i], weights, sums[0])


@njit(cache=True)
def _walk_losses(new, reached, ballot, truth, how, weights, compared, loss, sums):  # type: ignore[no-untyped-def]
    """At each position, move the rows below the splits that end there up to these, then recompute the losses of these rows."""
    tree_of, order, start, stop = reached
    value, leaf, total = ballot
    last_moved = np.zeros(truth.shape[0], dtype=np.int32)
    moved = np.empty(truth.shape[0], dtype=np.int32)
    k = 0
    while k < new.node.shape[0]:
        position, n_moved = new.position[k], 0
        while k < new.node.shape[0] and new.position[k] == position:
            h = new.node[k]
            t = tree_of[h]
            for j in range(start[h], stop[h]):
                i = order[t, j]
                for c in range(value.shape[1]):
                    total[i, c] += value[h, c] - value[leaf[t, i], c]
                leaf[t, i] = h
                if last_moved[i] != position:
                    last_moved[i] = position
                    moved[n_moved] = i
                    n_moved += 1
            k += 1
        for m in range(n_moved):
            i = np.int64(moved[m])  # as in `_all_losses`: for int32 numba would compile all that is called once more
            now = _loss(i, ballot, truth, how)
            if now != loss[i]:
                _move(i, loss[i], now, loss[i] - compared[i], now - compared[i], weights, sums[position])
                loss[i] = now


@njit(cache=True)
def _move(i, old, new, old_difference, new_difference, weights, sums):  # type: ignore[no-untyped-def]
    """Replace a loss in the sums (2)."""
    w, q = weights[0, i], weights[1, i]
    sums[0] += w * (new - old)
    sums[1] += q * (new - old)
    sums[2] += q * (new * new - old * old)
    sums[3] += q * (new_difference - old_difference)
    sums[4] += q * (new_difference * new_difference - old_difference * old_difference)


@njit(cache=True)
def _sum_votes(i, ballot):  # type: ignore[no-untyped-def]
    """Sum the votes on one row in the order of the trees, which gives the same floats as scikit-learn with one job."""
    value, leaf, total = ballot
    for c in range(value.shape[1]):
        total[i, c] = 0.0
        for t in range(leaf.shape[0]):
            total[i, c] += value[leaf[t, i], c]


@njit(cache=True)
def _loss(i, ballot, truth, how):  # type: ignore[no-untyped-def]
    """The loss of the forest's prediction for row i; `how` is the number of the loss, and the misclassification costs."""
    kind, costs = how
    n_trees = ballot.leaf.shape[0]
    if kind >= 2:
        _sum_votes(i, ballot)
        return _loss_of_number(kind, truth[i], ballot.total[i, 0] / n_trees)
    y = int(truth[i])
    best = _settled(i, ballot, n_trees)
    if kind == 0:
        return 0.0 if best == y else 1.0
    return costs[y, best]


@njit(cache=True)
def _settled(i, ballot, n_trees):  # type: ignore[no-untyped-def]
    """The class of most votes; sums that differ by less than a billionth of the number of trees are summed afresh."""
    total = ballot.total
    best = _largest(i, total, n_trees)
    for c in range(total.shape[1]):
        if c != best and total[i, best] - total[i, c] < 1e-9 * n_trees:
            _sum_votes(i, ballot)
            return _largest(i, total, n_trees)
    return best


@njit(cache=True)
def _loss_of_number(kind, y, v):  # type: ignore[no-untyped-def]
    """Squared error, absolute error or Poisson deviance of the prediction v."""
    if kind == 2:
        return (v - y) ** 2
    if kind == 3:
        return abs(y - v)
    return 2 * ((y * np.log(y) - y * np.log(v) if y > 0 else 0.0) - y + v)


@njit(cache=True)
def _largest(i, total, n_trees):  # type: ignore[no-untyped-def]
    """The class with the largest mean, of several the first."""
    best = 0
    for c in range(1, total.shape[1]):
        if total[i, c] / n_trees > total[i, best] / n_trees:
            best = c
    return best
