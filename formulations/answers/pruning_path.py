"""Every optimal pruning, for every lambda: one level for each split.

Optimal prunings shrink as lambda grows, so one number describes each split (DESIGN: a minimum cut is nested in its prices):

    ties="smallest":  h is a split exactly for lambda <  lambda(level_h)                            (1)
    ties="largest":   h is a split exactly for lambda <= lambda(level_h)                            (2)

Levels are indices into the table of breakpoints, ratios of two integers, so nothing is rounded. Levels never rise
from parent to child.

A path may also be optimal only up to a proven gap, if only one of rounding: each cut rounds real numbers for itself. With f the
least value of any pruning and g that of the path's, both at one lambda, g is linear between two breakpoints and -f is convex, so
the gap g - f is nowhere above the line between its bounds at these breakpoints:

    s_k  >=  g - f  at breakpoint k                                                                         (3)

The relative gap is s / (value of the all-roots forest - g + s), as of a `Solution`. Along such a line it is greatest at an end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.nested_rows import breakpoints_up_to
from formulations.answers.pruning import Pruning
from formulations.answers.solution import Status
from formulations.arguments import checked
from formulations.instance.numbers import is_rounding
from formulations.instance.problem import PruningProblem
from formulations.shown import Brief

NEVER = -1
"""Level of a split that no lambda >= 0 keeps, with ties="largest" (with "smallest" it is 0)."""


@dataclass(frozen=True, eq=False, repr=False)
class PathCertificate(Brief):
    """One dual state that proves the path optimal for every lambda >= 0 at once.

    ``dual[k] / denominator[level of tail[k]]`` gains of split `tail[k]` are shipped to the purchase `head[k]` (arcs in the
    canonical order of `formulations.instance.usage_arcs`). Each split first kept at a breakpoint ships to items first paid
    there, and the items' duals are lambda times their price there, or a little less; for another lambda, scale a dual that
    exceeds its price down to it. Gains are in ``problem.numbers.gain_unit``.
    """

    dual: NDArray[np.int64]
    denominator: tuple[int | Fraction, ...]


@dataclass(frozen=True, eq=False, repr=False)
class PathShares(Brief):
    """One number for each split, by which the users of a purchase share its price: proves a path for every lambda >= 0 at once.

    A purchase of level l, the highest among its users', is paid by its users of level l. Let S be its price in integer prices,
    times 2^bits. With floats of 64 bits, each operation rounded once, sums in the order of the splits,

        rate = S / (sum of these users' weights) * (1 - 2^-30),      share of each = floor(weight * rate)                  (4)

    but the last of the users pays what the shares of the others leave of S. Then the moves, one after another: ``amount[k]``
    integer prices of the purchase ``purchase[k]`` go over from the share of split ``giver[k]`` to that of ``taker[k]``. With c_h
    the sum of the shares of split h in integer prices, its duals are lambda c_h at any lambda.
    """

    # float64, shape (n,): between 1e-150 and 1e150 for splits whose level is a breakpoint; others do not count
    weight: NDArray[np.float64]
    # shares are multiples of 2^-bits integer prices before the moves; all purchases together are less than 2^62 of them
    bits: int
    # purchase, giver, taker, amount: the moves; purchases numbered as in `formulations.instance.usage_arcs`
    purchase: NDArray[np.int64]
    giver: NDArray[np.int32]
    taker: NDArray[np.int32]
    amount: tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class PruningPath(NestedPrunings):
    """All optimal prunings of an instance, ordered by lambda.

    Row k, from 0 to ``len(path) - 1``, is the pruning at ``lam[k]``; with ties="smallest" it is optimal on
    [lam[k], lam[k+1]], with "largest" on [lam[k-1], lam[k]], where the last ``lam`` is infinity. Iterating gives the prunings.

    Parameters
    ----------
    level
        int32, shape (n,): see (1) and (2). ``len(breakpoints)`` stands for infinity.
    breakpoints
        ascending, in the units of (OBJ); the first is 0.
    ties
        which optimum a row holds where there are several.
    certificate
        proof of optimality for all lambda, or of the gaps.
    gaps
        s_k of (3) for each breakpoint, in the units of (OBJ), proven; empty where the path is exact.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> path = pm.pruning_path(problem)
    >>> path
    PruningPath(14 breakpoints, cost 0 to 16.43, error 0.033 to 0.467)
    >>> path.at_lam(0.01)
    Pruning(cost=13.4933, error=0.0485, 43 splits)
    >>> path.to_frame().tail(3).round(3)
        lambda    cost  error  splits
    11   0.023  11.033  0.086      14
    12   0.031   6.000  0.243       6
    13   0.037   0.000  0.467       0
    """

    problem: PruningProblem
    level: NDArray[np.int32]
    breakpoints: tuple[Fraction, ...]
    ties: Literal["smallest", "largest"] = "smallest"
    certificate: PathCertificate | PathShares | None = None
    stats: Mapping[str, float] = field(default_factory=dict)
    gaps: tuple[Fraction, ...] = ()

    parameter_name: str = field(init=False, default="lambda")

    @property
    def method(self) -> str:  # type: ignore[override]
        """How the prunings were found: optimal, or only up to a gap."""
        return "optimal" if self.status is Status.OPTIMAL else "near-optimal"

    @cached_property
    def status(self) -> Status:
        """OPTIMAL where the gap is at every lambda at most what rounding can hide, by the rule of `Solution`; else FEASIBLE."""
        if not any(self.gaps):
            return Status.OPTIMAL
        largest = self.problem.largest_error
        ends = zip(self.gaps, self.exact_error, self.breakpoints, self.exact_cost, strict=False)
        closed = all(is_rounding(float(s), float(e + b * c), largest) for s, e, b, c in ends if s)
        return Status.OPTIMAL if closed else Status.FEASIBLE

    @cached_property
    def rows_kept(self) -> NDArray[np.int32]:
        """In how many rows, from the first on, a node is a split; (1) and (2) in one."""
        kept = np.clip(self.level + (self.ties == "largest"), 0, len(self))
        return np.where(self.problem.ensemble.is_split, kept, 0).astype(np.int32)

    @cached_property
    def parameter(self) -> NDArray[np.float64]:
        """Lambda of each row."""
        lam = [float(b) for b in self.breakpoints]
        return np.array(lam if self.ties == "smallest" else [*lam, math.inf])

    @property
    def lam(self) -> NDArray[np.float64]:
        """Lambda of each row, float64: `parameter`."""
        return self.parameter

    @checked
    def between(self, k: int) -> Fraction:
        """The breakpoint at which both the rows k and k + 1 are optimal."""
        return self.breakpoints[k + 1 if self.ties == "smallest" else k]

    @cached_property
    def relative_gap(self) -> float:
        """The largest relative gap that any pruning of the path can have at any lambda; 0.0 where the path is exact.

        As `Solution.relative_gap` it refers to the value of the all-roots forest less the bound. Where that is less than a
        hundredth of the largest error of a pruning, it refers to that hundredth.
        """
        if not any(self.gaps):
            return 0.0
        roots, largest = self.of_nothing[0], Fraction(self.problem.largest_error)
        values = (e + b * c for e, b, c in zip(self.exact_error, self.breakpoints, self.exact_cost, strict=False))
        of_attainable = [_share(s, roots - value + s) for s, value in zip(self.gaps, values, strict=True)]
        of_largest = [_share(s, largest / 100) for s in self.gaps]
        ends = zip(pairwise([*of_attainable, 0]), pairwise([*of_largest, 0]), strict=True)
        return float(max(min(max(a), max(b)) for a, b in ends))

    def _proven(self) -> tuple[str, ...]:
        """What rounding may hide."""
        gap = self.relative_gap
        return (f"Proven at every lambda up to a relative gap of {gap:.1g}.",) if gap else ()

    def _least_error_from(self, first: int) -> int:
        """Errors never fall along the path."""
        return first

    @checked
    def row_at_lam(self, lam: float | Fraction) -> int:
        """The row that is optimal at lambda >= 0.

        A fraction is compared exactly, a float with the breakpoints rounded to floats, so that every ``path.lam[k]`` finds row k.
        """
        smallest = self.ties == "smallest"
        return breakpoints_up_to(lam, self.breakpoints, inclusive=smallest) - int(smallest)

    @checked
    def at_lam(self, lam: float | Fraction) -> Pruning:
        """The optimal pruning at lambda (the smallest or largest one, as `ties` says)."""
        return self[self.row_at_lam(lam)]

    def __repr__(self) -> str:
        gap = f", relative gap {self.relative_gap:.1g}" if any(self.gaps) else ""
        return f"PruningPath({len(self.breakpoints)} breakpoints, {self.ends}{gap})"


def _share(gap: Fraction, of: Fraction) -> Fraction | float:
    """A gap as a share of something, infinity where there is nothing."""
    return gap / of if of > 0 else math.inf if gap else 0
