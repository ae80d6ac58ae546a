"""Descent to a budget by cuts: divide the open splits by a best closure at given prices, and keep the side with the budget.

    lambda  =  gain of the part / its cost at these prices                                                           (1)

At this lambda the part as a whole has value 0, and a best closure with a positive value divides it. If the *true* cost of the
closure fits the budget, the closure is taken and the rest stays open; otherwise only the closure stays open. So the budget always
lies between the cost of the splits taken and their cost together with all open splits. This is a bracket.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.budgets.open_part import OpenPart
from solvers.closures.cut import best_closure
from solvers.price_sharing.stopping import cut_seconds

SCALE = 2.0**44
"""Gains of a part are scaled so that their absolute values sum to this. Drawn prices need no exact integers."""


@dataclass(frozen=True, eq=False)
class Bracket:
    """A closure that fits the budget, and the splits that may still be added to it.

    Parameters
    ----------
    kept
        bool, shape (n,): over the forest's nodes.
    gain, room
        in integers: the gain of the kept splits, and what they leave of the budget.
    part
        the open splits. With all of them the cost exceeds the budget, unless there are none.
    """

    kept: NDArray[np.bool_]
    gain: int
    room: int
    part: OpenPart

    @property
    def promise(self) -> float:
        """The gain of the mixture of the bracket's two ends that costs exactly the budget."""
        cost = self.part.total_cost
        share = 1.0 if cost <= self.room else self.room / cost
        return self.gain + share * self.part.total_gain


def descend(bracket: Bracket, price: NDArray[np.float64], work: float = math.inf) -> Bracket:
    """Narrow a bracket, at the given prices of its part's purchases, until no cut divides it, or the next one exceeds the work.

    Parameters
    ----------
    work
        the most seconds of cuts, by the formula of `solvers.price_sharing.stopping`.
    """
    kept, gain, room, part = bracket.kept.copy(), bracket.gain, bracket.room, bracket.part
    while part.nodes.size:
        if part.total_cost <= room:
            closure = np.ones(part.nodes.size, dtype=bool)
        else:
            work -= cut_seconds(part.tail.size, part.nodes.size)
            divided = None if work < 0 else _divide(part, price)
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
    """A best closure at (1); None if it is empty or the whole part."""
    total = part.total_gain
    cost = float(price.sum()) + float(part.evaluation.sum())
    if total <= 0 or cost <= 0:
        return None
    scale, lam = SCALE / max(1.0, float(np.abs(part.gain).sum())), total / cost
    profit = np.round(scale * (part.gain - lam * part.evaluation)).astype(np.int64)
    paid = np.maximum(1, np.round(scale * lam * price)).astype(np.int64)
    closure = best_closure(part.closure_problem(profit, paid))
    # a value this small may be the effect of rounding alone
    if closure.value <= part.nodes.size + paid.size or closure.keep.all():
        return None
    return closure.keep
