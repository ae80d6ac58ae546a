"""Trees that nothing couples: their best closures, the levels of their splits, and level sets of points.

Best closures take one pass up every tree and one pass down:

    v_h = profit_h + max(0, v_left) + max(0, v_right)                     the best closure of a subtree that keeps h       (1)
    h is kept where its parent is kept and v_h > 0 (smallest best closure) or v_h >= 0 (largest best closure)              (2)

A top is a split without a parent. Forcing a split in or out costs

    in_h  = v_h at a top;   else in_parent - max(0, v_h) + v_h             the tree's best value with h kept               (3)
    out_h = 0 at a top;     else max(out_parent, in_parent - max(0, v_h))  the tree's best value with h pruned             (4)

The kernels take forests as one array of parents, with every parent before its children, and numbers of any type. One pass of the
package is not expressed by them: `solvers.column_generation.shortest_paths` minimises over leaves too and bounds its rounding
errors on the way.

The level of a split says how dear a forest's charges may become until it is no longer worth keeping. With profits g_h and charges
c_h >= 0, let K_x be the best closure of the trees at g - x c. Closures shrink as x grows, and

    level_h  =  the largest x with h in K_x                                                                               (5)

With has_B the positive profits of a set B of splits and owes_B its charges less its negative profits, levels are constant on
connected sets, the *blocks*, and fall from each block to those below it:

    level_B  =  has_B / owes_B                                                                                            (6)

This is isotonic regression on a tree. It takes one pass up the tree: a split starts as a block of its own, and as long as the
best block below it has a higher ratio (6), that block joins it. The blocks below a block wait in a leftist heap, so n splits take
O(n log n) steps. The value of the best closure at x = 1 is the sum of has_B - owes_B over the blocks with a level above 1.

Pardalos and Xue, Algorithms for a class of isotonic regression problems, Algorithmica 23 (1999).

A fractional point gives prunings, too, its level sets, of which the best is taken:

    kept = { h : y_h >= theta },   0 < theta <= 1,   y_h = 1 - sum_{v in anc(h)} z_v                              (7)

Every level set of an optimal point of IP3's relaxation, vertex or not, is an optimal pruning: (OBJ) is the mean of the level
sets' values over theta. In a point that is only nearly feasible, y of a child is first lowered to that of its parent; the best
level set is then a pruning as good as the mean. One pass over the usage arcs compares all level sets: a purchase is paid by every
level set up to the highest level of its users.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import level_sets, sums_in_rows
from formulations.answers.pruning import Pruning
from formulations.compiled import njit
from formulations.instance.numbers import add_up
from formulations.instance.problem import Core, PruningProblem
from formulations.programs.linear_program import LinearProgram
from solvers.closures.cut import Ties


def best_tree_closures(
    parent: NDArray[np.int32], profit: NDArray[Any], allowed: NDArray[np.bool_], ties: Ties = "smallest"
) -> tuple[NDArray[np.bool_], Any]:
    """Best closure of every tree among the allowed splits, and the sum of their values.

    `parent`: int32, shape (k,): -1 at tops. `profit`: int64 or float64, shape (k,), and so is the value; sums of integers must
    stay below 2^63. `allowed`: bool, shape (k,): a split that is not allowed is never kept, nor is any below it.
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
    routing = problem.usage.routing
    reached = problem.costs.paid_once[problem.usage.charges.item] | (routing.stop > routing.start)[charged]
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


def subtree_sums(parent: NDArray[np.int32], amount: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum of the amounts of each split and of all splits below it; int64, shape (k,), every parent before its children."""
    total = amount.copy()
    add_up(parent, total)
    return total


@njit(cache=True)
def chain_sums(parent, amount):  # type: ignore[no-untyped-def]
    """Sum of the amounts of each split and its ancestors; shape (k,)."""
    total = amount.copy()
    for h in range(parent.shape[0]):
        if parent[h] >= 0:
            total[h] += total[parent[h]]
    return total


@njit(cache=True)
def mark_below(parent, mark):  # type: ignore[no-untyped-def]
    """Mark what is below the marked splits, in place."""
    for h in range(parent.shape[0]):
        if parent[h] >= 0 and mark[parent[h]]:
            mark[h] = True


class Heaps(NamedTuple):
    """Leftist heaps of blocks, one below each block; all of shape (k,)."""

    top: NDArray[np.int32]  # the best block below each block, -1 for none
    # left, right, rank: int32, int32, int8: the children of each block within its heap, and how far the next empty place is on
    # its right
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    rank: NDArray[np.int8]
    joined: NDArray[np.bool_]  # whether a split belongs to the block of the split above it

    @classmethod
    def of(cls, k: int) -> Self:
        """Room for k blocks."""
        top, left, right = (np.empty(k, dtype=np.int32) for _ in range(3))
        return cls(top, left, right, np.empty(k, dtype=np.int8), np.empty(k, dtype=np.bool_))


class LevelTrees:
    """Trees whose levels are asked for at many charges. What never pays anything is in one place with the split above it.

    Parameters
    ----------
    parent
        int32, shape (k,): -1 at tops; parents before children.
    profit
        int64, shape (k,).
    charge
        float64, shape (k,), >= 0: splits that pay nothing here are taken never to pay anything. Those of them with a profit are
        on the level of the split above, whatever the charges.
    middle
        a split before which one tree ends and at which another begins; two threads divide the work there.
    one_thread
        with fewer splits than that one thread does all.
    """

    def __init__(
        self, parent: NDArray[np.int32], profit: NDArray[np.int64], charge: NDArray[np.float64], middle: int, one_thread: int
    ) -> None:
        joins = (charge == 0) & (profit > 0) & (parent >= 0)
        above = np.where(joins, parent, np.arange(parent.size, dtype=np.int32))
        while joins[above].any():
            above = above[above]
        place = np.cumsum(~joins, dtype=np.int32) - np.int32(1)
        self.place: NDArray[np.int32] = place[above]
        self.own = np.flatnonzero(~joins).astype(np.int32)
        tops = parent[self.own]
        self.parent = np.where(tops >= 0, self.place[tops], np.int32(-1))
        self.earned = np.bincount(self.place, weights=np.maximum(profit, 0), minlength=self.own.size)
        lost = np.maximum(-profit[self.own], 0).astype(np.float64)
        self.lost = lost if lost.any() else None
        self.middle = int(place[middle]) if middle and self.own.size >= one_thread else 0

    def log_levels(
        self, charge: NDArray[np.float64], limit: float, found: NDArray[np.float32], pool: ThreadPoolExecutor | None = None
    ) -> float:
        """Write the logarithms of (5), cut to -limit ... limit, to `found`; return the value of the best closure, up to rounding.

        `charge`: float64, shape (k,), >= 0. `limit`: > 0. The smaller it is, the fewer blocks have to be compared. `found`:
        float32, shape (k,). `pool`: its thread takes the splits before `middle`, where there are many.
        """
        k = self.own.size
        owes = charge[self.own]
        if self.lost is not None:
            owes += self.lost
        level = np.empty(k, dtype=np.float32)
        arguments = self.parent, self.earned.copy(), owes, math.exp(limit), np.float32(limit), level, Heaps.of(k)
        if pool is None or self.middle == 0:
            value = float(_log_levels(*arguments, 0, k))
        else:
            first_part = pool.submit(lambda: _log_levels(*arguments, 0, self.middle))
            value = _log_levels(*arguments, self.middle, k)
            value = float(first_part.result() + value)
        np.take(level, self.place, out=found)
        return value


@njit(cache=True, nogil=True)
def _log_levels(  # type: ignore[no-untyped-def]
    parent, has, owes, most, limit, found, heaps, first, last
):
    """The splits first, ..., last - 1."""
    top, joined = heaps.top, heaps.joined
    path = np.empty(128, dtype=np.int32)
    for h in range(first, last):
        top[h] = -1
        joined[h] = False
    for h in range(last - 1, first - 1, -1):
        p = parent[h]
        if owes[h] == 0.0 and has[h] > 0.0 and p >= 0:
            # What costs nothing joins whatever is above it, and hands on the blocks below it.
            has[p] += has[h]
            joined[h] = True
            top[p] = _meld(top[p], top[h], has, owes, heaps, path)
            continue
        # Beyond the limit it does not matter who joins. A split that has and owes nothing joins the best block below it.
        while top[h] >= 0 and has[h] <= most * owes[h]:
            b = top[h]
            if has[b] * owes[h] < has[h] * owes[b]:
                break
            has[h] += has[b]
            owes[h] += owes[b]
            joined[b] = True
            rest = _meld(heaps.left[b], heaps.right[b], has, owes, heaps, path)
            top[h] = _meld(rest, top[b], has, owes, heaps, path)
        if p >= 0 and has[h] * most > owes[h]:
            heaps.left[h] = heaps.right[h] = -1
            heaps.rank[h] = 1
            top[p] = _meld(top[p], h, has, owes, heaps, path)
    value = 0.0
    for h in range(first, last):
        if joined[h]:
            found[h] = found[parent[h]]
            continue
        value += max(has[h] - owes[h], 0.0)
        if has[h] >= most * owes[h]:
            found[h] = limit
        elif has[h] * most <= owes[h]:
            found[h] = -limit
        else:
            found[h] = math.log(has[h] / owes[h])
        if parent[h] >= 0:
            found[h] = min(found[h], found[parent[h]])  # equal up to rounding, or beyond the limit
    return value


@njit(cache=True, nogil=True)
def _meld(a, b, has, owes, heaps, path):  # type: ignore[no-untyped-def]
    """One leftist heap out of two, the highest ratio on top; -1 is the empty heap."""
    left, right, rank = heaps.left, heaps.right, heaps.rank
    depth = 0
    # down the right spines of both, always along the better block
    while a >= 0 and b >= 0:
        if has[a] * owes[b] < has[b] * owes[a]:
            a, b = b, a
        path[depth] = a
        depth += 1
        a = right[a]
    heap = max(a, b)
    # back up: join what was made below, and put the child of the lower rank on the right
    while depth > 0:
        depth -= 1
        a = path[depth]
        right[a] = heap
        heap = a
        b = left[a]
        if b < 0 or (right[a] >= 0 and rank[b] < rank[right[a]]):
            left[a], right[a] = right[a], b
        rank[a] = 1 if right[a] < 0 else rank[right[a]] + 1
    return heap


def best_level_set(problem: PruningProblem, y: NDArray[np.float64], lam: float) -> Pruning:
    """The best pruning (7) of a point, for lambda; among equals the one with the fewest splits.

    `y`: float64, shape (n,): how far each split is kept, 0 to 1; what stands at leaves does not matter. `lam`: error per unit of
    cost.
    """
    falling = np.where(problem.ensemble.is_split, y, 0.0)
    lower_to_parents(problem.ensemble.parent, falling)
    sets = level_sets(problem, falling)
    profit = problem.gain - lam * problem.usage.evaluation_price
    worth = sums_in_rows(sets, profit, -lam * problem.usage.purchase_price())
    return sets[len(sets) - 1 - int(np.argmax(worth[::-1]))]


def splits_kept(problem: PruningProblem, lp: LinearProgram, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The y of (7) that a point of any formulation has; float64, shape (n,), 0 at leaves of the closure form."""
    ensemble = problem.ensemble
    if lp.columns.has("y"):
        y = np.zeros(ensemble.n_nodes)
        y[problem.usage.splits] = x[lp.columns.of("y")]
        return y
    return np.asarray(1.0 - chain_sums(ensemble.parent, x[lp.columns.of("z")]))


def pruning_of_point(problem: PruningProblem, lp: LinearProgram, x: NDArray[np.float64]) -> Pruning:
    """The pruning that a point of any formulation stands for, which is integral up to tolerances."""
    y = np.where(problem.ensemble.is_split, np.rint(splits_kept(problem, lp, x)), 0.0)
    lower_to_parents(problem.ensemble.parent, y)
    return Pruning(problem, y > 0.5)


@njit(cache=True, nogil=True)
def lower_to_parents(parent, y):  # type: ignore[no-untyped-def]
    """Lower every y to that of its parent, in place, parents before children: rounding must not make a child larger."""
    for h in range(parent.shape[0]):
        if parent[h] >= 0 and y[h] > y[parent[h]]:
            y[h] = y[parent[h]]
