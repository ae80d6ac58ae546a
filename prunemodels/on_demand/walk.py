"""A batch of rows on its way down the trees: the state, and the rounds of requests that move it.

    round:   go down all trees as far as the known features lead            (steps)
             stop rows that are decided; see what the others wait for       (steps)
             put that together into requests                                (orders)
             ask, and write down what was brought and paid                  (here)

An item is paid for a row when a feature that needs it is delivered: a purchase that brings nothing costs nothing. A feature is
asked for once a row. The state changes only when an answer is complete, so whatever goes wrong, the walk can go on.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from prunemodels.on_demand.answers import Cells, read
from prunemodels.on_demand.concurrency import ask_together
from prunemodels.on_demand.errors import AcquisitionFailedError, InterruptedAcquisitionError
from prunemodels.on_demand.options import Options
from prunemodels.on_demand.orders import Orders
from prunemodels.on_demand.plan import Plan
from prunemodels.on_demand.request import Acquire, Request
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.steps import KNOWN, LOST, UNKNOWN, _advance, _ask_for_all
from prunemodels.on_demand.stopping import _ask_for_one
from prunemodels.on_demand.tally import Standing, result_of

NEVER = np.iinfo(np.int32).max
"""Number of the request that paid an item which was not paid."""


class Walk:
    """Rows between their first request and their predictions; made by `OnDemandPredictor.start`.

    A walk that failed, was interrupted or cancelled keeps what was delivered: `run` or `run_async` goes on. It can be pickled if
    `acquire` can.

    Parameters
    ----------
    plan, options, acquire
        trees and prices, when to stop, and whom to ask.
    rows
        labels of the n rows.
    known
        values that are known up front, float32 of shape (n, F), and whether they are.

    Attributes
    ----------
    acquire
        whom to ask; may be replaced between two runs.
    rows
        labels of the n rows.
    rounds, requests
        rounds begun and requests made.
    """

    def __init__(self, plan: Plan, options: Options, acquire: Acquire, rows: pd.Index[Any], known: Cells) -> None:
        n, ensemble = len(rows), plan.ensemble
        self.acquire, self.rows = acquire, rows
        self.rounds = self.requests = self._numbered = 0
        self._plan, self._options, self._orders = plan, options, Orders(plan.needs)
        self._cells = known[0].copy()
        self._status = np.where(known[1], KNOWN, UNKNOWN).astype(np.uint8)
        self._node = np.tile(ensemble.roots.astype(np.int32), (n, 1))
        self._paid_by = np.full((n, plan.costs.n_items), NEVER, dtype=np.int32)
        self._steps = np.zeros(n, dtype=np.int64)
        self._done = np.zeros(n, dtype=bool)
        self._early = np.zeros(n, dtype=bool)
        self._arrived: list[tuple[Request, Cells]] = []
        self._open: list[Request] = []

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
            if `acquire` is asynchronous.
        """
        try:
            for requests in self._rounds():
                for request in requests:
                    self.take(request, self._answer(request))
        except KeyboardInterrupt as error:
            told = "interrupted; the walk keeps what was delivered: error.walk.run() goes on"
            raise InterruptedAcquisitionError(told, self) from error
        return self.result()

    async def run_async(self, limit: int | None = None) -> OnDemandResult:
        """Ask for all of a round together, and wait for all of it, until every row has its prediction.

        Parameters
        ----------
        limit
            most requests in flight at a time; None: no limit.

        Raises
        ------
        AcquisitionFailedError
            as `run`. Requests that were in flight are awaited and kept, those that had not begun are not made.
        InvalidInputError
            for a limit below 1.

        Notes
        -----
        When the task is cancelled, requests in flight are cancelled too, and what was delivered is kept. Ctrl-C under
        ``asyncio.run`` is such a cancellation.
        """
        if limit is not None and limit < 1:
            raise InvalidInputError(f"limit is {limit}; give the most requests in flight, at least 1, or None")
        for requests in self._rounds():
            await ask_together(self, requests, limit)
        return self.result()

    def result(self) -> OnDemandResult:
        """What is known now; of a walk that was broken off, what was bought, and for open trees the guess of the node reached."""
        self._settle()
        paid_by = np.where(self._paid_by == NEVER, -1, self._paid_by)
        standing = Standing(self._node, self._status, paid_by, self._steps, self._done, self._early)
        return result_of(self._plan, self.rows, standing, self.rounds, self.requests)

    def _rounds(self) -> Iterator[list[Request]]:
        """The requests of each round; their answers must be taken before the next. A round that was broken off comes first."""
        self._settle()
        if self._open:  # looking ahead again would ask for other features with the items that are still owed
            yield list(self._open)
        while (rows := np.flatnonzero(~self._done)).size:
            wanted = self._look_ahead(rows)
            waiting = np.flatnonzero(wanted.any(axis=1))
            if waiting.size:
                self.rounds += 1
                self._open = self._requests(rows[waiting], wanted[waiting])
                yield list(self._open)

    def _look_ahead(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Walk the rows as far as possible; bool, shape (rows, F): what they wait for. Rows that wait for nothing are done."""
        plan, options, ensemble = self._plan, self._options, self._plan.ensemble
        trees = (ensemble.left, ensemble.right, plan.column, ensemble.threshold, ensemble.missing_left)
        _advance(rows, self._node, trees, self._cells, self._status, plan.step_units, self._steps)
        wanted = np.zeros((rows.size, len(plan.names)), dtype=bool)
        done, early = np.zeros(rows.size, dtype=bool), np.zeros(rows.size, dtype=bool)
        if options.stops:
            ends = plan.extremes
            stopping = (ensemble.value, ends.low, ends.high, ends.slack, ends.deepest, options.tolerance, options.place)
            prices = (plan.needs, plan.item_units.astype(np.float64), self._paid_by != NEVER)
            _ask_for_one(rows, self._node, trees, self._cells, self._status, *stopping, *prices, wanted, done, early)
        else:
            _ask_for_all(rows, self._node, trees, self._status, wanted, done)
        self._early[rows] = early
        self._done[rows] = done
        return wanted

    def _requests(self, rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> list[Request]:
        """What the rows want, in as few requests as `orders` and the largest request allow."""
        plan, costs = self._plan, self._plan.costs
        paid = self._paid_by != NEVER
        paid_for_all = costs.paid_once & paid.any(axis=0)
        requests = []
        for (items, features), members in self._orders.of(wanted, self._status[rows] == UNKNOWN, paid[rows]):
            most = self._options.max_rows or members.size
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

    def ask(self, request: Request) -> Any:
        """Call `acquire`, and say which request it was if that raises."""
        self.requests += 1
        try:
            return self.acquire(request)
        except Exception as error:
            raise self.failed(request, error) from error

    def failed(self, request: Request, error: BaseException) -> AcquisitionFailedError:
        """The error to raise for a request that failed."""
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return AcquisitionFailedError(
            f"{request} failed ({what}); what was delivered before is kept: error.walk.run() goes on", request, self
        )

    def take(self, request: Request, answer: Any) -> None:
        """Write down what a request brought.

        Raises
        ------
        AcquisitionFailedError
            if the answer is not what was asked for; nothing of it is kept.
        """
        try:
            cells = read(answer, request)
        except InvalidInputError as error:
            raise AcquisitionFailedError(f"the answer to {request} is refused: {error}", request, self) from error
        self._arrived.append((request, cells))  # a single step: from here on the answer is safe from Ctrl-C
        self._settle()

    def _settle(self) -> None:
        """Enter the answers that arrived. Entering one twice, after an interruption, changes nothing."""
        while self._arrived:
            request, (values, had) = self._arrived[0]
            where = np.ix_(request.positions, np.searchsorted(self._plan.features, request.columns))
            pays = had @ self._plan.needs[where[1].ravel()]
            paid_by = self._paid_by[request.positions]
            self._paid_by[request.positions] = np.where(pays, np.minimum(paid_by, request.number), paid_by)
            self._cells[where] = values
            self._status[where] = np.where(had, KNOWN, LOST)
            self._open = [other for other in self._open if other.number != request.number]
            del self._arrived[0]
