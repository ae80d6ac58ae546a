"""The optimal closures of a parametric maximum closure (`formulations.instance.parametric_closure`) for every price of cost.

They shrink as lambda grows, so one number for each node describes them all:

    v is in the closure exactly for lambda < breakpoint of level_v                                                         (1)

Where several closures are optimal, (1) describes the smallest. A node's level is at most the level of each node that it requires.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_rows import NestedRows, breakpoints_up_to, row_sums
from formulations.instance.parametric_closure import ParametricClosure
from formulations.shown import Brief

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ClosureCertificate(Brief):
    """A flow on the arcs that proves a path optimal for every lambda >= 0 at once, up to its gap.

    If `tail[k]` and `head[k]` have the same level, an error of ``flow[k] * unit[level]`` goes from the tail, which requires, to
    the head, which is required. Other arcs have no flow. Then every node of a level between 0 and the last one is worth 0 at its
    breakpoint, up to its part of the gap. `unit` has one number for each level, ``len(breakpoints) + 1`` in all.
    """

    flow: NDArray[np.int64]
    unit: tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class ClosurePath(NestedRows):
    """The optimal closures for all lambda >= 0, the largest first: row k is optimal on [lam[k], lam[k + 1]].

    Parameters
    ----------
    level
        int32, shape (n,): see (1). 0: never in the closure; ``len(breakpoints)``: in the closure for every lambda.
    breakpoints
        ascending, error per unit of cost; the first is 0.
    certificate
        proof of optimality for all lambda.
    gap
        by how much a row can miss the optimum, at any lambda: what the cuts rounded away; 0 where numbers fit 61 bits.
        Where it is above 0, the smallest optimum is that up to the gap, too.
    """

    problem: ParametricClosure
    level: NDArray[np.int32]
    breakpoints: tuple[Fraction, ...]
    certificate: ClosureCertificate | None = None
    stats: Mapping[str, float] = field(default_factory=dict)
    gap: float = 0.0

    parameter_name, answer = "lambda", "closure"

    @cached_property
    def lam(self) -> NDArray[np.float64]:
        """Lambda from which on each row is optimal."""
        return np.array([float(b) for b in self.breakpoints])

    @property
    def parameter(self) -> NDArray[np.float64]:
        """The number that each row belongs to: `lam`."""
        return self.lam

    def kept(self, k: int) -> NDArray[np.bool_]:
        """bool, shape (n,): the closure of row k (negative k count from the end)."""
        return np.asarray(self.level > self.place(k))

    @property
    def of_nothing(self) -> tuple[Fraction, Fraction]:
        """Error and cost of the empty closure."""
        return self.problem.integers.base_error, self.problem.integers.base_cost

    @cached_property
    def integer_cost(self) -> tuple[int, ...]:
        """Cost of each row beyond that of the empty closure, in units of ``problem.integers.price_unit``."""
        return tuple(row_sums(len(self), self.level, self.problem.integers.price).tolist())

    @cached_property
    def integer_gain(self) -> tuple[int, ...]:
        """By how much the error of each row is below that of the empty closure, in ``problem.integers.gain_unit``."""
        return tuple(row_sums(len(self), self.level, self.problem.integers.gain).tolist())

    @property
    def units(self) -> tuple[Fraction, Fraction]:
        """Of an integer gain and an integer price."""
        return self.problem.integers.gain_unit, self.problem.integers.price_unit

    @cached_property
    def n_kept(self) -> NDArray[np.int64]:
        """Nodes in the closure of each row."""
        return row_sums(len(self), self.level, np.ones(self.level.size, dtype=np.int64))

    def to_frame(self) -> pd.DataFrame:
        """One row a closure: its lambda, cost, error, number of nodes."""
        return super().to_frame().assign(nodes=self.n_kept)

    def row_at_lam(self, lam: float | Fraction) -> int:
        """The row of the smallest optimum at lambda >= 0: a fraction is compared exactly, a float with rounded breakpoints."""
        return breakpoints_up_to(lam, self.breakpoints, inclusive=True) - 1

    def __repr__(self) -> str:
        return f"ClosurePath({len(self)} breakpoints, {self.ends})"
