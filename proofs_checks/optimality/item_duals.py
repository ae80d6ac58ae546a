"""Duals, how much of each purchase's price each split pays, checked arc by arc; and the bound that they prove.

    OPT  >=  error of the all-roots forest  -  sum over trees of the best closure,  profit_h = gain_h - lambda a_h - duals_h   (1)

(a_h: what evaluating split h costs) holds for all duals >= 0 that charge no purchase more than lambda times its price: relax the
coupling rows, weak duality. It bounds the linear relaxation of IP3 as well, for what is left falls apart into trees whose
relaxations are integral.

The best closure of each tree, in integers of any length:

    worth_h  =  profit_h + max(0, worth_left) + max(0, worth_right),       over the open splits                           (2)

All trees together are worth the sum of max(0, worth) over the tops, the open splits whose parent is not open. Forcing a split in,
or out, loses

    lost_in_h   =  lost_in_parent - min(0, worth_h),                      0 above a top                                    (3)
    lost_out_h  =  min(max(0, worth_h), lost_out_parent),                 max(0, worth_h) at a top                         (4)

because a loss at h lowers its parent's worth by as much, which lowers what the parent adds by at most what it adds.

Sums of 64-bit integers that may not fit 64 bits add up two parts apart, which is exact for up to 2^31 terms:

    x  =  2^32 high(x) + low(x),    0 <= low(x) < 2^32                                                                     (5)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import ItemDuals
from proofs_checks.optimality.recount import Recount, Refuted


@dataclass(frozen=True, eq=False)
class ForcedValues:
    """The best closure's worth, and (3) and (4) of every open split."""

    best: int
    lost_in: Mapping[int, int]
    lost_out: Mapping[int, int]


def tree_worth(
    profit: Mapping[int, int], left: Sequence[int], right: Sequence[int], parent: Sequence[int]
) -> tuple[dict[int, int], int]:
    """(2) of every open split, the keys of `profit`, which stand in ascending order; and the best closure's worth."""
    worth: dict[int, int] = {}
    best = 0
    for h in reversed(profit):
        below = worth.get(left[h], 0), worth.get(right[h], 0)
        worth[h] = profit[h] + max(0, below[0]) + max(0, below[1])
        if parent[h] not in profit:
            best += max(0, worth[h])
    return worth, best


def forced(profit: Mapping[int, int], left: Sequence[int], right: Sequence[int], parent: Sequence[int]) -> ForcedValues:
    """(3) and (4) by one pass up and one down."""
    worth, best = tree_worth(profit, left, right, parent)
    lost_in: dict[int, int] = {}
    lost_out: dict[int, int] = {}
    for h in profit:
        adds = max(0, worth[h])
        lost_in[h] = lost_in.get(parent[h], 0) + adds - worth[h]
        lost_out[h] = min(adds, lost_out.get(parent[h], adds))
    return ForcedValues(best, lost_in, lost_out)


def bound_of_duals(recount: Recount, certificate: ItemDuals) -> Fraction:
    """(1) at the certificate's lambda."""
    charged = charges_of_duals(recount, certificate.dual, certificate.unit, certificate.lam)
    profit, unit = profits(recount, certificate.lam, charged, certificate.unit)
    _, best = tree_worth(profit, recount.left, recount.right, recount.parent)
    return recount.roots_error() * recount.error_unit - best * unit


def profits(recount: Recount, lam: Fraction, charged: dict[int, int], unit: Fraction) -> tuple[dict[int, int], Fraction]:
    """The profit of each split of `charged` by (1), in integers; and their unit."""
    rate = lam * recount.cost_unit
    denominator = math.lcm(recount.error_unit.denominator, rate.denominator, unit.denominator)
    gain, evaluation, charge = (int(u * denominator) for u in (recount.error_unit, rate, unit))
    profit = {h: recount.gain(h) * gain - recount.evaluation[h] * evaluation - c * charge for h, c in charged.items()}
    return profit, Fraction(1, denominator)


def charges_of_duals(
    recount: Recount,
    dual: NDArray[Any] | None,
    unit: Fraction,
    lam: Fraction,
    nodes: list[int] | None = None,
    paid: NDArray[np.bool_] | None = None,
) -> dict[int, int]:
    """The duals of each split, in `unit`, after checking that they are allowed: none on purchases that are paid already."""
    dual = whole_numbers(dual)
    if not unit > 0:
        raise Refuted(f"the unit of the duals is {unit}; it must be above 0")
    charged = dict.fromkeys(recount.splits if nodes is None else nodes, 0)
    payments, end = WideSums(recount.n_purchases), 0
    for segment in recount.segments(nodes):
        end = segment.last
        part = dual[segment.first : segment.last]
        if not part.any() or part.size < segment.purchases.size:
            continue
        if (part < 0).any():
            bad = recount.name(int(segment.purchases[np.argmin(part)]))
            raise Refuted(f"the dual of split {segment.split} on {bad} is negative")
        if paid is not None and paid[segment.purchases[part > 0]].any():
            raise Refuted(f"split {segment.split} pays a part of a purchase of item {segment.item} that is paid already")
        charged[segment.split] += wide_sum(part)
        payments.add(segment.purchases, part)
    if dual.shape != (end,):
        raise Refuted(f"{dual.size} duals for {end} usage arcs")
    _check_prices(recount, payments, lam * recount.cost_unit / unit)
    return charged


def whole_numbers(dual: Any) -> NDArray[np.int64]:
    """The duals as int64."""
    if not isinstance(dual, np.ndarray) or dual.ndim != 1 or not np.can_cast(dual.dtype, np.int64):
        kind = f"{dual.dtype} of shape {dual.shape}" if isinstance(dual, np.ndarray) else type(dual).__name__
        raise Refuted(f"the duals are {kind}; they must be an array of 64-bit integers, one for each usage arc")
    return dual.astype(np.int64)


def _check_prices(recount: Recount, payments: WideSums, rate: Fraction) -> None:
    """For no purchase more than `rate` times its integer price is paid."""
    for m in range(recount.costs.n_items):
        if recount.priced[m]:
            sums = payments.of(recount.by_item(m))
            over = sums * rate.denominator > recount.prices(m) * rate.numerator
            if over.any():
                k = int(np.argmax(over))
                allowed = rate * int(recount.prices(m)[k])
                times = float(int(sums[k]) / allowed) if allowed else math.inf
                where = recount.name(recount.by_item(m).start + k)
                raise Refuted(f"the duals on {where} are more than its price: {times:.17g} times as much")


_BITS = 32
_LOW = np.int64(2**_BITS - 1)


def wide_sum(amounts: NDArray[np.int64]) -> int:
    """The sum, by (5)."""
    return (int((amounts >> _BITS).sum()) << _BITS) + int((amounts & _LOW).sum())


class WideSums:
    """A table of sums, by (5)."""

    def __init__(self, size: int) -> None:
        self._high = np.zeros(size, dtype=np.int64)
        self._low = np.zeros(size, dtype=np.int64)

    def add(self, places: NDArray[np.integer[Any]], amounts: NDArray[np.int64]) -> None:
        """Add an amount at each of some places; no place twice in one call."""
        self._high[places] += amounts >> _BITS
        self._low[places] += amounts & _LOW

    def of(self, places: slice) -> NDArray[np.object_]:
        """The sums at some places, as Python's integers."""
        sums: NDArray[np.object_] = self._high[places].astype(object) * 2**_BITS + self._low[places].astype(object)
        return sums
