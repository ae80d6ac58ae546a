"""A model that is given only the columns that it uses.

Column f of the new model is column ``kept[f]`` of the old one. The features are renumbered in a tree's state, or in the library's
own JSON or text, and nothing else changes: predictions, leaves and importances are equal bit for bit. In a pipeline a first step
puts a value that the steps accept in the place of each raw column that is gone.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree._tree import Tree

from formulations.arguments import checked
from formulations.errors import InvalidInputError, UnsupportedModelError
from prunemodels.models.columns import TracedColumns
from prunemodels.models.forests.reading import (
    BAGS,
    GRADIENT_BOOSTING,
    HIST_GRADIENT_BOOSTING,
    TreeView,
    final_step,
    is_tree,
    library_of,
    tree_views,
)
from prunemodels.models.libraries.lightgbm_models import ModelText, lightgbm_booster, numbers
from prunemodels.models.libraries.xgboost_models import check_has_trees, document_of, load_document, trees_in, xgboost_booster
from prunemodels.models.tree_model import HoldsModel, PrunesTrees, tree_model_of

Columns = NDArray[np.int64]

NO_CATEGORIES = ("pandas_categorical:null", "pandas_categorical:[]")

PER_FEATURE = ("feature_names", "feature_infos", "monotone_constraints")
"""Lines of LightGBM's head with a word for each feature."""


@runtime_checkable
class DropsColumns(Protocol):
    """A model that knows itself what it reads, such as a fitted cascade."""

    def _without_unused(self) -> Any:
        """A copy that is given only the columns that it may read."""
        ...


@checked
def drop_unused(model: Any) -> Any:
    """A copy of the model that predicts from the columns that its splits test, and asks for no others.

    Training fixes the columns that a model is given, and pruning does not change them: a forest that uses 6 of 30 columns still
    demands 30. The copy is of the same class, and its predictions, probabilities, leaves and importances on the columns that
    remain are equal bit for bit. It is for predictions: training it further would need the old columns.

    Parameters
    ----------
    model
        a forest, bag or tree of scikit-learn, see `read_forest`; a ``Booster`` or estimator of XGBoost or LightGBM; or what holds
        such a model, such as a result of `prune_forest` or a `BoostedPruning`, whose model is then returned. Of a fitted
        ``Pipeline`` the raw columns are dropped: a first step puts constants in their place, which change no prediction. Of a
        fitted cascade the columns remain that some row can still buy by its policy, and the stages that read no others.

    Returns
    -------
    object
        the model. Its ``feature_names_in_`` are the columns that remain, if it was trained with names; ``n_features_in_`` is
        their number. A model without splits keeps its first column.

    Raises
    ------
    UnsupportedModelError, NotFittedForestError, InvalidInputError
        as `read_forest`; also for linear boosters, linear leaves, and LightGBM models of pandas categories.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_valid
    >>> cheap = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10).estimator
    >>> slim = pm.drop_unused(cheap)
    >>> cheap.n_features_in_, slim.n_features_in_
    (10, 2)
    >>> columns = list(slim.feature_names_in_)
    >>> bool((slim.predict_proba(X_test[columns]) == cheap.predict_proba(X_test)).all())
    True
    """
    if isinstance(model, DropsColumns):
        return model._without_unused()
    if isinstance(model, HoldsModel):
        return drop_unused(model._fitted_model())
    if isinstance(model, PrunesTrees):
        return drop_unused(model.to_model())
    if isinstance(model, Pipeline):
        return _without_unused(model)
    if isinstance(model, FrozenEstimator):
        return FrozenEstimator(drop_unused(model.estimator))
    if isinstance(model, FixedThresholdClassifier) and isinstance(getattr(model, "estimator_", None), FrozenEstimator):
        return _thresholded(model, drop_unused(model.estimator_))
    if isinstance(model, GRADIENT_BOOSTING + HIST_GRADIENT_BOOSTING):
        raise UnsupportedModelError(
            f"columns of a {type(model).__name__} are dropped at the end of a Pipeline with a step before it, such as "
            "make_pipeline(StandardScaler(), model); alone it demands all that it was trained on"
        )
    library = library_of(model)
    if library == "xgboost":
        return _xgboost(model)
    if library == "lightgbm":
        return _lightgbm(model)
    return _forest(model)


def _thresholded(model: FixedThresholdClassifier, slim: FrozenEstimator) -> FixedThresholdClassifier:
    """The same threshold around another model."""
    found = clone(model).set_params(estimator=slim)
    found.estimator_ = slim
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(slim.estimator, name):
            setattr(found, name, getattr(slim.estimator, name))
    return found


def _without_unused(pipeline: Pipeline) -> Pipeline:
    """A pipeline that is given only the raw columns that its model's splits are made from."""
    trees = tree_model_of(pipeline).ensemble
    if trees.made is None:
        slim = drop_unused(final_step(pipeline))
        return copy.deepcopy(pipeline, {id(final_step(pipeline)): slim})
    tested = np.unique(trees.feature[trees.is_split]).tolist()
    kept = sorted({column for f in tested for column in trees.made.sources[f]}) or [0]
    slim = copy.deepcopy(pipeline)
    first = _restoring(trees.made, kept)  # type: ignore[arg-type]
    slim.steps.insert(0, (type(first).__name__.lower(), first))
    return slim


def restored_columns(traced: TracedColumns, kept: list[int]) -> TracedColumns:
    """How the same features are made from the raw columns `kept`, ascending; those made from others are constants."""
    if len(kept) == len(traced.names):
        return traced
    first, place = _restoring(traced, kept), {column: k for k, column in enumerate(kept)}
    sources = tuple(tuple(place[column] for column in made if column in place) for made in traced.sources)
    steps = ((type(first).__name__.lower(), first), *traced.steps)
    return replace(traced, steps=steps, names=tuple(traced.names[column] for column in kept), sources=sources)


def _restoring(traced: TracedColumns, kept: list[int]) -> RestoredColumns:
    """A step before the others, by which they are given only the raw columns `kept`."""
    values = traced.accepted()
    found = RestoredColumns(traced.names, values, kept, named=traced.named)
    one = [[values[f] for f in kept]]
    rows = found.transform(pd.DataFrame(one, columns=list(found.feature_names_in_)) if traced.named else np.array(one))
    try:
        traced.features(rows, "a row of constants")
    except InvalidInputError as error:
        raise InvalidInputError(
            f"the columns that are gone are replaced by constants, which a step does not accept ({error}); fit the pipeline "
            "again without these columns, or keep it as it is"
        ) from error
    return found


def _tested(features: Iterable[NDArray[Any]]) -> Columns:
    """All features that some tree tests, ascending; the first one if there is none, since the libraries want one."""
    kept = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *features])).astype(np.int64)
    return kept if kept.size else np.zeros(1, dtype=np.int64)


def _forest(forest: Any) -> Any:
    """A copy of a forest of scikit-learn, or of a tree, whose trees are renumbered."""
    views = tree_views(forest)
    trees = [view.estimator.tree_ for view in views]
    kept = _tested(view.columns[np.unique(t.feature[t.children_left >= 0])] for view, t in zip(views, trees, strict=True))
    slim = copy.deepcopy(forest, {id(tree): tree for tree in trees})
    place = np.full(forest.n_features_in_, -1, dtype=np.int64)
    place[kept] = np.arange(kept.size)
    columns = []
    for view, own in zip(views, [slim] if is_tree(slim) else slim.estimators_, strict=True):
        stays = np.flatnonzero(place[view.columns] >= 0)
        if not stays.size:  # a tree of a bag without a split still is given a column
            stays = np.zeros(1, dtype=np.int64)
        own.tree_ = _renumbered_tree(view, stays)
        _narrow(own, stays)
        columns.append(np.maximum(place[view.columns[stays]], 0))
    if isinstance(slim, BAGS):
        slim.estimators_features_ = columns
    if not is_tree(slim):
        _narrow(slim, kept)
    return slim


def _renumbered_tree(view: TreeView, stays: Columns) -> Tree:
    """The tree on the columns of its own that stay."""
    old = view.estimator.tree_
    state = old.__getstate__()
    place = np.full(old.n_features, -1, dtype=np.int64)
    place[stays] = np.arange(stays.size)
    nodes = state["nodes"].copy()
    split = nodes["left_child"] >= 0
    nodes["feature"][split] = place[nodes["feature"][split]]
    tree = Tree(stays.size, np.array(old.n_classes, dtype=np.intp), old.n_outputs)
    tree.__setstate__({**state, "nodes": nodes})
    return tree


def _narrow(model: Any, kept: Columns) -> None:
    """Tell a model that has attributes of its own which columns it is given."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = names[kept]
    if getattr(model, "monotonic_cst", None) is not None and not isinstance(model.monotonic_cst, dict):
        model.monotonic_cst = np.asarray(model.monotonic_cst)[kept]
    for name in ("max_features_", "_max_features"):
        if hasattr(model, name):
            setattr(model, name, min(getattr(model, name), kept.size))
    model.n_features_in_ = int(kept.size)


def _xgboost(model: Any) -> Any:
    """A copy of a ``Booster`` or estimator of XGBoost, whose JSON is renumbered."""
    slim = copy.deepcopy(model)
    booster = xgboost_booster(slim)
    document = document_of(booster)
    learner = document["learner"]
    check_has_trees(learner["gradient_booster"]["name"])
    grown = trees_in(document)
    is_split = [np.array(tree["left_children"]) >= 0 for tree in grown["trees"]]
    kept = _tested(np.array(tree["split_indices"])[split] for tree, split in zip(grown["trees"], is_split, strict=True))
    place = {int(f): k for k, f in enumerate(kept)}
    for tree, split in zip(grown["trees"], is_split, strict=True):
        tree["split_indices"] = [place[f] if s else 0 for f, s in zip(tree["split_indices"], split, strict=True)]
        tree["tree_param"]["num_feature"] = str(kept.size)
    learner["learner_model_param"]["num_feature"] = str(kept.size)
    _keep_categories(grown.get("cats"), kept)
    for name in ("feature_names", "feature_types"):
        if learner.get(name):
            learner[name] = [learner[name][f] for f in kept]
    load_document(booster, document)
    return slim


def _keep_categories(table: Any, kept: Columns) -> None:
    """XGBoost's table of categories: what is encoded for each feature, and one list of orders, cut at the features' ends."""
    if table and table["enc"]:
        ends, order = table["feature_segments"], table["sorted_idx"]
        table["enc"] = [table["enc"][f] for f in kept]
        table["sorted_idx"] = [k for f in kept for k in order[ends[f] : ends[f + 1]]]
        table["feature_segments"] = [0, *np.cumsum([ends[f + 1] - ends[f] for f in kept]).tolist()]


def _lightgbm(model: Any) -> Any:
    """A copy of a ``Booster`` or estimator of LightGBM, whose text is renumbered."""
    slim = copy.deepcopy(model)
    booster = lightgbm_booster(slim)
    text = ModelText.parse(booster.model_to_string())
    text.refuse_linear_leaves()
    if any(line.startswith("pandas_categorical:") and line not in NO_CATEGORIES for line in text.tail):
        raise UnsupportedModelError("the model was trained on pandas categories; encode them as numbers before training")
    kept = _tested(numbers(tree, "split_feature").astype(np.int64) for tree in text.trees)
    place = {int(f): k for k, f in enumerate(kept)}
    trees = tuple(_renumbered_block(tree, place) for tree in text.trees)
    booster.model_from_string(ModelText(tuple(_narrow_line(line, kept) for line in text.head), trees, text.tail).write())
    if booster is not slim:
        slim._n_features = slim._n_features_in = int(kept.size)
    return slim


def _renumbered_block(tree: dict[str, str], place: dict[int, int]) -> dict[str, str]:
    if not tree.get("split_feature"):
        return tree
    return {**tree, "split_feature": " ".join(str(place[int(f)]) for f in tree["split_feature"].split())}


def _narrow_line(line: str, kept: Columns) -> str:
    """A line of the head for the kept features."""
    key, equals, value = line.partition("=")
    if key == "max_feature_idx":
        return f"{key}={kept.size - 1}"
    if equals and key in PER_FEATURE and value:
        words = value.split(" ")
        return f"{key}=" + " ".join(words[f] for f in kept)
    return line


class RestoredColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The first step of a pipeline without its unused columns: it puts a constant in the place of each.

    The next step was fitted on the columns `names`, of which those in the places `kept`, ascending, remain; `values` stand for
    the others. Only if they are `named` do tables have these names; else rows are arrays.
    """

    def __init__(self, names: Sequence[str], values: Sequence[Any], kept: Sequence[int], *, named: bool) -> None:
        self.names = names
        self.values = values
        self.kept = kept
        self.named = named

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def n_features_in_(self) -> int:
        """Number of the columns that remain."""
        return len(self.kept)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns that remain."""
        if not self.named:
            raise AttributeError("feature_names_in_")
        return np.array([self.names[f] for f in self.kept], dtype=object)

    @property
    def made_from_(self) -> list[list[int]]:
        """What each column is made from, see `prunemodels.models.columns.parts`."""
        place = {f: k for k, f in enumerate(self.kept)}
        return [[place[f]] if f in place else [] for f in range(len(self.names))]

    def fit(self, X: Any = None, y: Any = None) -> RestoredColumns:
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """All columns: those of X, which may have others beside those that remain, and the constants."""
        if not self.named:
            return self._array(X)
        table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X), columns=list(self.feature_names_in_))
        missing = [name for name in self.feature_names_in_ if name not in table.columns]
        if missing:
            raise InvalidInputError(
                f"X lacks the column {missing[0]!r} ({len(missing)} missing); the model reads {self._shown()}"
            )
        kept = set(self.kept)
        columns = [
            table[name] if f in kept else pd.Series([self.values[f]] * len(table), index=table.index)
            for f, name in enumerate(self.names)
        ]
        return pd.concat(columns, axis=1, keys=list(self.names))

    def _array(self, X: Any) -> NDArray[Any]:
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if rows.ndim != 2 or rows.shape[1] != len(self.kept):
            raise InvalidInputError(f"X has shape {rows.shape}; the model reads {len(self.kept)} columns: {self._shown()}")
        constants = np.array(list(self.values))
        kind = rows.dtype if constants.dtype.kind in "biuf" and rows.dtype.kind == "f" else object
        restored = np.empty((len(rows), len(self.names)), dtype=kind)
        restored[:] = constants if kind is not object else np.array(list(self.values), dtype=object)
        restored[:, list(self.kept)] = rows
        return restored

    def _shown(self) -> str:
        return ", ".join([str(self.names[f]) for f in self.kept][:6]) + (", ..." if len(self.kept) > 6 else "")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of all columns."""
        return np.array(list(self.names), dtype=object)
