"""What the rows of a walk have paid and may spend.

With P paid so far, R reserved for requests in flight, and a limit L, a request is made if

    P + R + (rows of the request) (its price for a row) + (prices of its items that are paid once for all)  <=  L.          (1)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import exact
from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.request import NEVER, Request


class Spending:
    """The account of one run.

    `plan`: prices of items. `paid_by`: int32, shape (n, M): the walk's own array of the requests that paid the rows' items,
    `NEVER` where none did. `most`: L of (1): a number >= 0; None: no limit.
    """

    def __init__(self, plan: PurchasePlan, paid_by: NDArray[np.int32], most: Any) -> None:
        self._plan, self._paid_by, self._limit = plan, paid_by, None if most is None else exact(most, "max_total_cost")
        self._once = dict(zip(plan.costs.names, plan.costs.paid_once.tolist(), strict=True))
        self._price = dict(zip(plan.costs.names, plan.costs.prices, strict=True))
        self._paid_for_all = np.zeros(plan.costs.n_items, dtype=bool)
        self._paid = self._amount(paid_by != NEVER)
        self._reserved: dict[int, Fraction] = {}
        self._in_flight = Fraction(0)

    def _amount(self, paid: NDArray[np.bool_]) -> Fraction:
        """What rows paid for items, bool of shape (rows, M); items paid once for all count when they are met first."""
        new = paid.any(axis=0) & self._plan.costs.paid_once & ~self._paid_for_all
        self._paid_for_all |= new
        once = sum((self._plan.costs.prices[m] for m in np.flatnonzero(new)), Fraction(0))
        return int((paid @ self._plan.item_units).sum()) * self._plan.unit + once

    def allows(self, request: Request) -> bool:
        """(1); if it holds, the request's price is reserved."""
        if self._limit is None:
            return True
        amount = len(request.rows) * request.price
        amount += sum((self._price[m] for m in request.items if self._once[m]), Fraction(0))
        if self._paid + self._in_flight + amount > self._limit:
            return False
        self._reserved[request.number] = amount
        self._in_flight += amount
        return True

    def book(self, request: Request) -> None:
        """Replace what was reserved for an answered request by what its rows paid."""
        if self._limit is not None:
            self._paid += self._amount(self._paid_by[request.positions] == request.number)
            self._in_flight -= self._reserved.pop(request.number)


def account_of(plan: PurchasePlan, paid_by: NDArray[np.int32], steps: NDArray[np.int64]) -> dict[str, Any]:
    """What was bought, and what it cost: fields of `OnDemandResult`.

    `paid_by`: shape (n, M): number of the request that paid the item, `NEVER` if none did. `steps`: shape (n,): price of the
    splits evaluated, in units.
    """
    costs, paid = plan.costs, paid_by != NEVER
    for_all = np.flatnonzero(costs.paid_once & paid.any(axis=0))
    first = [int(paid_by[paid[:, m], m].min()) for m in for_all]
    return {
        "bought": _bought(costs.names, np.where(costs.paid_once, NEVER, paid_by)),
        "once": tuple(costs.names[m] for m in for_all[np.argsort(first, kind="stable")]),
        "units": steps + paid @ plan.item_units,
        "unit": plan.unit,
        "once_cost": sum((costs.prices[m] for m in for_all), Fraction(0)),
    }


def _bought(names: tuple[str, ...], paid_by: NDArray[np.int32]) -> tuple[tuple[str, ...], ...]:
    """Each row's items by the request that paid them, then in the order of the items."""
    row, item = np.nonzero(paid_by != NEVER)
    order = np.lexsort((item, paid_by[row, item], row))
    named = [names[m] for m in item[order]]
    ends = np.cumsum(np.bincount(row, minlength=paid_by.shape[0])).tolist()
    return tuple(tuple(named[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True))
