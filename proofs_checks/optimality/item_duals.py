"""Duals, how much of each purchase's price each split bears, checked arc by arc; and the bound that they prove.

    OPT  >=  error of the all-roots forest  -  sum over trees of the best closure,  profit_h = gain_h - lambda a_h - loads_h   (1)

(a_h: what evaluating split h costs) holds for all duals >= 0 that charge no purchase more than lambda times its price: relax the
coupling rows, weak duality. It bounds the linear relaxation of IP3 as well, for what is left falls apart into trees whose
relaxations are integral.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import ItemDuals
from proofs_checks.optimality.recount import Recount, Refuted
from proofs_checks.optimality.tree_worth import tree_worth
from proofs_checks.optimality.wide_sums import WideSums, wide_sum


def bound_of_duals(recount: Recount, certificate: ItemDuals) -> Fraction:
    """(1) at the certificate's lambda.

    Raises
    ------
    Refuted
        if the duals are not allowed.
    """
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
    """The duals of each split, in `unit`, after checking that they are allowed.

    Parameters
    ----------
    dual
        of the usage arcs of `nodes`, default: all splits.
    paid
        purchases that are paid already, on which no load is allowed.

    Raises
    ------
    Refuted
        if one is not allowed; the message says which.
    """
    dual = whole_numbers(dual)
    if not unit > 0:
        raise Refuted(f"the unit of the duals is {unit}; it must be above 0")
    charged = dict.fromkeys(recount.splits if nodes is None else nodes, 0)
    borne, end = WideSums(recount.n_purchases), 0
    for segment in recount.segments(nodes):
        end = segment.last
        part = dual[segment.first : segment.last]
        if not part.any() or part.size < segment.purchases.size:
            continue
        if (part < 0).any():
            bad = recount.name(int(segment.purchases[np.argmin(part)]))
            raise Refuted(f"the dual of split {segment.split} on {bad} is negative")
        if paid is not None and paid[segment.purchases[part > 0]].any():
            raise Refuted(f"split {segment.split} bears a part of a purchase of item {segment.item} that is paid already")
        charged[segment.split] += wide_sum(part)
        borne.add(segment.purchases, part)
    if dual.shape != (end,):
        raise Refuted(f"{dual.size} duals for {end} usage arcs")
    _check_prices(recount, borne, lam * recount.cost_unit / unit)
    return charged


def whole_numbers(dual: Any) -> NDArray[np.int64]:
    """The duals as int64.

    Raises
    ------
    Refuted
        if they are no such array.
    """
    if not isinstance(dual, np.ndarray) or dual.ndim != 1 or not np.can_cast(dual.dtype, np.int64):
        kind = f"{dual.dtype} of shape {dual.shape}" if isinstance(dual, np.ndarray) else type(dual).__name__
        raise Refuted(f"the duals are {kind}; they must be an array of 64-bit integers, one for each usage arc")
    return dual.astype(np.int64)


def _check_prices(recount: Recount, borne: WideSums, rate: Fraction) -> None:
    """No purchase bears more than `rate` times its integer price."""
    for m in range(recount.costs.n_items):
        if recount.priced[m]:
            sums = borne.of(recount.by_item(m))
            over = sums * rate.denominator > recount.prices(m) * rate.numerator
            if over.any():
                k = int(np.argmax(over))
                allowed = rate * int(recount.prices(m)[k])
                times = float(int(sums[k]) / allowed) if allowed else math.inf
                where = recount.name(recount.by_item(m).start + k)
                raise Refuted(f"the duals on {where} are more than its price: {times:.17g} times as much")
