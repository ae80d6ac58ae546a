"""treelite's models: reading trees, outputs, base scores, averages and links from them, and writing them back pruned."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import UnsupportedModelError
from formulations.extras import package
from prunemodels.models.forests.reading import library_of
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees
from prunemodels.models.response import Link
from prunemodels.models.trees import CategorySet, Trees, before, joined, one_tree


def treelite() -> Any:
    """The treelite package, which is imported when a model of another library is read."""
    package("treelite.frontend")
    package("treelite.model_builder")
    return package("treelite")


OPERATORS = {2: "<", 3: "<=", 4: ">", 5: ">="}
"""treelite's numbers for the comparisons that can be read."""


CATEGORICAL = 2
"""treelite's number for nodes with a categorical split."""


def read_trees(model: Any, n_values: int) -> Trees:
    """The trees of a ``treelite.Model`` with `n_values` numbers in each leaf."""
    return joined([_read_tree(model.get_tree_accessor(t), t, n_values) for t in range(model.num_tree)])


def _read_tree(accessor: Any, t: int, n_values: int) -> Trees:
    def of(name: str) -> NDArray[Any]:
        return np.array(accessor.get_field(name))  # a copy: treelite's own memory goes when the model does

    left, right = of("cleft"), of("cright")
    order = _parents_first(left, right)
    place = np.full(len(left) + 1, -1, dtype=np.int32)  # the last one for "no child": -1
    place[order] = np.arange(order.size)
    left, right = place[left[order]], place[right[order]]
    split = left >= 0
    comparison, threshold = of("cmp")[order], of("threshold")[order]
    categorical = split & (of("node_type")[order] == CATEGORICAL)
    numeric = split & ~categorical
    _check_splits(t, order, numeric, comparison, threshold)
    strict = np.isin(comparison, (2, 5))
    threshold = np.where(strict & numeric, before(threshold), np.where(categorical, 0, threshold)).astype(threshold.dtype)
    swapped = np.isin(comparison, (4, 5)) & numeric
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    missing_left = (of("default_left")[order] != 0) ^ swapped
    feature = of("split_index")[order]
    return one_tree(
        left,
        right,
        feature,
        threshold,
        missing_left,
        _leaf_values(of, order, split, n_values),
        cover=_cover(of, order, split),
        node_id=order.astype(np.int32),
        categories={
            h: _category_set(of, int(order[h]), feature[h], missing_left[h]) for h in np.flatnonzero(categorical).tolist()
        },
    )


def _category_set(of: Any, node: int, feature: np.int32, missing_left: np.bool_) -> CategorySet:
    """The test of a categorical split, by treelite's number of the node."""
    begin, end = int(of("category_list_begin")[node]), int(of("category_list_end")[node])
    listed = frozenset(of("category_list")[begin:end].astype(np.int64).tolist())
    return CategorySet(int(feature), listed, not of("category_list_right_child")[node], None, bool(missing_left))


def _parents_first(left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int64]:
    """The nodes below the root and the root itself, level by level."""
    levels, level = [], np.zeros(1, dtype=np.int64)
    while level.size:
        levels.append(level)
        below = np.column_stack([left[level], right[level]]).ravel()
        level = below[below >= 0].astype(np.int64)
    return np.concatenate(levels)


def _check_splits(
    t: int, order: NDArray[np.int64], split: NDArray[np.bool_], comparison: NDArray[np.int8], threshold: NDArray[np.floating]
) -> None:
    unknown, empty = split & ~np.isin(comparison, list(OPERATORS)), split & np.isnan(threshold)
    for h in np.flatnonzero(unknown | empty)[:1]:
        what = (
            f"comparison number {comparison[h]} of treelite is not one of {', '.join(OPERATORS.values())}"
            if unknown[h]
            else "the threshold is NaN"
        )
        raise UnsupportedModelError(f"tree {t}, node {order[h]}: {what}")


def _leaf_values(of: Any, order: NDArray[np.int64], split: NDArray[np.bool_], n_values: int) -> NDArray[np.floating]:
    """Scalars, or vectors of K numbers."""
    if n_values == 1 and not of("leaf_vector").size:
        scalar = of("leaf_value")[order]
        return np.where(split, 0, scalar).astype(scalar.dtype)[:, None]
    vectors, begin = of("leaf_vector"), of("leaf_vector_begin")[order].astype(np.int64)
    value = np.zeros((order.size, n_values), dtype=vectors.dtype)
    leaves = np.flatnonzero(~split)
    value[leaves] = vectors[begin[leaves][:, None] + np.arange(n_values)]
    return value


def _cover(of: Any, order: NDArray[np.int64], split: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    for name in ("sum_hess", "data_count"):
        present = of(f"{name}_present")
        if present.size and present[order][~split].all():
            return np.asarray(of(name)[order], dtype=np.float64)
    return None


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
) -> ModelForest:
    """Read a ``treelite.Model``, which treelite read from `source`; the labels are 0, 1, ... unless `classes` has others.

    With `averaged`, trees that are summed are shares of a mean, as XGBoost's parallel trees are.
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
    labels = np.arange(max(2, base.size)) if classes is None else np.asarray(classes)
    return forest_from_trees(
        trees,
        n_features=model.num_feature,
        feature_names=feature_names,
        classes=None if task == "kRegressor" else labels,
        output=output,
        scale=share[output],
        base=base,
        link=link,
        source=model if source is None else source,
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


def write_treelite(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """The source, a ``treelite.Model``, rebuilt with these splits alone; all else is copied."""
    source = forest.source
    if library_of(source) != "treelite":
        raise UnsupportedModelError(f"the forest was read from a {type(source).__name__}, not from a treelite.Model")
    builder = _builder(source)
    for t in range(forest.ensemble.n_trees):
        builder.start_tree()
        _add_nodes(builder, forest, t, kept)
        builder.end_tree()
    return builder.commit()


def _builder(source: Any) -> Any:
    """A builder with the source's header."""
    build = treelite().model_builder
    header = json.loads(source.dump_as_json(pretty_print=False))
    return build.ModelBuilder(
        threshold_type=header["threshold_type"],
        leaf_output_type=header["leaf_output_type"],
        metadata=build.Metadata(
            num_feature=header["num_feature"],
            task_type=header["task_type"],
            average_tree_output=header["average_tree_output"],
            num_target=header["num_target"],
            num_class=header["num_class"],
            leaf_vector_shape=header["leaf_vector_shape"],
        ),
        tree_annotation=build.TreeAnnotation(
            num_tree=source.num_tree, target_id=header["target_id"], class_id=header["class_id"]
        ),
        postprocessor=build.PostProcessorFunc(
            name=header["postprocessor"], sigmoid_alpha=header["sigmoid_alpha"], ratio_c=header["ratio_c"]
        ),
        base_scores=header["base_scores"],
    )


def _add_nodes(builder: Any, forest: ModelForest, t: int, kept: NDArray[np.bool_]) -> None:
    ensemble, accessor = forest.ensemble, forest.source.get_tree_accessor(t)
    names = ("split_index", "threshold", "default_left", "cmp", "cleft", "cright", "data_count", "sum_hess")
    sets = ("node_type", "category_list", "category_list_begin", "category_list_end", "category_list_right_child")
    tree = {name: np.array(accessor.get_field(name)) for name in names + sets}
    for h in range(int(ensemble.tree_start[t]), int(ensemble.tree_start[t + 1])):
        above, j = int(ensemble.parent[h]), int(forest.node_id[h])
        if above >= 0 and not kept[above]:
            continue
        # its test, as the source has it, or the value that it predicts as a leaf
        builder.start_node(j)
        if kept[h] and tree["node_type"][j] == CATEGORICAL:
            listed = tree["category_list"][int(tree["category_list_begin"][j]) : int(tree["category_list_end"][j])]
            builder.categorical_test(
                feature_id=int(tree["split_index"][j]),
                default_left=bool(tree["default_left"][j]),
                category_list=listed.tolist(),
                category_list_right_child=bool(tree["category_list_right_child"][j]),
                left_child_key=int(tree["cleft"][j]),
                right_child_key=int(tree["cright"][j]),
            )
        elif kept[h]:
            builder.numerical_test(
                feature_id=int(tree["split_index"][j]),
                threshold=float(tree["threshold"][j]),
                default_left=bool(tree["default_left"][j]),
                opname=OPERATORS[int(tree["cmp"][j])],
                left_child_key=int(tree["cleft"][j]),
                right_child_key=int(tree["cright"][j]),
            )
        else:
            value = forest.leaf_value[h].tolist()
            builder.leaf(value if forest.link == "fractions" else value[0])
        # what the source tells of its training rows
        if tree["data_count"].size:
            builder.data_count(int(tree["data_count"][j]))
        if tree["sum_hess"].size:
            builder.sum_hess(float(tree["sum_hess"][j]))
        builder.end_node()
