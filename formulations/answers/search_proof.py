"""What proves a bound of the error within limits: the tree of a search, whose leaves are proven by multipliers.

The steps stand in the order in which a walk meets them, a branch before what is below it. A walk begins with no split decided.

    Branch      decides one split: first pruned, and all below it, then kept, and all above it                             (1)
    Fixed       goes on with some splits decided, since the other way each of them is proven to err at least the bound        (2)
    TooMuch     goes on without some splits: what is kept, with each of them and all above it, uses more of a limit than B     (3)
    Closed      ends: multipliers and payments prove the bound                                                               (4)
    Exceeded    ends: what is kept uses more of a limit than B                                                               (5)

For multipliers mu >= 0, kept splits K and open splits, and payments d of open splits for purchases that K does not make, with
no purchase paid more than sum_r mu_r amount_r, no pruning that agrees with what is decided errs less than

    error of single leaves - gain(K) + sum_r mu_r (use_r(K) - B_r) - sum over trees of their best closures of open splits,
                                                                each at its gain - sum_r mu_r amount_r - its payments       (6)

A search in a window begins between two nested prunings, inner and outer, that are optimal at multipliers ``high`` and ``low``, up
to what their payments leave open. Its multipliers lie between the two; then (6) holds for all prunings, less what is left open,
if what is decided outside the window is forgotten: (6) of `solvers.within.core`. No step (3) or (5) is in a window.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import SharedPrices
from formulations.arguments import checked
from formulations.shown import Brief

Multipliers = tuple[tuple[int, int | None, Fraction], ...]
"""(k, i, mu): mu > 0 of ``limits[k]``; i is None but where that is about every example, of which it is the row."""


@dataclass(frozen=True, eq=False, repr=False)
class Payments(Brief):
    """How much of each purchase's price which split pays."""

    split: NDArray[np.int32]  # shape (k,): a split
    # item, row: int32, shape (k,): what it pays for: an item of the instance, and the place of the example among those of
    # positive weight; -1 where the item is paid once for all
    item: NDArray[np.int32]
    row: NDArray[np.int32]
    paid: NDArray[np.int64]  # shape (k,): how much, in `unit` of error; >= 0
    unit: Fraction

    @property
    def n_bytes(self) -> int:
        """What they take in memory."""
        return int(self.split.nbytes + self.item.nbytes + self.row.nbytes + self.paid.nbytes)


@dataclass(frozen=True, eq=False, repr=False)
class Priced(Brief):
    """Multipliers and payments. Where no split is decided, scores may stand in their place, with the pruning of theirs."""

    multipliers: Multipliers
    payments: Payments | SharedPrices
    kept: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Branch:
    """(1)."""

    split: int


@dataclass(frozen=True, eq=False, repr=False)
class Fixed(Brief):
    """(2): int32, the splits that are kept with all above them, and those that are pruned with all below them."""

    priced: Priced
    kept: NDArray[np.int32]
    pruned: NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class TooMuch(Brief):
    """(3): the limit and, where it is about every example, the row; int32: the splits."""

    limit: int
    row: int | None
    splits: NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Closed(Brief):
    """(4)."""

    priced: Priced


@dataclass(frozen=True)
class Exceeded:
    """(5)."""

    limit: int
    row: int | None


Step = Branch | Fixed | TooMuch | Closed | Exceeded


@dataclass(frozen=True, eq=False, repr=False)
class SearchWindow(Brief):
    """Two nested prunings, bool, shape (n,), and what proves that they are optimal at `high` and `low`."""

    inner: NDArray[np.bool_]
    outer: NDArray[np.bool_]
    high: Priced | None  # None: nothing is kept
    low: Priced | None  # None: everything is


@dataclass(frozen=True, eq=False)
class SearchProof:
    """The tree of a search.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.solve(problem, budget=10).proof
    SearchProof(10 steps, 3 of them leaves)
    """

    steps: tuple[Step, ...]
    window: SearchWindow | None = None

    @property
    def n_leaves(self) -> int:
        """Steps (4) and (5)."""
        return sum(isinstance(step, Closed | Exceeded) for step in self.steps)

    @checked
    def of_limit(self, k: int) -> SearchProof:
        """The proof of one limit, as one of several of which it is the k-th."""

        def priced(old: Priced) -> Priced:
            return replace(old, multipliers=tuple((k, row, mu) for _, row, mu in old.multipliers))

        def renumbered(step: Step) -> Step:
            if isinstance(step, Fixed | Closed):
                return replace(step, priced=priced(step.priced))
            return replace(step, limit=k) if isinstance(step, TooMuch | Exceeded) else step

        window = self.window
        if window is not None:
            high, low = (None if end is None else priced(end) for end in (window.high, window.low))
            window = replace(window, high=high, low=low)
        return SearchProof(tuple(map(renumbered, self.steps)), window)

    def __repr__(self) -> str:
        return f"SearchProof({len(self.steps):,} steps, {self.n_leaves:,} of them leaves)"

    @property
    def n_bytes(self) -> int:
        """What the payments and decided splits take in memory."""
        total = 0
        for step in self.steps:
            if isinstance(step, Fixed):
                total += step.kept.nbytes + step.pruned.nbytes
            elif isinstance(step, TooMuch):
                total += step.splits.nbytes
            if isinstance(step, Fixed | Closed):
                total += _bytes(step.priced)
        if self.window is not None:
            total += self.window.inner.nbytes + self.window.outer.nbytes
            total += sum(_bytes(priced) for priced in (self.window.high, self.window.low) if priced is not None)
        return total


def _bytes(priced: Priced) -> int:
    found = priced.payments
    if isinstance(found, Payments):
        return found.n_bytes
    duals = 0 if found.dual is None else found.dual.nbytes
    return duals + found.nodes.nbytes + found.score.nbytes + sum(s.nodes.nbytes + s.score.nbytes for s in found.stages)
