"""Best closures when nothing couples the trees: one pass up every tree and one pass down.

    v_h = profit_h + max(0, v_left) + max(0, v_right)                     the best closure of a subtree that keeps h       (1)
    h is kept where its parent is kept and v_h > 0 (smallest best closure) or v_h >= 0 (largest best closure)              (2)

A top is a split without a parent. Forcing a split in or out costs

    in_h  = v_h at a top;   else in_parent - max(0, v_h) + v_h             the tree's best value with h kept               (3)
    out_h = 0 at a top;     else max(out_parent, in_parent - max(0, v_h))  the tree's best value with h pruned             (4)

The kernels take forests as one array of parents, with every parent before its children, and numbers of any type. One pass of the
package is not expressed by them: `solvers.column_generation.shortest_paths` minimises over leaves too and bounds its rounding
errors on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.problem import Core
from solvers.closures.cut import Ties


def best_tree_closures(
    parent: NDArray[np.int32], profit: NDArray[Any], allowed: NDArray[np.bool_], ties: Ties = "smallest"
) -> tuple[NDArray[np.bool_], Any]:
    """Best closure of every tree among the allowed splits, and the sum of their values.

    Parameters
    ----------
    parent
        int32, shape (k,): -1 at tops.
    profit
        int64 or float64, shape (k,), and so is the value; sums of integers must stay below 2^63.
    allowed
        bool, shape (k,): a split that is not allowed is never kept, nor is any below it.
    """
    keep = np.zeros(parent.shape[0], dtype=np.bool_)
    value = choose(parent, profit.copy(), keep, allowed, ties == "largest")
    return keep, value


@dataclass(frozen=True, eq=False)
class Forced:
    """Values of a forest: of the best closure, and of the best ones with a split forced in or out."""

    best: int  # the sum of the trees' best closures
    # kept, pruned: int64, shape (k,): the same with split h forced in, and with it forced out.
    kept: NDArray[np.int64]
    pruned: NDArray[np.int64]


def forced(parent: NDArray[np.int32], profit: NDArray[np.int64]) -> Forced:
    """(3) and (4) of every split; `profit` is overwritten."""
    kept, pruned = np.empty_like(profit), np.empty_like(profit)
    best = force(parent, profit, kept, pruned)
    return Forced(int(best), kept, pruned)


def without_prices(problem: Core, ties: Ties) -> NDArray[np.bool_]:
    """The optimum at lambda = 0, where items are free."""
    ensemble = problem.ensemble
    return best_tree_closures(ensemble.parent, problem.numbers.gain, ensemble.is_split, ties)[0]


def free_of_charge(problem: Core, ties: Ties) -> NDArray[np.bool_]:
    """The best closure among splits whose price is 0: the optimum for lambda beyond every breakpoint."""
    has_price = problem.numbers.evaluation > 0
    charged = np.repeat(np.arange(problem.ensemble.n_nodes), np.diff(problem.usage.charges.start))
    reached = problem.costs.paid_once[problem.usage.charges.item] | (problem.usage.routing.counts()[charged] > 0)
    has_price[charged[reached]] = True
    allowed = problem.ensemble.is_split & ~has_price
    return best_tree_closures(problem.ensemble.parent, problem.numbers.gain, allowed, ties)[0]


@njit(cache=True, nogil=True)
def climb(parent, value, allowed=None):  # type: ignore[no-untyped-def]
    """(1), children before parents: turns profits into v, in place; returns the sum of the best closures of all trees."""
    total = 0
    for h in range(value.shape[0] - 1, -1, -1):
        if value[h] > 0:
            if allowed is not None and not allowed[h]:
                continue
            if parent[h] < 0:
                total += value[h]
            else:
                value[parent[h]] += value[h]
    return total


@njit(cache=True, nogil=True)
def choose(parent, value, keep, allowed=None, largest=False):  # type: ignore[no-untyped-def]
    """(1) in place, then (2), parents before children, written to `keep`; returns the value of the closure."""
    total = climb(parent, value, allowed)
    for h in range(value.shape[0]):
        keep[h] = (value[h] > 0 or (largest and value[h] == 0)) and (parent[h] < 0 or keep[parent[h]])
        if allowed is not None:
            keep[h] &= allowed[h]
    return total


@njit(cache=True, nogil=True)
def force(parent, value, kept, pruned):  # type: ignore[no-untyped-def]
    """(1) in place, then (3) and (4), each with the best closures of the other trees; returns the value without forcing."""
    total = climb(parent, value)
    for h in range(value.shape[0]):
        p = parent[h]
        own = max(value[h], 0)
        others = (total if p < 0 else kept[p]) - own  # with the rest of the forest
        kept[h] = others + value[h]
        pruned[h] = others if p < 0 else max(pruned[p], others)
    return total


@njit(cache=True)
def _subtree_sums(parent, total):  # type: ignore[no-untyped-def]
    for h in range(parent.shape[0] - 1, -1, -1):
        if parent[h] >= 0:
            total[parent[h]] += total[h]


def subtree_sums(parent: NDArray[np.int32], amount: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum of the amounts of each split and of all splits below it; int64, shape (k,), every parent before its children."""
    total = amount.copy()
    _subtree_sums(parent, total)
    return total


@njit(cache=True)
def mark_below(parent, mark):  # type: ignore[no-untyped-def]
    """Mark what is below the marked splits, in place."""
    for h in range(parent.shape[0]):
        if parent[h] >= 0 and mark[parent[h]]:
            mark[h] = True
