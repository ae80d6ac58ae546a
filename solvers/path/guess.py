"""A quick guess of how a part divides, into many parts at once, by sharing prices among splits. No proof depends on it.

Every purchase j is shared out among the splits that need it by their scores: split u pays price_j exp(s_u) / Z_j. Then

    charge_u = exp(s_u) sum over j of price_j / Z_j,       Z_j = sum over the users u' of j of exp(s_u')                      (1)
    level_u  of the trees at gain and charge, by (1) of `solvers.closures.tree_levels`                                      (2)
    s_u     += log level_u, with a momentum                                                                                 (3)

on a network with merged purchases. Scores of splits with unequal levels drift apart, so a purchase comes to be paid by those
of its users whose level is the highest. Once no price can be moved to a higher level, the levels are the breakpoints, of all
splits at once; after 20 rounds most are right within some per cent. Thresholds are then set where few splits are unsure. A cut of
the unsure ones, beside those that are sure, tells their side; the cuts at all thresholds are one network. A round costs 2 to 4 ns
an arc, a cut of a large network several hundred.

A guess A that is optimal between two breakpoints still has to be the optimum that `ties` asks for. If removing a set D leaves
another optimum, D has value 0 at two lambdas, so it has neither gain nor price of its own. The same holds for every single
subtree of D, because none can have a negative value. Therefore no cut is needed:

    A is the smallest optimum   <=>   no split of A has a subtree within A whose gains add up to nothing                    (4)
    A is the largest optimum    <=>   no closure outside A that A has paid for has gains that add up to nothing             (5)

Danisch, Chan and Sozio (2017) find the dense parts of graphs likewise: loads are balanced, and flows verify what falls apart.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.merging import starts_by_tail
from solvers.closures.cut import ClosureProblem, Ties
from solvers.closures.preflow import preflow_closure, shared_flow
from solvers.closures.tree_levels import LevelTrees, advance
from solvers.closures.tree_pass import best_tree_closures
from solvers.path.part_sequence import PartSequence
from solvers.path.parts import Parts

GUESS_ARCS = 60_000
"""Only with more usage arcs than that a guess is made; fewer are cut at once."""

DIVISIONS = 2
"""How often parts are divided by guesses."""

ROUNDS = 20
"""Rounds before each division. After 30 from nothing, scores have drifted out of the range of a float."""

WATCHED = 4
"""A level lies between the least and the largest that it had in so many last rounds, up to `UNSURE`."""

UNSURE = 1.2
"""Levels are taken to be right within this, divided by the number of rounds made, as logarithms."""

BANDS = 16
"""Each division sets at most so many thresholds, one in each band of equally many arcs."""

LARGEST_LEVEL = 12.0
"""The largest logarithm of a level, in units of the lambda of its part, and the least with a minus."""


def guessed_parts(parts: Parts, sequence: PartSequence, ties: Ties) -> PartSequence:
    """Probable parts of some parts, with scores by which their prices can be shared out."""
    score = np.zeros(sequence.n_splits)
    stepped = score.copy()
    for k in range(DIVISIONS):
        lowest, highest = _levels(sequence, score, stepped)
        tolerance = UNSURE / ((k + 1) * ROUNDS)
        label = _sides(sequence, score, lowest - tolerance, highest + tolerance, ties)
        label = _rising(sequence, _with_ties(sequence, label, ties))
        order = np.argsort(label, kind="stable")
        score, stepped = score[order], stepped[order]
        sequence = parts.divided(sequence, label)
        if sequence.n_arcs <= GUESS_ARCS:
            break
    return replace(sequence, score=score)


def _levels(
    sequence: PartSequence, score: NDArray[np.float64], stepped: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rounds of (1) to (3), which update both scores; the lowest and highest logarithm of each level in the last ones.

    Levels are relative to lambda* of the split's part.
    """
    part, k = sequence.subproblem, sequence.n_splits
    start = starts_by_tail(part.tail, k)
    middle = _middle(part.parent, start)
    lam = sequence.mean_lambda()
    price, evaluation = part.price * sequence.of_purchases(lam), part.evaluation * sequence.of_splits(lam)
    total, charge = np.zeros((2, part.price.size)), np.empty(k)
    log_level, seen = np.empty(k, dtype=np.float32), np.empty((WATCHED, k), dtype=np.float32)
    trees: LevelTrees | None = None
    with ThreadPoolExecutor(1) as pool:
        for r in range(1, ROUNDS + 1):
            weight = sequence.weights(score)
            half = pool.submit(_totals, start, part.head, weight, total[0], 0, middle)
            _totals(start, part.head, weight, total[1], middle, k)
            half.result()
            total[0] += total[1]
            rate = np.divide(price, total[0], out=total[1])
            half = pool.submit(_charges, start, part.head, weight, rate, charge, 0, middle)
            _charges(start, part.head, weight, rate, charge, middle, k)
            half.result()
            charge += evaluation
            if trees is None:
                trees = LevelTrees(part.parent, part.gain, charge, middle)
            trees.log_levels(charge, LARGEST_LEVEL, log_level, pool)
            advance(score, stepped, log_level, r)
            seen[r % WATCHED] = log_level
    return seen.min(axis=0), seen.max(axis=0)


def _middle(parent: NDArray[np.int32], start: NDArray[np.int64]) -> int:
    """A split before which one tree ends and another begins, with about half of the arcs before it."""
    least = np.minimum.accumulate(np.where(parent >= 0, parent, parent.size)[::-1])[::-1]
    borders = np.flatnonzero(least >= np.arange(parent.size))
    return int(borders[np.argmin(np.abs(start[borders] - start[-1] // 2))])


def _sides(
    sequence: PartSequence, score: NDArray[np.float64], lowest: NDArray[np.float32], highest: NDArray[np.float32], ties: Ties
) -> NDArray[np.int32]:
    """The place of each split among the thresholds of all parts; those unsure on which side they are go where a cut puts them."""
    part_of = sequence.part_of_splits()
    shift = 4 * LARGEST_LEVEL * part_of  # so that the levels of all parts ascend
    low, high = lowest + shift, highest + shift
    threshold = _thresholds(sequence, low, high)
    place = np.searchsorted(threshold, low)
    unsure = np.searchsorted(threshold, high) > place
    block = (place + part_of).astype(np.int32)
    if not unsure.any():
        return block
    # a purchase is paid by the sure splits inside, else by the unsure ones at the threshold, else by the sure ones outside
    label = 2 * block + unsure.astype(np.int32)
    at, core_of = np.unique(place[unsure], return_inverse=True)
    new_part = np.full(label.size, -1, dtype=np.int32)
    new_part[unsure] = core_of
    order = np.flatnonzero(unsure)[np.argsort(core_of, kind="stable")]
    core = sequence.restricted(label, sequence.payers(label), new_part)
    old = part_of[order[core.first[:-1]]]
    lam = np.exp(threshold[at] - 4 * LARGEST_LEVEL * old) * sequence.mean_lambda()[old]
    instance = core.near(lam)
    closure, _ = preflow_closure(instance, ties=ties, start=shared_flow(instance, core.weights(score[order])))
    block[order[closure.keep]] += 1
    return block


def _thresholds(sequence: PartSequence, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thresholds between levels, ascending, each with the fewest arcs of unsure splits in its band; no split is unsure at two."""
    arcs = np.diff(starts_by_tail(sequence.subproblem.tail, low.size)) + 1
    level = (low + high) / 2
    order, by_low, by_high = (np.argsort(x, kind="stable") for x in (level, low, high))
    candidate = (level[order][1:] + level[order][:-1]) / 2
    begun = np.searchsorted(low[by_low], candidate)
    ended = np.searchsorted(high[by_high], candidate)
    unsure = np.append(0, np.cumsum(arcs[by_low]))[begun] - np.append(0, np.cumsum(arcs[by_high]))[ended]
    unsure[sequence.first[1:-1] - 1] = arcs.sum()  # between two parts
    reach = np.append(-np.inf, np.maximum.accumulate(high[by_low]))[begun]
    band = np.cumsum(arcs[order])[:-1] * BANDS // int(arcs.sum())
    best = np.lexsort((unsure, band))
    best = best[np.flatnonzero(np.diff(band[best], prepend=-1))]
    found, last = [], -np.inf
    for k in best[unsure[best] * BANDS <= arcs.sum()].tolist():
        if candidate[k] > last:
            found.append(candidate[k])
            last = max(candidate[k], reach[k])
    return np.array(found)


def _with_ties(sequence: PartSequence, label: NDArray[np.int32], ties: Ties) -> NDArray[np.int32]:
    """The same with the smallest or the largest of all closures that are optimal together with those that the labels divide."""
    part = sequence.subproblem
    first_label = sequence.of_splits(np.minimum.reduceat(label, sequence.first[:-1]))
    instance, free = part.closure_problem(part.gain, part.price), part.evaluation == 0
    found = first_label.copy()
    for depth in range(1, int((label - first_label).max()) + 1):
        found += _extreme(instance, part.gain, free, label - first_label >= depth, ties)
    return found


def _extreme(
    problem: ClosureProblem, gain: NDArray[Any], free: NDArray[np.bool_], keep: NDArray[np.bool_], ties: Ties
) -> NDArray[np.bool_]:
    """Take from the closure `keep` what violates (4), or add to it what violates (5); it is worth no less afterwards.

    Parameters
    ----------
    gain
        shape (k,).
    free
        bool, shape (k,): splits whose evaluation costs nothing.
    """
    if ties == "smallest":
        return best_tree_closures(problem.parent, gain, keep)[0]
    paid = np.zeros(problem.price.size, dtype=bool)
    paid[problem.head[keep[problem.tail]]] = True
    allowed = free & ~keep
    allowed[problem.tail[~paid[problem.head]]] = False
    # a subtree below a kept split is a tree of its own
    parent = np.where(keep[problem.parent], np.int32(-1), problem.parent)
    return keep | best_tree_closures(parent, gain, allowed, "largest")[0]


def _rising(sequence: PartSequence, label: NDArray[np.int32]) -> NDArray[np.int32]:
    """New parts by labels, without the thresholds between parts whose lambdas do not rise, or that have no splits or no cost."""
    part = sequence.subproblem
    n_labels = int(label.max()) + 1
    gain, cost = np.zeros((2, n_labels), dtype=part.gain.dtype)
    np.add.at(gain, label, part.gain)
    np.add.at(cost, label, part.evaluation)
    np.add.at(cost, sequence.payers(label), part.price)
    old, size = np.full(n_labels, -1, dtype=np.int32), np.bincount(label, minlength=n_labels)
    old[label] = sequence.part_of_splits()
    found: list[tuple[Any, Any, int]] = []
    place = np.zeros(n_labels, dtype=np.int32)
    for x, (g, c, of, n) in enumerate(zip(gain.tolist(), cost.tolist(), old.tolist(), size.tolist(), strict=True)):
        if n:
            while found and found[-1][2] == of and (c == 0 or found[-1][0] * c >= g * found[-1][1]):
                g, c = g + found[-1][0], c + found[-1][1]
                found.pop()
            found.append((g, c, of))
        place[x] = len(found) - 1
    # a part goes with those further outside that were joined to later ones
    return np.minimum.accumulate(place[::-1])[::-1][label]


@njit(cache=True, nogil=True)
def _totals(start, head, weight, total, first, last):  # type: ignore[no-untyped-def]
    """Z of (1), as far as the splits first, ..., last - 1 make it up."""
    for j in range(total.shape[0]):
        total[j] = 0.0
    for u in range(first, last):
        for k in range(start[u], start[u + 1]):
            total[head[k]] += weight[u]


@njit(cache=True, nogil=True)
def _charges(start, head, weight, rate, charge, first, last):  # type: ignore[no-untyped-def]
    """(1) of the splits first, ..., last - 1, where `rate` is price / Z."""
    for u in range(first, last):
        # four sums, so that no addition waits for the one before
        a = b = c = d = 0.0
        k, end = start[u], start[u + 1]
        while k + 4 <= end:
            a += rate[head[k]]
            b += rate[head[k + 1]]
            c += rate[head[k + 2]]
            d += rate[head[k + 3]]
            k += 4
        for q in range(k, end):
            a += rate[head[q]]
        charge[u] = ((a + b) + (c + d)) * weight[u]
