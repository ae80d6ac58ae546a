"""A walk predicts a batch of rows: it holds what is known and paid, and makes the rounds of requests that add to it.

    round:   find which rows are done, and what the others wait for         (forest_walk, cascade_walk)
             group that into requests                                       (orders)
             ask, and record what was delivered and paid                    (here)

An item is paid for a row when a feature that needs it is delivered: a purchase that brings nothing costs nothing. A feature is
asked for once for each row. The state changes only when an answer is complete, so the walk can go on after any failure.
"""

from __future__ import annotations

import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError
from prunemodels.on_demand.answers import Cells, read
from prunemodels.on_demand.concurrency import ask_together
from prunemodels.on_demand.errors import AcquisitionFailedError, InterruptedAcquisitionError
from prunemodels.on_demand.orders import Orders
from prunemodels.on_demand.plan import Purchases
from prunemodels.on_demand.request import Acquire, Request
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.steps import KNOWN, LOST, UNKNOWN

NEVER = np.iinfo(np.int32).max
"""In place of a request's number: the item was not paid."""


class Walk(ABC):
    """Rows between their first request and their predictions; made by `OnDemandPredictor.start`.

    A walk that failed, was interrupted or cancelled keeps what was delivered: `run` or `run_async` goes on. It can be pickled if
    `acquire` can.

    Parameters
    ----------
    plan, orders, acquire
        features and prices, how wanted features become requests, and the function to ask.
    max_rows
        most rows of a request, or None.
    rows
        labels of the n rows.
    known
        values that are known from the start, shape (n, F), and whether each is.

    Attributes
    ----------
    acquire
        the function to ask; may be replaced between two runs.
    rows
        labels of the n rows.
    rounds, requests
        rounds begun and requests made.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> walk = pm.OnDemandPredictor(forest, costs, pm.on_demand.from_table(X_test)).start(X_test.index[:3])
    >>> walk.finished
    False
    >>> result = walk.run()
    >>> result.predictions, walk.finished
    (array([0, 1, 1]), True)
    """

    def __init__(
        self, plan: Purchases, orders: Orders, acquire: Acquire, max_rows: int | None, rows: pd.Index[Any], known: Cells
    ) -> None:
        n = len(rows)
        self.acquire, self.rows = acquire, rows
        self.rounds = self.requests = self._numbered = 0
        self._purchases, self._orders, self._max_rows = plan, orders, max_rows
        self._cells = known[0].copy()
        self._status = np.where(known[1], KNOWN, UNKNOWN).astype(np.uint8)
        self._paid_by = np.full((n, plan.costs.n_items), NEVER, dtype=np.int32)
        self._done = np.zeros(n, dtype=bool)
        self._arrived: list[tuple[Request, Cells]] = []
        self._open: list[Request] = []
        self._running = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which belongs to this process."""
        return {name: value for name, value in vars(self).items() if name != "_running"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._running = threading.Lock()

    @contextmanager
    def _single_run(self) -> Iterator[None]:
        """One run at a time: two would both see an item as unpaid, and buy it twice."""
        if not self._running.acquire(blocking=False):
            raise InvalidInputError("this walk is running already; wait for its result, or start another walk for other rows")
        try:
            yield
        finally:
            self._running.release()

    @abstractmethod
    def result(self) -> OnDemandResult:
        """What is known now; of a walk that was broken off, what was bought, and the best guess."""

    @abstractmethod
    def _look_ahead(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Advance the rows as far as possible; bool, shape (rows, F): what they wait for. Rows that wait for nothing are done."""

    @property
    def finished(self) -> bool:
        """Whether all rows have their predictions."""
        return bool(self._done.all())

    def run(self) -> OnDemandResult:
        """Ask, one request after the other, until every row has its prediction.

        Raises
        ------
        AcquisitionFailedError
            if `acquire` raises, or its answer is refused. The rest of its round is not asked for.
        InterruptedAcquisitionError
            on Ctrl-C.
        InvalidInputError
            if `acquire` is asynchronous, and while the walk runs already.
        """
        try:
            with self._single_run():
                for requests in self._rounds():
                    for request in requests:
                        self.take(request, self._answer(request))
        except KeyboardInterrupt as error:
            told = "interrupted; the walk keeps what was delivered: error.walk.run() goes on"
            raise InterruptedAcquisitionError(told, self) from error
        return self.result()

    @checked
    async def run_async(self, limit: Count | None = None) -> OnDemandResult:
        """In each round, send all requests together and wait for all answers, until every row has its prediction.

        Parameters
        ----------
        limit
            most requests in flight at a time; None: no limit.

        Raises
        ------
        AcquisitionFailedError
            as `run`. Requests that were in flight are awaited and kept, those that had not begun are not made.
        InvalidInputError
            for a limit below 1, and while the walk runs already.

        Notes
        -----
        When the task is cancelled, requests in flight are cancelled too, and what was delivered is kept. Ctrl-C under
        ``asyncio.run`` is such a cancellation.
        """
        with self._single_run():
            for requests in self._rounds():
                await ask_together(self, requests, limit)
        return self.result()

    def _rounds(self) -> Iterator[list[Request]]:
        """The requests of each round; their answers must be taken before the next. A round that was broken off comes first."""
        self._settle()
        if self._open:  # finding new requests would ask for other features with the items that are still unpaid
            yield list(self._open)
        while (rows := np.flatnonzero(~self._done)).size:
            wanted = self._look_ahead(rows)
            waiting = np.flatnonzero(wanted.any(axis=1))
            if waiting.size:
                self.rounds += 1
                self._open = self._requests(rows[waiting], wanted[waiting])
                yield list(self._open)

    def _requests(self, rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> list[Request]:
        """The wanted features in as few requests as `orders` and `max_rows` allow."""
        plan, costs = self._purchases, self._purchases.costs
        paid = self._paid_by != NEVER
        paid_for_all = costs.paid_once & paid.any(axis=0)
        requests = []
        for (items, features), members in self._orders.of(wanted, self._status[rows] == UNKNOWN, paid[rows]):
            most = self._max_rows or members.size
            for first in range(0, members.size, most):
                to_pay = [m for m in items if not paid_for_all[m]]
                paid_for_all[to_pay] |= costs.paid_once[to_pay]
                positions = rows[members[first : first + most]]
                requests.append(
                    Request(
                        tuple(costs.names[m] for m in to_pay),
                        tuple(plan.names[f] for f in features),
                        self.rows[positions],
                        int(plan.item_units[list(items)].sum()) * plan.unit,
                        positions,
                        plan.features[list(features)],
                        self._numbered,
                    )
                )
                self._numbered += 1
        return requests

    def _answer(self, request: Request) -> Any:
        answer = self.ask(request)
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            raise InvalidInputError("acquire is asynchronous; await run_async or predict_async")
        return answer

    @checked
    def ask(self, request: Request) -> Any:
        """Call `acquire`, and say which request it was if that raises."""
        self.requests += 1
        try:
            return self.acquire(request)
        except Exception as error:
            raise self.failed(request, error) from error

    @checked
    def failed(self, request: Request, error: BaseException) -> AcquisitionFailedError:
        """The error to raise for a request that failed."""
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return AcquisitionFailedError(
            f"{request} failed ({what}); what was delivered before is kept: error.walk.run() goes on", request, self
        )

    @checked
    def take(self, request: Request, answer: Any) -> None:
        """Record the answer to a request.

        Raises
        ------
        AcquisitionFailedError
            if the answer is not what was asked for; nothing of it is kept.
        """
        try:
            cells = read(answer, request, self._cells.dtype)
        except InvalidInputError as error:
            raise AcquisitionFailedError(f"the answer to {request} is refused: {error}", request, self) from error
        self._arrived.append((request, cells))  # a single step: from here on the answer is safe from Ctrl-C
        self._settle()

    def _settle(self) -> None:
        """Enter the answers that arrived. Entering one twice, after an interruption, changes nothing."""
        while self._arrived:
            request, (values, had) = self._arrived[0]
            where = np.ix_(request.positions, np.searchsorted(self._purchases.features, request.columns))
            pays = had @ self._purchases.needs[where[1].ravel()]
            paid_by = self._paid_by[request.positions]
            self._paid_by[request.positions] = np.where(pays, np.minimum(paid_by, request.number), paid_by)
            self._cells[where] = values
            self._status[where] = np.where(had, KNOWN, LOST)
            self._open = [other for other in self._open if other.number != request.number]
            del self._arrived[0]
