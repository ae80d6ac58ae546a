"""What the splits and purchases of a core use of every limit, and one row in the place of all of them.

For multipliers d >= 0 no pruning within the limits breaks the *surrogate* row

    sum_r d_r use_r  <=  sum_r d_r B_r                                                                                     (1)

so the least error within it bounds the least error within the limits, at least as well as D(lambda d) of `solvers.within.oracle`
for every lambda: that is its Lagrangian. A search prices splits and purchases by (1) in integers, prices rounded down, and looks
at the rows themselves only to see what fits and what never will.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.programs.limit_rows import LimitRows
from solvers.closures.grids import PRICE_MARGIN, exponent_of, ldexp

EXACT_TOTAL = 2.0**52
"""Rows whose uses are integers that add up to less are counted exactly."""

SAME = 1e-12
"""Other uses are compared up to this share of the limit; what a search finds is checked in fractions."""

SURROGATE_BITS = 16
"""So many bits of 60 are left free in the integers of (1), for lambda."""


Rates = tuple[Fraction, ...]
"""A multiplier for each of R rows."""


@dataclass(frozen=True, eq=False)
class RowUses:
    """Uses of the k splits and j purchases of a core, and what is left of every limit.

    Parameters
    ----------
    of_splits, of_purchases
        float64, shape (k, R) and (j, R): integers where `same` is 0.
    room
        float64, shape (R,): what the kept splits leave of every limit, below 0 where they exceed it.
    same
        float64, shape (R,): what counts as equal.
    scale
        float64, shape (R,): the uses here are those of the limits times this.
    """

    of_splits: sparse.csr_array
    of_purchases: sparse.csr_array
    room: NDArray[np.float64]
    same: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, rows: LimitRows, own: sparse.csr_array, nodes: NDArray[np.int32], purchases: NDArray[np.int32]) -> Self:
        """Of some splits, whose own uses stand in the rows of `own`, and purchases of the metered instance."""
        of_splits, of_purchases = sparse.csr_array(own[nodes]), amounts_of(rows, purchases)
        total = np.asarray(of_splits.sum(axis=0)).ravel() + np.asarray(of_purchases.sum(axis=0)).ravel()
        scales, off = rows.integer_scales, rows.relative_error
        size = [float(total[r]) * float(s) for r, s in enumerate(scales)]
        whole = np.array([x < EXACT_TOTAL and x * off < 0.25 for x in size], dtype=bool)
        scale = np.array([float(s) if fit else 1.0 for fit, s in zip(whole, scales, strict=True)])
        rooms = [rows.room(r) * s // 1 if fit else rows.room(r) for r, (fit, s) in enumerate(zip(whole, scales, strict=True))]
        room = np.array([float(x) for x in rooms])
        same = np.where(whole, 0.0, SAME * np.abs(room))
        return cls(_scaled(of_splits, scale, whole), _scaled(of_purchases, scale, whole), room, same, scale)

    def by(self, keep: NDArray[np.bool_], used: NDArray[np.bool_]) -> NDArray[np.float64]:
        """What some splits and purchases use; float64, shape (R,)."""
        found: NDArray[np.float64] = self.of_splits.T @ keep.astype(np.float64) + self.of_purchases.T @ used.astype(np.float64)
        return found

    def fit(self, use: NDArray[np.float64]) -> bool:
        """Whether what is used fits the room."""
        return bool((use <= self.room + self.same).all())

    def restricted(self, splits: NDArray[np.bool_], purchases: NDArray[np.int32], spent: NDArray[np.float64] | None) -> RowUses:
        """Of some of the splits and purchases, with less room."""
        room = self.room if spent is None else self.room - spent
        return replace(
            self, of_splits=self.of_splits[np.flatnonzero(splits)], of_purchases=self.of_purchases[purchases], room=room
        )

    def merged(self, place: NDArray[np.int32], count: int) -> RowUses:
        """With purchases added up that have become one."""
        into = sparse.csr_array((np.ones(place.size), (place, np.arange(place.size))), shape=(count, place.size))
        return replace(self, of_purchases=sparse.csr_array(into @ self.of_purchases))

    def after(self, used: NDArray[np.float64]) -> RowUses:
        """With less room, by uses of the limits themselves."""
        return replace(self, room=self.room - np.where(self.same > 0, used * self.scale, np.rint(used * self.scale)))

    def own(self, tail: NDArray[np.int32], head: NDArray[np.int32]) -> sparse.csr_array:
        """What each split uses with its purchases, as if no other split made them; shape (k, R)."""
        shape = (self.of_splits.shape[0], self.of_purchases.shape[0])
        return sparse.csr_array(
            self.of_splits + sparse.csr_array((np.ones(tail.size), (tail, head)), shape=shape) @ self.of_purchases
        )


def amounts_of(rows: LimitRows, purchases: NDArray[np.int32]) -> sparse.csr_array:
    """What purchases of the metered instance use of every row; float64, shape (j, R)."""
    n = rows.problem.usage.n_rows
    m = rows.amounts.shape[1]
    once = purchases >= m * n
    item, row = np.where(once, purchases - m * n, purchases // n), np.where(once, 0, purchases % n)
    found = sparse.csr_array(sparse.csr_array(rows.share.T)[row])
    found.data *= rows.amounts[rows.limit_of_row[found.indices], np.repeat(item, np.diff(found.indptr))]
    if once.any():
        by_item = sparse.csr_array((np.ones(int(once.sum())), (np.flatnonzero(once), item[once])), shape=(once.size, m))
        not_once = sparse.diags_array(np.where(once, 0.0, 1.0))
        found = sparse.csr_array(not_once @ found + by_item @ rows.amounts[rows.limit_of_row].T)
    found.eliminate_zeros()
    return found


def _scaled(uses: sparse.csr_array, scale: NDArray[np.float64], whole: NDArray[np.bool_]) -> sparse.csr_array:
    found = uses.copy()
    found.data = found.data * scale[found.indices]
    found.data = np.where(whole[found.indices], np.rint(found.data), found.data)
    return found


@dataclass(frozen=True, eq=False)
class Surrogate:
    """The integers of (1): what one unit of a price at lambda is, in multipliers of the limits."""

    direction: NDArray[np.float64]  # d, float64, shape (R,)
    unit: Fraction  # multipliers are lambda * unit * d, with lambda in integer gain per integer price

    def multipliers(self, lam: Fraction) -> Rates:
        """At lambda, exactly."""
        rate = lam * self.unit
        return tuple(rate * Fraction(d) if d else Fraction(0) for d in self.direction.tolist())


@dataclass(frozen=True, eq=False)
class SurrogatePrices:
    """Splits and purchases priced by (1), int64; the room of (1); and 2^exponent, what a unit of use at d is."""

    own: NDArray[np.int64]
    price: NDArray[np.int64]
    room: int
    exponent: int


def surrogate_prices(uses: RowUses, direction: NDArray[np.float64]) -> SurrogatePrices:
    """(1) in integers."""
    each = direction / uses.scale
    own, price = uses.of_splits @ each, uses.of_purchases @ each
    exponent = exponent_of(float(own.sum() + price.sum()) or 1.0) - SURROGATE_BITS
    room = sum(
        (Fraction(float(e)) * Fraction(float(b + s)) for e, b, s in zip(each, uses.room, uses.same, strict=True) if e),
        Fraction(0),
    )
    down = [np.floor(ldexp(x * PRICE_MARGIN, exponent)).astype(np.int64) for x in (own, price)]
    return SurrogatePrices(down[0], down[1], int(room * Fraction(2) ** exponent // 1), exponent)
