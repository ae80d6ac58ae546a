"""All prunings of a small forest, listed one by one: a reference that relies on no theorem.

The prunings of a tree are counted by  c(leaf) = 1,  c(h) = 1 + c(left) c(right);  those of a forest are all combinations.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

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
    for h in reversed(range(ensemble.n_nodes)):
        if ensemble.left[h] >= 0:
            count[h] = 1 + count[ensemble.left[h]] * count[ensemble.right[h]]
    return math.prod(count[r] for r in ensemble.roots)


def all_prunings(problem: PruningProblem) -> AllPrunings:
    """List every pruning with its gain and cost, in exact integers."""
    ensemble = problem.ensemble
    total = count_prunings(ensemble)
    if total > MOST_PRUNINGS:
        raise InvalidInputError(
            f"brute force: the forest has {Decimal(total):.3g} prunings, at most {MOST_PRUNINGS:,} can be listed; use min_cut"
        )
    kept = np.zeros((1, ensemble.n_nodes), dtype=bool)
    for root in ensemble.roots:
        closures = list(_closures(ensemble, int(root)))
        block = np.zeros((len(closures), ensemble.n_nodes), dtype=bool)
        for k, nodes in enumerate(closures):
            block[k, list(nodes)] = True
        kept = (kept[:, None, :] | block[None, :, :]).reshape(-1, ensemble.n_nodes)
    gain = kept @ problem.integers.gain
    return AllPrunings(kept, gain, _costs(problem, kept))


def _closures(ensemble: Ensemble, h: int) -> Iterator[tuple[int, ...]]:
    """All sets of splits that can be kept in the subtree of h."""
    yield ()
    if ensemble.left[h] >= 0:
        below = list(_closures(ensemble, int(ensemble.right[h])))
        for left in _closures(ensemble, int(ensemble.left[h])):
            for right in below:
                yield (h, *left, *right)


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
