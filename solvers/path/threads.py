"""Recursive division in a few threads. The order of the outcomes does not depend on the threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class _Place(Generic[Outcome]):
    """The place of an item in the order of outcomes: it holds its outcomes, or the places of the items it was divided into."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.within: list[_Place[Outcome]] = []


def divide(
    first: Item,
    step: Callable[[Item], tuple[list[Outcome], list[Item]]],
    *,
    threads: int,
    done: Callable[[list[Outcome]], None],
) -> list[Outcome]:
    """The outcomes of an item and of all that it is divided into.

    Parameters
    ----------
    step
        an item's outcomes, or the items into which it is divided, in order; called in several threads.
    threads
        1: `step` is called in this thread, one item after the other.
    done
        called in this thread with the outcomes of every item that is not divided further.

    Raises
    ------
    KeyboardInterrupt
        on Ctrl-C, after the steps under way have ended.
    """
    root: _Place[Outcome] = _Place()

    def settle(place: _Place[Outcome], outcomes: list[Outcome], items: list[Item]) -> list[tuple[_Place[Outcome], Item]]:
        place.outcomes, place.within = outcomes, [_Place() for _ in items]
        if outcomes:
            done(outcomes)
        return list(zip(place.within, items, strict=True))

    if threads == 1:
        todo = [(root, first)]
        while todo:
            place, item = todo.pop()
            todo += settle(place, *step(item))
        return _in_order(root)
    with ThreadPoolExecutor(threads) as pool:
        pending: dict[Future[tuple[list[Outcome], list[Item]]], _Place[Outcome]] = {pool.submit(step, first): root}
        try:
            while pending:
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    for place, item in settle(pending.pop(future), *future.result()):
                        pending[pool.submit(step, item)] = place
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return _in_order(root)


def _in_order(root: _Place[Outcome]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    todo = [root]
    while todo:
        place = todo.pop()
        outcomes += place.outcomes
        todo += reversed(place.within)
    return outcomes
