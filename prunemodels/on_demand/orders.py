"""Group what the rows wait for into as few requests as possible, and number them.

A row that waits for feature f buys the items of f that it has not bought. Of all features that the forest tests, it gets

    f itself, and each unknown g that needs one of the items bought now and no item that is still missing.            (1)

Rows with the same items and features form one request. Two requests of a round never make one row pay for the same item: if f
needs an item that the row buys for an earlier feature, in the forest's order, f waits for the next round. So what a row buys does
not depend on the other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prunemodels.on_demand.answers import Answer
from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.request import NEVER, Request

Bundle = tuple[tuple[int, ...], tuple[int, ...]]
"""Items to buy and features to bring, as ascending indices."""


class Orders:
    """Groups the rows of one walk into requests, and numbers these.

    `plan`: features, items and prices. `rows`: labels of the walk's rows. `made`: the number of requests so far.
    """

    def __init__(self, plan: PurchasePlan, rows: pd.Index[Any]) -> None:
        self._plan, self._rows, self.made, self._needs = plan, rows, 0, plan.needs

    def of_round(
        self,
        wanted: NDArray[np.bool_],
        unknown: NDArray[np.bool_],
        rows: NDArray[np.int64],
        paid: NDArray[np.bool_],
        most: int | None,
    ) -> list[Request]:
        """The requests for what some rows want, each of at most `most` rows.

        `wanted`, `unknown`: see `_groups`. `paid`: shape (n, M): the items that each row of the walk has paid.
        """
        once = self._plan.costs.paid_once
        paid_for_all = once & paid.any(axis=0)
        requests = []
        for (items, features), members in self._groups(wanted, unknown, paid[rows]):
            step = most or members.size
            for first in range(0, members.size, step):
                to_pay = [m for m in items if not paid_for_all[m]]
                paid_for_all[to_pay] |= once[to_pay]
                made = self._request(to_pay, features, rows[members[first : first + step]], 1)
                requests.append(made)
        return requests

    def remaining(
        self, request: Request, given: Answer, paid_by: NDArray[np.int32], others: Iterable[Request], attempt: int
    ) -> list[Request]:
        """Requests for what an answer left out; they name the items that what came does not pay.

        `paid_by`: shape (n, M): the request that paid each row's items before, `NEVER` where none did. `others`: requests that
        are open. What they buy once for all is not bought again. `attempt`: of the new requests.
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
            requests.append(self._request(buys, place[absent], request.positions[rows[kind.ravel() == k]], attempt))
        return requests

    def _request(
        self,
        items: Iterable[int],
        features: Iterable[int],
        positions: NDArray[np.int64],
        attempt: int,
    ) -> Request:
        plan, items, features = self._plan, list(items), list(features)
        number, self.made = self.made, self.made + 1
        return Request(
            tuple(plan.costs.names[m] for m in items),
            tuple(plan.names[f] for f in features),
            self._rows[positions],
            int(plan.item_units[items].sum()) * plan.unit,
            positions,
            plan.features[features],
            number,
            attempt,
        )

    @cached_property
    def _near(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each feature: those that share an item with it, itself included, and all items of these."""
        shares = (self._needs.astype(np.int32) @ self._needs.T.astype(np.int32)) > 0
        np.fill_diagonal(shares, True)
        return [(np.flatnonzero(row), np.flatnonzero(self._needs[row].any(axis=0))) for row in shares]

    def _groups(
        self, wanted: NDArray[np.bool_], unknown: NDArray[np.bool_], bought: NDArray[np.bool_]
    ) -> list[tuple[Bundle, NDArray[np.int64]]]:
        """What the requests of a round buy and bring, each with its rows, ascending.

        `wanted`: shape (rows, F): what each row waits for. `unknown`: shape (rows, F): what was never asked for. `bought`: shape
        (rows, M): what each row has paid, items that are paid once for all likewise.
        """
        found: dict[Bundle, list[NDArray[np.int64]]] = {}
        taken = np.zeros_like(bought)
        for f in np.flatnonzero(wanted.any(axis=0)):
            for bundle, rows in self._bundles(int(f), np.flatnonzero(wanted[:, f]), unknown, bought):
                to_pay_for = np.array(bundle[0], dtype=np.int64)
                free = rows[~taken[np.ix_(rows, to_pay_for)].any(axis=1)]
                taken[np.ix_(free, to_pay_for)] = True
                if free.size:
                    found.setdefault(bundle, []).append(free)
        return [(bundle, np.sort(np.concatenate(rows))) for bundle, rows in found.items()]

    def _bundles(
        self, f: int, rows: NDArray[np.int64], unknown: NDArray[np.bool_], bought: NDArray[np.bool_]
    ) -> list[tuple[Bundle, NDArray[np.int64]]]:
        """(1) for the rows that wait for feature f; rows with the same items and unknown features are together."""
        near, items = self._near[f]
        if near.size == 1 and items.size <= 1:  # f shares no item: all rows that wait for it buy the same
            return [((tuple(items.tolist()), (f,)), rows)]
        standing = np.concatenate([unknown[np.ix_(rows, near)], bought[np.ix_(rows, items)]], axis=1)
        kinds, kind = np.unique(np.packbits(standing, axis=1), axis=0, return_inverse=True)
        bundles = []
        for k in range(len(kinds)):
            members = np.flatnonzero(kind.ravel() == k)
            has = bought[rows[members[0]]]
            buys = self._needs[f] & ~has
            complete = ~(self._needs[near] & ~(has | buys)).any(axis=1)
            touched = (self._needs[near] & buys).any(axis=1)
            brings = near[(unknown[rows[members[0]], near] & complete & touched) | (near == f)]
            bundles.append(((tuple(np.flatnonzero(buys).tolist()), tuple(brings.tolist())), rows[members]))
        return bundles


class StageOrders(Orders):
    """Puts all that a row waits for into one request, with the other unknown features that (1) completes for the same items."""

    def _groups(
        self, wanted: NDArray[np.bool_], unknown: NDArray[np.bool_], bought: NDArray[np.bool_]
    ) -> list[tuple[Bundle, NDArray[np.int64]]]:
        """See `Orders`."""
        kinds, kind = np.unique(
            np.packbits(np.concatenate([wanted, unknown, bought], axis=1), axis=1), axis=0, return_inverse=True
        )
        found = []
        for k in range(len(kinds)):
            rows = np.flatnonzero(kind.ravel() == k)
            i = rows[0]
            if wanted[i].any():
                buys = self._needs[wanted[i]].any(axis=0) & ~bought[i]
                complete = ~(self._needs & ~(bought[i] | buys)).any(axis=1) & (self._needs & buys).any(axis=1)
                brings = wanted[i] | (unknown[i] & complete)
                found.append(((tuple(np.flatnonzero(buys).tolist()), tuple(np.flatnonzero(brings).tolist())), rows))
        return found
