"""scikit-learn's HistGradientBoosting*: reading them, and writing them back pruned.

Data, thresholds and sums are doubles, ``x <= t``; each split says where missing values go. A tree is a structured array with one
record for each node, parents first. Learning rate and penalties are in the leaves already. An encoder of the model's own numbers
the categories; unknown ones go where missing values go.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from formulations.errors import NotFittedForestError
from prunemodels.models.libraries.categories import CategorySet
from prunemodels.models.libraries.gradient_boosting import check_loss, names_of
from prunemodels.models.libraries.links import Link
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees, pruned_ends
from prunemodels.models.libraries.trees import Trees, joined


def read_hist_gradient_boosting(model: Any) -> ModelForest:
    """Read a fitted ``HistGradientBoostingClassifier`` or ``HistGradientBoostingRegressor``.

    Raises
    ------
    UnsupportedModelError
        for other losses than log loss and squared error.
    NotFittedForestError
        for an estimator that was not fitted.
    """
    if not hasattr(model, "n_trees_per_iteration_"):
        raise NotFittedForestError(f"the {type(model).__name__} is not fitted: call fit(X, y) first")
    check_loss(model)
    nodes, base = _records(model), _start(model)
    classes = model.classes_ if is_classifier(model) else None
    link: Link = "identity" if classes is None else "sigmoid" if base.size == 1 else "softmax"
    column, known = _columns(model)
    bits = _bitsets(model)
    trees = joined([_read_tree(records, sets, column, known) for records, sets in zip(nodes, bits, strict=True)])
    return forest_from_trees(
        trees,
        n_features=int(model.n_features_in_),
        feature_names=names_of(model),
        classes=classes,
        output=np.tile(np.arange(base.size, dtype=np.int32), len(nodes) // base.size),
        scale=np.ones(len(nodes)),
        base=base,
        link=link,
        source=model,
        second="margin > 0",
        codes=None if known is None else HistogramCodes(model),
    )


def _records(model: Any) -> list[NDArray[Any]]:
    """The records of each tree, round after round; with `_start` and `_with_records` all that is private here."""
    return [predictor.nodes for one_round in model._predictors for predictor in one_round]


def _start(model: Any) -> NDArray[np.float64]:
    """The margins before the first tree."""
    return np.array(model._baseline_prediction, dtype=np.float64).ravel()


def _with_records(model: Any, records: list[NDArray[Any]]) -> Any:
    """A copy of the model with other trees."""
    changed = copy.deepcopy(model)
    for predictor, nodes in zip((p for one_round in changed._predictors for p in one_round), records, strict=True):
        predictor.nodes = nodes
    return changed


def _bitsets(model: Any) -> list[NDArray[np.uint32]]:
    """For each tree the categories that go left, one row of 256 bits for each categorical split."""
    return [predictor.raw_left_cat_bitsets for one_round in model._predictors for predictor in one_round]


def _columns(model: Any) -> tuple[NDArray[np.int64], dict[int, frozenset[int]] | None]:
    """The column of the user's table for each feature of the trees, and the categories that the model knows, by column.

    scikit-learn moves columns of categories to the front.
    """
    categorical = getattr(model, "is_categorical_", None)
    if categorical is None:
        return np.arange(model.n_features_in_), None
    column = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
    bits, place = model._bin_mapper.make_known_categories_bitsets()
    known = {int(column[k]): _members(bits[place[k]]) for k in range(int(categorical.sum()))}
    return column, known


def _members(bits: NDArray[np.uint32]) -> frozenset[int]:
    """The numbers whose bits are set in a row of 32-bit words."""
    return frozenset(32 * k + j for k, word in enumerate(bits.tolist()) for j in range(32) if word >> j & 1)


@dataclass(frozen=True)
class HistogramCodes:
    """Codes as the model's own encoder makes them, in the order of the user's columns; see `Codes`."""

    model: Any

    def __call__(self, X: Any, n_columns: int, name: str) -> Any:
        """See `Codes`."""
        if len(np.shape(X)) != 2 or np.shape(X)[1] != n_columns:
            return X
        column, _ = _columns(self.model)
        numbers = self.model._preprocess_X(X, reset=False)
        rows = np.empty_like(numbers)
        rows[:, column] = numbers
        return rows


def _read_tree(
    records: NDArray[Any], bits: NDArray[np.uint32], column: NDArray[np.int64], known: dict[int, frozenset[int]] | None
) -> Trees:
    leaf = records["is_leaf"] > 0
    n = len(records)
    feature = np.where(leaf, -1, column[np.where(leaf, 0, records["feature_idx"])]).astype(np.int32)
    missing_left = (records["missing_go_to_left"] > 0) & ~leaf
    categories = {}
    for h in np.flatnonzero((records["is_categorical"] > 0) & ~leaf).tolist():
        f = int(feature[h])
        members = _members(bits[records["bitset_idx"][h]])
        categories[h] = CategorySet(f, members, True, (known or {})[f] | members, bool(missing_left[h]))
    return Trees(
        np.array([0, n]),
        np.where(leaf, -1, records["left"].astype(np.int64)).astype(np.int32),
        np.where(leaf, -1, records["right"].astype(np.int64)).astype(np.int32),
        feature,
        np.where(leaf, 0.0, records["num_threshold"]),
        missing_left,
        np.where(leaf, records["value"], 0.0)[:, None],
        records["count"].astype(np.float64),
        np.arange(n, dtype=np.int32),
        categories,
    )


def write_hist_gradient_boosting(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """A copy of the model with pruned trees, whose leaves hold the values of `forest`.

    Parameters
    ----------
    kept
        bool, shape (n,): the splits that stay.
    """
    ensemble = forest.ensemble
    stays = pruned_ends(ensemble, kept) == np.arange(ensemble.n_nodes)
    return _with_records(
        forest.source,
        [
            _pruned_tree(
                records, stays[ensemble.nodes_of(t)], kept[ensemble.nodes_of(t)], forest.leaf_value[ensemble.nodes_of(t), 0]
            )
            for t, records in enumerate(_records(forest.source))
        ],
    )


def _pruned_tree(
    records: NDArray[Any], stays: NDArray[np.bool_], kept: NDArray[np.bool_], value: NDArray[np.floating]
) -> NDArray[Any]:
    """The records that stay, with splits that are not kept as leaves; all arrays over the nodes of one tree."""
    place = np.cumsum(stays) - 1
    nodes = records[stays].copy()
    split = kept[stays]
    for side in ("left", "right"):
        nodes[side] = np.where(split, place[nodes[side]], 0)
    for name, of_leaf in {
        "feature_idx": 0,
        "num_threshold": 0.0,
        "missing_go_to_left": 0,
        "gain": -1.0,
        "bin_threshold": 0,
    }.items():
        nodes[name] = np.where(split, nodes[name], of_leaf)
    for name in ("is_categorical", "bitset_idx"):
        nodes[name] = np.where(split, nodes[name], 0)
    nodes["is_leaf"] = ~split
    nodes["value"] = np.where(split, nodes["value"], value[stays])
    return nodes
