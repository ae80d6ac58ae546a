"""Write a pruned forest as a ``treelite.Model``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import UnsupportedModelError
from prunemodels.models.libraries.dependencies import library_of, treelite
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.libraries.treelite_trees import CATEGORICAL, OPERATORS


def write_treelite(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """The source, a ``treelite.Model``, rebuilt without the splits that are pruned; all else is copied.

    Parameters
    ----------
    kept
        bool, shape (n,): the splits that stay.
    """
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
        if tree["data_count"].size:
            builder.data_count(int(tree["data_count"][j]))
        if tree["sum_hess"].size:
            builder.sum_hess(float(tree["sum_hess"][j]))
        builder.end_node()
