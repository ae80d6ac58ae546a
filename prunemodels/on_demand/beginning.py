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
from prunemodels.forests.costs import Costs
from prunemodels.on_demand.answers import Cells
from prunemodels.on_demand.cascade_walk import CascadeWalk
from prunemodels.on_demand.plan import Purchases
from prunemodels.on_demand.request import Acquire
from prunemodels.on_demand.stage_steps import steps_of
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
    walk: Callable[[Acquire, pd.Index[Any], Cells], Walk]


def cascade_walks(
    cascade: Cascade, costs: Costs | None, evaluation_cost: Any, max_rows: int | None, max_cost: Price | None
) -> Begin:
    """Walks through the stages of a fitted cascade.

    Raises
    ------
    InvalidInputError
        for prices that contradict the cascade's, a cap that is no number >= 0, and stages that do not tell what they read.
    """
    check_is_fitted(cascade, "exit_path_")
    steps = steps_of(cascade)
    check_same_prices(cascade.stages_, steps.plan.everything, costs, evaluation_cost)
    cap = None if max_cost is None else int(exact(max_cost, "max_cost") / steps.plan.unit)
    return Begin(steps.plan, partial(CascadeWalk, steps, cascade.policy_, cap, max_rows))
