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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solution, StopReason
from formulations.arguments import Seconds, checked, checking
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.ensemble import Forest
from formulations.instance.problem import Core, PruningProblem
from formulations.shown import Brief

MOST_PRUNINGS = 1_000_000
"""Forests with more prunings are refused."""

ROUNDED = 2.0**-46
"""What rounding may change of a sum of floats, as a share of it."""


@dataclass(frozen=True, eq=False, repr=False)
class AllPrunings(Brief):
    """All P prunings of a forest, see `all_prunings`.

    Parameters
    ----------
    kept
        bool, shape (P, n): the splits that each keeps.
    gain, cost
        int64, shape (P,): in units of ``problem.numbers``.

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.engines.all_prunings(pm.datasets.two_trees()).kept.shape
    (15, 12)
    """

    kept: NDArray[np.bool_]
    gain: NDArray[np.int64]
    cost: NDArray[np.int64]


def count_prunings(forest: Forest) -> int:
    """Number of prunings of the forest."""
    count = [1] * forest.n_nodes
    for h, below in reversed(list(enumerate(forest.children()))):
        if forest.is_split[h]:
            count[h] = 1 + math.prod(count[c] for c in below)
    return math.prod(count[r] for r in forest.roots)


@checked
def all_prunings(problem: Core) -> AllPrunings:
    """List every pruning with its gain and cost, exactly where these are integers.

    Raises
    ------
    InvalidInputError
        for a forest with more than a million prunings.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> prunings = [pm.Pruning(problem, kept) for kept in pm.engines.all_prunings(problem).kept]
    >>> len(prunings), min(pruning.value(0.1) for pruning in prunings)
    (15, 0.42500000000000004)
    """
    ensemble = problem.ensemble
    children, total = ensemble.children(), count_prunings(ensemble)
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
    gain = kept @ problem.numbers.gain
    return AllPrunings(kept, gain, _costs(problem, kept))


def _closures(forest: Forest, children: list[list[int]], h: int) -> Iterator[tuple[int, ...]]:
    """All sets of splits that can be kept in the subtree of h."""
    yield ()
    if forest.is_split[h]:
        for parts in product(*(list(_closures(forest, children, c)) for c in children[h])):
            yield (h, *chain.from_iterable(parts))


def _costs(problem: Core, kept: NDArray[np.bool_]) -> NDArray[Any]:
    """Cost of every pruning, purchase by purchase."""
    arcs, price = problem.usage.arcs(), problem.purchase_price()
    cost: NDArray[Any] = kept @ problem.numbers.evaluation
    for purchase in np.unique(arcs.head):
        users = arcs.tail[arcs.head == purchase]
        cost += kept[:, users].any(axis=1) * price[purchase]
    return cost


@checking
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

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.engines.brute_force(pm.datasets.two_trees(), 0.1).pruning
    Pruning(cost=3, error=0.125, 5 splits)
    """
    started = time.perf_counter()
    rate = exact(lam, "lam") / problem.numbers.lam_unit
    every = all_prunings(problem)
    if problem.numbers.exact:
        worth, hidden = every.gain.astype(object) * rate.denominator - every.cost.astype(object) * rate.numerator, 0.0
    else:  # floats tell the best apart from all others but those that are worth the same up to rounding
        worth, hidden = every.gain - float(rate) * every.cost, 2 * float(problem.gain_lost.sum())
    winners = np.flatnonzero(worth == max(worth))
    chosen = winners[np.argmin(every.kept[winners].sum(axis=1))]
    pruning = Pruning(problem, every.kept[chosen])
    value = pruning.value(float(lam))
    stats = {"seconds": time.perf_counter() - started, "prunings": float(len(worth))}
    bound = value - hidden - (ROUNDED * value if hidden else 0.0)
    return Solution(problem, lam, pruning, value, bound, StopReason.CONVERGED, None, stats, "brute_force")
