"""Prepare a model for walks: the plan of its purchases, and how a walk begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import Limit
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.prices import check_same_prices
from prunemodels.models.costs import Costs
from prunemodels.on_demand.answers import Cells
from prunemodels.on_demand.asking import Asking
from prunemodels.on_demand.cascade_walk import CascadeWalk
from prunemodels.on_demand.pipeline_walk import PipelineWalk, raw_columns_of
from prunemodels.on_demand.plan import MOST_UNITS, PurchasePlan
from prunemodels.on_demand.request import Acquire
from prunemodels.on_demand.stage_steps import TreeSteps, steps_of
from prunemodels.on_demand.walk import Walk


@dataclass(frozen=True, eq=False)
class Begin:
    """A model that is ready to be walked.

    Parameters
    ----------
    plan
        what may be bought.
    walk
        makes a new walk from the function to ask, the rows' labels, and the known values.
    """

    plan: PurchasePlan
    walk: Callable[[Acquire | None, pd.Index[Any], Cells], Walk]


def cascade_walks(cascade: Cascade, costs: Costs | None, evaluation_cost: Any, asking: Asking, max_cost: Price | None) -> Begin:
    """Walks through the stages of a fitted cascade.

    Raises
    ------
    InvalidInputError
        for prices that contradict the cascade's, a cap that is no number >= 0, and stages that do not tell what they read.
    """
    check_is_fitted(cascade, "exit_path_")
    steps = steps_of(cascade)
    cap = cap_of(max_cost, steps.plan)
    walk = partial(CascadeWalk, steps, cascade.policy_, asking, cap)
    columns = raw_columns_of(steps.plan) if isinstance(steps, TreeSteps) and steps.plan.ensemble.made is not None else None
    plan = steps.plan if columns is None else columns.plan
    check_same_prices(cascade.stages_, plan.everything, costs, evaluation_cost)
    return Begin(plan, walk if columns is None else partial(PipelineWalk, columns, walk, asking, cap))


def cap_of_limits(limits: Sequence[Limit], max_cost: Price | None) -> Price:
    """`max_cost` from limits on what every row costs, the smallest one.

    Raises
    ------
    InvalidInputError
        if both are given, and for a limit that a walk cannot keep, with the way that can.
    """
    if max_cost is not None:
        raise InvalidInputError(
            "max_cost and limits are both given; max_cost=B is the short form of limits=[Limit(B, each=True)]"
        )
    if not limits:
        raise InvalidInputError("limits is empty; give at least one, as [pm.Limit(10, each=True)]")
    for k, limit in enumerate(limits):
        if limit.of != "cost":
            raise InvalidInputError(
                f"limits[{k}] is {limit!r}, but a walk counts what a row costs, nothing else; prune the model within this limit, "
                "then walk the pruned one"
            )
        if not limit.each or limit.rows is not None:
            raise InvalidInputError(
                f"limits[{k}] is {limit!r}, a mean over examples, which a walk of one row cannot keep; give each=True, prune the "
                "model within this limit, or cap what all rows of a run pay: run(rows, max_total_cost=...)"
            )
    return min(exact(limit.at_most, "limits") for limit in limits)


def cap_of(max_cost: Price | None, plan: PurchasePlan) -> int | None:
    """The most that a row may pay, in units.

    Raises
    ------
    InvalidInputError
        for a cap that is no number >= 0.
    """
    return None if max_cost is None else min(int(exact(max_cost, "max_cost") / plan.unit), MOST_UNITS)
