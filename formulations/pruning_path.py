"""Every optimal pruning, for every lambda: one level for each split.

Optimal prunings shrink as lambda grows, so one number a split says it all (DESIGN: a minimum cut is nested in its prices):

    ties="smallest":  h is a split exactly for lambda <  lambda(level_h)                            (1)
    ties="largest":   h is a split exactly for lambda <= lambda(level_h)                            (2)

Levels are indices into the table of breakpoints, ratios of two integers, so nothing is rounded. Levels never rise
from parent to child.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from formulations.cost_items import exact
from formulations.errors import InvalidInputError
from formulations.problem import PruningProblem
from formulations.pruning import Pruning
from formulations.routing import Amount

if TYPE_CHECKING:
    import pandas as pd

NEVER = -1
"""Level of a split that no lambda >= 0 keeps, with ties="largest" (with "smallest" it is 0)."""


@dataclass(frozen=True, eq=False)
class PathCertificate:
    """One dual state that proves the path optimal for every lambda >= 0 at once.

    ``load[k] / denominator[level of tail[k]]`` integer gains of split `tail[k]` are shipped to the purchase `head[k]`
    (arcs in the canonical order of `formulations.usage`). Each split first kept at a breakpoint ships to items first
    paid there, and the items' loads are lambda times their price there; for another lambda, scale a load that exceeds
    its price down to it.
    """

    load: NDArray[np.int64]
    denominator: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PruningPath:
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
        which optimum is held where there are several.
    certificate
        proof of optimality for all lambda.
    """

    problem: PruningProblem
    level: NDArray[np.int32]
    breakpoints: tuple[Fraction, ...]
    ties: Literal["smallest", "largest"] = "smallest"
    certificate: PathCertificate | None = None
    stats: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def lam(self) -> NDArray[np.float64]:
        """Lambda of each row, float64."""
        lam = [float(b) for b in self.breakpoints]
        return np.array(lam if self.ties == "smallest" else [*lam, math.inf])

    def __len__(self) -> int:
        return len(self.breakpoints) + (self.ties == "largest")

    def __iter__(self) -> Iterator[Pruning]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> Pruning:
        """The pruning of row k (negative k count from the end)."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"row {k} of a path with {len(self)} rows")
        return Pruning(self.problem, self._kept(k % len(self)))

    def _kept(self, k: int) -> NDArray[np.bool_]:
        kept = self.level > k if self.ties == "smallest" else self.level >= k
        return kept & self.problem.ensemble.is_split

    @cached_property
    def _purchase_level(self) -> NDArray[np.int32]:
        """The highest level of any split that needs the purchase, for every purchase; NEVER where there is none."""
        p = self.problem
        return p.highest_user(p.splits, self.level)

    @cached_property
    def integer_cost(self) -> tuple[int, ...]:
        """Cost of each row in units of ``problem.integers.price_unit``."""
        p = self.problem
        paid = np.zeros(len(self.breakpoints) + 2, dtype=np.int64)
        np.add.at(paid, self._purchase_level + 1, p.purchase_price())
        np.add.at(paid, self.level[p.splits] + 1, p.integers.evaluation[p.splits])
        return tuple(int(x) for x in self._above(paid))

    def _above(self, by_level: NDArray[Amount]) -> NDArray[Amount]:
        """Sum over the levels that row k keeps, for each k, of amounts by level + 1."""
        tail: NDArray[Amount] = np.cumsum(by_level[::-1])[::-1]
        first = 2 if self.ties == "smallest" else 1
        return tail[first : first + len(self)]

    @cached_property
    def integer_gain(self) -> tuple[int, ...]:
        """Sum of the kept splits' gains of each row in units of ``problem.integers.gain_unit``."""
        p = self.problem
        gained = np.zeros(len(self.breakpoints) + 2, dtype=np.int64)
        np.add.at(gained, self.level[p.splits] + 1, p.integers.gain[p.splits])
        return tuple(int(x) for x in self._above(gained))

    @cached_property
    def exact_cost(self) -> tuple[Fraction, ...]:
        """Cost of each row as a fraction, falling with lambda; exact up to ``problem.integers.cost_rounding``."""
        return tuple(c * self.problem.integers.price_unit for c in self.integer_cost)

    @cached_property
    def exact_error(self) -> tuple[Fraction, ...]:
        """Error of each row as a fraction, rising with lambda; exact up to ``problem.integers.error_rounding``."""
        p = self.problem
        roots = p.errors.of_all_roots(p.ensemble)
        return tuple(roots - g * p.integers.gain_unit for g in self.integer_gain)

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Cost of each row: per example of the cost sample, in the unit of the prices; of the real prices and weights."""
        p = self.problem
        if p.integers.cost_rounding == 0:
            return np.array([float(c) for c in self.exact_cost])
        paid = np.zeros(len(self.breakpoints) + 2)
        np.add.at(paid, self._purchase_level + 1, p.real_purchase_price())
        np.add.at(paid, self.level[p.splits] + 1, p.evaluation_price[p.splits])
        return self._above(paid)

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """Error of each row: the trees' mean error on the error sample."""
        p = self.problem
        if p.integers.error_rounding == 0:
            return np.array([float(e) for e in self.exact_error])
        gained = np.zeros(len(self.breakpoints) + 2)
        np.add.at(gained, self.level[p.splits] + 1, p.gain[p.splits])
        return np.maximum(Pruning.all_roots(p).error - self._above(gained), 0.0)

    @cached_property
    def n_splits(self) -> NDArray[np.int64]:
        """Splits kept in each row."""
        count = np.bincount(self.level[self.problem.splits] + 1, minlength=len(self.breakpoints) + 2)
        return self._above(count.astype(np.int64))

    def to_frame(self) -> pd.DataFrame:
        """One row a breakpoint: lambda, cost, error, splits."""
        import pandas as pd

        return pd.DataFrame({"lambda": self.lam, "cost": self.cost, "error": self.error, "splits": self.n_splits})

    def between(self, k: int) -> Fraction:
        """The breakpoint at which both the rows k and k + 1 are optimal."""
        return self.breakpoints[k + 1 if self.ties == "smallest" else k]

    def row_at_cost(self, budget: float) -> int:
        """The row of least error whose cost is at most the budget; compared as exact fractions where nothing was rounded."""
        limit = exact(budget, "budget")
        rounded = self.problem.integers.cost_rounding > 0
        costs: Sequence[Fraction] | NDArray[np.float64] = self.cost if rounded else self.exact_cost
        for k in range(len(self)):
            if costs[k] <= (float(limit) if rounded else limit):
                return k
        raise InvalidInputError(  # the last row pays for nothing, unless rounding says otherwise
            f"budget is {budget}, the cheapest pruning costs {float(self.cost[-1]):g}; give at least that"
        )

    def at_cost(self, budget: float) -> Pruning:
        """The best breakpoint whose cost on the cost sample is <= budget.

        It is the least error among the *breakpoints*; a pruning inside a hull edge may be better still.

        Raises
        ------
        InvalidInputError
            if the budget is negative or NaN.
        """
        return self[self.row_at_cost(budget)]

    def row_at_lam(self, lam: float | Fraction) -> int:
        """The row that is optimal at lambda >= 0.

        A fraction is compared exactly, a float with the breakpoints rounded to floats, so that every ``path.lam[k]`` finds row k.
        """
        table: Sequence[Fraction] | Sequence[float] = self.breakpoints
        if not isinstance(lam, Fraction):
            if lam != math.inf:
                exact(lam, "lam")
            table = [float(b) for b in self.breakpoints]
        elif lam < 0:
            raise InvalidInputError(f"lam is {lam}, negative; give a number >= 0")
        if self.ties == "smallest":
            return bisect.bisect_right(table, lam) - 1
        return bisect.bisect_left(table, lam)

    def at_lam(self, lam: float | Fraction) -> Pruning:
        """The optimal pruning at lambda (the smallest or largest one, as `ties` says)."""
        return self[self.row_at_lam(lam)]

    def at_error(self, max_error: float) -> Pruning:
        """The cheapest breakpoint whose error is <= max_error.

        Raises
        ------
        InvalidInputError
            if no pruning has so small an error, or the number is NaN.
        """
        good = np.flatnonzero(self.error <= max_error)
        if not good.size:
            raise InvalidInputError(
                f"max_error is {max_error}, the least error of any pruning is {self.error.min():g}; give at least that"
            )
        return self[int(good[-1])]

    def __repr__(self) -> str:
        return (
            f"PruningPath({len(self.breakpoints)} breakpoints, cost {self.cost[-1]:.4g} to {self.cost[0]:.4g}, "
            f"error {self.error[0]:.4g} to {self.error[-1]:.4g})"
        )
