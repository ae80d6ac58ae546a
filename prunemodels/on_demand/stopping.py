"""What the open trees of a row can still answer, and what to ask for as long as that leaves its answer open.

Let E_t be the nodes of tree t where the row's walk can still end, given the features that are known: leaves, and splits whose
feature may turn out to be unavailable. Whatever comes, tree t adds the value of some v in E_t, so for each sum k

    low_k = sum_t min over v in E_t of value[v, k]   <=   sum of the trees   <=   high_k = sum_t max ... value[v, k]       (1)

The guess takes for an open tree the value of the split where it waits, which is in E_t. `deciding` says what (1) decides.

Libraries add the T values one by one to a start, and averages are then divided by T. With u the unit roundoff of their numbers
(2^-53 for doubles; 2^-24 for the float32 sums of XGBoost), g = (T + 1) u / (1 - (T + 1) u) and
A = |start| + sum_t max |value in tree t|, each of the sums in (1), and the library's own, is off by at most g A, and a quotient
by u (1 + g) A / T more. So two sums keep their order in the library's own arithmetic where they differ by more than

    slack = 8 (T + 2) u A  >=  4 g A + 2 u (1 + g) A + the rounding of the difference                                      (2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.ensemble import Ensemble
from prunemodels.models.response import Response
from prunemodels.on_demand.steps import KNOWN, UNKNOWN


@dataclass(frozen=True, eq=False)
class Extremes:
    """The range of the answers that a row can get below each node.

    Parameters
    ----------
    low, high
        float64, shape (n, K): least and greatest value of a node's subtree, itself included.
    all
        the sums over all trees of their least and of their greatest values, each of shape (K,).
    slack
        of (2).
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    all: tuple[NDArray[np.float64], NDArray[np.float64]]
    slack: float


def extremes_of(ensemble: Ensemble, response: Response) -> Extremes:
    """Extremes of every subtree, in one pass from the leaves up."""
    low, high = response.value.copy(), response.value.copy()
    _widen(ensemble.left, ensemble.right, low, high)
    largest = np.maximum.reduceat(np.abs(response.value).max(axis=1), ensemble.roots).sum() + np.abs(response.start).max()
    slack = 8 * (ensemble.n_trees + 2) * response.unit_roundoff * float(largest) + np.finfo(np.float64).tiny
    roots = ensemble.roots
    return Extremes(low, high, (low[roots].sum(axis=0), high[roots].sum(axis=0)), float(slack))


@njit(cache=True)
def _widen(left, right, low, high):  # type: ignore[no-untyped-def]
    """Widen each node's range to its subtree. Children have larger ids than parents, so falling ids go up the trees."""
    for h in range(left.shape[0] - 1, -1, -1):
        if left[h] >= 0:
            for k in range(low.shape[1]):
                for child in (left[h], right[h]):
                    if low[child, k] < low[h, k]:
                        low[h, k] = low[child, k]
                    if high[child, k] > high[h, k]:
                        high[h, k] = high[child, k]


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


@njit(cache=True)
def _ask_for_one(rows, at, trees, ranges, place, owed, wanted, done, total):  # type: ignore[no-untyped-def]
    """Write the bounds of (1) and the guess into `total`, shape (rows, 3, K), and mark the feature to ask for next.

    ``place[t]`` is tree t's place in a given order: the first tree that waits decides. Where ``place`` is empty, the score of
    feature f is the sum, over the trees that wait for it, of how far apart their answers can be, divided by the square root of
    what is still to be paid for it. Divided by the price itself, cheap features that settle little would all be bought first.
    """
    left, column, node, value = trees.left, trees.column, at.node, ranges.value
    n_trees, n_classes = node.shape[1], value.shape[1]
    # room to work in: of a row, the score of each feature; of a tree, both ends of its range, and nodes that are left to visit
    score, ends, stack = np.empty(owed.needs.shape[0]), np.empty((2, n_classes)), np.empty(left.shape[0], dtype=np.int64)
    for k in range(rows.shape[0]):
        i = rows[k]
        for f in range(score.shape[0]):
            score[f] = -1.0
        first, asked = n_trees, -1
        for t in range(n_trees):
            h = node[i, t]
            f = column[h]
            for c in range(n_classes):
                ends[0, c] = ends[1, c] = value[h, c]
            if left[h] >= 0 and at.status[i, f] == UNKNOWN:
                _reach(h, i, at, trees, ranges, ends, stack)
                widest = 0.0
                for c in range(n_classes):
                    if ends[1, c] - ends[0, c] > widest:
                        widest = ends[1, c] - ends[0, c]
                score[f] = score[f] + widest if score[f] > 0.0 else widest
                if place.shape[0] and place[t] < first:
                    first, asked = place[t], f
            for c in range(n_classes):
                total[k, 0, c] += ends[0, c]
                total[k, 1, c] += ends[1, c]
                total[k, 2, c] += value[h, c]
        waits = False
        for f in range(score.shape[0]):
            waits = waits or score[f] >= 0
        if not waits:
            done[k] = True
        else:
            wanted[k, asked if place.shape[0] else _best_buy(score, owed, i)] = True


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
        while left[h] >= 0 and status[i, column[h]] == KNOWN:
            x = cells[i, tested[h]]
            h = left[h] if (missing_left[h] if x != x else float(x) <= threshold[h]) else right[h]
        inside = True
        for c in range(value.shape[1]):
            inside = inside and low[h, c] >= ends[0, c] and high[h, c] <= ends[1, c]
            if value[h, c] < ends[0, c]:
                ends[0, c] = value[h, c]
            if value[h, c] > ends[1, c]:
                ends[1, c] = value[h, c]
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
        left_to_pay = 0.0
        for m in range(needs.shape[1]):
            if needs[f, m] and not bought[i, m]:
                left_to_pay += price[m]
        free = left_to_pay == 0
        per_price = score[f] if free else score[f] / np.sqrt(left_to_pay)
        if best < 0 or (free and not best_free) or (free == best_free and per_price > best_score):
            best, best_free, best_score = f, free, per_price
    return best
