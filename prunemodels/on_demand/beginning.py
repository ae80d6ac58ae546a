"""Prepare a model for walks: the plan of its purchases, and how a walk begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from formulations.instance.cost_items import Price, exact
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.prices import check_same_prices
from prunemodels.models.costs import Costs
from prunemodels.on_demand.answers import Cells
from prunemodels.on_demand.asking import Asking
from prunemodels.on_demand.cascade_walk import CascadeWalk
from prunemodels.on_demand.pipeline_walk import PipelineWalk, raw_columns_of
from prunemodels.on_demand.plan import MOST_UNITS, Purchases
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

    plan: Purchases
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


def cap_of(max_cost: Price | None, plan: Purchases) -> int | None:
    """The most that a row may pay, in units.

    Raises
    ------
    InvalidInputError
        for a cap that is no number >= 0.
    """
    return None if max_cost is None else min(int(exact(max_cost, "max_cost") / plan.unit), MOST_UNITS)
