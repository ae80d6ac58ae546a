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
from scipy.special import xlogy
from sklearn.base import is_classifier
from sklearn.utils.class_weight import compute_sample_weight

from formulations.arguments import checked
from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.cost_items import exact
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors, errors_on_sample
from formulations.instance.routing import Routing, features_of, route
from formulations.instance.survival import CensoredSample
from formulations.instance.tree_loss import TreeLoss
from prunemodels.forests.labels import true_outputs
from prunemodels.forests.reading import BAGS, FORESTS, check_columns, is_tree, tree_views
from prunemodels.forests.sklearn_versions import (
    BAGS_DRAW_BY_WEIGHT,
    FORESTS_DRAW_BY_WEIGHT,
    MEDIANS_MEASURED_EXACTLY,
    balanced_class_weights,
)
from prunemodels.forests.survival import predicts_curves, survival_forests, wrong_with_training_data

STORED = ("squared_error", "friedman_mse", "absolute_error", "poisson")
"""Criteria of regression trees whose impurity is the in-bag error, or half of it."""

CLIPPED = 1e-7
"""A relative difference above which a stored prediction is not the mean: rounding errors are smaller."""


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
        the training data, in the order in which ``fit`` saw them. None (default): read the class fractions, or impurities, that
        the trees store, which are the same errors. Trees with ``monotonic_cst`` store them only if no node's prediction was
        changed to keep the constraints. Survival trees store none.
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
        examples and their labels (classification: labels that the forest was trained on) or targets; for survival forests
        scikit-survival's array of events and times, whose censoring is estimated from these examples.
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
    """e_h from the fractions or impurities that each tree stores, times the in-bag weight of the node.

    Raises
    ------
    UnsupportedModelError
        for trees whose nodes do not store what they need.
    """
    e, total = np.zeros(ensemble.n_nodes), np.zeros(ensemble.n_trees)
    outputs = ensemble.outputs if is_classifier(forest) else (ensemble,)  # an impurity of numbers is a mean over the outputs
    for t, view in enumerate(tree_views(forest, several_outputs=True)):
        if (missing := _not_stored(view.estimator)) is not None:
            raise UnsupportedModelError(f"tree {t} was grown with {missing}; give errors=InBag(X, y)")
        nodes = ensemble.nodes_of(t)
        for one in outputs:
            errors = _stored_class_errors if is_classifier(forest) else _stored_impurities
            e[nodes] += errors(view.estimator, one.value[nodes], one.loss)
        total[t] = view.estimator.tree_.weighted_n_node_samples[0] * len(outputs)
    return ErrorComponent(np.maximum(e, 0.0), total * ensemble.loss.denominator, source="in-bag")


def _stored_class_errors(estimator: Any, value: NDArray[np.float64], loss: TreeLoss) -> NDArray[np.float64]:
    """Of each node the weights of the classes, times the loss of each where the node's class is predicted."""
    size = estimator.tree_.weighted_n_node_samples[:, None]
    counts = size * value
    whole = np.rint(counts)
    if size[0] == np.rint(size[0]) and np.abs(counts - whole).max() < 1e-6:  # a fraction times a size is whole up to rounding
        counts = whole
    predicted = value.argmax(axis=1)
    each = [np.rint(loss.of_classes(np.full_like(predicted, j), predicted) * loss.denominator) for j in range(value.shape[1])]
    return np.asarray((counts * np.stack(each, axis=1)).sum(axis=1))


def _stored_impurities(estimator: Any, value: NDArray[np.float64], loss: TreeLoss) -> NDArray[np.float64]:
    """The node's weight times its impurity; for the criterion "poisson" the impurity is half of the deviance."""
    factor = 2.0 if loss.name == "poisson" else 1.0
    return np.asarray(factor * estimator.tree_.weighted_n_node_samples * estimator.tree_.impurity)


def stores_errors(forest: Any) -> bool:
    """Whether the statistics that the trees store are their in-bag errors."""
    return all(_not_stored(view.estimator) is None for view in tree_views(forest, several_outputs=True))


def _not_stored(estimator: Any) -> str | None:
    """The setting of a tree because of which it does not store its in-bag errors, and why; None where it stores them."""
    if predicts_curves(estimator):
        return "the log-rank criterion, and its nodes store no error of their curves"
    if not is_classifier(estimator) and estimator.criterion not in STORED:
        return f"criterion={estimator.criterion!r}, whose impurity is no error that is known here"
    if estimator.criterion == "absolute_error" and not MEDIANS_MEASURED_EXACTLY:
        tree = estimator.tree_
        if (tree.weighted_n_node_samples != tree.n_node_samples).any():  # for example rows that were drawn twice
            return "criterion='absolute_error' on weighted rows, whose errors scikit-learn before 1.8 measures wrongly"
    if _is_clipped(estimator):
        return "monotonic_cst, which changed predictions of its nodes, so they are not the in-bag fractions or means"
    return None


def _is_clipped(estimator: Any) -> bool:
    """Whether monotonic constraints changed the prediction of a node.

    Without a change, the mean of every split is the weighted mean of its children's, and its variance is the mean of theirs plus
    the variance between them. Changes are monotone, so they cannot satisfy both equations. Fractions are means of indicators.
    """
    if getattr(estimator, "monotonic_cst", None) is None:
        return False
    tree = estimator.tree_
    split = np.flatnonzero(tree.children_left >= 0)
    left, right, weight, value = tree.children_left[split], tree.children_right[split], tree.weighted_n_node_samples, tree.value
    shares = (weight[left] / weight[split], weight[right] / weight[split])
    mean = shares[0][:, None] * value[left, 0] + shares[1][:, None] * value[right, 0]
    scale = np.abs(value).max()
    if np.abs(mean - value[split, 0]).max(initial=0.0) > CLIPPED * scale:
        return True
    if is_classifier(estimator):
        fractions = value[:, 0]
        gini = 1 - (fractions**2).sum(axis=1)
        entropy = -xlogy(fractions, fractions).sum(axis=1) / np.log(2)
        return bool(np.abs(tree.impurity - (gini if estimator.criterion == "gini" else entropy)).max() > CLIPPED)
    between = shares[0] * shares[1] * (value[left, 0, 0] - value[right, 0, 0]) ** 2
    within = shares[0] * tree.impurity[left] + shares[1] * tree.impurity[right]
    return bool(np.abs(within + between - tree.impurity[split]).max(initial=0.0) > CLIPPED * tree.impurity[0])


def _labelled(
    forest: Any, ensemble: Ensemble, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.float32], NDArray[Any] | CensoredSample, NDArray[np.float64]]:
    """Examples as float32; labels as class indices, targets, or events and times; weights."""
    if X is None or y is None:
        raise InvalidInputError("errors: give both X and y, or neither for the in-bag statistics that the trees store")
    check_columns(X, ensemble.names_to_check, "errors: X")
    rows = features_of(ensemble, X, "errors: X")
    w = check_weights(sample_weight, rows.shape[0], "errors: sample_weight")
    return rows, true_outputs(ensemble, y, rows.shape[0], "errors: y", weights=w), w


def _draws(forest: Any, n_rows: int) -> NDArray[np.float64]:
    """How often each tree drew each training row: float64, shape (T, N)."""
    if is_tree(forest):
        return np.ones((1, n_rows))
    trained_on = getattr(forest, "_n_samples", None)
    if trained_on is not None and trained_on != n_rows:
        raise InvalidInputError(
            f"errors: X has {n_rows} rows, the forest was trained on {trained_on}; give the training data in its order"
        )
    return np.stack([np.bincount(drawn, minlength=n_rows) for drawn in forest.estimators_samples_]).astype(np.float64)


def out_of_bag(forest: Any, ensemble: Ensemble, routing: Routing, y: NDArray[Any] | CensoredSample) -> NDArray[np.bool_]:
    """Which training rows each tree did not draw: bool, shape (T, N).

    Parameters
    ----------
    routing
        of the training data, in the order in which ``fit`` saw them.
    y
        their labels as class indices, their targets, or their events and times.

    Raises
    ------
    InvalidInputError
        for other rows, rows in another order, and trees that were grown on all rows.
    """
    draws = _draws(forest, len(y))
    out = np.asarray(draws == 0)
    if not out.any():
        raise InvalidInputError(
            f"every tree of the {type(forest).__name__} was grown on all rows, so none is out of bag; use Given(X, y)"
        )
    weights = _training_weights(forest, ensemble, y, np.ones(len(y)))
    grown_with = np.array([view.estimator.tree_.weighted_n_node_samples[0] for view in tree_views(forest, several_outputs=True)])
    if _weights_drive_draw(forest) or np.allclose(weights.sum(axis=1), grown_with):
        _check_training_data(forest, ensemble, routing, y, weights)
    else:  # grown with weights that are not known here: the rows can be counted
        _check_row_counts(forest, ensemble, routing, draws)
    return out


def _training_weights(
    forest: Any, ensemble: Ensemble, y: NDArray[Any] | CensoredSample, sample_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weight of each row when each tree was grown: float64, shape (T, N)."""
    draws = _draws(forest, len(y))
    weights = draws if _weights_drive_draw(forest) else draws * sample_weight
    if is_classifier(forest) and not isinstance(y, CensoredSample):
        for t, view in enumerate(tree_views(forest, several_outputs=True)):
            weights[t] = weights[t] * _class_weights(forest, view.estimator, ensemble, y, draws[t], sample_weight)
    return weights


def _weights_drive_draw(forest: Any) -> bool:
    """Whether weights already act through the draw of the rows, so that they must not count again."""
    if isinstance(forest, BAGS):
        return BAGS_DRAW_BY_WEIGHT
    return FORESTS_DRAW_BY_WEIGHT and isinstance(forest, FORESTS + survival_forests()) and bool(forest.bootstrap)


def _class_weights(
    forest: Any,
    tree: Any,
    ensemble: Ensemble,
    y: NDArray[np.int64],
    draws: NDArray[np.float64],
    sample_weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The factor by which ``class_weight`` multiplied each row's weight in one tree: shape (N,)."""
    if ensemble.n_outputs > 1:
        if tree.class_weight is None and getattr(forest, "class_weight", None) is None:
            return np.ones(len(y))
        raise UnsupportedModelError(
            f"the {type(forest).__name__} has {ensemble.n_outputs} outputs and a class_weight, whose weights of rows are "
            "not known here; give errors='in-bag', which the trees store, or Given(X, y)"
        )
    if isinstance(forest, BAGS):  # a bag trains its trees on the indices of the classes
        return np.asarray(compute_sample_weight(tree.class_weight, y))
    if isinstance(forest, FORESTS) and forest.bootstrap and forest.class_weight == "balanced_subsample":
        drawn = np.repeat(np.arange(len(y)), draws.astype(np.int64))
        return np.asarray(compute_sample_weight("balanced", y, indices=drawn))
    if _weights_drive_draw(forest):
        return np.ones(len(y))
    if isinstance(forest, FORESTS) and isinstance(forest.class_weight, str):  # without bootstrap, both presets mean the same
        return balanced_class_weights(y, sample_weight)
    return np.asarray(compute_sample_weight(forest.class_weight, np.asarray(ensemble.classes)[y]))


def _check_training_data(
    forest: Any, ensemble: Ensemble, routing: Routing, y: NDArray[Any] | CensoredSample, weights: NDArray[np.float64]
) -> None:
    """Refuse rows that put other weights, or other labels, on the nodes than those with which the trees were grown."""
    on_nodes = routing.node_sums(ensemble, weights)
    for t, view in enumerate(tree_views(forest, several_outputs=True)):
        given = on_nodes[ensemble.nodes_of(t)]
        stored = view.estimator.tree_.weighted_n_node_samples
        wrong = np.flatnonzero(np.abs(given - stored) > 1e-6 * stored[0])
        if wrong.size:
            h = int(wrong[0])
            raise InvalidInputError(
                f"errors: the rows put a weight of {given[h]:g} on node {h} of tree {t}, which was grown with {stored[h]:g}; "
                "give the training data in its order, with the sample_weight of fit, or use Given(X, y)"
            )
    if isinstance(y, CensoredSample):
        _check_events(forest, ensemble, routing, y, weights)
        return
    for o, one in enumerate(ensemble.outputs):
        _check_labels(forest, one, routing, y if y.ndim == 1 else y[:, o], weights)


def _check_labels(forest: Any, ensemble: Ensemble, routing: Routing, y: NDArray[Any], weights: NDArray[np.float64]) -> None:
    """Refuse labels or targets other than those with which the trees were grown."""
    codes = np.arange(1.0, ensemble.value.shape[1] + 1)  # one sum tells all classes apart: 1 for the first, 2 for the second
    target = codes[y] if ensemble.task == "classification" else y
    labels_on_nodes = routing.node_sums(ensemble, weights * target)
    stored_labels = ensemble.value @ codes  # of regression: the one value
    allowed = 1e-6 * (1 + np.abs(target).max())
    for t, view in enumerate(tree_views(forest, several_outputs=True)):
        if not _stores_means(view.estimator):
            continue
        nodes, stored = ensemble.nodes_of(t), view.estimator.tree_.weighted_n_node_samples
        wrong = np.flatnonzero(np.abs(labels_on_nodes[nodes] - stored_labels[nodes] * stored) > allowed * stored[0])
        if wrong.size:
            raise _other_labels(int(wrong[0]), t)


def _check_events(
    forest: Any, ensemble: Ensemble, routing: Routing, sample: CensoredSample, weights: NDArray[np.float64]
) -> None:
    """Refuse events and times other than those with which the survival trees were grown."""
    leaves = routing.leaves(ensemble)
    for t, view in enumerate(tree_views(forest, several_outputs=True)):
        wrong = wrong_with_training_data(view.estimator, leaves[t] - ensemble.tree_start[t], weights[t], sample)
        if wrong is not None:
            raise _other_labels(wrong, t)


def _other_labels(h: int, t: int) -> InvalidInputError:
    return InvalidInputError(
        f"errors: the labels at node {h} of tree {t} are not those that it was grown with; give y in the order of the training "
        "data, or use Given(X, y)"
    )


def _check_row_counts(forest: Any, ensemble: Ensemble, routing: Routing, draws: NDArray[np.float64]) -> None:
    """Refuse rows of which fewer reach a node than it was grown with; rows of weight 0 reach it uncounted."""
    on_nodes = routing.node_sums(ensemble, (draws > 0).astype(np.float64))
    for t, view in enumerate(tree_views(forest, several_outputs=True)):
        given, stored = on_nodes[ensemble.nodes_of(t)], view.estimator.tree_.n_node_samples
        wrong = np.flatnonzero(given < stored)
        if wrong.size:
            h = int(wrong[0])
            raise InvalidInputError(
                f"errors: only {given[h]:g} of the rows reach node {h} of tree {t}, which was grown with {stored[h]}; "
                "give the training data in its order, or use Given(X, y)"
            )


def _stores_means(tree: Any) -> bool:
    """Whether the tree's nodes hold class fractions or means of the training targets, unchanged."""
    return getattr(tree, "monotonic_cst", None) is None and getattr(tree, "criterion", None) != "absolute_error"
