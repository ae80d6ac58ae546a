"""ONNX models that predict what a forest predicts.

skl2onnx does the conversion. Three precautions are taken, because a model that silently predicts something else is worse
than none:

- thresholds are made float32 numbers before the conversion, by (1);
- missing values go where the tree sends them. skl2onnx (1.20) sends them to the right at every split;
- the trees in the model are compared with the forest's, node by node: number, threshold, order.

The model takes float32 rows, shape (N, n_features), under the name ``X``, as scikit-learn's trees do after their own cast. Give
it ``X.astype(numpy.float32)``.

*Thresholds in single precision that send every row where the double ones do.*

scikit-learn casts a row to float32 and compares it with a threshold t in float64, mostly the middle between two float32 numbers.
ONNX, and most other programs that evaluate trees, store t as float32. If t is rounded to the nearest float32, it may rise to the
value x > t of a row, which then goes left instead of right. If t is rounded towards -infinity, no row changes its way: for every
x that is a float32,

    x <= t    <=>    x <= floor32(t),        floor32(t) = the largest float32 <= t                                         (1)

*Does an ONNX model predict what the forest predicts?*

Both add up one number per tree, v / T with the value v of a leaf: scikit-learn in double precision, ONNX in single. Where every
row reaches the same leaves, with eps = 2**-24 (half a unit in the last place),

    |ONNX - scikit-learn|  <=  (T + 3) eps max |v|                                                        (2)

up to terms in eps**2: two roundings of each summand, T - 1 of the sums, one at the end. A row that reaches another leaf differs
by far more. A label may differ only where the two largest probabilities of scikit-learn are within twice (2): a tie up to
rounding.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.extras import package
from formulations.instance.routing import as_rows
from prunemodels.models.forests.reading import check_columns, read_forest, tree_views
from prunemodels.models.tree_model import fitted_model
from prunemodels.models.trees import floor32

TREE_OPERATORS = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")

EPS = 2.0**-24


def float32_thresholds(forest: Any) -> Any:
    """A copy of a fitted forest whose thresholds are float32 numbers; it predicts exactly what the forest predicts, see (1).

    Use it before converters that cast thresholds to float32, so that the cast changes nothing. `to_onnx` does so itself.

    Raises
    ------
    UnsupportedModelError, NotFittedForestError
        as `read_forest`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest
    >>> single = pm.deployment.float32_thresholds(forest)
    >>> bool((single.predict_proba(X_test) == forest.predict_proba(X_test)).all())
    True
    """
    forest = fitted_model(forest)
    tree_views(forest)  # refuses what is not a forest before the copy is made
    rounded = copy.deepcopy(forest)
    for view in tree_views(rounded):
        tree = view.estimator.tree_
        splits = tree.children_left >= 0
        tree.threshold[splits] = floor32(tree.threshold[splits])
    return rounded


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
    """An onnxruntime session on the CPU; `threads` = 0 stands for one thread per core."""
    runtime = _library("onnxruntime")
    if not hasattr(model, "SerializeToString"):
        raise UnsupportedModelError(f"model is a {type(model).__name__}, no ONNX model; give what to_onnx returns, or onnx.load")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _library(name: str) -> Any:
    """An optional library, imported without what it warns of."""
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
        unseen = [label for k, label in enumerate(forest.classes_.tolist()) if k not in view.classes]
        if unseen:
            raise UnsupportedModelError(
                f"tree {t} of the {type(forest).__name__} never saw the class {unseen[0]!r}, and skl2onnx "
                "cannot average trees with different classes; train with larger draws (max_samples), so that every tree sees all"
            )


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


@dataclass(frozen=True)
class OnnxAgreement:
    """How an ONNX model's predictions compare with the forest's.

    Parameters
    ----------
    n
        rows compared.
    largest_difference
        of a probability, or of a regressor's prediction.
    allowed
        the bound (2) on differences by rounding.
    other_labels
        rows whose labels differ; 0 for regression.
    ties
        how many of them are ties up to rounding.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest
    >>> seen = pm.deployment.compare_onnx(pm.deployment.to_onnx(forest), forest, X_test)
    >>> seen.agrees, seen.n, seen.other_labels
    (True, 169, 0)
    """

    n: int
    largest_difference: float
    allowed: float
    other_labels: int
    ties: int

    @property
    def agrees(self) -> bool:
        """Whether every difference is one of rounding."""
        return self.largest_difference <= self.allowed and self.other_labels == self.ties


def compare_onnx(model: Any, forest: Any, X: Any) -> OnnxAgreement:
    """Run an ONNX model of a forest and compare labels and probabilities, or predictions, with scikit-learn's.

    Parameters
    ----------
    model
        an ONNX model, from `to_onnx` or another converter.
    forest
        the forest that it was made from.
    X
        rows as the forest takes them; the model is given them as float32.

    Raises
    ------
    InvalidInputError
        for rows that do not fit, or a model with other outputs than the forest's.
    UnsupportedModelError
        where onnxruntime is not installed.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest
    >>> model = pm.deployment.to_onnx(forest)
    >>> pm.deployment.compare_onnx(model, forest, X_test).agrees
    True
    """
    forest = fitted_model(forest)
    ensemble = read_forest(forest)
    check_columns(X, ensemble.names_to_check)
    if isinstance(forest, Pipeline):
        raise UnsupportedModelError("forest is a Pipeline; give its last step, and as X what the steps before it return")
    rows = as_rows(X, ensemble.n_features)
    running = session(model)
    outputs = running.run(None, {running.get_inputs()[0].name: rows})
    classifier = is_classifier(forest)
    ours = forest.predict_proba(X) if classifier else forest.predict(X)[:, None]
    theirs = np.asarray(outputs[-1], dtype=np.float64)
    if theirs.size != ours.size or len(outputs) != (2 if classifier else 1):
        raise InvalidInputError(
            f"the model gives {theirs.size} numbers for {len(rows)} rows, the forest {ours.size}; give a model of this forest, "
            "a classifier's without zipmap"
        )
    differences = np.abs(theirs.reshape(ours.shape) - ours)
    largest = np.abs(ensemble.value[~ensemble.is_split]).max()
    allowed = float((ensemble.n_trees + 3) * EPS * max(1.0 if classifier else largest, np.finfo(np.float32).tiny))
    said = forest.predict(X)  # ONNX knows integers and strings only
    other = np.asarray(outputs[0]).astype(said.dtype) != said if classifier else np.zeros(len(rows), dtype=bool)
    ties = other & _tied(ours, 2 * allowed)
    return OnnxAgreement(len(rows), float(differences.max()), allowed, int(other.sum()), int(ties.sum()))


def _tied(probabilities: NDArray[np.float64], distance: float) -> NDArray[np.bool_]:
    """Rows whose two largest probabilities are within the distance."""
    if probabilities.shape[1] < 2:
        return np.zeros(len(probabilities), dtype=bool)
    top = np.sort(probabilities, axis=1)[:, -2:]
    tied: NDArray[np.bool_] = top[:, 1] - top[:, 0] <= distance
    return tied
