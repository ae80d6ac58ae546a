"""How a walk asks: one request after the other, or all of a round at the same time.

The requests of a round run side by side. A request that is made again is one more round for its rows.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from prunemodels.on_demand.answers import Cells
from prunemodels.on_demand.holdings import Spending
from prunemodels.on_demand.request import Acquire, AcquisitionFailedError, Request, Resumable


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
    lost: NDArray[np.bool_] | bool = False  # shape (n, F): values that cannot be had
    bought: bool = False  # whether the known features were bought: then what they share with others is paid


class Asker(Resumable, Protocol):
    """What transport needs of a walk: whom to ask, the count of requests, and where answers go."""

    acquire: Acquire | None
    requests: int

    def take(self, request: Request, answer: Any) -> None:
        """Record the answer to a request."""
        ...

    def note(self, event: str, request: Request, told: str = "") -> None:
        """Keep a line of the record of who was asked what."""
        ...


def ask_in_turn(walk: Asker, requests: list[Request], spending: Spending) -> bool:
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


async def ask_together(walk: Asker, requests: list[Request], limit: int | None, spending: Spending) -> bool:
    """Ask for all requests, at most `limit` at a time, and have the walk take the answers as they come.

    From the first request on that `spending` does not allow, none is begun. Returns whether all were allowed.

    After a failure, requests in flight are awaited and kept, since they may have been paid already, and no new one is begun.
    When the task is cancelled, requests in flight are cancelled too, and awaited.
    """
    gate, turn = asyncio.Semaphore(limit or len(requests)), asyncio.Lock()
    failures: list[AcquisitionFailedError] = []
    allowed = True

    async def serve(request: Request) -> None:
        nonlocal allowed
        async with gate:
            async with turn:
                allowed = allowed and not failures and spending.allows(request)
                if failures or not allowed:
                    return
                try:
                    answer = _asked(walk, request)
                    if not inspect.isawaitable(answer):
                        walk.take(request, answer)
                        spending.book(request)
                except AcquisitionFailedError as error:
                    failures.append(error)
                    return
                if not inspect.isawaitable(answer):
                    await asyncio.sleep(0)  # other tasks run before the next request is made
                    return
            try:
                walk.take(request, await _awaited(walk, request, answer))
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


async def _awaited(walk: Asker, request: Request, answer: Awaitable[Any]) -> Any:
    """The answer that an asynchronous `acquire` brings."""
    try:
        return await answer
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise _failed(walk, request, error) from error  # cancelled by itself, not from outside
    except Exception as error:
        raise _failed(walk, request, error) from error


def _asked(walk: Asker, request: Request) -> Any:
    """What `acquire` returns: an answer, or an awaitable one."""
    if walk.acquire is None:
        raise InvalidInputError(
            "this predictor has no acquire, so the walk cannot ask; give one, or drive the walk by next_requests and take"
        )
    walk.requests += 1
    walk.note("asked", request)
    try:
        return walk.acquire(request)
    except Exception as error:
        raise _failed(walk, request, error) from error


def _failed(walk: Asker, request: Request, error: BaseException) -> AcquisitionFailedError:
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    walk.note("failed", request, what)
    return AcquisitionFailedError(
        f"{request} failed ({what}); what was delivered before is kept: error.walk.run() goes on", request, walk
    )
