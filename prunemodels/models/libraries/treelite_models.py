"""Turn a ``treelite.Model`` into a `ModelForest`: outputs, base scores, averages and links, as its header has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import UnsupportedModelError
from prunemodels.models.libraries.links import Link
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees
from prunemodels.models.libraries.treelite_trees import read_trees
from prunemodels.models.libraries.trees import Trees

TASKS = {0: "kBinaryClf", 1: "kRegressor", 2: "kMultiClf", 3: "kLearningToRank", 4: "kIsolationForest"}

LINKS: dict[tuple[str, str], Link] = {
    ("kBinaryClf", "sigmoid"): "sigmoid",
    ("kBinaryClf", "identity"): "sigmoid",  # binary:logitraw: trained on the log loss, but predicts margins
    ("kMultiClf", "softmax"): "softmax",
    ("kMultiClf", "multiclass_ova"): "one_vs_rest",
    ("kMultiClf", "identity_multiclass"): "fractions",
    ("kRegressor", "identity"): "identity",
    ("kRegressor", "sigmoid"): "sigmoid",
}


def forest_of(
    model: Any,
    *,
    averaged: bool = False,
    classes: ArrayLike | None = None,
    feature_names: tuple[str, ...] | None = None,
    source: Any = None,
    cover: Any = None,
) -> ModelForest:
    """Read a ``treelite.Model``.

    Parameters
    ----------
    averaged
        whether trees that are summed are shares of a mean, as XGBoost's parallel trees are; treelite's own flag also counts.
    classes
        the labels; default 0, 1, ...
    source
        the model that treelite read it from; default: the treelite model.
    cover
        examples whose numbers in the leaves are their weights, if the model holds no cover.

    Raises
    ------
    UnsupportedModelError
        naming the part that cannot be pruned.
    """
    header = model.get_header_accessor()
    task = TASKS.get(int(header.get_field("task_type")[0]), "an unknown task")
    link = _link(header, task)
    n_values = int(header.get_field("num_class")[0]) if link == "fractions" else 1
    trees = read_trees(model, n_values)
    mean = bool(header.get_field("average_tree_output")[0])
    base = np.array(header.get_field("base_scores"), dtype=np.float64)
    output = _outputs(header, link, trees)
    share = 1.0 / np.bincount(output, minlength=base.size) if mean and link != "fractions" else np.ones(base.size)
    labels = None if task == "kRegressor" else _labels(classes, max(2, base.size))
    return forest_from_trees(
        trees,
        n_features=model.num_feature,
        feature_names=feature_names,
        classes=labels,
        output=output,
        scale=share[output],
        base=base,
        link=link,
        source=model if source is None else source,
        cover=cover if trees.cover is None else None,
        sharpness=float(header.get_field("sigmoid_alpha")[0]) if header.get_field("postprocessor") != "identity" else 1.0,
        averaged=mean or averaged,
    )


def _link(header: Any, task: str) -> Link:
    """How margins become predictions; refuses models with several targets or without a loss of bounded curvature."""
    if int(header.get_field("num_target")[0]) != 1:
        raise UnsupportedModelError(
            f"the model predicts {int(header.get_field('num_target')[0])} targets at once; train one model for each"
        )
    link, averaged = LINKS.get((task, header.get_field("postprocessor"))), bool(header.get_field("average_tree_output")[0])
    vector = tuple(int(k) for k in header.get_field("leaf_vector_shape")) != (1, 1)
    probabilities = averaged and task == "kBinaryClf" and link == "sigmoid" and header.get_field("postprocessor") == "identity"
    if link is None or probabilities or (vector != (link == "fractions")) or (vector and not averaged):
        leaves = ", a vector in each leaf" if vector else ""
        raise UnsupportedModelError(
            f"a {task} model with the postprocessor {header.get_field('postprocessor')!r}{leaves} cannot be pruned; what can "
            "be: squared error, log loss of two or more classes with one tree a class, averaged class fractions"
        )
    return link


def _outputs(header: Any, link: Link, trees: Trees) -> NDArray[np.int32]:
    if link == "fractions":
        return np.zeros(len(trees.tree_start) - 1, dtype=np.int32)
    output = np.array(header.get_field("class_id"), dtype=np.int32)
    if (output < 0).any():
        t = int(np.flatnonzero(output < 0)[0])
        raise UnsupportedModelError(f"tree {t} adds to all outputs at once; only one tree an output can be pruned")
    return output


def _labels(classes: ArrayLike | None, n_classes: int) -> NDArray[Any]:
    return np.arange(n_classes) if classes is None else np.asarray(classes)
