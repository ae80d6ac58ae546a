"""Where the errors of the nodes are measured: in-bag, out-of-bag, on given data, or a blend.

`InBag` is the default, as in BP16: errors are measured on the examples that each tree was grown on. Without data it reads the
fractions that scikit-learn stored in the trees, which give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from formulations.arguments import checked
from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.cost_items import exact
from formulations.instance.cost_sample import check_weights, in_order_of
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors, errors_on_sample
from formulations.instance.routing import Routing, features_of, route
from formulations.instance.tree_loss import TreeLoss
from prunemodels.models.forests.reading import ReadForest, check_columns
from prunemodels.models.forests.training_rows import MEDIANS_MEASURED_EXACTLY, check_training_data, out_of_bag, training_weights
from prunemodels.models.labelled_samples import class_numbers

STORED = ("squared_error", "friedman_mse", "absolute_error", "poisson")
"""Criteria of regression trees whose impurity is the in-bag error, or half of it."""


class ErrorSample(Protocol):
    """Measures e_h of every node of a fitted forest."""

    def measure(self, forest: ReadForest) -> NodeErrors:
        """The errors, in the ensemble's numbering of nodes."""
        ...


Errors = Annotated[ErrorSample, "an error sample (InBag, OutOfBag, Given, GivenTable, Blend)"]
"""Where errors are measured."""


@checked
@dataclass(frozen=True, eq=False)
class InBag:
    """Measure errors on the training rows that each tree drew, each as often as the tree drew it.

    Parameters
    ----------
    X, y
        the training data, in the order in which ``fit`` saw them. None (default): read the class fractions, or impurities, that
        the trees store, which are the same errors. Trees with ``monotonic_cst``, whose predictions the constraints
        may have changed, store none.
    sample_weight
        the weights that were given to ``fit``, if any.

    Notes
    -----
    Weights of examples and of classes count as they did in training. Where they set the probabilities of a bootstrap's or a bag's
    draw, each drawn row counts once per draw. Where they weighted the rows, they weight the errors.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, forest, y_train
    >>> pm.problem_from_forest(forest, X_valid, costs=costs, errors=pm.samples.InBag(X_train, y_train))
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    """

    X: Any = None
    y: Any = None
    sample_weight: ArrayLike | None = None

    @checked
    def measure(self, forest: ReadForest) -> NodeErrors:
        """See `ErrorSample.measure`."""
        if self.X is None and self.y is None:
            return NodeErrors((_stored_errors(forest),))
        routing, y, w = _labelled(forest.ensemble, self.X, self.y, self.sample_weight)
        weights = training_weights(forest, y, w)
        check_training_data(forest, routing, y, weights)
        return NodeErrors((errors_on_sample(forest.ensemble, routing, y, weights, "in-bag"),))


@checked
@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Measure errors on the training rows that each tree did not draw: they are unbiased, and a split may increase them.

    Parameters
    ----------
    X, y
        the training data, in the order in which ``fit`` saw them.
    sample_weight
        shape (N,), >= 0: a row stands for that many. Default: those of the cost sample, where X are its rows; else 1 each.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, forest, y_train
    >>> pm.problem_from_forest(forest, X_valid, costs=costs, errors=pm.samples.OutOfBag(X_train, y_train))
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    """

    X: Any
    y: Any
    sample_weight: ArrayLike | None = None

    @checked
    def measure(self, forest: ReadForest) -> NodeErrors:
        """See `ErrorSample.measure`."""
        routing, y, w = _labelled(forest.ensemble, self.X, self.y, self.sample_weight)
        out = out_of_bag(forest, routing, y)
        return NodeErrors((errors_on_sample(forest.ensemble, routing, y, out * w, "out-of-bag"),))


@checked
@dataclass(frozen=True, eq=False)
class Given:
    """Measure errors on labelled examples of the user's choice, the same for every tree.

    Parameters
    ----------
    X, y
        examples and their labels (classification: labels that the forest was trained on) or targets.
    sample_weight
        shape (N,), >= 0: a row stands for that many. Default: those of the cost sample, where X are its rows; else 1 each.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> pm.problem_from_forest(forest, X_valid, costs=costs, errors=pm.samples.Given(X_valid, y_valid))
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    """

    X: Any
    y: Any
    sample_weight: ArrayLike | None = None

    @checked
    def measure(self, forest: ReadForest) -> NodeErrors:
        """See `ErrorSample.measure`."""
        routing, y, w = _labelled(forest.ensemble, self.X, self.y, self.sample_weight)
        return NodeErrors((errors_on_sample(forest.ensemble, routing, y, w, "given"),))


@checked
@dataclass(frozen=True, eq=False)
class Blend:
    """A weighted mean of error samples, e.g. ``Blend([(0.5, InBag()), (0.5, Given(X, y))])``.

    Parameters
    ----------
    parts
        pairs (share, sample); the shares are scaled to sum to 1.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> blend = pm.samples.Blend([(0.5, pm.samples.InBag()), (0.5, pm.samples.Given(X_valid, y_valid))])
    >>> pm.problem_from_forest(forest, X_valid, costs=costs, errors=blend)
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    """

    parts: Sequence[tuple[float | Fraction, Errors]]

    @checked
    def measure(self, forest: ReadForest) -> NodeErrors:
        """See `ErrorSample.measure`."""
        shares = [exact(share, f"Blend: share {k}") for k, (share, _) in enumerate(self.parts)]
        total = sum(shares)
        if not total:
            raise InvalidInputError(f"Blend: the shares are {[float(s) for s in shares]}; at least one must be positive")
        components = [
            replace(component, share=component.share * share / total)
            for share, (_, sample) in zip(shares, self.parts, strict=True)
            if share
            for component in sample.measure(forest).components
        ]
        return NodeErrors(tuple(components))


def _stored_errors(forest: ReadForest) -> ErrorComponent:
    """e_h from the fractions or impurities that each tree stores, times the in-bag weight of the node."""
    ensemble = forest.ensemble
    e, total = np.zeros(ensemble.n_nodes), np.zeros(ensemble.n_trees)
    classifies = ensemble.task == "classification"
    for t, view in enumerate(forest.views):
        if (missing := _not_stored(view.estimator)) is not None:
            raise UnsupportedModelError(f"tree {t} was grown with {missing}; give errors=InBag(X, y)")
        nodes = ensemble.nodes_of(t)
        tree = view.estimator.tree_
        if classifies:
            e[nodes] = _stored_class_errors(tree, ensemble.value[nodes], ensemble.loss)
        else:  # the weight of each node times its impurity, which for the criterion "poisson" is half of the deviance
            e[nodes] = (2.0 if ensemble.loss.name == "poisson" else 1.0) * tree.weighted_n_node_samples * tree.impurity
        total[t] = tree.weighted_n_node_samples[0]
    return ErrorComponent(np.maximum(e, 0.0), total * ensemble.loss.denominator, source="in-bag")


def _stored_class_errors(tree: Any, value: NDArray[np.float64], loss: TreeLoss) -> NDArray[np.float64]:
    """Of each node the weights of the classes, times the loss of each where the node's class is predicted."""
    size = tree.weighted_n_node_samples[:, None]
    counts = size * value
    whole = np.rint(counts)
    if size[0] == np.rint(size[0]) and np.abs(counts - whole).max() < 1e-6:  # a fraction times a size is whole up to rounding
        counts = whole
    classes = np.arange(value.shape[1])
    lost = np.rint(loss.of_classes(classes, classes[:, None]) * loss.denominator)  # a row for each class that is predicted
    return np.asarray((counts * lost[value.argmax(axis=1)]).sum(axis=1))


def with_weights_of(errors: Any, X: Any, sample_weight: Any, rows_of: Callable[[Any], NDArray[np.float32]]) -> Any:
    """The error sample; where it measures on the rows X and has no weights of its own, with theirs.

    A row stands for as many in the error as in the cost. In-bag errors stay those that the trees were grown by. `rows_of` reads
    a table as the trees do.
    """
    if sample_weight is not None and isinstance(errors, Blend):
        parts = [(share, with_weights_of(part, X, sample_weight, rows_of)) for share, part in errors.parts]
        return replace(errors, parts=parts)
    if sample_weight is None or not isinstance(errors, Given | OutOfBag) or errors.sample_weight is not None:
        return errors
    same = errors.X is X
    if not same and np.shape(errors.X) == np.shape(X):
        same = np.array_equal(rows_of(errors.X), rows_of(X), equal_nan=True)
    return replace(errors, sample_weight=in_order_of(X, sample_weight, "sample_weight")) if same else errors


def stores_errors(forest: ReadForest) -> bool:
    """Whether the statistics that the trees store are their in-bag errors."""
    return all(_not_stored(view.estimator) is None for view in forest.views)


def _not_stored(estimator: Any) -> str | None:
    """The setting of a tree because of which it does not store its in-bag errors, and why; None where it stores them."""
    if not is_classifier(estimator) and estimator.criterion not in STORED:
        return f"criterion={estimator.criterion!r}, whose impurity is no error that is known here"
    if estimator.criterion == "absolute_error" and not MEDIANS_MEASURED_EXACTLY:
        tree = estimator.tree_
        if (tree.weighted_n_node_samples != tree.n_node_samples).any():  # for example rows that were drawn twice
            return "criterion='absolute_error' on weighted rows, whose errors scikit-learn before 1.8 measures wrongly"
    if getattr(estimator, "monotonic_cst", None) is not None:
        return "monotonic_cst, which may change predictions of its nodes, so that they are not the in-bag fractions or means"
    return None


def _labelled(
    ensemble: Ensemble, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[Routing, NDArray[Any], NDArray[np.float64]]:
    """Examples, routed; labels as class indices, or targets; weights."""
    if X is None or y is None:
        raise InvalidInputError("errors: give both X and y, or neither for the in-bag statistics that the trees store")
    check_columns(X, ensemble.names_to_check, "errors: X")
    rows = features_of(ensemble, X, "errors: X")
    w = check_weights(sample_weight, rows.shape[0], "errors: sample_weight", X)
    labels = class_numbers(ensemble.classes, y, rows.shape[0], "errors: y")
    return route(ensemble, rows), labels, w
