"""Refit the values of all leaves of a pruned ensemble together: the splits stay, hence the cost.

Boosting sets the leaves of a tree once and never revises them; pruning then removes corrections by later trees. With Z the
indicators of the leaves of the pruned trees, Z[i, l] = 1 where row i ends in leaf l, F the present margins, and delta the change
of the leaves' values:

    minimise over delta     sum_i w_i loss_i(F_i + (Z delta)_i)  +  (k h / 2) sum_l delta_l^2                       (1)

w are the rows' weights, scaled to the mean 1, and h is the bound of the loss's curvature (`losses`), so k counts rows: a leaf's
present value weighs as much as k rows. Where k is large nothing changes. For squares (1) is a ridge regression, solved by
``scipy.sparse.linalg.lsqr``; for log loss and softmax it is a penalised logistic regression, solved by scipy's L-BFGS.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import lsqr

from formulations.errors import InvalidInputError
from formulations.instance.routing import leaves_of
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.losses import SampleLoss
from prunemodels.models.trees import pruned_ends

STRENGTHS = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
"""The default values of k in (1)."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf in which each row ends: for each output the leaves whose values may change, ascending, and Z of (1) for these."""

    nodes: tuple[NDArray[np.int64], ...]
    indicators: tuple[csr_matrix, ...]

    @classmethod
    def of(cls, forest: ModelForest, kept: NDArray[np.bool_], rows: NDArray[np.float32]) -> Leaves:
        """The leaves of the pruned trees. Of an output's trees that are single leaves, only one is kept, as the constant."""
        ensemble = forest.ensemble
        ends = pruned_ends(ensemble, kept)[leaves_of(ensemble, rows)]
        single = ~kept[ensemble.roots]
        nodes, indicators = [], []
        for o in range(forest.n_outputs):
            mine = (forest.output == o) & (forest.scale != 0)
            trees = np.concatenate([np.flatnonzero(mine & ~single), np.flatnonzero(mine & single)[:1]])
            own, column = np.unique(ends[trees].T, return_inverse=True)
            start = np.arange(len(rows) + 1) * trees.size
            Z = csr_matrix((np.ones(column.size), column.ravel(), start), shape=(len(rows), own.size))
            nodes.append(own.astype(np.int64))
            indicators.append(Z)
        return cls(tuple(nodes), tuple(indicators))

    def add(self, delta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z delta, shape (N, outputs)."""
        by_output = np.split(delta, np.cumsum([len(own) for own in self.nodes])[:-1])
        return np.column_stack([Z @ d for Z, d in zip(self.indicators, by_output, strict=True)])

    def gather(self, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Z' times the rows' slopes, shape (N, outputs): one number for each leaf."""
        return np.concatenate([Z.T @ slopes[:, o] for o, Z in enumerate(self.indicators)])

    @property
    def n_leaves(self) -> int:
        """Length of delta."""
        return sum(len(own) for own in self.nodes)


def corrections(
    leaves: Leaves,
    loss: SampleLoss,
    margins: NDArray[np.float64],
    weight: NDArray[np.float64],
    strength: float,
    start: NDArray[np.float64],
    iterations: int = 200,
) -> NDArray[np.float64]:
    """The minimiser of (1) at k = `strength`, shape (leaves,), found from `start` by L-BFGS or lsqr.

    F is `margins`, w is `weight` >= 0.
    """
    w = weight / weight.mean()
    if loss.loss.kind == "squared_error":
        root = np.sqrt(w)
        A, b = leaves.indicators[0].multiply(root[:, None]).tocsr(), root * (loss.targets[:, 0] - margins[:, 0])
        found = lsqr(A, b, damp=np.sqrt(strength), x0=start, atol=1e-10, btol=1e-10, iter_lim=iterations)[0]
        return np.asarray(found, dtype=np.float64)
    penalty, n = strength * loss.curvature, float(len(w))

    def objective(delta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        F = margins + leaves.add(delta)
        value = float(w @ loss.values(F)) + penalty / 2.0 * float(delta @ delta)
        return value / n, (leaves.gather(w[:, None] * loss.slopes(F)) + penalty * delta) / n

    options: Any = {"maxiter": iterations, "maxcor": 20, "gtol": 1e-7, "ftol": 1e-10}
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x, dtype=np.float64)


def refitted(
    forest: ModelForest,
    kept: NDArray[np.bool_],
    rows: NDArray[np.float32],
    loss: SampleLoss,
    weight: NDArray[np.float64],
    strengths: Sequence[float],
) -> Iterator[tuple[float, ModelForest]]:
    """The refitted forest for each strength, from the largest on; values are rounded as in the model's own file.

    The data to fit are rows from `ModelForest.rows`, their loss, and one weight >= 0 for each.
    """
    for k, strength in enumerate(strengths):
        if not (math.isfinite(strength) and strength > 0):
            raise InvalidInputError(f"strengths[{k}] is {strength}; give finite numbers above 0")
    leaves, margins = Leaves.of(forest, kept, rows), forest.margins(rows, kept)
    delta = np.zeros(leaves.n_leaves)
    for strength in sorted(strengths, reverse=True):
        delta = corrections(leaves, loss, margins, weight, strength, delta)
        value = forest.ensemble.value.copy()
        value[np.concatenate(leaves.nodes), 0] += delta
        yield strength, forest.with_values(value)
