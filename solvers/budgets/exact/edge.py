"""The hull edge of a core in which its budget lies: two nested closures, and the Lagrangian bound between them.

For every lambda = p / q >= 0 and every closure y of the core within the room,

    q gain(y)  <=  V(lambda) + p room,        V(lambda) = max over closures of  q gain - p cost                             (1)

V is a minimum cut, in integers, so with ``gained`` the least of

    gained + floor((V + p room) / q)                                                                                    (2)

over the lambdas tried is a bound. It is least where an optimum at lambda fits the room and another exceeds it; the ratio
of the gain and the cost of what lies between two such closures is the next lambda, until the cut finds nothing better.
Where all gains of a whole core are multiples of a number, the floor is taken to its multiples. In a window only the lambdas
between its `low` and `high` count.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from solvers.budgets.exact.core import KnapsackCore
from solvers.closures.cut import Closure, best_closure


@dataclass(frozen=True, eq=False)
class Edge:
    """Where the budget lies on a core's hull.

    Parameters
    ----------
    between
        the core that is left when the cheaper end is taken and what is outside the dearer one goes; without splits where nothing
        is left to decide: the cheaper end is an optimum of a whole core.
    lam
        gain per cost, in integers: the edge's slope; 0 where all of the core fits.
    bound
        (2): of the whole gain.
    cuts
        how many it took.
    """

    between: KnapsackCore
    lam: Fraction
    bound: int
    cuts: int


def edge_of(
    core: KnapsackCore, *, start: Fraction | None = None, goal: int, most_cuts: int | None = None, deadline: float = math.inf
) -> Edge:
    """The edge of a trimmed core, or less where a bound of at most `goal` says enough.

    Parameters
    ----------
    start
        the first lambda to try: a neighbour's.
    most_cuts
        after so many the bound so far will do; None: until it is least.
    deadline
        of `time.perf_counter`: past it likewise, after one cut.
    """
    if core.room < 0 and core.high is None:
        return Edge(core, core.low, goal, 0)
    step = (int(np.gcd.reduce(core.gain)) or 1) if core.is_whole else 1
    part, bound, cuts = core, None, 0
    while True:
        ends = _between_ends(part)
        wanted = start if start is not None and start > 0 and cuts == 0 else ends
        lam = _allowed(core, wanted)
        if lam == 0:
            part = part.take(np.ones(part.nodes.size, dtype=bool))
            return Edge(part, lam, part.gained if bound is None else min(bound, part.gained), cuts)
        closure = cut(part, lam)
        cuts += 1
        # what was taken gains multiples of the step too
        most = part.gained - core.gained + (closure.value + lam.numerator * part.room) // lam.denominator
        bound = core.gained + most // step * step if bound is None else min(bound, core.gained + most // step * step)
        late = cuts == most_cuts or time.perf_counter() >= deadline
        if bound <= goal or late or (lam == ends and closure.value == 0):
            return Edge(part, lam, bound, cuts)
        fits = part.cost_of(closure.keep) <= part.room
        part = part.take(closure.keep) if fits else part.within(closure.keep)
        if lam != wanted and fits == (lam == core.low):
            # the bound falls further only beyond the window's end
            return Edge(part.within(np.zeros(part.nodes.size, dtype=bool)), lam, bound, cuts)


def _between_ends(part: KnapsackCore) -> Fraction | None:
    """The next lambda: low where all fits, without end (None) where even nothing more does not, else the ratio between."""
    if part.room < 0:
        return None
    return Fraction(0) if part.total_cost <= part.room else Fraction(part.total_gain, part.total_cost)


def _allowed(core: KnapsackCore, lam: Fraction | None) -> Fraction:
    """The nearest lambda that the core's window allows."""
    if core.high is not None and (lam is None or lam > core.high):
        return core.high
    assert lam is not None, "a room below 0 without a highest lambda is no part"
    return max(core.low, lam)


def cut(core: KnapsackCore, lam: Fraction) -> Closure:
    """V of (1) without what is taken, and the smallest closure that attains it.

    Raises
    ------
    CapacityOverflowError
        if the products do not fit 62 bits.
    """
    return best_closure(core.at(lam))
