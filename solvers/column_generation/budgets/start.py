"""The start of column generation under a budget: secants to the hull, each solved roughly by price sharing.

    lambda <- (error_cheap - error_dear) / (cost_dear - cost_cheap)                                                        (1)

cheap and dear are the best known prunings that cost less and more than B. Either the optimum at (1) lies below their chord, or
the chord is an edge of the hull and lambda is lambda*. Every step gives dual feasible charges with their bound. The prunings of
its last rounds are good first columns, because lambda then hardly changes any more.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from solvers.closures.tree_pass import without_prices
from solvers.column_generation.budgets.coupling import BudgetCoupling
from solvers.column_generation.budgets.incumbent import BudgetIncumbent
from solvers.column_generation.incumbent import Incumbent
from solvers.column_generation.pricing import TreePruning
from solvers.column_generation.start import share_prices

MOST_SECANTS = 20
"""In practice each secant at least halves the interval; paths of a thousand breakpoints took ten."""

LAST_SECANT_FACTOR = 10
"""Once the chord seems to be an edge, price sharing gets this many times the rounds, for a bound good enough to start from."""


@dataclass(eq=False)
class BudgetStart:
    """The first columns, each once; the best charges (q, lambda) with their bound; and the number of secants."""

    columns: dict[object, TreePruning] = field(default_factory=dict)
    charge: NDArray[np.float64] | None = None
    bound: float = -np.inf
    secants: int = 0

    def take(self, coupling: BudgetCoupling, columns: list[TreePruning]) -> None:
        """Add the columns that are not there yet."""
        for column in coupling.columns(columns):
            self.columns.setdefault(column.key, column)

    def offer(self, charge: NDArray[np.float64], bound: float) -> None:
        """Keep the charges if their bound is better."""
        if bound > self.bound:
            self.charge, self.bound = charge, bound


def secants(
    coupling: BudgetCoupling, incumbent: BudgetIncumbent, *, rounds: int, gap: float, time_limit: float = np.inf
) -> BudgetStart:
    """Repeat (1) until the chord is about an edge, with `rounds` of price sharing each; 0 rounds: only the two ends."""
    started = time.perf_counter()
    problem, start = coupling.problem, BudgetStart()
    cheap, dear = incumbent.pruning, Pruning(problem, without_prices(problem, "smallest"))
    for pruning in (Pruning.all_roots(problem), cheap, dear):
        start.take(coupling, coupling.columns_of(pruning.kept))
    incumbent.offer_levels(dear.kept.astype(np.float64), 0.0)
    start.offer(np.zeros(coupling.unit.n_rows + 1), dear.error)
    if incumbent.pruning.integer_gain == dear.integer_gain:
        return start
    final = False
    while rounds and start.secants < MOST_SECANTS and time.perf_counter() - started < time_limit:
        lam = (cheap.error - dear.error) / (dear.cost - cheap.cost)
        if not lam > 0:
            break
        at, best = coupling.at(lam), Incumbent(cheap, lam)
        seconds_left = time_limit - (time.perf_counter() - started)
        found = share_prices(at, best, rounds=rounds * (LAST_SECANT_FACTOR if final else 1), gap=gap, time_limit=seconds_left)
        start.secants += 1
        start.take(coupling, found.columns)
        if found.charge is not None:
            start.offer(np.append(found.charge, lam), found.bound - lam * coupling.limit)
        for one, other in ((cheap, best.pruning), (best.pruning, dear), (cheap, dear)):
            _join(incumbent, one, other, lam)
        lower = best.value < min(cheap.value(lam), dear.value(lam)) - gap * at.reference
        if final and not lower:
            break
        final = not lower
        if lower and best.pruning.exact_cost <= coupling.budget:
            cheap = best.pruning
        elif lower:
            dear = best.pruning
    return start


def _join(incumbent: BudgetIncumbent, one: Pruning, other: Pruning, lam: float) -> None:
    """Offer the intersection and the union of two prunings. They are nested, and optimal at lambda if the two prunings are."""
    for share in (0.75, 0.25):
        incumbent.offer_levels(np.where(one.kept, share, 0.0) + np.where(other.kept, 1.0 - share, 0.0), lam)
