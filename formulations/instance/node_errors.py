"""The error that every node would have as a leaf.

    error of node h in (OBJ) = sum over components k of  share_k e^k_h / (T W^k_t)            (1)

e_h is the weighted sum of the losses of the examples at h, if h predicts them: see `TreeLoss`. For error rates it is the weight
of the examples that h gets wrong. W_t is the weight of the whole error sample in tree t. There is usually one component.
A blend of in-bag and other data has several, whose shares sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble, Forest
from formulations.instance.routing import Routing, range_sums
from formulations.instance.tree_loss import TreeLoss, check_counts
from formulations.shown import Brief


@dataclass(frozen=True, eq=False, repr=False)
class ErrorComponent(Brief):
    """The errors of one sample.

    Parameters
    ----------
    e
        float64, shape (n,): e_h of every node, >= 0.
    weight
        float64, shape (T,): W_t, > 0.
    share
        the component's part of the blend, 0 < share <= 1.
    source
        how it was measured, for reports.
    """

    e: NDArray[np.float64]
    weight: NDArray[np.float64]
    share: Fraction = Fraction(1)
    source: str = "given"


@dataclass(frozen=True, eq=False, repr=False)
class NodeErrors(Brief):
    """e_h of every node as one component or a blend, see (1)."""

    components: tuple[ErrorComponent, ...]

    def __post_init__(self) -> None:
        if sum(c.share for c in self.components) != 1:
            shares = [float(c.share) for c in self.components]
            raise InvalidInputError(f"errors: the shares of a blend are {shares}; they must sum to 1")
        for c in self.components:
            if not np.isfinite(c.e).all() or (c.e < 0).any():
                h = int(np.flatnonzero(~(np.isfinite(c.e) & (c.e >= 0)))[0])
                raise InvalidInputError(f"errors ({c.source}): node {h} has error {c.e[h]}; it must be >= 0")
            if not (np.isfinite(c.weight) & (c.weight > 0)).all():
                t = int(np.flatnonzero(~(np.isfinite(c.weight) & (c.weight > 0)))[0])
                raise InvalidInputError(
                    f"errors ({c.source}): tree {t} has an error sample of weight {c.weight[t]}; every tree needs "
                    "at least one example of positive weight"
                )

    @property
    def source(self) -> str:
        """How the errors were measured, for reports."""
        if len(self.components) == 1:
            return self.components[0].source
        return " + ".join(f"{float(c.share):g} {c.source}" for c in self.components)

    def per_node(self, ensemble: Forest) -> NDArray[np.float64]:
        """float64, shape (n,): (1), each node's part of the error in the units of (OBJ)."""
        total = np.zeros(ensemble.n_nodes)
        for c in self.components:
            scale = float(c.share) / (ensemble.n_trees * c.weight)
            total += c.e * scale[ensemble.tree_of]
        return total

    def only_tree(self, ensemble: Forest, t: int) -> NodeErrors:
        """The errors of tree t's nodes."""
        nodes = ensemble.nodes_of(t)
        return NodeErrors(tuple(replace(c, e=c.e[nodes], weight=c.weight[t : t + 1]) for c in self.components))

    def of_all_roots(self, ensemble: Forest) -> Fraction:
        """The error of the forest cut down to its roots, as a fraction; each float counts with its exact binary value."""
        return sum(
            (
                c.share * Fraction(float(c.e[root])) / (ensemble.n_trees * Fraction(float(c.weight[t])))
                for c in self.components
                for t, root in enumerate(ensemble.roots)
            ),
            Fraction(0),
        )


def errors_on_sample(
    ensemble: Ensemble,
    routing: Routing,
    y: NDArray[np.float64] | NDArray[np.int64],
    weights: NDArray[np.float64],
    source: str = "given",
) -> ErrorComponent:
    """Measure e_h on labelled examples that were routed through the trees.

    Parameters
    ----------
    routing
        the examples' routes, N rows.
    y
        shape (N,): class indices (columns of ``ensemble.value``) or regression targets.
    weights
        float64, shape (T, N) or (N,): the examples' weights, in each tree or in all.

    Returns
    -------
    ErrorComponent
        under misclassification costs that are no whole numbers, e and W_t are multiplied with their common denominator, so that
        counts stay whole.
    """
    loss = ensemble.loss
    e = np.zeros(ensemble.n_nodes)
    totals = np.zeros(ensemble.n_trees)
    for t in range(ensemble.n_trees):
        nodes = ensemble.nodes_of(t)
        order = routing.order[t]
        w = (weights if weights.ndim == 1 else weights[t])[order]
        start, stop = routing.start[nodes], routing.stop[nodes]
        totals[t] = w.sum()
        value = ensemble.value[nodes]
        if ensemble.task == "classification":
            losses = _of_classes(loss, value.argmax(axis=1), y[order], w, start, stop)
        else:
            losses = _of_numbers(loss.name, value[:, 0], y[order], w, start, stop)
        e[nodes] = np.maximum(losses, 0.0)
    return ErrorComponent(e, totals * loss.denominator, source=source)


def _of_classes(
    loss: TreeLoss,
    predicted: NDArray[np.int64],
    y: NDArray[np.int64],
    w: NDArray[np.float64],
    start: NDArray[np.int32],
    stop: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Sum w l of each node, times the costs' denominator: each class counts with its loss where the node's class is predicted."""
    if not loss.costs:  # the weight at the node less that of the class that it predicts
        wrong = range_sums(w, start, stop)
        for k in np.unique(predicted):
            predicts_k = predicted == k
            wrong[predicts_k] -= range_sums(w * (y == k), start[predicts_k], stop[predicts_k])
        return wrong
    total = np.zeros(len(predicted))
    for j in np.unique(y):
        cost = loss.of_classes(np.full_like(predicted, j), predicted) * loss.denominator
        total += np.rint(cost) * range_sums(w * (y == j), start, stop)
    return total


def _of_numbers(
    name: str,
    v: NDArray[np.float64],
    y: NDArray[np.float64],
    w: NDArray[np.float64],
    start: NDArray[np.int32],
    stop: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Sum w l of each node that predicts v, from three moments where these give it."""
    if name == "absolute_error":  # every example is visited in each node on its way
        return np.array([w[a:b] @ np.abs(y[a:b] - x) for a, b, x in zip(start, stop, v, strict=True)])
    if name == "poisson":
        check_counts(y)
        entropy, s1, s0 = (range_sums(w * x, start, stop) for x in (xlogy(y, y), y, np.ones_like(y)))
        return np.asarray(2 * (entropy - xlogy(s1, v) - s1 + v * s0))
    centre = np.average(y, weights=w) if w.sum() > 0 else 0.0  # which limits cancellation
    y, v = y - centre, v - centre
    s0, s1, s2 = (range_sums(w * y**k, start, stop) for k in range(3))
    return np.asarray(s2 - 2 * v * s1 + v**2 * s0)
