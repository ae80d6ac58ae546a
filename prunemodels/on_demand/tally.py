"""Compute predictions and purchases from the nodes that the rows have reached."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prunemodels.on_demand.call_log import CallLog
from prunemodels.on_demand.plan import Plan, PurchasePlan
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.steps import LOST


@dataclass(frozen=True, eq=False)
class Standing:
    """The nodes of n rows in T trees, the status of F features, and which of M items they paid.

    Parameters
    ----------
    node
        int32, shape (n, T).
    status
        uint8, shape (n, F): unknown, known or lost.
    paid_by
        int32, shape (n, M): number of the request that paid the item, -1 if it was not paid.
    steps
        int64, shape (n,): price of the splits evaluated, in units.
    calls
        who was asked.
    done, early, capped
        bool, shape (n,): rows whose prediction is final, and those of them with open trees that cannot change it, or that the cap
        keeps open.
    """

    node: NDArray[np.int32]
    status: NDArray[np.uint8]
    paid_by: NDArray[np.int32]
    steps: NDArray[np.int64]
    calls: CallLog
    done: NDArray[np.bool_]
    early: NDArray[np.bool_]
    capped: NDArray[np.bool_]


def result_of(plan: Plan, rows: pd.Index[Any], at: Standing, rounds: int, requests: int) -> OnDemandResult:
    """Predict from the nodes as the model's library does, and add up the purchases."""
    trees, response = plan.ensemble, plan.response
    sums = response.sums(at.node)
    probabilities = response.probabilities(sums)
    lost = np.zeros((len(rows), trees.n_trees), dtype=bool)
    if plan.names:
        lost = trees.is_split[at.node] & (np.take_along_axis(at.status, plan.column[at.node], axis=1) == LOST)
    return OnDemandResult(
        rows=rows,
        predictions=response.predictions(sums),
        probabilities=None if probabilities is None else probabilities.astype(np.float64),
        **account_of(plan, at.paid_by, at.steps, at.calls),
        finished=at.done,
        stopped_early=at.early,
        fell_back=np.any(lost, axis=1),
        capped=at.capped,
        trees_finished=(~trees.is_split[at.node] | lost).sum(axis=1),
        rounds=rounds,
        requests=requests,
    )


def account_of(plan: PurchasePlan, paid_by: NDArray[np.int32], steps: NDArray[np.int64], calls: CallLog) -> dict[str, Any]:
    """What was bought, and what it cost: fields of `OnDemandResult`.

    Parameters
    ----------
    paid_by, steps, calls
        see `Standing`.
    """
    costs, paid = plan.costs, paid_by >= 0
    for_all = np.flatnonzero(costs.paid_once & paid.any(axis=0))
    first = [int(paid_by[paid[:, m], m].min()) for m in for_all]
    return {
        "bought": _bought(costs.names, np.where(costs.paid_once, -1, paid_by)),
        "once": tuple(costs.names[m] for m in for_all[np.argsort(first, kind="stable")]),
        "units": steps + paid @ plan.item_units + calls.units(),
        "calls": calls.calls(),
        "unit": plan.unit,
        "once_cost": sum((costs.prices[m] for m in for_all), Fraction(0)),
    }


def _bought(names: tuple[str, ...], paid_by: NDArray[np.int32]) -> tuple[tuple[str, ...], ...]:
    """Each row's items by the request that paid them, then in the order of the items."""
    row, item = np.nonzero(paid_by >= 0)
    order = np.lexsort((item, paid_by[row, item], row))
    named = [names[m] for m in item[order]]
    ends = np.cumsum(np.bincount(row, minlength=paid_by.shape[0])).tolist()
    return tuple(tuple(named[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True))
