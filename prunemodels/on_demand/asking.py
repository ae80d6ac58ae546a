"""How a walk asks: one request after the other, or all of a round at the same time."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from formulations.errors import InvalidInputError
from prunemodels.on_demand.accounts import Spending
from prunemodels.on_demand.errors import AcquisitionFailedError
from prunemodels.on_demand.request import Request

if TYPE_CHECKING:
    from prunemodels.on_demand.walk import Walk


@dataclass(frozen=True)
class Asking:
    """What a walk asks for, and what follows where no value comes.

    Parameters
    ----------
    max_rows
        most rows of a request, or None.
    ask_again
        how often values that an answer left out are asked for again.
    absent
        what follows if they still do not come: the walk raises an error, or they count as unavailable.
    max_cost
        the most that a row may pay, >= 0; None: no cap.
    """

    max_rows: int | None = None
    ask_again: int = 0
    absent: Literal["error", "unavailable"] = "error"
    max_cost: Fraction | None = None


def ask_in_turn(walk: Walk, requests: list[Request], spending: Spending) -> bool:
    """Ask for one request after the other, up to the first one that `spending` does not allow. Returns whether all were allowed.

    Raises
    ------
    AcquisitionFailedError
        if a request fails; the others are not made.
    InvalidInputError
        if `acquire` is asynchronous.
    """
    for request in requests:
        if not spending.allows(request):
            return False
        answer = walk.ask(request)
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

    Raises
    ------
    AcquisitionFailedError
        the first failure, the others in its attribute `others`.
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
    answer = walk.ask(request)
    if inspect.isawaitable(answer):
        try:
            answer = await answer
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise walk.failed(request, error) from error  # cancelled by itself, not from outside
        except Exception as error:
            raise walk.failed(request, error) from error
    walk.take(request, answer)
