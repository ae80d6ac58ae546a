"""A bound of the loss of a sum of trees by a sum over the trees, with which pruning it is a `PruningProblem`.

Around a current pruning with margins F, let d_t(i) be what another pruning changes in tree t's output for row i, g_i the slope of
the row's loss and h the bound of its curvature (`losses`). With a_t(i) the largest |d_t(i)| that any pruning can bring about, A_i
their sum over the trees of the same output, Cauchy-Schwarz gives (sum_t d_t)^2 <= A_i sum_t d_t^2 / a_t, so, output by output,

    loss_i(F + sum_t d_t)  <=  loss_i(F) + sum_t [ g_i d_t + (c / 2) d_t^2 ],      c = h A_i / a_t(i),               (1)

with equality at the current pruning, d = 0. (With the number of trees in place of A_i / a_t it is the textbook bound.) Completing
the square, g d + (c / 2) d^2 = (c / 2) (d + g / c)^2 - g^2 / 2c. The last term does not depend on the pruning, and each row ends
in one leaf of each tree, so (1), averaged over the rows with weights w_i, is a constant plus the mean over all rows of

    e_u = sum over the rows i that reach u of  w_i (c / 2) (v_u - r_ti)^2,         r_ti = v_now(t, i) - g_i / c:        (2)

summed over the leaves u: weighted squared residuals, as in a regression forest, where each row has its own target in each tree. A
`share` below 1 multiplies h: then steps are longer, but (1) need not hold, and the caller has to check the loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from formulations.instance.usage import Usage
from prunemodels.models.libraries.model_forest import ModelForest, pruned_ends
from prunemodels.models.losses import SampleLoss


@dataclass(frozen=True, eq=False)
class Majorised:
    """The problem whose error is (1) less `constant`.

    Parameters
    ----------
    problem
        with the errors (2) and unchanged prices.
    constant
        loss at the current pruning less the sum of w g^2 / 2c: ``constant + pruning.error`` is (1), the mean over the rows.
    """

    problem: PruningProblem
    constant: float


@dataclass(frozen=True, eq=False)
class State:
    """A pruning and its margins on the rows.

    Parameters
    ----------
    kept
        bool, shape (n,).
    margins
        float64, shape (N, outputs).
    loss
        mean loss of the rows, with their weights.
    """

    kept: NDArray[np.bool_]
    margins: NDArray[np.float64]
    loss: float


def state_of(forest: ModelForest, usage: Usage, loss: SampleLoss, kept: NDArray[np.bool_]) -> State:
    """Margins and loss of a pruning on the rows of the usage, in float64."""
    ensemble, routing = forest.ensemble, usage.routing
    value = ensemble.value[pruned_ends(ensemble, kept), 0]
    margins = np.tile(forest.base, (routing.n_rows, 1))
    for t in range(ensemble.n_trees):
        nodes = ensemble.nodes_of(t)
        leaves = nodes.start + np.flatnonzero(~ensemble.is_split[nodes])
        _add_leaves(routing.order[t], routing.start, routing.stop, leaves, value, margins[:, forest.output[t]])
    return State(kept, margins, float(np.average(loss.values(margins), weights=usage.weights)))


def majorise(forest: ModelForest, usage: Usage, loss: SampleLoss, now: State, share: float = 1.0) -> Majorised:
    """Set up (1) around a pruning, over all prunings of the original trees: pruned splits may come back.

    Parameters
    ----------
    usage
        of the forest, on the rows of the loss.
    share
        of the curvature; at 1 the bound (1) holds.
    """
    ensemble, routing = forest.ensemble, usage.routing
    value = np.ascontiguousarray(ensemble.value[:, 0])
    present = value[pruned_ends(ensemble, now.kept)]
    reach = _reach(ensemble.left, ensemble.right, ensemble.parent, value, present)
    leaves = [
        nodes.start + np.flatnonzero(~ensemble.is_split[nodes]) for nodes in map(ensemble.nodes_of, range(ensemble.n_trees))
    ]
    together = np.zeros_like(now.margins)
    for t, own in enumerate(leaves):
        _add_leaves(routing.order[t], routing.start, routing.stop, own, reach, together[:, forest.output[t]])
    slope, weight = loss.slopes(now.margins), usage.weights
    e, dropped = np.zeros(ensemble.n_nodes), 0.0
    for t, own in enumerate(leaves):
        o = int(forest.output[t])
        dropped += _add_errors(
            routing.order[t],
            routing.start,
            routing.stop,
            own,
            ensemble.parent,
            value,
            present,
            reach,
            np.ascontiguousarray(together[:, o]),
            np.ascontiguousarray(slope[:, o]),
            weight,
            share * loss.curvature,
            e,
        )
    total = float(weight.sum())
    component = ErrorComponent(ensemble.n_trees * e, np.full(ensemble.n_trees, total), source="majorised loss")
    return Majorised(PruningProblem.of(usage, NodeErrors((component,))), now.loss - dropped / total)


def _reach(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    parent: NDArray[np.int32],
    value: NDArray[np.float64],
    present: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The a_t of the rows of each leaf: the largest change that any pruning can bring to its tree's output; 0 at splits."""
    reach = np.zeros(len(left))
    _farthest(left, parent, value, present, reach)
    return reach


@njit(cache=True)
def _farthest(left, parent, value, present, reach):  # type: ignore[no-untyped-def]
    for leaf in range(left.shape[0]):
        if left[leaf] >= 0:
            continue
        u = leaf
        while u >= 0:
            reach[leaf] = max(reach[leaf], abs(value[u] - present[leaf]))
            u = parent[u]


@njit(cache=True)
def _add_leaves(order, start, stop, leaves, amount, into):  # type: ignore[no-untyped-def]
    """Add each leaf's amount to the rows that reach it."""
    for h in leaves:
        for k in range(start[h], stop[h]):
            into[order[k]] += amount[h]


@njit(cache=True)
def _add_errors(  # type: ignore[no-untyped-def]
    order, start, stop, leaves, parent, value, present, reach, together, slope, weight, curvature, e
):
    """(2) of one tree, added to e; returns the sum of w g^2 / 2c."""
    dropped = 0.0
    for h in leaves:
        if reach[h] == 0.0:  # no pruning of this tree changes these rows
            continue
        for k in range(start[h], stop[h]):
            i = order[k]
            c = curvature * together[i] / reach[h]
            target = present[h] - slope[i] / c
            dropped += weight[i] * slope[i] ** 2 / (2.0 * c)
            u = h
            while u >= 0:
                e[u] += weight[i] * c / 2.0 * (value[u] - target) ** 2
                u = parent[u]
    return dropped
