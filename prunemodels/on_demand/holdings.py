"""What the rows of a walk know and have paid, and what decides which features they ask for next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prunemodels.on_demand.answers import Answer, Cells
from prunemodels.on_demand.orders import Orders
from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.request import NEVER, Request
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.steps import KNOWN, UNKNOWN


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
