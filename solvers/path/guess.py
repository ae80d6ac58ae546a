"""A quick guess of a part's best closure, by sharing prices among splits. No proof depends on it.

Every purchase j is shared out among the splits that need it by their scores, split u bearing price_j exp(s_u) / Z_j. Then

    charge_u = exp(s_u) sum over j of price_j / Z_j,       Z_j = sum over the users u' of j of exp(s_u')                      (1)
    level_u  of the trees at profit and charge, by (1) of `solvers.closures.tree_levels`                                      (2)
    s_u     += log level_u, with a limit and a momentum    (2) and (3) of `solvers.price_sharing.solve`                       (3)

on a network with merged purchases. After a few rounds, splits whose level is not near 1 count as decided. The others are a
smaller closure problem, the core, which gets a few rounds too, and so on; a minimum cut ends it. A round costs 2 ns an arc, a cut
of a large network several hundred.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.merging import merge_purchases, starts_by_tail
from solvers.closures.cut import ClosureProblem, Ties
from solvers.closures.numbering import compact
from solvers.closures.preflow import Flow, preflow_closure
from solvers.closures.preflow.adjacency import grouped
from solvers.closures.preflow.flow import UNLIMITED
from solvers.closures.tree_levels import LevelTrees
from solvers.closures.tree_pass import choose
from solvers.price_sharing.shares import SMALLEST_WEIGHT, weights_of
from solvers.price_sharing.step import momentum, step_limit

GUESS_ARCS = 60_000
"""Only parts with more usage arcs than that are guessed; smaller ones are cut at once."""

ROUNDS_PER_SHRINKING = 20
"""Rounds between two checks of which splits are decided."""

UNSURE = 0.05
"""A split counts as decided where the logarithm of its level is farther than that from 0."""

SHRINKING = 0.8
"""If a check leaves more than this part of the usage arcs undecided, it is the last one."""

LARGEST_CORE = 0.5
"""If the core has more than this part of the usage arcs, give up: a cut of the whole part costs little more and is exact."""


@dataclass(frozen=True, eq=False)
class Guess:
    """A guessed closure, and the scores behind it.

    Parameters
    ----------
    keep
        bool, shape (k,): a closure that is probably the best one; None where so little was decided that a cut is better.
    score
        float64, shape (k,): the scores, by which purchases are shared out.
    """

    keep: NDArray[np.bool_] | None
    score: NDArray[np.float64]

    def flow(self, problem: ClosureProblem) -> Flow:
        """A flow for a cut to start from: each split pays its share (1) and hands the rest up; it may exceed what a split has."""
        weight = weights_of(self.score)
        paid = _shares(problem.tail, problem.head, problem.price.astype(np.float64), weight)
        return Flow(paid, np.full(problem.profit.size, UNLIMITED))


def guess_closure(problem: ClosureProblem, tree: NDArray[np.int32], ties: Ties) -> Guess:
    """A closure that is probably the best one.

    Parameters
    ----------
    problem
        with parents before their children, and usage arcs grouped by tail.
    tree
        int32, shape (k,): the tree of every split, ascending.
    """
    keep, open_ = np.zeros(problem.profit.size, dtype=bool), np.arange(problem.profit.size)
    all_scores = np.zeros(problem.profit.size)
    score, stepped, made = all_scores.copy(), all_scores.copy(), 0
    core = problem
    while core.tail.size > GUESS_ARCS:
        log_level = _shared(core, score, stepped, made)
        all_scores[open_] = score
        made += ROUNDS_PER_SHRINKING
        kept, unsure = log_level >= UNSURE, np.abs(log_level) < UNSURE
        keep[open_[kept]] = True
        arcs = core.tail.size
        core = _undecided(core, kept, unsure)
        open_, score, stepped = open_[unsure], score[unsure], stepped[unsure]
        if core.tail.size > SHRINKING * arcs:
            break
    if core.tail.size > LARGEST_CORE * problem.tail.size:
        return Guess(None, all_scores)
    if open_.size:
        keep[open_[preflow_closure(core, ties=ties)[0].keep]] = True
    return Guess(_polished(problem, tree, keep), all_scores)


def _shared(problem: ClosureProblem, score: NDArray[np.float64], stepped: NDArray[np.float64], made: int) -> NDArray[np.float32]:
    """Make some rounds of (1) to (3) after those made before; update both scores and return the logarithms of the levels."""
    start, arc = grouped(problem.head, problem.price.size)
    users = problem.tail[arc]
    price = problem.price.astype(np.float64)
    half = int(np.searchsorted(start, users.size // 2))
    charge = np.empty((2, score.size))
    log_level = np.zeros(score.size, dtype=np.float32)
    trees: LevelTrees | None = None
    with ThreadPoolExecutor(1) as pool:
        for k in range(made + 1, made + ROUNDS_PER_SHRINKING + 1):
            weight = weights_of(score)
            first_half = pool.submit(_share, start, users, price, weight, charge[0], 0, half)
            _share(start, users, price, weight, charge[1], half, price.size)
            first_half.result()
            limit = step_limit(k)
            pays = (charge[0] + charge[1]) * weight
            if trees is None:
                trees = LevelTrees(problem.parent, problem.profit, pays)
            trees.log_levels(pays, max(limit, 2 * UNSURE), log_level)
            before = stepped.copy()
            stepped[:] = score + np.clip(log_level, -limit, limit)
            score[:] = stepped + momentum(k) * (stepped - before)
    return log_level


def _undecided(problem: ClosureProblem, kept: NDArray[np.bool_], unsure: NDArray[np.bool_]) -> ClosureProblem:
    """The closure problem of the unsure splits, with the purchases that no kept split pays, merged."""
    place = np.where(unsure, np.cumsum(unsure) - 1, -1).astype(np.int32)
    above = problem.parent[unsure]
    parent = np.where(above >= 0, place[above], np.int32(-1))
    tail, head = _unpaid(problem.tail, problem.head, problem.price.size, kept, place)
    purchases, head = compact(head, problem.price.size)
    merged = merge_purchases(tail, head, problem.price[purchases])
    occurring, head = compact(head[merged.arc], purchases.size)
    return ClosureProblem(problem.profit[unsure], parent, tail[merged.arc], head, merged.price[occurring])


def _polished(problem: ClosureProblem, tree: NDArray[np.int32], keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Improve a closure: give every tree in turn its best closure beside the other trees, twice."""
    users = np.bincount(problem.head[keep[problem.tail]], minlength=problem.price.size)
    first = [*np.flatnonzero(np.diff(tree, prepend=-1)).tolist(), tree.size]
    arcs = starts_by_tail(problem.tail, tree.size)
    for _ in range(2):
        for a, b in pairwise(first):
            _respond(a, b, problem.parent, problem.profit, arcs, problem.head, problem.price, users, keep)
    return keep


@njit(cache=True, nogil=True)
def _respond(a, b, parent, profit, arcs, head, price, users, keep):  # type: ignore[no-untyped-def]
    """The best closure of one tree, the splits a, ..., b - 1, when it pays for the purchases that no other tree pays for."""
    for h in range(a, b):
        if keep[h]:
            for k in range(arcs[h], arcs[h + 1]):
                users[head[k]] -= 1
    worth = profit[a:b].copy()
    for h in range(a, b):
        for k in range(arcs[h], arcs[h + 1]):
            if users[head[k]] == 0:
                worth[h - a] -= price[head[k]]
    choose(parent[a:b] - a, worth, keep[a:b])
    for h in range(a, b):
        if keep[h]:
            for k in range(arcs[h], arcs[h + 1]):
                users[head[k]] += 1


@njit(cache=True, nogil=True)
def _unpaid(tail, head, n_purchases, kept, place):  # type: ignore[no-untyped-def]
    """Arcs of splits with a place, to purchases that no kept split pays; tails as places."""
    paid = np.zeros(n_purchases, dtype=np.bool_)
    for k in range(tail.shape[0]):
        if kept[tail[k]]:
            paid[head[k]] = True
    open_tail, open_head = np.empty_like(tail), np.empty_like(head)
    count = 0
    for k in range(tail.shape[0]):
        if place[tail[k]] >= 0 and not paid[head[k]]:
            open_tail[count] = place[tail[k]]
            open_head[count] = head[k]
            count += 1
    return open_tail[:count].copy(), open_head[:count].copy()


@njit(cache=True, nogil=True)
def _share(start, users, price, weight, charge, first, last):  # type: ignore[no-untyped-def]
    """(1) without the split's own weight, for some of the purchases."""
    charge[:] = 0.0
    for j in range(first, last):
        total = 0.0
        for k in range(start[j], start[j + 1]):
            total += weight[users[k]]
        if total > 0.0:
            rate = price[j] / total
            for k in range(start[j], start[j + 1]):
                charge[users[k]] += rate


@njit(cache=True, nogil=True)
def _shares(tail, head, price, weight):  # type: ignore[no-untyped-def]
    """(1) for every usage arc, rounded down. Rounding may lift the sum for a purchase above its price, which does no harm."""
    total = np.zeros(price.shape[0])
    for k in range(tail.shape[0]):
        total[head[k]] += weight[tail[k]]
    share = np.zeros(tail.shape[0], dtype=np.int64)
    for k in range(tail.shape[0]):
        if weight[tail[k]] > SMALLEST_WEIGHT:
            share[k] = np.int64(price[head[k]] * (weight[tail[k]] / total[head[k]]))
    return share
