"""XGBoost's boosters: reading them, and writing them back pruned.

Scores are summed in float32 and data compared in float32, ``x < t``. With one round of parallel trees (XGBRF*) the sum is a mean:
XGBoost divides the leaves by the number of trees when it grows them. The model file is JSON with one array for each
property of a tree's nodes; a pruned tree keeps the entries of the nodes that remain.
"""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import NotFittedForestError, UnsupportedModelError
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees, link_of
from prunemodels.models.response import Link
from prunemodels.models.trees import CategorySet, Trees, before, counterparts, joined, level_by_level, one_tree, remaining
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


NUMBERS = ("squarederror", "squaredlogerror", "pseudohubererror", "absoluteerror", "quantileerror")
LINKS: dict[str, Link] = {
    "binary:logistic": "sigmoid",
    "reg:logistic": "sigmoid",
    "multi:softmax": "softmax",
    "multi:softprob": "softmax",
    **dict.fromkeys((f"reg:{name}" for name in NUMBERS), "identity"),
}
"""How margins become predictions, by the objective."""

CATEGORICAL = 1
"""The type of a split by categories."""


def read_xgboost(model: Any) -> ModelForest:
    """Read a ``Booster`` or estimator of XGBoost; after early stopping, the trees that it predicts with."""
    booster = _booster(model)
    document = document_of(booster)
    learner = document["learner"]
    check_has_trees(learner["gradient_booster"]["name"])
    objective = learner["objective"]["name"]
    if objective == "binary:logitraw":
        raise UnsupportedModelError(
            "the model was trained with objective='binary:logitraw': it predicts margins, and XGBoost's classifier cuts them at "
            "0.5, which is no even chance; train with binary:logistic, whose trees are the same"
        )
    params, names = learner["learner_model_param"], booster.feature_names
    if int(params.get("num_target", 1)) > 1:
        raise UnsupportedModelError(f"the model predicts {params['num_target']} targets at once; train one model for each")
    link, n_outputs, trees = link_of(objective, LINKS), max(1, int(params["num_class"])), _trees(document)
    labels = None if objective.startswith("reg:") else getattr(model, "classes_", np.arange(max(2, n_outputs)))
    # what marks missing values only an estimator knows
    missing = getattr(model, "missing", None)
    return forest_from_trees(
        trees,
        n_features=int(params["num_feature"]),
        feature_names=None if names is None else tuple(names),
        classes=labels,
        output=np.array(trees_in(document)["tree_info"], dtype=np.int32),
        scale=np.ones(len(trees.tree_start) - 1),
        base=_start(params["base_score"], link, n_outputs),
        link=link,
        source=model,
        averaged=booster.num_boosted_rounds() == 1,
        missing=np.nan if missing is None else float(missing),
        codes=_codes(booster),
        absent_missing=True,
    )


def _start(stored: str, link: Link, n_outputs: int) -> NDArray[np.float64]:
    """The margins before the first tree, as XGBoost rounds them: of two classes, the file holds a probability."""
    score = np.ravel(json.loads(stored))
    if link == "sigmoid":
        with np.errstate(all="ignore"):
            return np.array([-np.log(np.float32(1) / np.float32(score[0]) - np.float32(1))], dtype=np.float64)
    return np.broadcast_to(score.astype(np.float32), n_outputs).astype(np.float64)


def _weights(document: dict[str, Any]) -> list[float]:
    """What dart multiplies each tree by."""
    model = trees_in(document)
    found = model.get("weight_drop") or document["learner"]["gradient_booster"].get("weight_drop")  # from 3.4 on; before
    return found or [1.0] * len(model["trees"])


def _trees(document: dict[str, Any]) -> Trees:
    """The trees of a model file."""
    pairs = zip(trees_in(document)["trees"], _weights(document), strict=True)
    return joined([_tree(tree, weight) for tree, weight in pairs])


def _tree(tree: dict[str, Any], weight: float) -> Trees:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise UnsupportedModelError("the trees have a vector in each leaf; train with multi_strategy='one_output_per_tree'")
    order, left, right = level_by_level(*(np.array(tree[f"{side}_children"]) for side in ("left", "right")))
    condition = np.array(tree["split_conditions"], dtype=np.float32)[order]
    feature, missing_left, kind = (np.array(tree[name])[order] for name in ("split_indices", "default_left", "split_type"))
    split, listed = left >= 0, _listed(tree)
    categorical = split & (kind == CATEGORICAL)
    return one_tree(
        left,
        right,
        feature,
        np.where(categorical, np.float32(0), before(condition)),
        missing_left != 0,
        np.where(split, np.float32(0), condition * np.float32(weight))[:, None],
        cover=np.array(tree["sum_hessian"], dtype=np.float32)[order].astype(np.float64),
        categories={
            h: CategorySet(int(feature[h]), frozenset(listed[int(order[h])]), False, None, bool(missing_left[h]))
            for h in np.flatnonzero(categorical).tolist()
        },
    )


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
    stays = remaining(forest.ensemble, kept)
    for t, (tree, weight) in enumerate(zip(model["trees"], _weights(document), strict=True)):
        _prune_tree(tree, forest, t, kept, stays, weight)
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


def _listed(tree: dict[str, Any]) -> dict[int, list[int]]:
    """The categories that go right, by the file's number of the split."""
    ends = zip(*(tree.get(f"categories_{name}", []) for name in ("nodes", "segments", "sizes")), strict=True)
    return {node: tree["categories"][first : first + size] for node, first, size in ends}


def _keep_categories(tree: dict[str, Any], splits: list[int], ids: list[int]) -> None:
    """Keep the categories of the splits that stay; `ids` are the file's numbers of the nodes that stay, in their new order."""
    if "categories" not in tree:
        return
    listed = _listed(tree)
    place = {j: k for k, j in enumerate(ids)}
    stays = sorted((place[j], listed[j]) for j in splits if j in listed)
    sizes = [len(categories) for _, categories in stays]
    tree["categories"] = [category for _, categories in stays for category in categories]
    tree["categories_nodes"], tree["categories_sizes"] = [k for k, _ in stays], sizes
    tree["categories_segments"] = [sum(sizes[:k]) for k in range(len(sizes))]
