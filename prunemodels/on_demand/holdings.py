"""What the rows of a walk know, have paid and may spend, and what decides which features they ask for next.

With P paid so far, R reserved for requests in flight, and a limit L, a request is made if

    P + R + (rows of the request) (its price for a row) + (prices of its items that are paid once for all)  <=  L.          (1)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.instance.cost_items import exact
from prunemodels.on_demand.answers import Answer, Cells
from prunemodels.on_demand.plan import Orders, PurchasePlan
from prunemodels.on_demand.request import NEVER, Request
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.steps import KNOWN, LOST, UNKNOWN


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


@dataclass(frozen=True, eq=False)
class Holdings:
    """The state of n rows that may ask for F features and buy M items; walks and their deciders write into the arrays."""

    rows: pd.Index[Any]  # labels
    cells: NDArray[Any]  # shape (n, F): values
    status: NDArray[np.uint8]  # shape (n, F): whether each is UNKNOWN, KNOWN or LOST
    paid_by: NDArray[np.int32]  # shape (n, M): number of the request that paid the item, `NEVER` if none did
    done: NDArray[np.bool_]  # shape (n,): rows that ask for nothing more
    cap: int | None  # the most that a row may pay, in units of the plan; None: no cap
    # why the model could not take a value that came, by the row's place and the name of the feature.
    refused: dict[tuple[int, str], str] = field(default_factory=dict)

    @classmethod
    def at_start(cls, plan: PurchasePlan, rows: pd.Index[Any], known: Cells, cap: int | None) -> Holdings:
        """Rows that know some values, and have paid nothing."""
        n, (values, had) = len(rows), known
        status = np.where(had, KNOWN, UNKNOWN).astype(np.uint8)
        paid_by = np.full((n, plan.costs.n_items), NEVER, dtype=np.int32)
        return cls(rows, values.copy(), status, paid_by, np.zeros(n, dtype=bool), cap)

    def enter(self, plan: PurchasePlan, request: Request, given: Answer) -> None:
        """Enter an answer; twice changes nothing."""
        where = np.ix_(request.positions, np.searchsorted(plan.features, request.columns))
        pays = given.had @ plan.needs[where[1].ravel()]
        paid_by = self.paid_by[request.positions]
        self.paid_by[request.positions] = np.where(pays, np.minimum(paid_by, request.number), paid_by)
        self.cells[where] = np.where(given.came, given.values, self.cells[where])
        self.status[where] = np.where(given.came, np.where(given.had, KNOWN, LOST), self.status[where])
        for (i, f), why in given.wrong.items():
            if given.came[i, f]:
                self.refused[int(request.positions[i]), request.features[f]] = why


class Decider(ABC):
    """Decides for the rows of a walk what they ask for, and when they are done.

    `plan`: what may be bought. `held`: the rows. `orders`: how wanted features become requests.
    """

    def __init__(self, plan: PurchasePlan, held: Holdings, orders: type[Orders] = Orders) -> None:
        self.purchases, self.held, self.orders = plan, held, orders
        self.usual = np.ones(len(plan.names), dtype=bool)  # the features that come with an item although no row waits for them

    @abstractmethod
    def look_ahead(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Advance the rows as far as possible; bool, shape (rows, F): what they wait for. Rows that wait for nothing are done."""

    @abstractmethod
    def choose(self, rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """One of the wanted features for each row that wants any; shape as `wanted`."""

    @abstractmethod
    def result(self, **counts: Any) -> OnDemandResult:
        """What is known now; of a walk that was broken off, what was bought, and the best guess.

        `counts`: the fields `rounds`, `requests` and `refused` of the result.
        """

    def judged(self, request: Request, given: Answer) -> Answer:
        """The answer without values that the model's columns cannot take; models of numbers take all that `read` takes."""
        del request
        return given

    @property
    @abstractmethod
    def model_print(self) -> str:
        """A fingerprint of what decides: a walk goes on with the model with which it began."""

    @abstractmethod
    def memory(self) -> Any:
        """What it knows of the rows beside the holdings, without the model."""

    @abstractmethod
    def go_on(self, memory: Any) -> None:
        """Take up what another decider of this model knew of the same holdings."""

    def reopen(self, rows: NDArray[np.int64]) -> None:
        """Have rows go on that may have stopped without a value."""
        self.held.done[rows] = False


def refused_rows(attempt: Callable[[NDArray[np.int64]], object], rows: NDArray[np.int64]) -> dict[int, Exception]:
    """The rows for which an attempt fails, and the errors; found by trying halves, since one bad value must not end all walks.

    Each such row was tried by itself in the end. `attempt` has no side effects.
    """
    if not rows.size:
        return {}
    try:
        attempt(rows)
    except Exception as error:  # a model's steps may raise anything
        if rows.size == 1:
            return {int(rows[0]): error}
        left, right = np.array_split(rows, 2)
        return refused_rows(attempt, left) | refused_rows(attempt, right)
    return {}
