"""What rows ask on the way through stages that walk trees, found by walking: a stage may take several rounds, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from formulations.instance.routing import n_examples
from prunemodels.exits.policy import ExitPolicy
from prunemodels.exits.prices import evaluation_of
from prunemodels.exits.stages import StageOutput
from prunemodels.exits.tree_stages import TreeStages
from prunemodels.exits.waiting import Calls, combined
from prunemodels.on_demand.asking import Asking
from prunemodels.on_demand.cascade_walk import CascadeWalk
from prunemodels.on_demand.pipeline_walk import PipelineWalk, raw_columns_of
from prunemodels.on_demand.plan import plan_of
from prunemodels.on_demand.request import Request
from prunemodels.on_demand.stage_steps import TreeSteps

BLOCK = 20_000
"""Rows that walk together."""


def calls_by_stage(stages: TreeStages, X: Any) -> Calls:
    """What each row has asked by each stage if it goes on to the last, arrays of shape (S, N)."""
    n = n_examples(X)
    blocks = [_calls(stages, _safe_indexing(X, np.arange(a, min(a + BLOCK, n)))) for a in range(0, n, BLOCK)]
    return combined(lambda of: np.concatenate(of, axis=1), blocks)


def _calls(stages: TreeStages, X: Any) -> Calls:
    e, S, n = stages.ensemble, stages.n_stages, n_examples(X)
    plan = plan_of(e, stages.items, evaluation_of(stages), e.is_split & (stages.first_stage < S))
    go_on = ExitPolicy(_no_doubt, np.full((S - 1, 1), -np.inf), np.ones((S - 1, 2), dtype=bool))
    rows, shape = pd.RangeIndex(n), (n, len(plan.names))
    nothing = np.zeros(shape, dtype=plan.dtype), np.zeros(shape, dtype=bool)
    if e.made is None:
        walk: Any = CascadeWalk(TreeSteps(stages, plan), go_on, Asking(), None, None, rows, nothing)
        inner = walk
    else:
        columns = raw_columns_of(plan)
        width = (n, len(columns.plan.names))
        walk = PipelineWalk(
            columns,
            lambda acquire, labels, known: CascadeWalk(TreeSteps(stages, plan), go_on, Asking(), None, acquire, labels, known),
            Asking(),
            None,
            None,
            rows,
            (np.zeros(width, dtype=object), np.zeros(width, dtype=bool)),
        )
        inner = walk._inner
    came, after = np.full((S, n), -1), [walk._calls.calls()]
    while True:
        requests = walk.next_requests()
        spoken = inner._at.spoken
        came[(came < 0) & (spoken >= np.arange(S)[:, None])] = len(after) - 1
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
