"""A forest as an ONNX model that predicts what the forest predicts.

skl2onnx does the conversion. Three precautions are taken, because a model that silently predicts something else is worse than
none:

- thresholds are made float32 numbers before the conversion, see `prunemodels.deployment.single_precision`;
- missing values go where the tree sends them. skl2onnx (1.20) sends them to the right at every split;
- the trees in the model are compared with the forest's, node by node: number, threshold, order.

The model takes float32 rows, shape (N, n_features), under the name ``X``, as scikit-learn's trees do after their own cast. Give
it ``X.astype(numpy.float32)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from formulations.errors import UnsupportedModelError
from formulations.extras import package
from prunemodels.deployment.single_precision import float32_thresholds
from prunemodels.forests.reading import tree_views
from prunemodels.tree_models.tree_model import fitted_model

TREE_OPERATORS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")


def to_onnx(forest: Any) -> Any:
    """Convert a fitted forest, pruned or not, to an ONNX model.

    Parameters
    ----------
    forest
        what `read_forest` reads, except for a `Pipeline`; or an estimator or result of ours, whose pruned forest is converted.

    Returns
    -------
    onnx.ModelProto
        input ``X``, float32, shape (N, n_features). Outputs of a classifier: labels, shape (N,), and probabilities, shape (N, K);
        of a regressor: predictions, shape (N, 1). Sums are float32, so probabilities differ by rounding: see `compare_onnx`.

    Raises
    ------
    UnsupportedModelError
        where skl2onnx is not installed, cannot convert the forest, or writes other trees than the forest has; for a forest that
        was trained on one class.
    NotFittedForestError
        if the forest is not fitted.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest
    >>> model = pm.deployment.to_onnx(forest)
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities']
    """
    if isinstance(fitted_model(forest), Pipeline):
        raise UnsupportedModelError(
            "forest is a Pipeline, whose raw columns have types that ONNX wants to know; give its last step, or take "
            "skl2onnx.convert_sklearn(float32_thresholds(pipeline), initial_types=[(column, type), ...])"
        )
    rounded = float32_thresholds(forest)  # of the forest that predicts
    _check_classes(rounded)
    skl2onnx = _library("skl2onnx")
    types = _library("skl2onnx.common.data_types")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = skl2onnx.convert_sklearn(
            rounded,
            initial_types=[("X", types.FloatTensorType([None, int(rounded.n_features_in_)]))],
            options={id(rounded): {"zipmap": False}} if hasattr(rounded, "classes_") else None,
        )
    _send_missing_values(model, rounded)
    return model


def session(model: Any, threads: int = 0) -> Any:
    """An onnxruntime session on the CPU; `threads` = 0 stands for one thread per core.

    Raises
    ------
    UnsupportedModelError
        for what is no ONNX model, and where onnxruntime is not installed.
    """
    runtime = _library("onnxruntime")
    if not hasattr(model, "SerializeToString"):
        raise UnsupportedModelError(f"model is a {type(model).__name__}, no ONNX model; give what to_onnx returns, or onnx.load")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _library(name: str) -> Any:
    """Import an optional library without what it warns of; where it is missing, the error says what to install."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return package(name)


def _check_classes(forest: Any) -> None:
    """Refuse forests of one class, and bags whose trees know different classes: skl2onnx joins their outputs column by column."""
    if not hasattr(forest, "classes_"):
        return
    if len(forest.classes_) == 1:
        raise UnsupportedModelError(
            f"the {type(forest).__name__} was trained on the one class {forest.classes_.tolist()[0]!r}, and ONNX has no "
            "classifier of one class; a model that always answers the same needs no file"
        )
    for t, view in enumerate(tree_views(forest)):
        if len(view.classes) < len(forest.classes_):
            raise UnsupportedModelError(
                f"tree {t} of the {type(forest).__name__} never saw the class {_unseen(forest, view.classes)!r}, and skl2onnx "
                "cannot average trees with different classes; train with larger draws (max_samples), so that every tree sees all"
            )


def _unseen(forest: Any, known: NDArray[np.int64]) -> Any:
    return next(label for k, label in enumerate(forest.classes_.tolist()) if k not in set(known.tolist()))


def _send_missing_values(model: Any, forest: Any) -> None:
    """Write the direction of missing values into each split of the model, after a check that it is the same split."""
    trees = iter([view.estimator.tree_ for view in tree_views(forest)])
    for operator in model.graph.node:
        if operator.op_type in TREE_OPERATORS:
            attributes = {a.name: a for a in operator.attribute}
            to_left: list[int] = []
            for nodes in _by_tree(attributes):
                to_left += _checked_directions(next(trees, None), attributes, nodes)
            directions = attributes["nodes_missing_value_tracks_true"]
            del directions.ints[:]
            directions.ints.extend(to_left)
    if next(trees, None) is not None:
        raise _other_trees("fewer trees")


def _by_tree(attributes: dict[str, Any]) -> Iterator[slice]:
    """The nodes of each tree of an operator, which are contiguous."""
    ids = np.array(attributes["nodes_treeids"].ints)
    edges = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(ids)]
    for first, end in pairwise(edges):
        yield slice(first, end)


def _checked_directions(tree: Any, attributes: dict[str, Any], nodes: slice) -> list[int]:
    """Where the tree's nodes send missing values, 1 for left; refuses nodes that differ from the tree's."""
    if tree is None or tree.node_count != nodes.stop - nodes.start:
        raise _other_trees("another number of nodes")
    node = np.array(attributes["nodes_nodeids"].ints[nodes])
    splits = np.array([mode == b"BRANCH_LEQ" for mode in attributes["nodes_modes"].strings[nodes]])
    threshold = np.array(attributes["nodes_values"].floats[nodes])
    same = sorted(node.tolist()) == list(range(tree.node_count)) and (splits == (tree.children_left[node] >= 0)).all()
    if not same or (threshold[splits] != tree.threshold[node[splits]]).any():
        raise _other_trees("other thresholds or splits")
    return [int(to_left) for to_left in tree.missing_go_to_left[node] & splits]


def _other_trees(what: str) -> UnsupportedModelError:
    version = getattr(_library("skl2onnx"), "__version__", "?")
    return UnsupportedModelError(
        f"skl2onnx {version} wrote {what} than the forest has; the model was discarded: install skl2onnx 1.19 or 1.20"
    )
