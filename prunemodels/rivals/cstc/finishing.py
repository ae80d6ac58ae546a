"""Turn trained weights into the tree that predicts: zeros, fine-tuning, pruning.

*Zeros* (ours; the relaxed penalties shrink weights towards EPS, not to zero): beta_kt is set to 0 where |beta_kt|, the norm over
the outputs, times the standard deviation of h_t on the training examples is at most `zero_tol`, where y has variance 1.
*Fine-tuning* (CSTC13 section 4.2): classifiers that predict are fitted again without the penalties, on the examples that leave
there; zero weights stay zero:

    minimise over the non-zero beta, and b:   sum_i w_i |y_i - beta' phi(x_i) - b|^2 + FINE_RIDGE W sum_t var(h_t) |beta_t|^2 (F1)

The small ridge term is ours, and so is fitting the last nodes to the examples that leave by the hard path. *Tree pruning*
(ibid.): a node is removed with all below it, deepest first, if the validation error does not rise without it; each node is judged
with its own (F1) on all examples that reach it. The paper prunes first, but comparing shrunken classifiers would not be fair.
After pruning, the nodes that predict are fitted for the last time.

*Choice among starts* (ours): of the finished trees those count as equally good whose validation error exceeds the least one by no
more than the standard error of the difference; the cheapest of them is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prunemodels.rivals.cstc.classifier_tree import ClassifierTree, path_to

FINE_RIDGE = 1e-4
"""Weight of the ridge term of (F1)."""

NO_ERROR = 1e-3
"""A root mean squared difference up to this, of labels of variance 1, is no error: the ridge term alone makes some."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples in the space of weak learners: phi (N, T), labels (N, K), weights (N,)."""

    phi: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64]

    def shares(self) -> NDArray[np.float64]:
        """The weights, scaled to sum to 1."""
        return np.asarray(self.weights / self.weights.sum())

    def spread(self) -> NDArray[np.float64]:
        """Variance of each weak learner, shape (T,)."""
        share = self.shares()
        return np.asarray(np.maximum(share @ self.phi**2 - (share @ self.phi) ** 2, 0.0))


def with_zeros(beta: NDArray[np.float64], variance: NDArray[np.float64], zero_tol: float) -> NDArray[np.float64]:
    """The weights with small ones set to exactly zero, shape (V, T, K)."""
    large = np.sqrt((beta**2).sum(axis=2) * variance) > zero_tol
    return np.asarray(np.where(large[:, :, None], beta, 0.0))


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
        active = np.flatnonzero((tree.beta[k] != 0).any(axis=1))
        share = train.weights[rows] / train.weights[rows].sum()
        phi, y = train.phi[np.ix_(rows, active)], train.y[rows]
        centre, mean = share @ phi, share @ y
        centred = phi - centre
        matrix = centred.T @ (share[:, None] * centred) + np.diag(ridge[active])
        beta[k] = 0.0
        beta[k, active] = np.linalg.solve(matrix, centred.T @ (share[:, None] * (y - mean)))
        intercept[k] = mean - centre @ beta[k, active]
    return replace(tree, final_beta=beta, final_intercept=intercept)


def pruned(tree: ClassifierTree, phi: NDArray[np.float64], error: Callable[[NDArray[np.float64]], float]) -> ClassifierTree:
    """The tree without the nodes that do not lower the validation error.

    Parameters
    ----------
    phi
        validation examples, shape (N, T).
    error
        computes the error of predictions for them, shape (N, K); less is better.
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


def cheapest_of_best(
    errors: NDArray[np.float64], weights: NDArray[np.float64], costs: NDArray[np.float64], no_error: float
) -> int:
    """The number of the cheapest tree among the best on validation examples; of equally cheap ones the first.

    Parameters
    ----------
    errors
        error of each tree on each example, shape (trees, N).
    weights
        weights of the examples, shape (N,).
    costs
        mean cost of each tree, shape (trees,).
    no_error
        mean errors that differ by at most this are equal.
    """
    share = weights / weights.sum()
    means = errors @ share
    lead = errors - errors[int(means.argmin())]
    noise = np.sqrt((lead - (lead @ share)[:, None]) ** 2 @ share**2)
    good = np.flatnonzero(lead @ share <= noise + no_error)
    return int(good[costs[good].argmin()])
