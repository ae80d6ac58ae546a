"""What is left of a boosted ensemble without one item after the other: backward elimination, in its own loss.

    without(K, m)  =  K less the splits that need item m, and all below them                                       (1)
    next item      =  the least  (loss(without(K, m)) - loss(K)) / (cost(K) - cost(without(K, m)))                  (2)

From a pruning K on, (2) is repeated until no split that costs something is left. All items are tried at every step, so single
removals come with the first. What removals save is counted for all items in one sweep (`RemovalEffects`); their losses come from
the margins of K, corrected for the rows below the splits that go.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.answers.pruning import integer_cost
from prunemodels.forests.removal_effects import RemovalEffects, units_of
from prunemodels.other_libraries.majoriser import state_of
from prunemodels.other_libraries.parts import Part

STEPS = 300
"""Of an elimination, about: with more items than that several go at once, which are the best ones of (2) at the time."""


@dataclass(frozen=True, eq=False)
class Removal:
    """One removal that was tried: the pruning that is left, its loss and cost, and whether the elimination goes on from it.

    The cost is that of the integer prices.
    """

    kept: NDArray[np.bool_]
    loss: float
    cost: float
    taken: bool


def eliminate(part: Part, deadline: float) -> Iterator[Removal]:
    """All removals of an elimination from a whole part on; of each step the one that is taken comes last.

    Parameters
    ----------
    deadline
        on the clock of ``time.perf_counter``, looked at before each step.
    """
    usage, prices, loss = part.usage, part.prices, part.loss
    kept = usage.ensemble.is_split.copy()
    effects = RemovalEffects(usage, prices, units_of(usage, "item"))
    state = state_of(part.forest, usage, loss, kept)
    margins, now = state.margins, state.loss
    unit_price, at_once = prices.price_unit, 0
    cost = integer_cost(usage, prices, kept)
    while kept.any() and time.perf_counter() <= deadline:
        _, fall, users = effects.of(kept)
        units = np.flatnonzero((users > 0) & (fall > 0))
        if not units.size:
            return
        at_once = at_once or -(-units.size // STEPS)
        tried = []
        for unit in units.tolist():
            left = effects.without(kept, unit)
            after = float(np.average(loss.values(without(part, kept, left, margins)), weights=usage.weights))
            yield Removal(left, after, float((cost - int(fall[unit])) * unit_price), taken=False)
            tried.append(((after - now) / float(fall[unit]), unit))
        left, gone = kept, [unit for _, unit in sorted(tried)[:at_once]]
        for unit in gone:
            left = effects.without(left, unit)
        cost = cost - int(fall[gone[0]]) if len(gone) == 1 else integer_cost(usage, prices, left)
        margins = without(part, kept, left, margins)
        now, kept = float(np.average(loss.values(margins), weights=usage.weights)), left
        yield Removal(kept, now, float(cost * unit_price), taken=True)


def without(part: Part, kept: NDArray[np.bool_], left: NDArray[np.bool_], margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """The margins of a pruning that keeps fewer splits, from those of one that keeps more."""
    forest, routing = part.forest, part.usage.routing
    ensemble, moved = forest.ensemble, margins.copy()
    arrays = (ensemble.parent, ensemble.tree_of, forest.output, ensemble.value, routing.order, routing.start, routing.stop)
    _move_up(kept, left, *arrays, moved)
    return moved


@njit(cache=True)
def _move_up(kept, left, parent, tree_of, output, value, order, start, stop, margins):  # type: ignore[no-untyped-def]
    """Rows of the leaves of `kept` move to the leaves of `left` above them."""
    end = np.empty(parent.shape[0], dtype=np.int32)
    for h in range(parent.shape[0]):
        above = parent[h]
        end[h] = h if above < 0 or left[above] else end[above]
        if end[h] == h or kept[h] or not kept[above]:
            continue
        t = tree_of[h]
        change = value[end[h], 0] - value[h, 0]
        for j in range(start[h], stop[h]):
            margins[order[t, j], output[t]] += change
