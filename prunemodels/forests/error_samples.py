"""Where the errors of the nodes are measured: in-bag, out-of-bag, on given data, or a blend.

`InBag` is the default, as in BP16: errors are measured on the examples that each tree was grown on. Without data it reads the
fractions that scikit-learn stored in the trees, which give the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from formulations.arguments import checked
from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.cost_items import exact
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors, errors_on_sample
from formulations.instance.routing import Routing, as_rows, route
from prunemodels.forests.labels import class_numbers
from prunemodels.forests.reading import BAGS, FORESTS, TREES, check_columns, tree_views


class ErrorSample(Protocol):
    """Measures e_h of every node of a fitted forest."""

    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
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
        the training data, in the order in which ``fit`` saw them. None (default): read the class fractions, or variances, that
        the trees store; that needs a criterion whose impurity is the error (all classification criteria;
        ``squared_error`` and ``friedman_mse`` for regression).
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
    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
        """See `ErrorSample.measure`."""
        if self.X is None and self.y is None:
            return NodeErrors((_stored_errors(forest, ensemble),))
        rows, y, w = _labelled(forest, ensemble, self.X, self.y, self.sample_weight)
        routing = route(ensemble, rows)
        weights = _training_weights(forest, ensemble, y, w)
        _check_training_data(forest, ensemble, routing, y, weights)
        return NodeErrors((errors_on_sample(ensemble, routing, y, weights, "in-bag"),))


@checked
@dataclass(frozen=True, eq=False)
class OutOfBag:
    """Measure errors on the training rows that each tree did not draw: they are unbiased, and a split may increase them.

    Parameters
    ----------
    X, y
        the training data, in the order in which ``fit`` saw them.
    sample_weight
        the weight of each row's error.

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
    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
        """See `ErrorSample.measure`."""
        rows, y, w = _labelled(forest, ensemble, self.X, self.y, self.sample_weight)
        routing = route(ensemble, rows)
        out = out_of_bag(forest, ensemble, routing, y)
        return NodeErrors((errors_on_sample(ensemble, routing, y, out * w, "out-of-bag"),))


@checked
@dataclass(frozen=True, eq=False)
class Given:
    """Measure errors on labelled examples of the user's choice, the same for every tree.

    Parameters
    ----------
    X, y
        examples and their labels (classification: labels that the forest was trained on) or targets.
    sample_weight
        the weight of each example's error, >= 0.

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
    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
        """See `ErrorSample.measure`."""
        rows, y, w = _labelled(forest, ensemble, self.X, self.y, self.sample_weight)
        return NodeErrors((errors_on_sample(ensemble, route(ensemble, rows), y, w, "given"),))


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
    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
        """See `ErrorSample.measure`."""
        shares = [exact(share, f"Blend: share {k}") for k, (share, _) in enumerate(self.parts)]
        total = sum(shares)
        if not total:
            raise InvalidInputError(f"Blend: the shares are {[float(s) for s in shares]}; at least one must be positive")
        components = [
            replace(component, share=component.share * share / total)
            for share, (_, sample) in zip(shares, self.parts, strict=True)
            if share
            for component in sample.measure(forest, ensemble).components
        ]
        return NodeErrors(tuple(components))


def _stored_errors(forest: Any, ensemble: Ensemble) -> ErrorComponent:
    """e_h from the fractions or variances that each tree stores, times the in-bag weight of the node."""
    e, total = np.zeros(ensemble.n_nodes), np.zeros(ensemble.n_trees)
    for t, view in enumerate(tree_views(forest)):
        tree = view.estimator.tree_
        if getattr(view.estimator, "monotonic_cst", None) is not None:
            raise UnsupportedModelError(
                "trees with monotonic_cst store clipped predictions, not in-bag fractions; give errors=InBag(X, y)"
            )
        size = tree.weighted_n_node_samples
        if is_classifier(forest):
            wrong = size * (1.0 - tree.value[:, 0, :].max(axis=1))
        elif view.estimator.criterion in ("squared_error", "friedman_mse"):
            wrong = size * tree.impurity
        else:
            raise UnsupportedModelError(
                f"trees grown with criterion={view.estimator.criterion!r} store no squared residuals; give errors=InBag(X, y)"
            )
        nodes = ensemble.nodes_of(t)
        e[nodes], total[t] = np.maximum(wrong, 0.0), size[0]
    if is_classifier(forest) and np.array_equal(total, np.rint(total)):
        counts = np.rint(e)
        if np.abs(e - counts).max() < 1e-6:  # a fraction times a size is an integer up to rounding
            e = counts
    return ErrorComponent(e, total, source="in-bag")


def _labelled(
    forest: Any, ensemble: Ensemble, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[np.float64]]:
    """Examples as float32, labels as class indices or targets, weights."""
    if X is None or y is None:
        raise InvalidInputError("errors: give both X and y, or neither for the in-bag statistics that the trees store")
    check_columns(X, ensemble.feature_names, "errors: X")
    rows = as_rows(X, ensemble.n_features, "errors: X")
    w = check_weights(sample_weight, rows.shape[0], "errors: sample_weight")
    return rows, class_numbers(ensemble.classes, y, rows.shape[0], "errors: y"), w


def _draws(forest: Any, n_rows: int) -> NDArray[np.float64]:
    """How often each tree drew each training row: float64, shape (T, N)."""
    if isinstance(forest, TREES):
        return np.ones((1, n_rows))
    trained_on = getattr(forest, "_n_samples", None)
    if trained_on is not None and trained_on != n_rows:
        raise InvalidInputError(
            f"errors: X has {n_rows} rows, the forest was trained on {trained_on}; give the training data in its order"
        )
    return np.stack([np.bincount(drawn, minlength=n_rows) for drawn in forest.estimators_samples_]).astype(np.float64)


def out_of_bag(forest: Any, ensemble: Ensemble, routing: Routing, y: NDArray[Any]) -> NDArray[np.bool_]:
    """Which training rows each tree did not draw: bool, shape (T, N).

    Parameters
    ----------
    routing
        of the training data, in the order in which ``fit`` saw them.
    y
        their labels as class indices, or their targets.

    Raises
    ------
    InvalidInputError
        for other rows, rows in another order, and trees that were grown on all rows.
    """
    out = np.asarray(_draws(forest, len(y)) == 0)
    if not out.any():
        raise InvalidInputError(
            f"every tree of the {type(forest).__name__} was grown on all rows, so none is out of bag; use Given(X, y)"
        )
    _check_training_data(forest, ensemble, routing, y, _training_weights(forest, ensemble, y, np.ones(len(y))))
    return out


def _training_weights(
    forest: Any, ensemble: Ensemble, y: NDArray[Any], sample_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weight of each row when each tree was grown: float64, shape (T, N)."""
    weights = _draws(forest, len(y))
    if not _weights_drive_draw(forest):
        weights *= sample_weight
    if is_classifier(forest):
        for t, view in enumerate(tree_views(forest)):
            weights[t] *= _class_weights(forest, view.estimator, ensemble, y, weights[t])
    return weights


def _weights_drive_draw(forest: Any) -> bool:
    """Whether weights already act through the draw of the rows (scikit-learn >= 1.9), so that they must not count again."""
    return isinstance(forest, BAGS) or (isinstance(forest, FORESTS) and bool(forest.bootstrap))


def _class_weights(
    forest: Any, tree: Any, ensemble: Ensemble, y: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The factor by which ``class_weight`` multiplied each row's weight in one tree: shape (N,)."""
    if isinstance(forest, BAGS):  # a bag trains its trees on the indices of the classes
        return np.asarray(compute_sample_weight(tree.class_weight, y))
    if _weights_drive_draw(forest):
        if forest.class_weight != "balanced_subsample":
            return np.ones(len(y))
        drawn = np.repeat(np.arange(len(y)), weights.astype(np.int64))
        return np.asarray(compute_sample_weight("balanced", y, indices=drawn))
    if isinstance(forest, FORESTS) and isinstance(forest.class_weight, str):  # without bootstrap, both presets mean the same
        balanced = compute_class_weight("balanced", classes=np.unique(y), y=y, sample_weight=weights)
        return np.asarray(balanced[np.searchsorted(np.unique(y), y)])
    return np.asarray(compute_sample_weight(forest.class_weight, np.asarray(ensemble.classes)[y]))


def _check_training_data(
    forest: Any, ensemble: Ensemble, routing: Routing, y: NDArray[Any], weights: NDArray[np.float64]
) -> None:
    """Refuse rows that put other weights, or other labels, on the nodes than those with which the trees were grown."""
    on_nodes = routing.node_sums(ensemble, weights)
    codes = np.arange(1.0, ensemble.value.shape[1] + 1)  # one sum tells all classes apart: 1 for the first, 2 for the second
    target = codes[y] if ensemble.task == "classification" else y
    labels_on_nodes = routing.node_sums(ensemble, weights * target)
    stored_labels = ensemble.value @ codes  # of regression: the one value
    allowed = 1e-6 * (1 + np.abs(target).max())
    for t, view in enumerate(tree_views(forest)):
        given = on_nodes[ensemble.nodes_of(t)]
        stored = view.estimator.tree_.weighted_n_node_samples
        wrong = np.flatnonzero(np.abs(given - stored) > 1e-6 * stored[0])
        if wrong.size:
            h = int(wrong[0])
            raise InvalidInputError(
                f"errors: the rows put a weight of {given[h]:g} on node {h} of tree {t}, which was grown with {stored[h]:g}; "
                "give the training data in its order, with the sample_weight of fit, or use Given(X, y)"
            )
        if not _stores_means(view.estimator):
            continue
        nodes = ensemble.nodes_of(t)
        wrong = np.flatnonzero(np.abs(labels_on_nodes[nodes] - stored_labels[nodes] * stored) > allowed * stored[0])
        if wrong.size:
            raise InvalidInputError(
                f"errors: the labels at node {wrong[0]} of tree {t} are not those that it was grown with; give y in the order of "
                "the training data, or use Given(X, y)"
            )


def _stores_means(tree: Any) -> bool:
    """Whether the tree's nodes hold class fractions or means of the training targets, unchanged."""
    return getattr(tree, "monotonic_cst", None) is None and getattr(tree, "criterion", None) != "absolute_error"
