"""What models of known kinds say about few rows, without the checks that each step of scikit-learn makes again.

For one row these checks, and a call for each of a hundred trees, take nearly all of the time. The arithmetic here is that of
scikit-learn, in its order, so the answers are the same bit for bit:

    SimpleImputer             x  ->  the statistic, where x is missing
    StandardScaler            x  ->  (x - mean) / scale
    LogisticRegression        expit(x w + b), or softmax(x w + b)
    Ridge                     x w + b
    HistGradientBoosting*     link^-1( the sum of the trees ), see `prunemodels.models.summed_trees`
    ExtraTrees*, RandomForest*  the mean of the trees

A model of any other type, subclasses included, or with options beside these, is asked itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from prunemodels.models.forests.training_rows import VERSION
from prunemodels.models.summed_trees import summed_trees

Rows = NDArray[Any]
"""float32 or float64, shape (rows, columns of the model)."""

Step = Callable[[Rows], Rows]

Answer = Callable[[Rows], Rows | None]
"""None: for rows that the model itself has to be asked for, as it may refuse them."""

SCALES_IN_TYPE_OF_ROWS = VERSION >= (1, 8)
"""Whether StandardScaler rounds means and scales to float32 before it applies them to float32 rows."""


def quick_answer(model: Any) -> Answer | None:
    """From rows to what the fitted `model` predicts, probabilities or numbers; None where its kind is not known here."""
    *before, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    steps = [_STEPS.get(type(step), _unknown)(step) for step in before]
    answer = _MODELS.get(type(last), _unknown)(last)
    if answer is None or any(step is None for step in steps):
        return None
    known = [step for step in steps if step is not None]
    takes_any = not steps and type(last) in BOOSTED

    def asked(rows: Rows) -> Rows | None:
        for step in known:
            rows = step(rows)
        return answer(rows) if takes_any or np.isfinite(rows).all() else None

    return asked


def _unknown(model: Any) -> None:
    return None


def _imputer(imputer: Any) -> Step | None:
    fill = imputer.statistics_
    whole = not imputer.add_indicator and fill.dtype.kind == "f" and not np.isnan(fill).any()
    if not whole or not np.isnan(imputer.missing_values):
        return None

    def asked(rows: Rows) -> Rows:
        missing = np.isnan(rows)
        return np.where(missing, fill.astype(rows.dtype), rows) if missing.any() else rows

    return asked


def _scaler(scaler: Any) -> Step | None:
    if not (scaler.with_mean and scaler.with_std):
        return None
    mean, scale = scaler.mean_, scaler.scale_

    def asked(rows: Rows) -> Rows:
        dtype = rows.dtype if SCALES_IN_TYPE_OF_ROWS else mean.dtype
        centred = (rows - mean.astype(dtype)).astype(rows.dtype, copy=False)
        return np.asarray(centred / scale.astype(dtype), dtype=rows.dtype)

    return asked


def _logistic(model: Any) -> Step | None:
    if model.solver != "lbfgs" or getattr(model, "multi_class", "deprecated") != "deprecated":
        return None
    weight, base, two = model.coef_.T, model.intercept_, len(model.classes_) == 2

    def asked(rows: Rows) -> Rows:
        scores = rows @ weight + base
        return _two(scores[:, 0]) if two else _softmax(scores)

    return asked


def _two(margin: Rows) -> Rows:
    """The probabilities of two classes."""
    found = np.empty((len(margin), 2), dtype=margin.dtype)
    found[:, 1] = expit(margin)
    found[:, 0] = 1 - found[:, 1]
    return found


def _softmax(scores: Rows) -> Rows:
    found = np.exp(scores - scores.max(axis=1)[:, None])
    return np.asarray(found / found.sum(axis=1)[:, None])


def _ridge(model: Any) -> Step | None:
    weight, base = model.coef_.T, model.intercept_
    return lambda rows: np.asarray(rows @ weight + base)


def _boosted(model: Any) -> Step | None:
    if getattr(model, "is_categorical_", None) is not None or model.loss not in ("log_loss", "squared_error"):
        return None
    trees, numbers = summed_trees(model), not is_classifier(model)

    def asked(rows: Rows) -> Rows:
        margins = trees.margins(np.ascontiguousarray(rows, dtype=np.float64))
        if numbers:
            return margins[:, 0]
        return _two(margins[:, 0]) if margins.shape[1] == 1 else _softmax(np.asfortranarray(margins))

    return asked


def _forest(forest: Any) -> Answer | None:
    trees, classes = [tree.tree_ for tree in forest.estimators_], is_classifier(forest)

    def asked(rows: Rows) -> Rows | None:
        with np.errstate(over="ignore"):
            cast = np.ascontiguousarray(rows, dtype=np.float32)
        if np.isinf(cast).any():
            return None
        total = np.asarray(sum(tree.predict(cast) for tree in trees) / len(trees))
        return total if classes else total[:, 0]

    return asked


BOOSTED = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

_STEPS: dict[type, Callable[[Any], Step | None]] = {SimpleImputer: _imputer, StandardScaler: _scaler}

_MODELS: dict[type, Callable[[Any], Answer | None]] = {
    LogisticRegression: _logistic,
    Ridge: _ridge,
    **dict.fromkeys(BOOSTED, _boosted),
    **dict.fromkeys((ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor), _forest),
}
