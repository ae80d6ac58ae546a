"""CatBoost's models, read from the JSON file that CatBoost writes.

    margin_k(x) = scale * (sum over the trees of the k-th value of x's leaf) + bias_k                                      (1)

in doubles; data are compared in float32, right where ``x > border``. CatBoost's trees are symmetric by default: all nodes of a
level test the same split, and bit j of a leaf's number says how split j of the tree went. The first split becomes the root. A
tree with a vector in each leaf, as for several classes, is read as one tree for each class, with the same splits.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from formulations.errors import NotFittedForestError, UnsupportedModelError
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees
from prunemodels.models.response import Link, TwoClassRule
from prunemodels.models.trees import Trees, joined, one_tree

LINKS: dict[str, Link] = {"RMSE": "identity", "Logloss": "sigmoid", "CrossEntropy": "sigmoid", "MultiClass": "softmax"}
LINKS |= {"MultiClassOneVsAll": "one_vs_rest"}
"""What CatBoost calls the losses that can be pruned."""


def read_catboost(model: Any) -> ModelForest:
    """Read a fitted ``CatBoost``, ``CatBoostClassifier`` or ``CatBoostRegressor``."""
    if not model.is_fitted():
        raise NotFittedForestError.of(model)
    if model.get_cat_feature_indices() or model.get_text_feature_indices() or model.get_embedding_feature_indices():
        raise UnsupportedModelError(
            f"the {type(model).__name__} reads categories, texts or embeddings, of which CatBoost computes numbers from the "
            "labels; encode them before training"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        document = json.loads(file.read_text(encoding="utf-8"))
    classes = np.asarray(model.classes_)
    return catboost_forest(document, classes if classes.size else None, model.feature_names_, model)


def catboost_forest(
    document: Mapping[str, Any], classes: ArrayLike | None = None, names: Sequence[str] = (), source: Any = None
) -> ModelForest:
    """Read the content of CatBoost's JSON file; `source` is the model itself, if it is there.

    The classes are the labels in CatBoost's order, by default 0, 1, ...
    """
    loss = document["model_info"]["params"]["loss_function"]["type"]
    if loss not in LINKS:
        raise UnsupportedModelError(f"the model was trained with the loss {loss!r}; what can be pruned: {', '.join(LINKS)}")
    scale, bias = document["scale_and_bias"]
    if np.ndim(bias) != 1 or not len(bias) or not np.isfinite([float(scale), *map(float, bias)]).all():
        raise ValueError(f"scale_and_bias is {str(document['scale_and_bias'])[:40]}, not a number and a list of numbers")
    # symmetric trees become nested ones; a tree with several outputs becomes one for each
    trees = document.get("trees") or [_nested(tree, len(bias)) for tree in document["oblivious_trees"]]
    columns = {f["feature_index"]: f for f in document["features_info"].get("float_features", [])}
    n_outputs, n_features = len(bias), 1 + max(f["flat_feature_index"] for f in columns.values())
    if n_features > (listed := sum(len(part) for part in document["features_info"].values() if isinstance(part, list))):
        raise UnsupportedModelError(
            f"the model lists {listed} features, one has the index {n_features - 1}; save the model again"
        )
    labels = None
    if LINKS[loss] != "identity":
        labels = np.arange(max(2, n_outputs)) if classes is None else np.asarray(classes)
    named = tuple(names) if len(names) == n_features and list(names) != [str(f) for f in range(n_features)] else None
    return forest_from_trees(
        joined([_read_tree(t, tree, columns, k, n_outputs) for t, tree in enumerate(trees) for k in range(n_outputs)]),
        n_features=n_features,
        feature_names=named,
        classes=labels,
        output=np.tile(np.arange(n_outputs, dtype=np.int32), len(trees)),
        scale=np.full(len(trees) * n_outputs, float(scale)),
        base=np.array(bias, dtype=np.float64),
        link=LINKS[loss],
        source=source,
        second="margin > 0",
        decision=_threshold(document["model_info"], n_outputs),
    )


def _threshold(info: Mapping[str, Any], n_outputs: int) -> TwoClassRule | None:
    """The probability from which on the second of two classes is predicted, if the user has set one: the next one above it."""
    threshold = float(info.get("binclass_probability_threshold", 0.5))
    return None if threshold == 0.5 or n_outputs > 1 else TwoClassRule(threshold=float(np.nextafter(threshold, np.inf)))


def _nested(tree: Mapping[str, Any], n_values: int, level: int = 0, leaf: int = 0) -> dict[str, Any]:
    """A symmetric tree in the nested form that CatBoost writes for other trees, from a level on."""
    splits = tree.get("splits") or []
    if level == 0 and (len(tree["leaf_values"]), len(tree["leaf_weights"])) != (n_values << len(splits), 1 << len(splits)):
        raise ValueError(f"a tree of {len(splits)} levels has {len(tree['leaf_values'])} values, not {n_values} for each leaf")
    if level == len(splits):
        value = tree["leaf_values"][leaf * n_values : (leaf + 1) * n_values]
        return {"value": value, "weight": tree["leaf_weights"][leaf]}
    left, right = (_nested(tree, n_values, level + 1, leaf | bit << level) for bit in (0, 1))
    return {"split": splits[level], "left": left, "right": right}


def _read_tree(t: int, tree: Mapping[str, Any], columns: Mapping[int, Mapping[str, Any]], k: int, n_values: int) -> Trees:
    """One tree with the k-th of `n_values` values of each leaf, parents first."""
    nodes, left, right = [tree], [], []
    for node in nodes:  # grows meanwhile
        if "split" not in node:
            left.append(-1)
            right.append(-1)
            continue
        if node["split"].get("split_type", "FloatFeature") != "FloatFeature":
            raise UnsupportedModelError(f"tree {t} has a split of the type {node['split']['split_type']!r}; encode the feature")
        left.append(len(nodes))
        right.append(len(nodes) + 1)
        nodes += [node["left"], node["right"]]
    own = [columns[node["split"]["float_feature_index"]] if "split" in node else {} for node in nodes]
    if any("split" not in node and np.size(node["value"]) != n_values for node in nodes):
        raise ValueError(f"tree {t} has a leaf without {n_values} values")
    value = [0.0 if "split" in node else float(np.ravel(node["value"])[k]) for node in nodes]
    weight = [float(node.get("weight", 0.0)) for node in nodes]
    border = [node["split"]["border"] if "split" in node else 0.0 for node in nodes]
    return one_tree(
        np.array(left),
        np.array(right),
        np.array([c.get("flat_feature_index", -1) for c in own]),
        np.array(border, dtype=np.float32),
        np.array([c.get("nan_value_treatment") != "AsTrue" for c in own]),
        np.array(value, dtype=np.float64)[:, None],
        cover=np.array(weight),
    )
