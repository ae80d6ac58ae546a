"""All prunings of a small forest, listed one by one: a reference that relies on no theorem.

The prunings of a tree are counted by  c(leaf) = 1,  c(h) = 1 + the product of its children's;  those of a forest are all
combinations.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solution, StopReason
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem

MOST_PRUNINGS = 1_000_000
"""Forests with more prunings are refused."""


@dataclass(frozen=True, eq=False)
class AllPrunings:
    """All P prunings of a forest."""

    kept: NDArray[np.bool_]  # bool, shape (P, n)
    # gain, cost: int64, shape (P,): in units of ``problem.integers``.
    gain: NDArray[np.int64]
    cost: NDArray[np.int64]


def count_prunings(ensemble: Ensemble) -> int:
    """Number of prunings of the forest."""
    count = [1] * ensemble.n_nodes
    for h, below in reversed(list(enumerate(_children(ensemble)))):
        if ensemble.is_split[h]:
            count[h] = 1 + math.prod(count[c] for c in below)
    return math.prod(count[r] for r in ensemble.roots)


def _children(ensemble: Ensemble) -> list[list[int]]:
    """The children of each node, by the parents alone: a split of a reduced forest may have any number."""
    found: list[list[int]] = [[] for _ in range(ensemble.n_nodes)]
    for h, above in enumerate(ensemble.parent.tolist()):
        if above >= 0:
            found[above].append(h)
    return found


def all_prunings(problem: PruningProblem) -> AllPrunings:
    """List every pruning with its gain and cost, in exact integers."""
    ensemble = problem.ensemble
    children, total = _children(ensemble), count_prunings(ensemble)
    if total > MOST_PRUNINGS:
        raise InvalidInputError(
            f"brute force: the forest has {Decimal(total):.3g} prunings, at most {MOST_PRUNINGS:,} can be listed; use min_cut"
        )
    kept = np.zeros((1, ensemble.n_nodes), dtype=bool)
    for root in ensemble.roots:
        closures = list(_closures(ensemble, children, int(root)))
        block = np.zeros((len(closures), ensemble.n_nodes), dtype=bool)
        for k, nodes in enumerate(closures):
            block[k, list(nodes)] = True
        kept = (kept[:, None, :] | block[None, :, :]).reshape(-1, ensemble.n_nodes)
    gain = kept @ problem.integers.gain
    return AllPrunings(kept, gain, _costs(problem, kept))


def _closures(ensemble: Ensemble, children: list[list[int]], h: int) -> Iterator[tuple[int, ...]]:
    """All sets of splits that can be kept in the subtree of h."""
    yield ()
    if ensemble.is_split[h]:
        for parts in product(*(list(_closures(ensemble, children, c)) for c in children[h])):
            yield (h, *chain.from_iterable(parts))


def _costs(problem: PruningProblem, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Integer cost of every pruning, purchase by purchase."""
    arcs, price = problem.usage_arcs(), problem.purchase_price()
    cost: NDArray[np.int64] = kept @ problem.integers.evaluation
    for purchase in np.unique(arcs.head):
        users = arcs.tail[arcs.head == purchase]
        cost += kept[:, users].any(axis=1) * price[purchase]
    return cost


@checked
def brute_force(problem: PruningProblem, lam: float, *, time_limit: Seconds = math.inf) -> Solution:
    """The best of all prunings for one lambda; among several the one with the fewest splits.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        ignored: the forests that are accepted take seconds.

    Raises
    ------
    InvalidInputError
        for forests with more than a million prunings, and for a negative or NaN lambda.
    """
    started = time.perf_counter()
    rate = exact(lam, "lam") / problem.integers.lam_unit
    every = all_prunings(problem)
    worth = every.gain.astype(object) * rate.denominator - every.cost.astype(object) * rate.numerator
    best = max(worth)
    winners = np.flatnonzero(worth == best)
    chosen = winners[np.argmin(every.kept[winners].sum(axis=1))]
    pruning = Pruning(problem, every.kept[chosen])
    value = pruning.value(float(lam))
    ints = problem.integers
    slack = 2 * (ints.error_rounding + float(lam) * ints.cost_rounding)
    stats = {"seconds": time.perf_counter() - started, "prunings": float(len(worth))}
    tolerance = 0.0 if ints.exact else 1e-9
    stopped = StopReason.CONVERGED
    return Solution(problem, lam, pruning, value, value - slack, stopped, tolerance, None, stats, "brute_force")
