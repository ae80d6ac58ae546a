"""Bounds of a core: the hull edge in which its budget lies, and what reduced costs fix; and a core filled greedily.

For every lambda = p / q >= 0 and every closure y of the core within the room,

    q gain(y)  <=  V(lambda) + p room,        V(lambda) = max over closures of  q gain - p cost                             (1)

V is a minimum cut, in integers, so with ``gained`` the least of

    gained + floor((V + p room) / q)                                                                                    (2)

over the lambdas tried is a bound. It is least if one optimum at lambda fits the room and another exceeds it. The next lambda is
the ratio of gain to cost of the splits between two such closures, the edge's ends, until the cut finds nothing better. If all
gains of a whole core are multiples of a number, (2) is rounded down to such a multiple. In a window, only the lambdas between its
`low` and `high` are allowed.

Where a core has several limits, the costs and the room are those of its surrogate row.

A cut's duals share the prices of the purchases among the splits, so that the trees are independent. With profits less duals,

    V  =  sum over trees of their best closures                                                                          (3)
    V_h(kept), V_h(pruned):  the same with h forced in or out, by one pass up the trees and one pass down                 (4)

and a pruning that keeps (prunes) h gains at most  gained + floor((V_h + p room) / q). If that is at most the incumbent's gain, h
is pruned (kept).

A filling adds splits one by one while they fit, those with the most gain for their unpaid cost first. What is too large even for
one cut is filled item by item:

    K(F)  =  the best closure of the splits that charge items of F alone, at lambda = 0                                   (5)

K grows with F, and so does its cost. F grows by the item whose price brings most gain, until K(F) exceeds the budget. The last
item is then left to the first trees alone, as many as fit. That takes some passes over the trees and the usage, and no array over
the usage arcs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import total_cost
from formulations.compiled import njit
from formulations.instance.numbers import INT64_SAFE
from formulations.instance.problem import Core
from solvers.closures.cut import best_closure
from solvers.closures.tree_pass import best_tree_closures, forced
from solvers.within.core import Effort, KnapsackCore


@dataclass(frozen=True, eq=False)
class BudgetEdge:
    """The edge of a core's hull on which the budget lies."""

    # the core after the cheaper end is taken and all splits outside the dearer end are pruned. It has no splits if nothing is
    # left to decide: the cheaper end is then an optimum of a whole core.
    between: KnapsackCore
    lam: Fraction  # the edge's slope, gain per cost in integers; 0 if all of the core fits
    bound: int  # (2), a bound of the whole gain
    cuts: int  # the number of cuts made
    proven_at: Fraction | None = None  # the lambda of the bound; None: without a cut
    met: tuple[NDArray[np.int32], ...] = ()  # the best closures of the core at the lambdas tried, by their splits


def edge_of(
    core: KnapsackCore,
    *,
    first_lam: Fraction | None = None,
    goal: int,
    most_cuts: int | None = None,
    effort: Effort | None = None,
) -> BudgetEdge:
    """The edge of a trimmed core. The search for it ends early as soon as the bound is at most `goal`.

    Parameters
    ----------
    first_lam
        the first lambda to try, mostly that of a similar core; ignored where it is not positive, or does not fit 62 bits.
    most_cuts
        stop after this many cuts, with the bound so far; None: no limit.
    effort
        what may be spent; at least one cut is made. None: as much as it takes.
    """
    effort = effort or Effort()
    if core.is_exceeded and core.high is None:
        return BudgetEdge(core, core.low, goal, 0)
    step = core.step if core.is_whole else 1
    part, bound, cuts, proven_at = replace(core, uses=None), None, 0, None
    met: list[NDArray[np.int32]] = []
    while True:
        # the next lambda: the slope between the edge's two ends, or at first that of a similar core, within the window
        ends = _between_ends(part)
        wanted = first_lam if first_lam is not None and cuts == 0 and _can_be_tried(part, first_lam) else ends
        lam = _allowed(core, wanted)
        if lam == 0:  # all that is open fits
            part = part.take(np.ones(part.nodes.size, dtype=bool))
            met.append(np.concatenate([core.nodes[:0], *part.taken[len(core.taken) :]]))
            if bound is None or part.gained < bound:
                bound, proven_at = part.gained, lam
            return BudgetEdge(part, lam, bound, cuts, proven_at, tuple(met))
        # a best closure at this lambda, and the bound (2); the gain of what was taken is a multiple of the step, too
        network, shift = part.cut_at(lam)
        closure = best_closure(network)
        effort.count_cut(part)
        cuts += 1
        met.append(np.concatenate([part.nodes[closure.keep], *part.taken[len(core.taken) :]]))
        most = part.gained - core.gained + ((closure.value << shift) + lam.numerator * part.room) // lam.denominator
        most = core.gained + most // step * step
        if bound is None or most < bound:
            bound, proven_at = most, lam
        # the search for the edge ends: the bound is good enough, the effort is spent, or the cut found nothing above the edge
        late = cuts == most_cuts or effort.is_over
        nothing = closure.value == 0 if not shift else not closure.keep.any() or closure.keep.all()
        if bound <= goal or late or (lam == ends and nothing):
            return BudgetEdge(part, lam, bound, cuts, proven_at, tuple(met))
        # the closure is the new cheaper end where it fits the room, else the new dearer end
        fits = part.cost_of(closure.keep) <= part.room
        part = part.take(closure.keep) if fits else part.within(closure.keep)
        if lam != wanted and fits == (lam == core.low):
            # only a lambda outside the window would lower the bound further
            nothing_open = part.within(np.zeros(part.nodes.size, dtype=bool))
            return BudgetEdge(nothing_open, lam, bound, cuts, proven_at, tuple(met))


def _can_be_tried(part: KnapsackCore, lam: Fraction) -> bool:
    """Whether a lambda that comes from elsewhere is positive and fits this part's integers."""
    return lam > 0 and (part.rounded or part.largest_product(lam) < INT64_SAFE)


def _between_ends(part: KnapsackCore) -> Fraction | None:
    """The next lambda: 0 if all splits fit; None, for infinity, if those taken exceed the room; else total gain / total cost."""
    if part.room < 0:
        return None
    return Fraction(0) if part.total_cost <= part.room else Fraction(part.total_gain, part.total_cost)


def _allowed(core: KnapsackCore, lam: Fraction | None) -> Fraction:
    """The nearest lambda that the core's window allows."""
    if core.high is not None and (lam is None or lam > core.high):
        return core.high
    assert lam is not None, "a core with a room below 0 needs a highest lambda"
    return max(core.low, lam)


Decided = Callable[[NDArray[np.int32], NDArray[np.int32]], None]


def fixed(
    core: KnapsackCore, lam: Fraction, goal: int, effort: Effort | None = None, decided_at: Decided | None = None
) -> KnapsackCore | None:
    """The core after (4) fixed all splits that are decided in every pruning with a gain above `goal`; None if there is none.

    `decided_at` is called with the splits that are fixed in and out, whenever some are.
    """
    effort = effort or Effort()
    while core.nodes.size and lam > 0 and not effort.is_over:
        # a cut, whose duals make the trees independent
        effort.count_cut(core)
        network, shift = core.cut_at(lam)
        charge = np.zeros(core.nodes.size, dtype=np.int64)
        np.add.at(charge, core.tail, best_closure(network).duals())
        ends = forced(core.parent, network.profit - charge)
        # (4): a gain of at least goal + 1 needs q (goal + 1 - gained) <= V_h + p room
        limit = (goal + 1 - core.gained) * lam.denominator - lam.numerator * core.room
        limit = -(-limit >> shift)
        must, cannot = ends.pruned < limit, ends.kept < limit
        if decided_at is not None and (must | cannot).any():
            decided_at(core.nodes[must], core.nodes[cannot])
        if (must & cannot).any() or (core.is_whole and not core.fits(must)):
            return None
        decided = int(must.sum()) + int(cannot.sum())
        if decided == 0:
            return core
        size = core.nodes.size
        core = core.within(~cannot).take(must[~cannot]).trimmed()
        if decided < effort.params.fixed_share * size:
            return core
    return core


def filled(core: KnapsackCore, rounds: int) -> NDArray[np.bool_]:
    """A closure whose cost is at most the core's room, and its use of every limit; bool, shape (k,).

    `rounds`: the most rounds. A round prices each split whose parent is kept, and tries each once, the best one first.
    """
    order = np.argsort(core.tail, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(core.tail, minlength=core.nodes.size))]).astype(np.int64)
    head = core.head[order]
    keep: NDArray[np.bool_] = np.zeros(core.nodes.size, dtype=np.bool_)
    paid, rate, room = np.zeros(core.price.shape[0], dtype=np.bool_), np.empty(core.nodes.size), core.room
    rows = _rows(core)
    for _ in range(rounds):
        _rate(core.parent, core.gain, core.evaluation, start, head, core.price, room, keep, paid, rate)
        best_first = np.argsort(-rate, kind="stable")  # numpy's, for numba takes seconds to compile a sort
        left = _fill(best_first, rate, core.evaluation, start, head, core.price, room, keep, paid, *rows)
        if left < 0:
            break
        room = left
    return keep


def _rows(core: KnapsackCore) -> tuple[NDArray[Any], ...]:
    """For `_fill`: the room of every limit, room to add up in, and what splits and purchases use, as sparse arrays."""
    if core.uses is None:
        none, start, index = np.zeros(0), np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32)
        return none, none, start, index, none, start, index, none
    arrays = [core.uses.room + core.uses.same, np.zeros(core.uses.room.size)]
    for uses in (core.uses.of_splits, core.uses.of_purchases):
        arrays += [uses.indptr.astype(np.int32), uses.indices.astype(np.int32), uses.data.astype(np.float64)]
    return tuple(arrays)


@njit(cache=True)
def _rate(parent, gain, evaluation, start, head, price, room, keep, paid, rate):  # type: ignore[no-untyped-def]
    """The gain of each split for its unpaid cost; 0 where it may not be kept or does not fit."""
    for h in range(parent.shape[0]):
        rate[h] = 0.0
        if not keep[h] and gain[h] > 0 and (parent[h] < 0 or keep[parent[h]]):
            cost = evaluation[h]
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    cost += price[head[k]]
            if cost <= room:
                rate[h] = gain[h] / (cost + 1e-9)


@njit(cache=True)
def _fill(  # type: ignore[no-untyped-def]
    best_first, rate, evaluation, start, head, price, room, keep, paid, left, added, s_start, s_row, s_use, p_start, p_row, p_use
):
    """Keep what fits, in the given order; the room that is left, or -1 where nothing fitted."""
    some = False
    for h in best_first:
        if rate[h] <= 0.0:
            break
        cost = evaluation[h]
        for k in range(start[h], start[h + 1]):
            if not paid[head[k]]:
                cost += price[head[k]]
        if cost > room:
            continue
        fits = True
        if left.shape[0] > 0:
            # what it adds to every limit
            for q in range(s_start[h], s_start[h + 1]):
                added[s_row[q]] += s_use[q]
                fits = fits and added[s_row[q]] <= left[s_row[q]]
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    for q in range(p_start[head[k]], p_start[head[k] + 1]):
                        added[p_row[q]] += p_use[q]
                        fits = fits and added[p_row[q]] <= left[p_row[q]]
            # take it from the limits, and forget it
            for q in range(s_start[h], s_start[h + 1]):
                if fits:
                    left[s_row[q]] -= s_use[q]
                added[s_row[q]] = 0.0
            for k in range(start[h], start[h + 1]):
                if not paid[head[k]]:
                    for q in range(p_start[head[k]], p_start[head[k] + 1]):
                        if fits:
                            left[p_row[q]] -= p_use[q]
                        added[p_row[q]] = 0.0
        if fits:
            room -= cost
            keep[h] = some = True
            for k in range(start[h], start[h + 1]):
                paid[head[k]] = True
    return room if some else -1


def kept_by_items(core: Core, outer: NDArray[np.bool_], inner: NDArray[np.bool_], budget: Fraction) -> NDArray[np.bool_]:
    """A pruning between two nested ones within a budget, as the inner one is; bool, shape (n,)."""
    usage, numbers, ensemble = core.usage, core.numbers, core.ensemble
    most = budget / numbers.price_unit
    # the items that splits between the two prunings charge, and how many of them each split still lacks
    charged = np.repeat(np.arange(ensemble.n_nodes), np.diff(usage.charges.start))
    asks = (usage.arcs_per_node[charged] > 0) & outer[charged] & ~inner[charged]
    split, item = charged[asks], usage.charges.item[asks]
    missing = np.bincount(split, minlength=ensemble.n_nodes)

    def of_item(m: int) -> NDArray[np.int64]:
        """Whether each split charges an item."""
        return np.bincount(split[item == m], minlength=ensemble.n_nodes)

    def between(missing: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(5)."""
        return inner | best_tree_closures(ensemble.parent, numbers.gain, inner | (outer & (missing == 0)))[0]

    def fits(kept: NDArray[np.bool_]) -> bool:
        return bool(total_cost(usage, numbers, kept, usage.paid_by(kept)) <= most)

    # item by item, the one next whose splits gain most for its price, until one does not fit any more
    found, left = inner, np.unique(item).tolist()
    while left:
        gain = {m: numbers.gain[between(missing - of_item(m))].sum().item() for m in left}
        before = numbers.gain[found].sum().item()
        best = max(left, key=lambda m: (gain[m] - before) / numbers.price[m].item())
        missing = missing - of_item(best)
        kept = between(missing)
        if not fits(kept):
            return _in_first_trees(found, kept, ensemble.tree_of, fits)
        found = kept
        left.remove(best)
    return found


def _in_first_trees(
    found: NDArray[np.bool_], kept: NDArray[np.bool_], tree_of: NDArray[np.int32], fits: Callable[[NDArray[np.bool_]], bool]
) -> NDArray[np.bool_]:
    """The larger of two nested prunings in as many trees as fit, the first ones, and the smaller one in the others."""
    low, high = 0, int(tree_of[-1]) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(np.where(tree_of < middle, kept, found)) else (low, middle)
    return np.where(tree_of < low, kept, found)
