"""The requests that a walk makes: those of a round, and those that take the place of one whose answer left values out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.instance.requests import AT_HAND
from prunemodels.on_demand.answers import Answer
from prunemodels.on_demand.orders import Bundle
from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.request import NEVER, Request


class NumberedRequests:
    """Makes the requests of one walk, and numbers them.

    Parameters
    ----------
    plan
        features, items and prices.
    rows
        labels of the walk's rows.
    """

    def __init__(self, plan: PurchasePlan, rows: pd.Index[Any]) -> None:
        self._plan, self._rows, self._made = plan, rows, 0

    def of_round(
        self,
        bundles: Iterable[tuple[Bundle, NDArray[np.int64]]],
        rows: NDArray[np.int64],
        paid: NDArray[np.bool_],
        most: int | None,
    ) -> list[Request]:
        """The requests for the wanted features, each of at most `most` rows.

        Parameters
        ----------
        bundles
            from `Orders.of`, with places in `rows`.
        paid
            bool, shape (n, M): the items that each row has paid.
        """
        once = self._plan.costs.paid_once
        paid_for_all = once & paid.any(axis=0)
        requests = []
        for (items, features), members in bundles:
            step = most or members.size
            for first in range(0, members.size, step):
                to_pay = [m for m in items if not paid_for_all[m]]
                paid_for_all[to_pay] |= once[to_pay]
                made = self._request(to_pay, features, rows[members[first : first + step]], 1, self._suppliers(to_pay))
                requests.append(made)
        return requests

    def remaining(
        self, request: Request, given: Answer, paid_by: NDArray[np.int32], others: Iterable[Request], attempt: int
    ) -> list[Request]:
        """Requests for what an answer left out; they name the items that what came does not pay.

        Parameters
        ----------
        paid_by
            int32, shape (n, M): the request that paid each row's items before, `NEVER` where none did.
        others
            requests that are open. What they buy once for all is not bought again.
        attempt
            of the new requests.
        """
        plan, costs = self._plan, self._plan.costs
        place = np.searchsorted(plan.features, request.columns)
        needs = plan.needs[place]
        paid = (paid_by[request.positions] != NEVER) | (given.had @ needs)
        paid_for_all = costs.paid_once & ((paid_by != NEVER).any(axis=0) | paid.any(axis=0))
        if costs.paid_once.any():
            named = {name for other in others if other.number != request.number for name in other.items}
            paid_for_all |= costs.paid_once & np.isin(costs.names, list(named))
        rows = np.flatnonzero(~given.came.all(axis=1))
        kinds, kind = np.unique(np.concatenate([~given.came, paid], axis=1)[rows], axis=0, return_inverse=True)
        requests = []
        for k in range(len(kinds)):
            absent, paid_by_row = np.split(kinds[k], [len(request.features)])
            buys = np.flatnonzero(needs[absent].any(axis=0) & ~paid_by_row & ~paid_for_all)
            paid_for_all |= costs.paid_once & np.isin(np.arange(costs.n_items), buys)
            asked = self._suppliers(np.flatnonzero(needs[absent].any(axis=0)))
            again = tuple(name for name in request.suppliers if name in asked)
            requests.append(self._request(buys, place[absent], request.positions[rows[kind.ravel() == k]], attempt, again))
        return requests

    def _suppliers(self, items: Iterable[int]) -> tuple[str, ...]:
        """Who supplies these items."""
        asks = self._plan.asks
        places = {asks.supplier[m] for m in items} - {AT_HAND}
        return tuple(asks.names[k] for k in sorted(places))

    def _request(
        self,
        items: Iterable[int],
        features: Iterable[int],
        positions: NDArray[np.int64],
        attempt: int,
        suppliers: tuple[str, ...],
    ) -> Request:
        plan, items, features = self._plan, list(items), list(features)
        number, self._made = self._made, self._made + 1
        return Request(
            tuple(plan.costs.names[m] for m in items),
            tuple(plan.names[f] for f in features),
            self._rows[positions],
            int(plan.item_units[items].sum()) * plan.unit,
            positions,
            plan.features[features],
            number,
            attempt,
            suppliers,
        )
