"""A quick guess of how a part divides, into many parts at once, by sharing prices among splits. No proof depends on it.

Every purchase j is shared out among the splits that need it by their scores: split u pays price_j exp(s_u) / Z_j. Then

    charge_u = exp(s_u) sum over j of price_j / Z_j,       Z_j = sum over the users u' of j of exp(s_u')                      (1)
    level_u  of the trees at gain and charge, by (5) of `solvers.closures.tree_pass`                                      (2)
    s_u     += log level_u, with a momentum                                                                                 (3)

on a network with merged purchases. Scores of splits with unequal levels drift apart, so a purchase comes to be paid by those
of its users whose level is the highest. Once no price can be moved to a higher level, the levels are the breakpoints, of all
splits at once; after 20 rounds most are right within some per cent. Thresholds between levels are then set where few splits are
unsure, which means that the rounds leave open on which side their levels are. A cut of the unsure splits at a threshold decides
that, with all other splits on the side of their levels. The cuts at all thresholds are one network. A round costs 2 to 4 ns an
arc, a cut of a large network several hundred.

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

from formulations.answers.nested_rows import pooled
from formulations.compiled import njit
from formulations.instance.usage_arcs import starts_by_tail
from solvers.closures.cut import ClosureProblem, Ties
from solvers.closures.preflow import preflow_closure, shared_flow
from solvers.closures.tree_pass import LevelTrees, best_tree_closures
from solvers.path.params import PathParams
from solvers.path.part_sequence import Parts, PartSequence
from solvers.price_sharing.merged_usage import sum_at
from solvers.price_sharing.run import advance


def guessed_parts(parts: Parts, sequence: PartSequence, ties: Ties, params: PathParams) -> PartSequence:
    """Probable parts of some parts, with scores by which their prices can be shared out."""
    score = np.zeros(sequence.n_splits)
    stepped = score.copy()
    for k in range(params.divisions):
        lowest, highest = _levels(sequence, score, stepped, params)
        error = params.level_error / ((k + 1) * params.guess_rounds)
        label = _between_thresholds(sequence, score, lowest - error, highest + error, ties, params)
        label = _joined_where_lambdas_fall(sequence, _with_ties(sequence, label, ties))
        order = np.argsort(label, kind="stable")
        score, stepped = score[order], stepped[order]
        sequence = parts.divided(sequence, label)
        if sequence.n_arcs <= params.guess_arcs:
            break
    return replace(sequence, score=score)


def _levels(
    sequence: PartSequence, score: NDArray[np.float64], stepped: NDArray[np.float64], params: PathParams
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
    log_level, seen = np.empty(k, dtype=np.float32), np.empty((params.watched_rounds, k), dtype=np.float32)
    trees: LevelTrees | None = None
    with ThreadPoolExecutor(1) as pool:
        for r in range(1, params.guess_rounds + 1):
            # (1): both threads add up Z for half of the splits, then both charge half of them
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
            # (2) and (3)
            if trees is None:
                trees = LevelTrees(part.parent, part.gain, charge, middle, params.sharing.one_thread_splits)
            trees.log_levels(charge, params.largest_level, log_level, pool)
            advance(score, stepped, log_level, r, params.sharing)
            seen[r % params.watched_rounds] = log_level
    return seen.min(axis=0), seen.max(axis=0)


def _middle(parent: NDArray[np.int32], start: NDArray[np.int64]) -> int:
    """A split before which one tree ends and another begins, with about half of the arcs before it."""
    least = np.minimum.accumulate(np.where(parent >= 0, parent, parent.size)[::-1])[::-1]
    borders = np.flatnonzero(least >= np.arange(parent.size))
    return int(borders[np.argmin(np.abs(start[borders] - start[-1] // 2))])


def _between_thresholds(
    sequence: PartSequence,
    score: NDArray[np.float64],
    lowest: NDArray[np.float32],
    highest: NDArray[np.float32],
    ties: Ties,
    params: PathParams,
) -> NDArray[np.int32]:
    """The place of each split among the thresholds of all parts, given the lowest and highest logarithm that its level may have.

    A split whose level may be on either side of a threshold is *unsure*: a cut says on which side it is.
    """
    part_of = sequence.part_of_splits()
    between_parts = 4 * params.largest_level  # so that the levels of all parts ascend
    low, high = lowest + between_parts * part_of, highest + between_parts * part_of
    threshold = _thresholds(sequence, low, high, params.bands)
    # the block between two thresholds that each split is in, if it is sure
    place = np.searchsorted(threshold, low)
    unsure = np.searchsorted(threshold, high) > place
    block = (place + part_of).astype(np.int32)
    if not unsure.any():
        return block
    # The unsure splits at one threshold are one part of a network. A purchase is paid by the sure splits inside, else by the
    # unsure ones at the threshold, else by the sure ones outside.
    label = 2 * block + unsure.astype(np.int32)
    at, core_of = np.unique(place[unsure], return_inverse=True)
    new_part = np.full(label.size, -1, dtype=np.int32)
    new_part[unsure] = core_of
    order = np.flatnonzero(unsure)[np.argsort(core_of, kind="stable")]
    # Cut it at the lambdas of the thresholds. What is kept is on the inner side.
    core = sequence.restricted(label, sequence.payers(label), new_part)
    old = part_of[order[core.first[:-1]]]
    lam = np.exp(threshold[at] - between_parts * old) * sequence.mean_lambda()[old]
    instance = core.near(lam, params.near)
    closure, _ = preflow_closure(instance, ties=ties, start=shared_flow(instance, core.weights(score[order])))
    block[order[closure.keep]] += 1
    return block


def _thresholds(sequence: PartSequence, low: NDArray[np.float64], high: NDArray[np.float64], bands: int) -> NDArray[np.float64]:
    """Thresholds between levels, ascending, each with the fewest arcs of unsure splits in its band; no split is unsure at two."""
    arcs = np.diff(starts_by_tail(sequence.subproblem.tail, low.size)) + 1
    level = (low + high) / 2
    order, by_low, by_high = (np.argsort(x, kind="stable") for x in (level, low, high))
    # candidates lie half-way between two levels; at each, the arcs of the splits whose ranges have begun and not ended
    candidate = (level[order][1:] + level[order][:-1]) / 2
    begun = np.searchsorted(low[by_low], candidate)
    ended = np.searchsorted(high[by_high], candidate)
    unsure = np.append(0, np.cumsum(arcs[by_low]))[begun] - np.append(0, np.cumsum(arcs[by_high]))[ended]
    unsure[sequence.first[1:-1] - 1] = arcs.sum()  # between two parts
    # the best candidate of each band, if few arcs are unsure there, and no split that is unsure at the one before
    reach = np.append(-np.inf, np.maximum.accumulate(high[by_low]))[begun]
    band = np.cumsum(arcs[order])[:-1] * bands // int(arcs.sum())
    best = np.lexsort((unsure, band))
    best = best[np.flatnonzero(np.diff(band[best], prepend=-1))]
    found, last = [], -np.inf
    for k in best[unsure[best] * bands <= arcs.sum()].tolist():
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
        found += _extreme_closure(instance, part.gain, free, label - first_label >= depth, ties)
    return found


def _extreme_closure(
    problem: ClosureProblem, gain: NDArray[Any], free: NDArray[np.bool_], keep: NDArray[np.bool_], ties: Ties
) -> NDArray[np.bool_]:
    """The closure `keep` without what violates (4), or with what violates (5), as `ties` asks: it is worth no less.

    `gain`: shape (k,). `free`: bool, shape (k,): splits whose evaluation costs nothing.
    """
    if ties == "smallest":
        return best_tree_closures(problem.parent, gain, keep)[0]
    paid = np.zeros(problem.price.size, dtype=bool)
    paid[problem.head[keep[problem.tail]]] = True
    allowed = free & ~keep
    allowed[problem.tail[~paid[problem.head]]] = False
    return extended(problem.parent, gain, keep, allowed, "largest")


def extended(
    parent: NDArray[np.int32], gain: NDArray[Any], keep: NDArray[np.bool_], allowed: NDArray[np.bool_], ties: Ties
) -> NDArray[np.bool_]:
    """`keep` and the best closure of the allowed splits beside it; what is below a kept split is a tree of its own."""
    return keep | best_tree_closures(np.where(keep[parent], np.int32(-1), parent), gain, allowed, ties)[0]


def _joined_where_lambdas_fall(sequence: PartSequence, label: NDArray[np.int32]) -> NDArray[np.int32]:
    """New parts by labels. Neighbours are one part where the inner one's lambda is not above the outer one's, or is none."""
    part = sequence.subproblem
    n_labels = int(label.max()) + 1
    # gain and cost of each label, and the old part that it divides
    gain, cost = np.zeros((2, n_labels), dtype=part.gain.dtype)
    np.add.at(gain, label, part.gain)
    np.add.at(cost, label, part.evaluation)
    np.add.at(cost, sequence.payers(label), part.price)
    old = np.full(n_labels, -1, dtype=np.int32)
    old[label] = sequence.part_of_splits()

    used = np.flatnonzero(np.bincount(label, minlength=n_labels))
    _, counts = pooled(
        zip(gain[used].tolist(), cost[used].tolist(), old[used].tolist(), strict=True),
        lambda outer, inner: outer[2] == inner[2] and (inner[1] == 0 or outer[0] * inner[1] >= inner[0] * outer[1]),
        lambda outer, inner: (inner[0] + outer[0], inner[1] + outer[1], inner[2]),
    )
    part_of = np.zeros(n_labels, dtype=np.int32)
    part_of[used] = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return part_of[label]


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
        charge[u] = sum_at(rate, head, start[u], start[u + 1]) * weight[u]
