"""The start of column generation: prices are shared among splits by multiplicative weights.

    q_{u,c}  by (1) of `solvers.column_generation.soft_prices`                                                              (1)
    s_u <- s_u + 15 / (k + 5)   where the trees, priced at q, keep u       (round k)                                        (2)

The shares (1) of a purchase sum to its price, so every round gives a Lagrangian bound. The mean of the trees' prunings, weighted
by k, is nearly optimal for the coupled problem. The prunings of the last rounds are good first columns, since the optimum is
mostly a mixture of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.column_generation.incumbent import Incumbent
from solvers.column_generation.loop import relative_gap
from solvers.column_generation.pricing import TreePruning, columns_of
from solvers.column_generation.soft_prices import SoftPrices

ROUNDS_PER_ROUNDING = 25
"""After this many rounds the mean is rounded to a pruning, and the gap is checked."""

STEP, STEP_DELAY = 15.0, 5
"""The figures of (2)."""


@dataclass(frozen=True, eq=False)
class Start:
    """Where column generation starts.

    Parameters
    ----------
    score
        s of (1), shape (n,).
    charge, bound
        q at these scores, one for each coupling row, and the Lagrangian bound there.
    columns
        the first columns, each once.
    rounds
        rounds of price sharing that were made.
    """

    score: NDArray[np.float64]
    charge: NDArray[np.float64]
    bound: float
    columns: list[TreePruning]
    rounds: int


def share_prices(
    soft: SoftPrices, incumbent: Incumbent, *, rounds: int, gap: float = 0.0, last: int = 30, time_limit: float = np.inf
) -> Start:
    """Repeat (1) and (2) until the relative gap, the number of rounds or the time limit is reached.

    The columns are those of the `last` rounds and of the best pruning.
    """
    from solvers.column_generation.shortest_paths import price_by_tree_pass

    started = time.perf_counter()
    coupling = soft.coupling
    problem = coupling.problem
    score, mean = np.zeros(coupling.stop.size), np.zeros(coupling.stop.size)
    best, bound = score, -np.inf
    recent: list[NDArray[np.bool_]] = []
    k = 0
    while k < rounds and time.perf_counter() - started < time_limit:
        split_cost = coupling.own + soft.shares(score)[1]
        found = price_by_tree_pass(problem, coupling.stop, split_cost)
        if (value := float(found.value.sum() - found.rounding.sum())) > bound:
            best, bound = score.copy(), value
        recent = [*recent[1 - last :], found.kept]
        k += 1
        mean += (found.kept - mean) * (2.0 / (k + 1))
        if k % ROUNDS_PER_ROUNDING == 0 and relative_gap(incumbent.offer_levels(mean), bound, coupling.reference) <= gap:
            break
        score = score + np.where(found.kept, STEP / (k - 1 + STEP_DELAY), 0.0)
    columns = {c.key: c for kept in [incumbent.pruning.kept, *recent[::-1]] for c in columns_of(coupling, kept)}
    return Start(best, soft.shares(best)[0], bound, list(columns.values()), k)
