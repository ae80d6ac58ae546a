"""Turn trained weights into the tree that predicts: zeros, fine-tuning, pruning.

*Zeros* (ours; the relaxed penalties shrink weights towards EPS, not to zero): beta_kt is set to 0 where |beta_kt| times the
standard deviation of h_t on the training examples is at most `zero_tol`, where y has variance 1. *Fine-tuning* (CSTC13 section
4.2): classifiers that predict are fitted again without the penalties, on the examples that leave there; zero weights stay zero:

    minimise over the non-zero beta, and b:   sum_i w_i (y_i - phi(x_i)' beta - b)^2 + FINE_RIDGE W sum_t var(h_t) beta_t^2  (F1)

The small ridge term is ours, and so is fitting the last nodes to the examples that leave by the hard path. *Tree pruning*
(ibid.): a node is removed with all below it, deepest first, if the validation error does not rise without it; each node is judged
with its own (F1) on all examples that reach it. The paper prunes first, but comparing shrunken classifiers would not be fair.
After pruning, the nodes that predict are fitted for the last time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prunemodels.rivals.cstc.classifier_tree import ClassifierTree, path_to

FINE_RIDGE = 1e-4
"""Weight of the ridge term of (F1)."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples in the space of weak learners: phi (N, T), labels (N,), weights (N,)."""

    phi: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64]

    def spread(self) -> NDArray[np.float64]:
        """Variance of each weak learner, shape (T,)."""
        share = self.weights / self.weights.sum()
        return np.asarray(np.maximum(share @ self.phi**2 - (share @ self.phi) ** 2, 0.0))


def with_zeros(beta: NDArray[np.float64], variance: NDArray[np.float64], zero_tol: float) -> NDArray[np.float64]:
    """The weights with small ones set to exactly zero, shape (V, T)."""
    return np.asarray(np.where(np.abs(beta) * np.sqrt(variance) > zero_tol, beta, 0.0))


def fine_tuned(tree: ClassifierTree, train: Examples, *, leaving: bool) -> ClassifierTree:
    """(F1) for every node: on the examples that leave there, or, with ``leaving=False``, on all that reach it.

    Nodes that no example leaves at, or reaches, keep their weights.
    """
    beta, intercept = tree.final_beta.copy(), tree.final_intercept.copy()
    at, ridge = tree.leaving(train.phi), FINE_RIDGE * train.spread()
    for k in range(tree.n_nodes):
        members = at == k if leaving else np.isin(at, [j for j in range(tree.n_nodes) if k in path_to(j)])
        rows = np.flatnonzero(members)
        if not rows.size:
            continue
        active = np.flatnonzero(tree.beta[k])
        share = train.weights[rows] / train.weights[rows].sum()
        phi, y = train.phi[np.ix_(rows, active)], train.y[rows]
        centre, mean = share @ phi, float(share @ y)
        centred = phi - centre
        matrix = centred.T @ (share[:, None] * centred) + np.diag(ridge[active])
        beta[k] = 0.0
        beta[k, active] = np.linalg.solve(matrix, centred.T @ (share * (y - mean)))
        intercept[k] = mean - float(centre @ beta[k, active])
    return replace(tree, final_beta=beta, final_intercept=intercept)


def pruned(tree: ClassifierTree, phi: NDArray[np.float64], error: Callable[[NDArray[np.float64]], float]) -> ClassifierTree:
    """The tree without the nodes that do not lower the validation error.

    Parameters
    ----------
    phi
        validation examples, shape (N, T).
    error
        computes the error of predictions for them, shape (N,); less is better.
    """
    least = error(tree.predict(phi))
    for k in range(tree.n_nodes - 1, 0, -1):
        if not tree.has(k):
            continue
        kept = tree.kept.copy()
        kept[[j for j in range(tree.n_nodes) if k in path_to(j)]] = False
        without = replace(tree, kept=kept)
        new_error = error(without.predict(phi))
        if new_error <= least:
            tree, least = without, new_error
    return tree
