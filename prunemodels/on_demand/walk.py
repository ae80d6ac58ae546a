"""A walk predicts a batch of rows: it holds what is known and paid, and makes the rounds of requests that add to it.

    round:   find which rows are done, and what the others wait for         (forest_decider, cascade_decider)
             group that into requests, and number them                      (orders)
             ask                                                            (transport)
             record what was delivered and paid                             (here, accounts)

An item is paid for a row when a feature that needs it is delivered: a purchase that brings nothing costs nothing. A feature is
asked for once for each row, and again only if an answer left it out. The state changes in single steps, when an answer has been
checked, so the walk can go on after any failure. Of an answer that leaves values out, what came is kept and paid, and a remaining
request takes the place of the first one in the round. A value that the model cannot take is asked for again, too, and in the end
counts as one that cannot be had: it is named, and the other rows go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.numbers import INT64_SAFE
from prunemodels.on_demand.answers import Answer, Refused, absent, logger, read
from prunemodels.on_demand.holdings import Decider, Holdings, Spending
from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.request import NEVER, Acquire, AcquisitionFailedError, InterruptedAcquisitionError, Request
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.steps import KNOWN, LOST, UNKNOWN
from prunemodels.on_demand.transport import Start, ask_in_turn, ask_together


class Walk:
    """Rows between their first request and their predictions; made by `OnDemandPredictor.start`.

    A walk that failed, was interrupted or cancelled keeps what was delivered: `run` or `run_async` goes on. Pickled, it holds
    what its rows know and have paid, and where they are, but neither the model nor `acquire`: ``predictor.resume(walk)`` brings
    both.

    Parameters
    ----------
    plan, decider
        features and prices, and what makes the decider of the rows.
    start
        the rows, what is known of them, and how to ask.

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

    The caller may also make the requests, and bring the answers when it has them:

    >>> walk = pm.OnDemandPredictor(forest, costs, early_stopping=True).start(X_test.index[2:3])
    >>> while requests := walk.next_requests(one_feature=True):
    ...     for request in requests:
    ...         print("buy", *request.items)
    ...         walk.take(request, X_test.loc[request.rows, list(request.features)])
    ...
    buy concavity
    buy radius
    buy area
    buy concave points
    >>> walk.result().predictions
    array([1])
    """

    def __init__(self, plan: PurchasePlan, decider: Callable[[Holdings], Decider], start: Start) -> None:
        self.acquire, self.rows, self._asking = start.acquire, start.rows, start.asking
        self.rounds = self.requests = 0
        most = self._asking.max_cost
        cap = None if most is None else min(int(most / plan.unit), INT64_SAFE)
        held = self._held = Holdings.at_start(plan, self.rows, start.known, cap)
        self._decider: Decider | None = decider(held)
        # the decider may have refused known values
        if start.bought:
            held.paid_by[(held.status == KNOWN) @ plan.needs] = 0
        held.status[start.lost & (held.status == UNKNOWN)] = LOST
        self._orders = self._decider.orders(plan, self.rows)
        self._memory: tuple[str, int, Any] = ("", 0, None)
        self._arrived: list[tuple[Request, Answer, list[Request]]] = []
        self._open: dict[int, Request] = {}
        self._unavailable: dict[int, Request] = {}
        self._notes: list[tuple[datetime, str, Request, str]] = []
        self._make_locks()

    def _make_locks(self) -> None:
        """One for a run, and one for each change: threads may bring answers side by side."""
        self._running, self._changing = threading.Lock(), threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the model, which the predictor has, and the locks, which belong to this process."""
        here = ("_running", "_changing", "acquire", "_decider", "_orders", "_memory")
        decider, memory = self._decider, self._memory
        if decider is not None:
            memory = (decider.model_print, self._orders.made, decider.memory())
        return {name: value for name, value in vars(self).items() if name not in here} | {"_memory": memory}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.acquire = self._decider = None
        self._make_locks()

    @checked
    def go_on(self, plan: PurchasePlan, decider: Callable[[Holdings], Decider], acquire: Acquire | None) -> None:
        """Go on after pickling with the model with which the walk began; `OnDemandPredictor.resume` calls this."""
        if self._decider is not None:
            raise InvalidInputError("this walk has its model; only one that was pickled is resumed")
        found, (model, made, memory) = decider(self._held), self._memory
        if found.model_print != model:
            raise InvalidInputError(
                "this walk began with another model, or with other prices; resume it with the predictor that made it"
            )
        found.go_on(memory)
        self._orders = found.orders(plan, self.rows)
        self._orders.made, self.acquire, self._decider = made, acquire, found

    @property
    def _plan(self) -> PurchasePlan:
        return self._deciding.purchases

    @property
    def _deciding(self) -> Decider:
        """What decides for the rows."""
        if self._decider is None:
            raise InvalidInputError("this walk was pickled, which leaves its model behind; predictor.resume(walk) brings it back")
        return self._decider

    @contextmanager
    def _single_run(self) -> Iterator[None]:
        """One run at a time: two would both see an item as unpaid, and buy it twice."""
        if not self._running.acquire(blocking=False):
            raise InvalidInputError("this walk is running already; wait for its result, or start another walk for other rows")
        try:
            self._settle()
            yield
        finally:
            self._running.release()

    def result(self) -> OnDemandResult:
        """What is known now; of a walk that was broken off, what was bought, and the best guess."""
        with self._changing:
            self._settle()
            return self._deciding.result(rounds=self.rounds, requests=self.requests, refused=self.refused)

    @checked
    def note(self, event: str, request: Request, told: str = "") -> None:
        """Keep a line of `audit`, and log it."""
        self._notes.append((datetime.now(UTC), event, request, told))
        logger.info("%s: %s, attempt %d%s", event, request, request.attempt, f" ({told})" * bool(told))

    def audit(self) -> pd.DataFrame:
        """Who was asked what, and when: a line for each request that was made, answered, refused, or failed.

        The same lines are logged at the level INFO by the logger ``prunemodels.on_demand``.

        Returns
        -------
        DataFrame
            columns ``time`` (UTC), ``event``, ``request`` (its number), ``attempt``, ``items``, ``features``, ``rows`` (their
            labels), ``price`` (what a row pays) and ``told`` (why it failed, or how many values did not come).
        """
        lines = [
            (time, event, r.number, r.attempt, r.items, r.features, tuple(r.rows), float(r.price), told)
            for time, event, r, told in self._notes
        ]
        return pd.DataFrame(lines, columns=["time", "event", "request", "attempt", "items", "features", "rows", "price", "told"])

    @property
    def finished(self) -> bool:
        """Whether all rows have their predictions."""
        return bool(self._held.done.all())

    @checked
    def run(self, *, max_total_cost: Price | None = None) -> OnDemandResult:
        """Ask, one request after the other, until every row has its prediction.

        Parameters
        ----------
        max_total_cost
            the most that all rows together may have paid for items, from the walk's start on and items paid once for all
            included. Before the first request that could exceed it the run ends, and the result's open rows are not `finished`.
            A later run with a higher limit goes on. None: no limit.

        Raises
        ------
        AcquisitionFailedError
            if `acquire` raises, or its answer is refused or leaves values out. The rest of its round is not asked for.
        InterruptedAcquisitionError
            on Ctrl-C.
        InvalidInputError
            if `acquire` is missing or asynchronous, for a limit that is no number >= 0, and while the walk runs already.
        """
        try:
            with self._single_run():
                spending = Spending(self._plan, self._held.paid_by, max_total_cost)
                while (requests := self._next()) and ask_in_turn(self, requests, spending):
                    pass
        except KeyboardInterrupt as error:
            told = "interrupted; the walk keeps what was delivered: error.walk.run() goes on"
            raise InterruptedAcquisitionError(told, self) from error
        return self.result()

    @checked
    async def run_async(self, limit: Count | None = None, *, max_total_cost: Price | None = None) -> OnDemandResult:
        """In each round, send all requests together and wait for all answers, until every row has its prediction.

        Parameters
        ----------
        limit
            most requests in flight at a time; None: no limit.
        max_total_cost
            as in `run`; requests in flight count with their full prices.

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
            spending = Spending(self._plan, self._held.paid_by, max_total_cost)
            while (requests := self._next()) and await ask_together(self, requests, limit, spending):
                pass
        return self.result()

    @checked
    def next_requests(self, *, one_feature: bool = False) -> list[Request]:
        """What the rows should buy next, for callers who make the requests themselves and `take` the answers.

        As long as requests of a round are not answered, they are returned again, and nothing new is looked for.

        Parameters
        ----------
        one_feature
            each open row asks for one feature, and gets what comes with it: a forest's most decisive one for its price, see
            ``order`` of `OnDemandPredictor`, a cascade's cheapest one. The default asks for all that the row is certain to need.

        Returns
        -------
        list of Request
            each open row is in at least one; empty when the walk is finished.

        Raises
        ------
        InvalidInputError
            while the walk runs.
        """
        with self._changing, self._single_run():
            return self._next(one_feature)

    def next_features(self) -> NDArray[np.int64]:
        """The feature that each row should get next, as ``next_requests(one_feature=True)``, but without making requests.

        Returns
        -------
        array
            int64, shape (n,): the feature's place among the model's, -1 for rows that need nothing more.

        Raises
        ------
        InvalidInputError
            while the walk runs, and as long as requests are open.
        """
        with self._changing, self._single_run():
            if self._open:
                raise InvalidInputError(f"{next(iter(self._open.values()))} is open; take its answer first")
            chosen = np.full(len(self.rows), -1, dtype=np.int64)
            rows, one = self._waiting(one_feature=True)
            if rows.size:
                chosen[rows] = self._plan.features[np.argmax(one, axis=1)]
            return chosen

    def _waiting(self, one_feature: bool) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The rows that wait for something, and what for: all that they are certain to need, or one feature each."""
        rows = np.flatnonzero(~self._held.done)
        wanted = self._deciding.look_ahead(rows)
        waits = wanted.any(axis=1)
        rows, wanted = rows[waits], wanted[waits]
        return rows, self._deciding.choose(rows, wanted) if one_feature and rows.size else wanted

    def _next(self, one_feature: bool = False) -> list[Request]:
        """The requests of the round that is under way, or of the next one."""
        while not self._open and not self._held.done.all():
            # while requests are open, new ones would ask for other features with the items that are still unpaid
            rows, wanted = self._waiting(one_feature)
            if rows.size:
                self.rounds += 1
                paid = self._held.paid_by != NEVER
                unknown = (self._held.status[rows] == UNKNOWN) & self._deciding.usual
                made = self._orders.of_round(wanted, unknown, rows, paid, self._asking.max_rows)
                self._open = {request.number: request for request in made}
        return list(self._open.values())

    @property
    def refused(self) -> tuple[Refused, ...]:
        """The values that came, and that the model could not take; they count as unavailable."""
        return tuple(Refused(self.rows[i], feature, why) for (i, feature), why in self._held.refused.items())

    @checked
    def take(self, request: Request, answer: Any) -> None:
        """Record the answer to a request, in one of the forms of `prunemodels.on_demand.answers.read`.

        A value that comes late, after the answer that it cannot be had, is taken if the same request brings it; a row that has
        stopped without it goes on in the next run. Several threads may bring answers to different requests.

        Raises
        ------
        AcquisitionFailedError
            if the answer is not what was asked for; nothing of it is kept. Or if it leaves values out, unless the predictor's
            ``ask_again`` or ``absent`` allows that; what came is kept and paid, and a further run asks for the rest.
        InvalidInputError
            for a request that was answered before, or that another walk made.
        """
        with self._changing:
            self._take(request, answer)

    def _take(self, request: Request, answer: Any) -> None:
        """`take`, by one thread at a time."""
        self._settle()
        made = self._open.get(request.number, self._unavailable.get(request.number))
        if made is None or made.features != request.features or not made.rows.equals(request.rows):
            raise InvalidInputError(f"{request} is not open in this walk; take every request of next_requests once")
        try:
            given = self._deciding.judged(request, read(answer, request, self._plan.dtype, self._plan.columns))
        except InvalidInputError as error:
            self.note("refused", request, str(error))
            raise AcquisitionFailedError(f"the answer to {request} is refused: {error}", request, self) from error
        if request.number not in self._open:
            self._take_late(request, given)
            return
        last = request.attempt > self._asking.ask_again
        came = np.ones_like(given.came) if last and self._asking.absent == "unavailable" else given.came.copy()
        if given.wrong and not last:
            came[tuple(np.array(list(given.wrong)).T)] = False
        given, rest = replace(given, came=came), []
        if not came.all():
            attempt = 1 if last else request.attempt + 1
            rest = self._orders.remaining(request, given, self._held.paid_by, self._open.values(), attempt)
        for (i, f), why in given.wrong.items():
            again = "is asked for again" if not last else "counts as unavailable"
            logger.warning("%r of row %r %s; it %s", request.features[f], request.rows[i], why, again)
        missing = int((~given.had).sum())
        self.note("answered", request, f"{missing:,} of {given.had.size:,} values did not come" if missing else "")
        self._arrived.append((request, given, rest))  # a single step: from here on the answer is safe from Ctrl-C
        self._settle()
        if rest and last:
            raise AcquisitionFailedError(f"the answer to {request} is incomplete: {absent(request, given)}", request, self)

    def _take_late(self, request: Request, given: Answer) -> None:
        """Enter the values that could not be had before."""
        where = np.ix_(request.positions, np.searchsorted(self._plan.features, request.columns))
        late = given.had & (self._held.status[where] == LOST)
        if late.any():
            self._arrived.append((request, Answer(given.values, late, late), []))
            self._settle()
            self._deciding.reopen(request.positions[late.any(axis=1)])

    def _settle(self) -> None:
        """Enter the answers that arrived. Entering one twice, after an interruption, changes nothing."""
        while self._arrived:
            request, given, rest = self._arrived[0]
            self._held.enter(self._plan, request, given)
            if (given.came & ~given.had).any():
                self._unavailable[request.number] = request
            self._open.pop(request.number, None)
            self._open.update({other.number: other for other in rest})
            del self._arrived[0]
