"""How a walk asks: one request after the other, or all of a round at the same time; and what its rows have paid and may spend.

The requests of a round run side by side. A request that is made again is one more round for its rows. With P paid so far, R
reserved for requests in flight, and a limit L, a request is made if

    P + R + (rows of the request) (its price for a row) + (prices of its items that are paid once for all)  <=  L.   (1)
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from prunemodels.on_demand.answers import Cells
from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.request import NEVER, Acquire, AcquisitionFailedError, Request

if TYPE_CHECKING:
    from prunemodels.on_demand.walk import Walk


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


@dataclass(frozen=True)
class Asking:
    """What a walk asks for, and what follows where no value comes."""

    max_rows: int | None = None  # most rows of a request, or None
    ask_again: int = 0  # how often values that an answer left out are asked for again
    # what follows if they still do not come: the walk raises an error, or they count as unavailable.
    absent: Literal["error", "unavailable"] = "error"
    max_cost: Fraction | None = None  # the most that a row may pay, >= 0; None: no cap


class Start(NamedTuple):
    """What a walk begins with."""

    acquire: Acquire | None
    rows: pd.Index[Any]  # labels of the n rows
    known: Cells  # values that are known from the start, shape (n, F), and whether each is
    asking: Asking = Asking()  # how to ask, what a row may pay at most, and what to do with values that do not come


def ask_in_turn(walk: Walk, requests: list[Request], spending: Spending) -> bool:
    """Ask for one request after the other, up to the first that `spending` does not allow; returns whether all were allowed."""
    for request in requests:
        if not spending.allows(request):
            return False
        answer = _asked(walk, request)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise InvalidInputError("acquire is asynchronous; await run_async or predict_async")
        walk.take(request, answer)
        spending.book(request)
    return True


async def ask_together(walk: Walk, requests: list[Request], limit: int | None, spending: Spending) -> bool:
    """Ask for all requests, at most `limit` at a time, and have the walk take the answers as they come.

    From the first request on that `spending` does not allow, none is begun. Returns whether all were allowed.

    After a failure, requests in flight are awaited and kept, since they may have been paid already, and no new one is begun.
    When the task is cancelled, requests in flight are cancelled too, and awaited.
    """
    gate = asyncio.Semaphore(limit or len(requests))
    failures: list[AcquisitionFailedError] = []
    allowed = True

    async def serve(request: Request) -> None:
        nonlocal allowed
        async with gate:
            allowed = allowed and not failures and spending.allows(request)
            if failures or not allowed:
                return
            try:
                await _serve(walk, request)
                spending.book(request)
            except AcquisitionFailedError as error:
                failures.append(error)

    tasks = [asyncio.create_task(serve(request)) for request in requests]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if failures:
        failures[0].others = tuple(failures[1:])
        raise failures[0]
    return allowed


async def _serve(walk: Walk, request: Request) -> None:
    """Ask for one request and take its answer."""
    answer = _asked(walk, request)
    if inspect.isawaitable(answer):
        try:
            answer = await answer
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise _failed(walk, request, error) from error  # cancelled by itself, not from outside
        except Exception as error:
            raise _failed(walk, request, error) from error
    walk.take(request, answer)


def _asked(walk: Walk, request: Request) -> Any:
    """What `acquire` returns: an answer, or an awaitable one."""
    if walk.acquire is None:
        raise InvalidInputError(
            "this predictor has no acquire, so the walk cannot ask; give one, or drive the walk by next_requests and take"
        )
    walk.requests += 1
    try:
        return walk.acquire(request)
    except Exception as error:
        raise _failed(walk, request, error) from error


def _failed(walk: Walk, request: Request, error: BaseException) -> AcquisitionFailedError:
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return AcquisitionFailedError(
        f"{request} failed ({what}); what was delivered before is kept: error.walk.run() goes on", request, walk
    )
