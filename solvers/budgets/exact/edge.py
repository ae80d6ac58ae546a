"""The hull edge of a core in which its budget lies: two nested closures, and the Lagrangian bound between them.

For every lambda = p / q >= 0 and every closure y of the core within the room,

    q gain(y)  <=  V(lambda) + p room,        V(lambda) = max over closures of  q gain - p cost                             (1)

V is a minimum cut, in integers, so with ``gained`` the least of

    gained + floor((V + p room) / q)                                                                                    (2)

over the lambdas tried is a bound. It is least if one optimum at lambda fits the room and another exceeds it. The next lambda is
the ratio of gain to cost of the splits between two such closures, until the cut finds nothing better. If all gains of a whole
core are multiples of a number, (2) is rounded down to such a multiple. In a window, only the lambdas between its `low` and `high`
are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from solvers.budgets.effort import Effort
from solvers.budgets.exact.core import KnapsackCore
from solvers.closures.cut import Closure, best_closure
from solvers.closures.subproblem import MAX_PRODUCT


@dataclass(frozen=True, eq=False)
class Edge:
    """The edge of a core's hull on which the budget lies.

    Parameters
    ----------
    between
        the core after the cheaper end is taken and all splits outside the dearer end are pruned. It has no splits if nothing is
        left to decide: the cheaper end is then an optimum of a whole core.
    lam
        the edge's slope, gain per cost in integers; 0 if all of the core fits.
    bound
        (2), a bound of the whole gain.
    cuts
        the number of cuts made.
    """

    between: KnapsackCore
    lam: Fraction
    bound: int
    cuts: int


def edge_of(
    core: KnapsackCore,
    *,
    first_lam: Fraction | None = None,
    goal: int,
    most_cuts: int | None = None,
    effort: Effort | None = None,
) -> Edge:
    """The edge of a trimmed core. The search for it ends early as soon as the bound is at most `goal`.

    Parameters
    ----------
    first_lam
        the first lambda to try, mostly that of a similar core; ignored where it is not positive, or does not fit 62 bits.
    most_cuts
        stop after this many cuts, with the bound so far; None: no limit.
    effort
        what may be spent; at least one cut is made. None: as much as it takes.
    """
    effort = effort or Effort()
    if core.room < 0 and core.high is None:
        return Edge(core, core.low, goal, 0)
    step = (int(np.gcd.reduce(core.gain)) or 1) if core.is_whole else 1
    part, bound, cuts = core, None, 0
    while True:
        ends = _between_ends(part)
        wanted = first_lam if first_lam is not None and cuts == 0 and _can_be_tried(part, first_lam) else ends
        lam = _allowed(core, wanted)
        if lam == 0:
            part = part.take(np.ones(part.nodes.size, dtype=bool))
            return Edge(part, lam, part.gained if bound is None else min(bound, part.gained), cuts)
        closure = cut(part, lam)
        effort.count_cut(part)
        cuts += 1
        # the gain of what was taken is a multiple of the step too
        most = part.gained - core.gained + (closure.value + lam.numerator * part.room) // lam.denominator
        bound = core.gained + most // step * step if bound is None else min(bound, core.gained + most // step * step)
        late = cuts == most_cuts or effort.is_over
        if bound <= goal or late or (lam == ends and closure.value == 0):
            return Edge(part, lam, bound, cuts)
        fits = part.cost_of(closure.keep) <= part.room
        part = part.take(closure.keep) if fits else part.within(closure.keep)
        if lam != wanted and fits == (lam == core.low):
            # only a lambda outside the window would lower the bound further
            return Edge(part.within(np.zeros(part.nodes.size, dtype=bool)), lam, bound, cuts)


def _can_be_tried(part: KnapsackCore, lam: Fraction) -> bool:
    """Whether a lambda that comes from elsewhere is positive and fits this part's integers."""
    return lam > 0 and part.largest_product(lam) < MAX_PRODUCT


def _between_ends(part: KnapsackCore) -> Fraction | None:
    """The next lambda: 0 if all splits fit; None, for infinity, if those taken exceed the room; else total gain / total cost."""
    if part.room < 0:
        return None
    return Fraction(0) if part.total_cost <= part.room else Fraction(part.total_gain, part.total_cost)


def _allowed(core: KnapsackCore, lam: Fraction | None) -> Fraction:
    """The nearest lambda that the core's window allows."""
    if core.high is not None and (lam is None or lam > core.high):
        return core.high
    assert lam is not None, "a core with a room below 0 needs a highest lambda"
    return max(core.low, lam)


def cut(core: KnapsackCore, lam: Fraction) -> Closure:
    """V of (1), without the splits taken before, and the smallest closure that attains it.

    Raises
    ------
    CapacityOverflowError
        if the products do not fit 62 bits.
    """
    return best_closure(core.at(lam))
