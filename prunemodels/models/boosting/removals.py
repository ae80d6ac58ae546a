"""Remove items from a boosted ensemble one after the other: backward elimination by its own loss.

    without(K, m)  =  K without the splits that need item m, and without all below them                            (1)
    next item      =  the m of least  (loss(without(K, m)) - loss(K)) / (cost(K) - cost(without(K, m)))             (2)

From a pruning K on, (2) is repeated until no split that costs something is left. Every step tries all items, so the first step
includes all single removals. One sweep counts the cost that each removal saves (`RemovalEffects`); the losses come from the
margins of K, corrected for the rows below the removed splits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import integer_cost
from formulations.compiled import njit
from prunemodels.models.boosting.majoriser import state_of
from prunemodels.models.boosting.parts import Part
from prunemodels.models.forests.removal_effects import RemovalEffects, units_of

MOST_STEPS = 300
"""Approximate limit on the steps of an elimination: with more items, each step removes several, the best ones by (2)."""


@dataclass(frozen=True, eq=False)
class Removal:
    """One removal that was tried: the remaining pruning, its loss and cost, and whether the elimination goes on from it.

    The cost is that of the integer prices.
    """

    kept: NDArray[np.bool_]
    loss: float
    cost: float
    taken: bool


def eliminate(part: Part, deadline: float) -> Iterator[Removal]:
    """All removals of an elimination that starts with all splits of a part; the one taken in a step comes last.

    Parameters
    ----------
    deadline
        on the clock of ``time.perf_counter``, checked before each step.
    """
    usage, prices, loss = part.usage, part.prices, part.loss
    kept = usage.ensemble.is_split.copy()
    effects = RemovalEffects(usage, prices, units_of(usage, "item"))
    state = state_of(part.forest, usage, loss, kept)
    margins, current_loss = state.margins, state.loss
    unit_price, at_once = prices.price_unit, 0
    cost = integer_cost(usage, prices, kept)
    while kept.any() and time.perf_counter() <= deadline:
        _, saved, users = effects.of(kept)
        units = np.flatnonzero((users > 0) & (saved > 0))
        if not units.size:
            return
        at_once = at_once or -(-units.size // MOST_STEPS)
        tried = []
        for unit in units.tolist():
            remaining = effects.without(kept, unit)
            new_loss = float(np.average(loss.values(without(part, kept, remaining, margins)), weights=usage.weights))
            yield Removal(remaining, new_loss, float((cost - int(saved[unit])) * unit_price), taken=False)
            tried.append(((new_loss - current_loss) / float(saved[unit]), unit))
        remaining, gone = kept, [unit for _, unit in sorted(tried)[:at_once]]
        for unit in gone:
            remaining = effects.without(remaining, unit)
        cost = cost - int(saved[gone[0]]) if len(gone) == 1 else integer_cost(usage, prices, remaining)
        margins = without(part, kept, remaining, margins)
        current_loss, kept = float(np.average(loss.values(margins), weights=usage.weights)), remaining
        yield Removal(kept, current_loss, float(cost * unit_price), taken=True)


def without(
    part: Part, kept: NDArray[np.bool_], remaining: NDArray[np.bool_], margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The margins of a pruning that keeps fewer splits, from those of one that keeps more."""
    forest, routing = part.forest, part.usage.routing
    ensemble, moved = forest.ensemble, margins.copy()
    arrays = (ensemble.parent, ensemble.tree_of, forest.output, ensemble.value, routing.order, routing.start, routing.stop)
    _move_up(kept, remaining, *arrays, moved)
    return moved


@njit(cache=True)
def _move_up(kept, remaining, parent, tree_of, output, value, order, start, stop, margins):  # type: ignore[no-untyped-def]
    """Move the rows of the leaves of `kept` to the leaves of `remaining` above them."""
    end = np.empty(parent.shape[0], dtype=np.int32)
    for h in range(parent.shape[0]):
        above = parent[h]
        end[h] = h if above < 0 or remaining[above] else end[above]
        if end[h] == h or kept[h] or not kept[above]:
            continue
        t = tree_of[h]
        change = value[end[h], 0] - value[h, 0]
        for j in range(start[h], stop[h]):
            margins[order[t, j], output[t]] += change
