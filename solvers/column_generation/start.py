"""Where column generation starts from: prices shared out by multiplicative weights.

    q_{u,c} = p_c exp(s_u) / sum over the users u' of c of exp(s_u')                                                        (1)
    s_u <- s_u + 15 / (k + 5)   where the trees, priced at q, keep u       (round k)                                        (2)

(1) charges no purchase more than its price, so every round gives a Lagrangian bound. The mean of the trees' prunings, weighted
by k, is nearly optimal for the coupled problem, and the last prunings are what its optimum is made of: good first columns.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.column_generation.coupling import Coupling
from solvers.column_generation.incumbent import Incumbent
from solvers.column_generation.loop import relative_gap
from solvers.column_generation.pricing import TreePruning, columns_of
from solvers.price_sharing.step import step_size

LOOK = 25
"""After so many rounds each the mean is rounded to a pruning, and the gap looked at."""


@dataclass(frozen=True, eq=False)
class Start:
    """Charges q within the prices (one a coupling row; or None), what they bound, columns without repetition, and rounds made."""

    charge: NDArray[np.float64] | None
    bound: float
    columns: list[TreePruning]
    rounds: int


def share_prices(
    coupling: Coupling, incumbent: Incumbent, *, rounds: int = 200, gap: float = 0.0, last: int = 30, time_limit: float = np.inf
) -> Start:
    """(1) and (2), until the relative gap, a number of rounds, or the time limit; columns of the `last` rounds and the best."""
    from solvers.column_generation.shortest_paths import price_by_tree_pass

    began = time.perf_counter()
    problem = coupling.problem
    score, mean = np.zeros(coupling.stop.size), np.zeros(coupling.stop.size)
    best, bound = score, -np.inf
    recent: list[NDArray[np.bool_]] = []
    k = 0
    while k < rounds and time.perf_counter() - began < time_limit:
        bears = coupling.own + _charges(coupling, score)[1]
        found = price_by_tree_pass(problem, coupling.stop, bears)
        if (value := float(found.value.sum() - found.rounding.sum())) > bound:
            best, bound = score.copy(), value
        recent = [*recent[1 - last :], found.kept]
        k += 1
        mean += (found.kept - mean) * (2.0 / (k + 1))
        if k % LOOK == 0 and relative_gap(incumbent.offer_levels(mean), bound, coupling.reference) <= gap:
            break
        score = score + np.where(found.kept, step_size(k - 1), 0.0)
    columns = {c.key: c for kept in [incumbent.pruning.kept, *recent[::-1]] for c in columns_of(coupling, kept)}
    return Start(_charges(coupling, best)[0], bound, list(columns.values()), k)


def _charges(coupling: Coupling, score: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(1) for every row, and summed by split."""
    charge, by_node = np.empty(coupling.n_rows), np.zeros(score.size)
    weight = np.exp(np.maximum(score - score.max(initial=0.0), -600.0))
    _share(coupling.node, coupling.purchase, coupling.price, weight, charge, by_node)
    return charge, by_node


@njit(cache=True)
def _share(node, purchase, price, weight, charge, by_node):  # type: ignore[no-untyped-def]
    total = np.zeros(price.shape[0])
    for k in range(node.shape[0]):
        total[purchase[k]] += weight[node[k]]
    for j in range(price.shape[0]):
        if total[j] > 0:
            total[j] = price[j] / total[j]
    for k in range(node.shape[0]):
        charge[k] = total[purchase[k]] * weight[node[k]]
        by_node[node[k]] += charge[k]
