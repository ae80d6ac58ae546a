"""XGBoost's boosters: reading them, and writing them back pruned.

Scores are summed in float32 and data compared in float32, ``x < t``. With one round of parallel trees (XGBRF*) the sum is a mean:
XGBoost divides the leaves by the number of trees when it grows them. The model file is JSON with one array for each
property of a tree's nodes; a pruned tree keeps the entries of the nodes that remain.
"""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import NotFittedForestError, UnsupportedModelError
from prunemodels.models.libraries.model_forest import ModelForest, remaining
from prunemodels.models.libraries.treelite_models import forest_of, treelite
from prunemodels.models.trees import counterparts
from prunemodels.models.user_columns import UserColumns

NO_PARENT = 2147483647
"""What XGBoost writes for the parent of a root."""

PER_NODE = (
    "base_weights",
    "default_left",
    "left_children",
    "loss_changes",
    "parents",
    "right_children",
    "split_conditions",
    "split_indices",
    "split_type",
    "sum_hessian",
)


def read_xgboost(model: Any) -> ModelForest:
    """Read a ``Booster`` or estimator of XGBoost; after early stopping, the trees that it predicts with."""
    booster = _booster(model)
    learner = json.loads(booster.save_config())["learner"]
    check_has_trees(learner["gradient_booster"]["name"])
    if learner["objective"]["name"] == "binary:logitraw":
        raise UnsupportedModelError(
            "the model was trained with objective='binary:logitraw': it predicts margins, and XGBoost's classifier cuts them at "
            "0.5, which is no even chance; train with binary:logistic, whose trees are the same"
        )
    names = booster.feature_names
    forest = forest_of(
        _through_treelite(booster),
        averaged=booster.num_boosted_rounds() == 1,
        classes=getattr(model, "classes_", None),
        feature_names=None if names is None else tuple(names),
        source=model,
    )
    missing = getattr(model, "missing", None)
    marker = np.nan if missing is None else float(missing)
    return replace(forest, base=_start(booster, forest), missing=marker, codes=_codes(booster), absent_missing=True)


def _start(booster: Any, forest: ModelForest) -> NDArray[np.float64]:
    """The margins before the first tree, as XGBoost rounds them: of two classes, the file holds a probability."""
    if forest.link != "sigmoid":
        return forest.base
    stored = json.loads(json.loads(booster.save_config())["learner"]["learner_model_param"]["base_score"])
    probability = np.float32(np.ravel(stored)[0])
    with np.errstate(all="ignore"):
        start = np.array([-np.log(np.float32(1) / probability - np.float32(1))], dtype=np.float64)
    return start if np.allclose(start, forest.base, atol=1e-5) else forest.base


def _through_treelite(booster: Any) -> Any:
    """The booster as treelite reads it, without the names of categories; if it cannot, the error has treelite's reason."""
    package = treelite()
    try:
        return package.frontend.from_xgboost(_without_names_of_categories(booster))
    except package.TreeliteError as error:
        raise UnsupportedModelError(f"treelite cannot read the booster: {error}") from error


def _without_names_of_categories(booster: Any) -> Any:
    if "c" not in (booster.feature_types or []):
        return booster
    document = document_of(booster)
    trees_in(document)["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}
    plain = type(booster)()
    load_document(plain, document)
    return plain


def check_has_trees(kind: str) -> None:
    """Refuse linear boosters."""
    if kind not in ("gbtree", "dart"):
        raise UnsupportedModelError(f"the booster is {kind!r}: it has no trees; train with booster='gbtree'")


def document_of(booster: Any) -> dict[str, Any]:
    """The content of a model file."""
    document: dict[str, Any] = json.loads(bytes(booster.save_raw(raw_format="json")))
    return document


def load_document(booster: Any, document: dict[str, Any]) -> None:
    """Replace a booster by the content of a model file."""
    booster.load_model(bytearray(json.dumps(document), "utf-8"))


def trees_in(document: dict[str, Any]) -> dict[str, Any]:
    """The part of a model file that holds the trees and the names of categories."""
    grown = document["learner"]["gradient_booster"]
    model: dict[str, Any] = grown.get("gbtree", grown)["model"]
    return model


def _codes(booster: Any) -> UserColumns | None:
    """The categories of the table's columns that XGBoost was trained on; older files have none: tables stand for their codes."""
    if "c" not in (booster.feature_types or []):
        return None
    stored = trees_in(document_of(booster)).get("cats", {"enc": []})["enc"]
    named = {f: _names(booster, f, column) for f, column in enumerate(stored) if column["values"]}
    return UserColumns(named, own_codes=not named, refuses=True)


def _names(booster: Any, f: int, column: dict[str, Any]) -> list[Any]:
    """The categories of one column, as XGBoost stores them: numbers, or texts one after the other as bytes."""
    if "offsets" not in column:
        return list(column["values"])
    if not all(0 < value < 128 for value in column["values"]):  # XGBoost 3.2 counts letters, and cuts off bytes at the end
        raise UnsupportedModelError(
            f"the column {booster.feature_names[f]!r} has categories with letters outside of ASCII, which XGBoost stores "
            "damaged; rename them before training"
        )
    text = bytes(column["values"]).decode()
    return [text[a:b] for a, b in itertools.pairwise(column["offsets"])]


def xgboost_booster(model: Any) -> Any:
    """The booster of an estimator, which is checked to be fitted; or the booster itself."""
    if not hasattr(model, "get_booster"):
        return model
    if not model.__sklearn_is_fitted__():
        raise NotFittedForestError.of(model)
    return model.get_booster()


def _booster(model: Any) -> Any:
    """The booster, cut after the round at which training stopped early, as the estimators' ``predict`` does."""
    booster = xgboost_booster(model)
    if booster is model or booster.attr("best_iteration") is None:
        return booster
    return booster[: int(booster.attr("best_iteration")) + 1]


def write_xgboost(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """A copy of the model that keeps these splits; the library predicts with it and saves it like any other."""
    document = document_of(_booster(forest.source))
    model = trees_in(document)
    weight = model.get("weight_drop") or document["learner"]["gradient_booster"].get("weight_drop")  # from 3.4 on; before
    stays = remaining(forest.ensemble, kept)
    for t, tree in enumerate(model["trees"]):
        _prune_tree(tree, forest, t, kept, stays, weight[t] if weight else 1.0)
    pruned = copy.deepcopy(forest.source)
    load_document(xgboost_booster(pruned), document)
    return pruned


def _prune_tree(
    tree: dict[str, Any], forest: ModelForest, t: int, kept: NDArray[np.bool_], stay: NDArray[np.bool_], weight: float
) -> None:
    """Keep the entries of the nodes that remain, in the ensemble's order; collapsed splits become leaves."""
    ensemble, nodes = forest.ensemble, forest.ensemble.nodes_of(t)
    old = counterparts(ensemble, t, np.array(tree["left_children"]), np.array(tree["right_children"]))
    stays = np.flatnonzero(stay[nodes]) + nodes.start
    new = np.full(ensemble.n_nodes, -1)
    new[stays] = np.arange(stays.size)
    ids = old[stays - nodes.start]
    _keep_categories(tree, ids[kept[stays]].tolist(), ids.tolist())
    for name in PER_NODE:
        tree[name] = [tree[name][j] for j in ids]
    for k, h in enumerate(stays.tolist()):
        parent = int(ensemble.parent[h])
        tree["parents"][k] = NO_PARENT if parent < 0 else int(new[parent])
        tree["left_children"][k] = int(new[ensemble.left[h]]) if kept[h] else -1
        tree["right_children"][k] = int(new[ensemble.right[h]]) if kept[h] else -1
        collapsed = bool(ensemble.is_split[h]) and not kept[h]
        if collapsed or (forest.revalued and not kept[h]):
            value = float(str(np.float32(forest.leaf_value[h, 0] / weight)))  # the shortest decimal that denotes the float32
            tree["split_conditions"][k] = tree["base_weights"][k] = value
        if collapsed:
            tree["split_indices"][k] = tree["split_type"][k] = tree["default_left"][k] = 0
            tree["loss_changes"][k] = 0.0
    tree["tree_param"] |= {"num_nodes": str(stays.size), "num_deleted": "0"}


def _keep_categories(tree: dict[str, Any], splits: list[int], ids: list[int]) -> None:
    """Keep the categories of the splits that stay; `ids` are the file's numbers of the nodes that stay, in their new order."""
    if "categories" not in tree:
        return
    ends = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    listed = {node: tree["categories"][first : first + size] for node, first, size in ends}
    place = {j: k for k, j in enumerate(ids)}
    stays = sorted((place[j], listed[j]) for j in splits if j in listed)
    sizes = [len(categories) for _, categories in stays]
    tree["categories"] = [category for _, categories in stays for category in categories]
    tree["categories_nodes"], tree["categories_sizes"] = [k for k, _ in stays], sizes
    tree["categories_segments"] = [sum(sizes[:k]) for k in range(len(sizes))]
