"""Down to a budget by cuts: divide what is open by a best closure at given prices, and keep the side where the budget lies.

    lambda  =  gain of the part / its cost at these prices                                                           (1)

At this lambda the whole part is worth nothing, and a best closure that is worth more divides it. If the *true* cost of the
closure fits, the closure is taken and the rest stays open; otherwise only the closure stays open. So the budget always lies
between the cost of what is taken and the cost of that with all that is open: a bracket.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.budgets.open_part import OpenPart
from solvers.closures.cut import best_closure

SCALE = 2.0**44
"""Gains of a part are scaled so that their absolute values add up to this; prices that are drawn need no exact integers."""


@dataclass(frozen=True, eq=False)
class Bracket:
    """A closure that fits, and what is open on top of it.

    Parameters
    ----------
    kept
        bool, shape (n,): over the forest's nodes.
    gain, room
        of what is kept, in integers; what it leaves of the budget.
    part
        open: with all of it the budget is exceeded, or it is empty.
    """

    kept: NDArray[np.bool_]
    gain: int
    room: int
    part: OpenPart

    @property
    def promise(self) -> float:
        """The gain of the mixture of both ends that costs the budget."""
        cost = self.part.total_cost
        share = 1.0 if cost <= self.room else self.room / cost
        return self.gain + share * self.part.total_gain


def descend(bracket: Bracket, price: NDArray[np.float64]) -> Bracket:
    """Narrow a bracket at the given prices (of its part's purchases) until they divide it no more."""
    kept, gain, room, part = bracket.kept.copy(), bracket.gain, bracket.room, bracket.part
    while part.nodes.size:
        if part.total_cost <= room:
            closure = np.ones(part.nodes.size, dtype=bool)
        else:
            divided = _divide(part, price)
            if divided is None:
                break
            closure = divided
        used = part.used(closure)
        cost = part.cost_with(closure, used)
        fits = cost <= room
        if fits:
            kept[part.nodes[closure]] = True
            gain, room = gain + int(part.gain[closure].sum()), room - cost
        part, purchases = part.divided(closure, used, inner=not fits)
        price = price[purchases]
    return Bracket(kept, gain, room, part)


def _divide(part: OpenPart, price: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """A best closure at (1), or None where that is nothing or everything."""
    total = part.total_gain
    cost = float(price.sum()) + float(part.evaluation.sum())
    if total <= 0 or cost <= 0:
        return None
    scale, lam = SCALE / max(1.0, float(np.abs(part.gain).sum())), total / cost
    profit = np.round(scale * (part.gain - lam * part.evaluation)).astype(np.int64)
    paid = np.maximum(1, np.round(scale * lam * price)).astype(np.int64)
    closure = best_closure(part.closure_problem(profit, paid))
    # a value that rounding alone can explain divides nothing
    if closure.value <= part.nodes.size + paid.size or closure.keep.all():
        return None
    return closure.keep
