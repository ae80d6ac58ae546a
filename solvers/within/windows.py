"""The best pruning within the limits so far, and windows in which a search looks for better ones.

A window is a core, and what its integers stand for. Within a budget it lies between two rows of the path; within other limits it
is the whole instance, metered, or what lies between two prunings that are optimal at multipliers around the best ones.

Of real numbers a window has integers of its own: gains rounded up, prices rounded down. So the search covers every pruning within
the limits, and it accepts a pruning only if its exact uses fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.reduction import Groups
from formulations.programs.limit_rows import LimitRows
from solvers.closures.subproblem import open_part
from solvers.within.by_path import gain_of
from solvers.within.core import KnapsackCore, Scale, Window, real_window
from solvers.within.oracle import LagrangianOracle
from solvers.within.rows import Rates, RowUses


class BestPruning:
    """The best pruning so far."""

    def __init__(self, rows: LimitRows, groups: Groups, pruning: Pruning) -> None:
        self.rows, self.groups, self.problem = rows, groups, rows.problem
        self.pruning, self.gain = pruning, gain_of(pruning)

    def within(self, pruning: Pruning) -> bool:
        """Whether it keeps to the limits, exactly."""
        if self.rows.is_budget:
            return pruning.exact_cost <= self.rows.rows[0].at_most
        return self.rows.within(pruning)

    def start_from(self, incumbent: Pruning) -> None:
        """Replace the best pruning by the incumbent if that is better."""
        if incumbent.problem is not self.problem:
            raise InvalidInputError("incumbent belongs to another problem; give a pruning of this one")
        if not self.within(incumbent):
            raise InvalidInputError(
                f"incumbent costs {incumbent.cost:.9g} and is not within {self.rows.limits}; give one that is"
            )
        self.offer_pruning(incumbent)

    def offer_pruning(self, pruning: Pruning) -> None:
        """Keep a pruning if it is better and within the limits."""
        gain = gain_of(pruning)
        if gain > self.gain and self.within(pruning):
            self.pruning, self.gain = pruning, gain

    def offer(self, window: Window, core: KnapsackCore) -> int:
        """Keep the pruning that a core has taken if it is better and fits; returns the gain to beat in the core."""
        if core.gained > window.goal(self.gain) and not core.is_exceeded:
            kept = np.zeros(self.groups.payer.size, dtype=bool)
            kept[np.concatenate([core.nodes[:0], *core.taken])] = True
            self.offer_pruning(Pruning(self.problem, self.groups.kept(kept)))
        return window.goal(self.gain)


@dataclass(frozen=True, eq=False)
class Between:
    """Two nested prunings of groups, bool, shape (r,), and the multipliers at which they are optimal; None: at any."""

    inner: NDArray[np.bool_]
    outer: NDArray[np.bool_]
    high: Rates | None = None
    low: Rates | None = None  # given where high is


def rows_window(oracle: LagrangianOracle, direction: NDArray[np.float64], between: Between) -> Window:
    """The window of several limits between two prunings, priced by a surrogate row."""
    rows, core = oracle.rows, oracle.problem
    part, taken = open_part(core, between.outer, between.inner), np.flatnonzero(between.inner).astype(np.int32)
    uses = RowUses.of(rows, oracle.own_of_groups, part.nodes, part.members).merged(part.group, part.price.size)
    if between.inner.any():
        uses = uses.after(oracle.uses(oracle.groups.kept(between.inner)))
    numbers = rows.problem.numbers
    if numbers.exact:
        gain_unit, base, spare = numbers.gain_unit, Fraction(0), 0
        gained = int(core.numbers.gain[between.inner].sum())
    else:
        scale = Scale.of(part)
        part, spare = real_window(part, scale, core.gain_lost[part.nodes])
        gain_unit, base, gained = scale.gain_unit, Fraction(float(oracle.gain[between.inner].sum())), 0
    whole = KnapsackCore(
        **part.arrays(), gained=gained, room=0, taken=(taken,), rounded=True, step=numbers.gain_step, uses=uses,
        box=None if between.high is None or between.low is None else (between.low, between.high),
    )  # fmt: skip
    priced = whole.at_direction(direction, gain_unit)
    assert priced is not None, "the box is around the direction"
    return Window(priced.trimmed(), gain_unit, base, Fraction(1), spare)
