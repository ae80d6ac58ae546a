"""Prepare a model for walks: the plan of its purchases, and how a walk begins.

The walks of a pipeline's trees ask for raw columns, around the walk by features that the trees alone would have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.cost_sample import evaluation_prices
from formulations.instance.ensemble import Ensemble
from formulations.instance.limit import Limit
from formulations.instance.routing import n_examples
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.policy import ExitPolicy
from prunemodels.exits.prices import check_same_prices, evaluation_of
from prunemodels.exits.stages import StageOutput
from prunemodels.exits.tree_stages import TreeStages
from prunemodels.exits.waiting import Calls, combined
from prunemodels.models.costs import Costs, features_named_in
from prunemodels.models.tree_model import TreeModel, tree_model_of, with_threshold
from prunemodels.on_demand.answers import Cells
from prunemodels.on_demand.asking import Asking
from prunemodels.on_demand.cascade_walk import CascadeWalk
from prunemodels.on_demand.deciding import Options
from prunemodels.on_demand.forest_walk import ForestWalk
from prunemodels.on_demand.pipeline_walk import PipelineWalk, raw_columns_of
from prunemodels.on_demand.plan import Plan, PurchasePlan, plan_of
from prunemodels.on_demand.request import Acquire, Request
from prunemodels.on_demand.stage_steps import TreeSteps, steps_of

BLOCK = 20_000
"""Rows that walk together to find what stages ask."""


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
    walk: Callable[[Acquire | None, pd.Index[Any], Cells], ForestWalk | CascadeWalk | PipelineWalk]


def _begin(plan: PurchasePlan, walk: Callable[..., ForestWalk | CascadeWalk], asking: Asking) -> Begin:
    """Walks by features; around them walks by raw columns if these make the features."""
    if not isinstance(plan, Plan) or plan.ensemble.made is None:
        return Begin(plan, walk)
    columns = raw_columns_of(plan)
    return Begin(columns.plan, partial(PipelineWalk, columns, walk, asking))


def cascade_walks(cascade: Cascade, costs: Costs | None, evaluation_cost: Any, asking: Asking) -> Begin:
    """Walks through the stages of a fitted cascade.

    Raises
    ------
    InvalidInputError
        for prices that contradict the cascade's, and stages that do not tell what they read.
    """
    check_is_fitted(cascade, "exit_path_")
    steps = steps_of(cascade)
    begin = _begin(steps.plan, partial(CascadeWalk, steps, cascade.policy_, asking), asking)
    check_same_prices(cascade.stages_, begin.plan.everything, costs, evaluation_cost)
    return begin


def forest_walks(
    forest: Any,
    costs: Any,
    evaluation: Any,
    threshold: float | None,
    options: Callable[[TreeModel], Options],
    asking: Asking,
) -> Begin:
    """Walks through the trees of a forest or a boosted model.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        as `OnDemandPredictor`.
    """
    model = TreeModel(None, forest) if isinstance(forest, Ensemble) else tree_model_of(forest)
    model = model.spelled_as(features_named_in(costs))  # requests speak of columns as the prices do
    if threshold is not None:
        model = with_threshold(model, threshold)
    costs, evaluation = model.priced(costs, evaluation)
    trees, items = model.ensemble, model.items(costs)
    plan = plan_of(trees, items, evaluation_prices(model.per_feature(evaluation), trees), model=model)
    return _begin(plan, partial(ForestWalk, plan, options(model), asking), asking)


def calls_by_stage(stages: TreeStages, X: Any) -> Calls:
    """What each row has asked by each stage if it goes on to the last, arrays of shape (S, N).

    It is found by walking: a stage may take several rounds, or none.
    """
    n = n_examples(X)
    blocks = [_calls(stages, _safe_indexing(X, np.arange(a, min(a + BLOCK, n)))) for a in range(0, n, BLOCK)]
    return combined(lambda of: np.concatenate(of, axis=1), blocks)


def _calls(stages: TreeStages, X: Any) -> Calls:
    e, S, n = stages.ensemble, stages.n_stages, n_examples(X)
    plan = plan_of(e, stages.items, evaluation_of(stages), e.is_split & (stages.first_stage < S))
    go_on = ExitPolicy(_no_doubt, np.full((S - 1, 1), -np.inf), np.ones((S - 1, 2), dtype=bool))
    begin = _begin(plan, partial(CascadeWalk, TreeSteps(stages, plan), go_on, Asking()), Asking())
    walk: Any = begin.walk(None, pd.RangeIndex(n), begin.plan.nothing_known(n))
    by_features = getattr(walk, "_inner", walk)
    came, after = np.full((S, n), -1), [walk._calls.calls()]
    while True:
        requests = walk.next_requests()
        answered_by = by_features._at.answered_by
        came[(came < 0) & (answered_by >= np.arange(S)[:, None])] = len(after) - 1
        if not requests:
            break
        for request in requests:
            walk.take(request, _values(X, request))
        after.append(walk._calls.calls())
    return combined(lambda of: np.stack(of)[came, np.arange(n)], after)


def _no_doubt(s: int, now: StageOutput, before: StageOutput | None) -> NDArray[np.float64]:
    return np.zeros(len(now.value))


def _values(X: Any, request: Request) -> Any:
    """The answer to a request, from a table, an array or a sparse matrix."""
    if isinstance(X, pd.DataFrame):
        table = X.set_axis([str(name) for name in X.columns], axis=1)
        return table.iloc[request.positions][list(request.features)].set_axis(request.rows, axis=0)
    if hasattr(X, "tocsr"):
        return X.tocsr()[request.positions][:, request.columns].toarray()
    return np.asarray(X)[np.ix_(request.positions, request.columns)]


def cap_of_limits(limits: Sequence[Limit], max_cost: Price | None) -> Fraction:
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
