"""The models that stages try if the user names none: boosted trees, linear models, and a forest of few trees."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from prunemodels.exits.table_preparation import Kind, prepared

MANY_ROWS = 20_000
"""From this number of rows on, larger trees are tried in the place of forests and strong ridges. Stages then choose between the
two models that are best on all columns."""

FEW_ROWS = 2_000
"""Below this number of rows, boosting takes small trees."""

STRENGTHS = (1.0, 0.03)
"""Inverse weights of the ridge of linear models."""


def stage_models(n_rows: int, *, classifier: bool, numeric: bool) -> tuple[Any, ...]:
    """Unfitted models for a table of this size; the forest, which takes longest, is the last.

    Parameters
    ----------
    numeric
        whether all columns are numbers; other tables are prepared, see `prunemodels.exits.table_preparation`.
    """
    boosting = HistGradientBoostingClassifier if classifier else HistGradientBoostingRegressor
    trees = ExtraTreesClassifier if classifier else ExtraTreesRegressor

    def linear(strength: float) -> Any:
        return LogisticRegression(C=strength, max_iter=500) if classifier else Ridge(1 / strength)

    if n_rows >= MANY_ROWS:
        boosted = [boosting(max_iter=300, max_leaf_nodes=leaves, early_stopping=True) for leaves in (31, 127)]
        found: list[tuple[Any, Kind]] = [*((model, "boosted") for model in boosted), (linear(1.0), "linear")]
    else:
        leaves, rounds = (7, 60) if n_rows < FEW_ROWS else (31, 100)
        small = boosting(max_iter=rounds, max_leaf_nodes=leaves, min_samples_leaf=min(20, max(2, n_rows // 20)))
        forest = trees(60, min_samples_leaf=2)
        found = [(small, "boosted"), *((linear(c), "linear") for c in STRENGTHS), (forest, "forest")]
    return tuple(_numbers(model, kind) if numeric else prepared(model, kind) for model, kind in found)


def _numbers(model: Any, kind: Kind) -> Any:
    """The model for tables of numbers, with gaps."""
    if kind == "boosted":
        return model
    scaled = [StandardScaler()] if kind == "linear" else []
    return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), *scaled, model)
