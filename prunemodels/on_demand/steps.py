"""For one row after the other: go down the trees as far as the known features lead, and find the features needed next.

Rows are independent, so these loops run over rows and then trees; rows share only the batching of their requests.

Let E_t be the nodes of tree t where the row's walk can still end, given the features that are known: leaves, and splits whose
feature may turn out to be unavailable. Whatever comes, tree t adds the value of some v in E_t, so for each sum k

    low_k = sum_t min over v in E_t of value[v, k]   <=   sum of the trees   <=   high_k = sum_t max ... value[v, k]       (1)

The guess takes for an open tree the value of the split where it waits, which is in E_t. `deciding` says what (1) decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit

UNKNOWN, KNOWN, LOST = 0, 1, 2
"""Status of a feature of a row; LOST: it was asked for and cannot be had."""

NO_CAP = np.iinfo(np.int64).max
"""In place of the most that a row may pay."""


class Trees(NamedTuple):
    """The trees as the compiled walks take them, an entry for each node."""

    # left, right: children; -1 at leaves.
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    # column, tested: the feature that a split waits for, and the column of the cells that it tests.
    column: NDArray[np.int32]
    # threshold, missing_left: numbers that are at most the threshold go left, and so do missing ones where `missing_left` says
    # so.
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    tested: NDArray[np.int32]


class Standing(NamedTuple):
    """Where all rows stand: int32 `node`, shape (rows, T), the `cells` known, and uint8 `status`, shape (rows, F)."""

    node: NDArray[np.int32]
    cells: NDArray[Any]
    status: NDArray[np.uint8]


@njit(cache=True)
def advance(rows, at, trees, step_units, most, steps):  # type: ignore[no-untyped-def]
    """Walk each tree down to a leaf, to a split whose feature is not known, or to one that would bring `steps`, the price of the
    splits passed, above `most`.
    """
    left, right, column, threshold, missing_left, tested = trees
    node, cells, status = at
    for k in range(rows.shape[0]):
        i = rows[k]
        for t in range(node.shape[1]):
            h = node[i, t]
            # down while row i has the feature and may take the step
            while left[h] >= 0 and status[i, column[h]] == KNOWN:
                f = column[h]
                if steps[i] + step_units[f] > most[i]:
                    break
                x = cells[i, tested[h]]
                go_left = missing_left[h] if x != x else float(x) <= threshold[h]
                h = left[h] if go_left else right[h]
                steps[i] += step_units[f]
            node[i, t] = h


@njit(cache=True)
def ask_for_all(rows, node, trees, status, wanted, done):  # type: ignore[no-untyped-def]
    """Mark every feature at which a tree waits: each is certainly needed, whatever the values of the others."""
    left, column = trees.left, trees.column
    for k in range(rows.shape[0]):
        i = rows[k]
        done[k] = True
        for t in range(node.shape[1]):
            h = node[i, t]
            if left[h] >= 0 and status[i, column[h]] == UNKNOWN:
                wanted[k, column[h]] = True
                done[k] = False


class Ranges(NamedTuple):
    """The value of each node, and the least and the greatest ones of its subtree; float64, shape (n, K) each."""

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Owed(NamedTuple):
    """What is still to be paid: bool `needs`, shape (F, M), float64 `price`, shape (M,), and bool `bought`, shape (rows, M)."""

    needs: NDArray[np.bool_]
    price: NDArray[np.float64]
    bought: NDArray[np.bool_]


class Room(NamedTuple):
    """Room to work in, made outside: numba would compile functions of its own for arrays that a kernel makes."""

    score: NDArray[np.float64]  # shape (F,): of a row, the score of each feature
    ends: NDArray[np.float64]  # shape (2, K): of a tree, both ends of its range
    stack: NDArray[np.int64]  # nodes that are left to visit, never more than a tree has

    @classmethod
    def of(cls, n_features: int, n_classes: int, trees: Trees) -> Self:
        """For one call."""
        return cls(np.empty(n_features), np.empty((2, n_classes)), np.empty(trees.left.size, dtype=np.int64))


@njit(cache=True)
def ask_for_one(rows, at, trees, ranges, owed, room, wanted, done, total):  # type: ignore[no-untyped-def]
    """Write the bounds of (1) and the guess into `total`, shape (rows, 3, K), and mark the feature to ask for next.

    The score of feature f is the sum, over the trees that wait for it, of how far apart their answers can be, divided by the
    square root of what is still to be paid for it. Divided by the price itself, cheap features that settle little would all be
    bought first.
    """
    left, column, node, value = trees.left, trees.column, at.node, ranges.value
    n_trees, n_classes = node.shape[1], value.shape[1]
    score, ends, stack = room
    for k in range(rows.shape[0]):
        i = rows[k]
        # -1: no tree waits for the feature
        for f in range(score.shape[0]):
            score[f] = -1.0
        for t in range(n_trees):
            h = node[i, t]
            f = column[h]
            # the guess is the node's own value; a tree that waits can still answer anything between `ends`
            for c in range(n_classes):
                ends[0, c] = ends[1, c] = value[h, c]
            if left[h] >= 0 and at.status[i, f] == UNKNOWN:
                _reach(h, i, at, trees, ranges, ends, stack)
                widest = 0.0
                for c in range(n_classes):
                    if ends[1, c] - ends[0, c] > widest:
                        widest = ends[1, c] - ends[0, c]
                # the first tree that waits replaces the -1
                score[f] = score[f] + widest if score[f] > 0.0 else widest
            # (1): the sums of the trees' least and greatest answers, and of their guesses
            for c in range(n_classes):
                total[k, 0, c] += ends[0, c]
                total[k, 1, c] += ends[1, c]
                total[k, 2, c] += value[h, c]
        # a row whose trees all stand at leaves is done
        waits = False
        for f in range(score.shape[0]):
            waits = waits or score[f] >= 0
        if not waits:
            done[k] = True
        else:
            wanted[k, _best_buy(score, owed, i)] = True


@njit(cache=True)
def _reach(start, i, at, trees, ranges, ends, stack):  # type: ignore[no-untyped-def]
    """Widen `ends` (least, greatest) to row i's E_t below a node; subtrees that cannot widen it are passed over."""
    left, right, column, threshold, missing_left, tested = trees
    _, cells, status = at
    value, low, high = ranges
    stack[0] = start
    n = 1
    while n:
        n -= 1
        h = stack[n]
        # features that are known leave one way
        while left[h] >= 0 and status[i, column[h]] == KNOWN:
            x = cells[i, tested[h]]
            h = left[h] if (missing_left[h] if x != x else float(x) <= threshold[h]) else right[h]
        # widen by the node's own answer, and see whether anything below could widen further
        inside = True
        for c in range(value.shape[1]):
            inside = inside and low[h, c] >= ends[0, c] and high[h, c] <= ends[1, c]
            if value[h, c] < ends[0, c]:
                ends[0, c] = value[h, c]
            if value[h, c] > ends[1, c]:
                ends[1, c] = value[h, c]
        # both ways are open
        if not inside and left[h] >= 0 and status[i, column[h]] == UNKNOWN:
            stack[n], stack[n + 1] = left[h], right[h]
            n += 2


@njit(cache=True)
def _best_buy(score, owed, i):  # type: ignore[no-untyped-def]
    """Of the features that row i's trees wait for, the one with the highest score per root of the price; free ones go first."""
    needs, price, bought = owed
    best, best_free, best_score = -1, False, -1.0
    for f in range(score.shape[0]):
        if score[f] < 0:
            continue
        # items that the row bought already cost nothing
        left_to_pay = 0.0
        for m in range(needs.shape[1]):
            if needs[f, m] and not bought[i, m]:
                left_to_pay += price[m]
        free = left_to_pay == 0
        per_price = score[f] if free else score[f] / np.sqrt(left_to_pay)
        if best < 0 or (free and not best_free) or (free == best_free and per_price > best_score):
            best, best_free, best_score = f, free, per_price
    return best
