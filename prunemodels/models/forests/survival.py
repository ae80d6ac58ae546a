"""Survival forests of scikit-survival: their curves, and events and times of examples, of which some are censored.

Their trees are scikit-learn's, with ``value`` of the shape (nodes, U, 2): at each of the U distinct times of the training
examples the cumulative hazard H and the survival probability S of the node. A forest averages the trees' curves, and its
``predict`` is the risk score, the sum of H over the times at which an event happened. Scores of curves are integrals over these
event times, see `formulations.instance.survival`.

No function here imports scikit-survival: a model of it is there only if it was imported.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.routing import n_examples
from formulations.instance.survival import BLOCK, CensoredSample, SurvivalCurves
from formulations.instance.tree_loss import TreeLoss
from prunemodels.models.columns import final_step

KINDS = {
    "sksurv.ensemble": ("RandomSurvivalForest", "ExtraSurvivalTrees"),
    "sksurv.tree": ("SurvivalTree", "ExtraSurvivalTree"),
}
"""scikit-survival's classes that are read, by their modules: forests, and single trees."""

SURVIVAL_LOSS = TreeLoss("integrated_brier_score")

STRUCTURED = "give scikit-survival's array of events and times, sksurv.util.Surv.from_arrays(event, time)"


def survival_forests() -> tuple[type, ...]:
    """The classes of survival forests; none before they are imported."""
    return _classes("sksurv.ensemble")


def survival_trees() -> tuple[type, ...]:
    """The classes of single survival trees; none before they are imported."""
    return _classes("sksurv.tree")


def _classes(module: str) -> tuple[type, ...]:
    found = [getattr(sys.modules.get(module), name, None) for name in KINDS[module]]
    return tuple(kind for kind in found if isinstance(kind, type))


def predicts_curves(forest: Any) -> bool:
    """Whether it is a forest or tree of scikit-survival."""
    return isinstance(forest, survival_forests() + survival_trees())


def check_holds_curves(forest: Any) -> None:
    """Refuse survival forests whose nodes hold risk scores only."""
    if forest.low_memory:
        raise UnsupportedModelError(
            f"the {type(forest).__name__} was trained with low_memory=True: its nodes hold no survival curves, by which errors "
            "are measured; train it with low_memory=False"
        )


def wrong_with_times(forest: Any, trees: list[Any]) -> str | None:
    """The first thing that is wrong with the times of a survival forest, None where they are sound."""
    times, is_event = (np.asarray(getattr(forest, name, None)) for name in ("unique_times_", "is_event_time_"))
    if times.ndim != 1 or times.dtype.kind != "f" or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        return "unique_times_ is no rising list of times"
    if is_event.shape != times.shape or is_event.dtype != bool or not is_event.any():
        return "is_event_time_ does not say which of unique_times_ are times of events"
    for t, tree in enumerate(trees):
        if not np.array_equal(np.asarray(getattr(tree, "unique_times_", None)), times):
            return f"tree {t}: its unique_times_ are not the forest's"
        survival = tree.tree_.value[:, :, 1]
        if (survival < -1e-9).any() or (survival > 1 + 1e-9).any():
            return f"tree {t}: a survival probability is not between 0 and 1"
    return None


def curves_of(forest: Any, trees: list[Any]) -> SurvivalCurves:
    """The survival curves of a forest's nodes at the times of events."""
    column = np.flatnonzero(forest.is_event_time_)
    return SurvivalCurves(forest.unique_times_[column], tuple(tree.tree_.value[:, :, 1] for tree in trees), column)


def risk_scores(tree: Any) -> NDArray[np.float64]:
    """What each node of a tree adds to the forest's ``predict``, shape (nodes, 1)."""
    return np.asarray(tree.tree_.value[..., 0][:, tree.is_event_time_].sum(axis=1, keepdims=True))


def censored_sample(
    times: NDArray[np.float64], y: Any, n_rows: int, weights: NDArray[np.float64] | None = None, name: str = "y"
) -> CensoredSample:
    """Events and times of examples, weighed by the censoring among them, see `formulations.instance.survival`.

    `times` are the forest's event times. y is a structured array of the shape (n_rows,): whether each example has an event, and
    until when it was observed; messages call it `name`. Weights are >= 0, by default 1 each.
    """
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if not isinstance(y, np.ndarray) or fields is None or len(fields) != 2:
        found = f"of the fields {', '.join(fields)}" if fields else type(y).__name__
        raise InvalidInputError(f"{name} is {found}, the forest predicts survival curves; {STRUCTURED}")
    if y.shape != (n_rows,):
        raise InvalidInputError(f"{name} has shape {y.shape}, X has {n_rows} rows: give one event and time each")
    event, time = (y[field] for field in fields)
    if event.dtype != bool:
        raise InvalidInputError(
            f"{name}: the field {fields[0]!r} is {event.dtype}, it must be bool: True where the event happened; {STRUCTURED}"
        )
    if time.dtype.kind not in "iuf":
        raise InvalidInputError(f"{name}: the field {fields[1]!r} is {time.dtype}, it must be the time in numbers; {STRUCTURED}")
    time = time.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(time) & (time >= 0)))
    if bad.size:
        raise InvalidInputError(f"{name}[{bad[0]}]: the field {fields[1]!r} is {time[bad[0]]}; times must be finite and >= 0")
    return CensoredSample.of(time, event, times, np.ones(n_rows) if weights is None else weights, name)


def survival_losses(model: Any, X: Any, y: Any, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The integrated Brier score of the curve that a forest, or a pipeline with one, predicts for each row; shape (N,).

    The weights >= 0 of the rows count in the estimate of censoring; default: 1 each.
    """
    forest, n_rows = final_step(model), n_examples(X)
    sample = censored_sample(forest.unique_times_[forest.is_event_time_], y, n_rows, weights)
    size = max(1, BLOCK // len(forest.unique_times_))
    found = []
    for first in range(0, n_rows, size):
        rows = X if n_rows <= size else _safe_indexing(X, slice(first, first + size))
        curves = model.predict_survival_function(rows, return_array=True)
        found.append(sample.row_losses(curves[:, forest.is_event_time_], first))
    return np.concatenate(found)


def wrong_with_training_data(
    tree: Any, leaf: NDArray[np.int64], weights: NDArray[np.float64], sample: CensoredSample
) -> int | None:
    """The first leaf of a tree that was not grown on the events and times that reach it, None where all were.

    Nelson and Aalen's hazard H of the examples at a leaf satisfies  sum w_i H(T_i) = sum w_i delta_i. `leaf` is the leaf that
    each example reaches, counted from the tree's root; the weights are those in the tree.
    """
    n, drawn = tree.tree_.node_count, weights > 0
    leaf, weights, time, event = leaf[drawn], weights[drawn], sample.time[drawn], sample.event[drawn]
    column = np.minimum(np.searchsorted(tree.unique_times_, time), len(tree.unique_times_) - 1)
    hazard = np.where(tree.unique_times_[column] == time, tree.tree_.value[leaf, column, 0], np.inf)
    expected, events = (np.bincount(leaf, weights=weights * x, minlength=n) for x in (hazard, event))
    wrong = np.flatnonzero(np.abs(expected - events) > 1e-6 * weights.sum())
    return int(wrong[0]) if wrong.size else None
