"""What a run may still spend. With P paid so far, R reserved for requests in flight, and a limit L, a request is made if

P + R + (rows of the request) (its price and fees for a row) + (prices of its items that are paid once for all)  <=  L.  (1)

Two requests of a round to the same supplier are one call of a row, but count as two here: P and R are never too small.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import exact
from prunemodels.on_demand.call_log import CallLog
from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.request import NEVER, Request


class Spending:
    """The account of one run.

    Parameters
    ----------
    plan
        prices of items.
    paid_by
        int32, shape (n, M): the walk's own array of the requests that paid the rows' items, `NEVER` where none did.
    calls
        whom the rows have asked.
    most
        L of (1): a number >= 0; None: no limit.

    Raises
    ------
    InvalidInputError
        for a limit that is no number >= 0.
    """

    def __init__(self, plan: PurchasePlan, paid_by: NDArray[np.int32], calls: CallLog, most: Any) -> None:
        self._plan, self._paid_by, self._limit = plan, paid_by, None if most is None else exact(most, "max_total_cost")
        self._once = dict(zip(plan.costs.names, plan.costs.paid_once.tolist(), strict=True))
        self._price = dict(zip(plan.costs.names, plan.costs.prices, strict=True))
        self._paid_for_all = np.zeros(plan.costs.n_items, dtype=bool)
        self._paid = self._amount(paid_by != NEVER) + int(calls.units().sum()) * plan.unit
        self._reserved: dict[int, Fraction] = {}
        self._in_flight = Fraction(0)

    def _amount(self, paid: NDArray[np.bool_]) -> Fraction:
        """What rows paid for items, bool of shape (rows, M); items paid once for all count when they are met first."""
        new = paid.any(axis=0) & self._plan.costs.paid_once & ~self._paid_for_all
        self._paid_for_all |= new
        once = sum((self._plan.costs.prices[m] for m in np.flatnonzero(new)), Fraction(0))
        return int((paid @ self._plan.item_units).sum()) * self._plan.unit + once

    def _fees(self, request: Request) -> Fraction:
        asks = self._plan.asks
        return sum((asks.fees[asks.names.index(name)] for name in request.suppliers), Fraction(0))

    def allows(self, request: Request) -> bool:
        """(1); if it holds, the request's price is reserved."""
        if self._limit is None:
            return True
        amount = len(request.rows) * (request.price + self._fees(request))
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
            self._paid += len(request.rows) * self._fees(request)
            self._in_flight -= self._reserved.pop(request.number)
