"""A tree of linear classifiers, in which each example follows one path.

Classifier nodes are in heap order: the root is 0, the upper child of node k is 2k + 1, the lower one 2k + 2; a tree of depth D
has 2^D - 1. At node k an example goes to the upper child if a_k' (beta_k' phi(x) + b_k) > theta_k, else to the lower one (CSTC13
section 4; a_k = 1 for one output). If that child does not exist, the example leaves there with node k's prediction; CSTC13 calls
this a terminal element.

Trained weights become the tree that predicts by zeros, fine-tuning and pruning.

*Zeros* (ours; the relaxed penalties shrink weights towards `CSTCParams.eps`, not to zero): beta_kt is set to 0 where |beta_kt|,
the norm over the outputs, times the standard deviation of h_t on the training examples is at most `zero_tol`, where y has
variance 1.
*Fine-tuning* (CSTC13 section 4.2): classifiers that predict are fitted again without the penalties, on the examples that leave
there; zero weights stay zero:

    minimise over the non-zero beta, and b:   sum_i w_i |y_i - beta' phi(x_i) - b|^2 + fine_ridge W sum_t var(h_t) |beta_t|^2 (F1)

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

from prunemodels.rivals.cstc.global_loss import LearnerPrices, Weights, path_to
from prunemodels.rivals.cstc.params import PARAMS


@dataclass(frozen=True, eq=False)
class ClassifierTree(Weights):
    """Classifiers that route by their weights and predict, for the examples that leave there, by final ones.

    CSTC13's fine-tuned weights are such final ones; they are zero where beta is.
    """

    final_beta: NDArray[np.float64]
    final_intercept: NDArray[np.float64]
    kept: NDArray[np.bool_]  # bool, shape (V,): nodes that exist; the parent of each exists too

    @classmethod
    def of(cls, weights: Weights, kept: NDArray[np.bool_]) -> ClassifierTree:
        """The tree of trained weights, whose nodes predict with the weights by which they route."""
        return cls(**vars(weights), final_beta=weights.beta, final_intercept=weights.intercept, kept=kept)

    @property
    def n_nodes(self) -> int:
        """V, the number of places for nodes."""
        return len(self.intercept)

    def has(self, k: int) -> bool:
        """Whether there is a node k."""
        return k < self.n_nodes and bool(self.kept[k])

    def leaving(self, phi: NDArray[np.float64]) -> NDArray[np.int64]:
        """The node that each example leaves at, shape (N,)."""
        at = np.zeros(len(phi), dtype=np.int64)
        for k in range(self.n_nodes):
            if not self.has(k) or not (self.has(2 * k + 1) or self.has(2 * k + 2)):
                continue
            rows = np.flatnonzero(at == k)
            upper = (phi[rows] @ self.beta[k] + self.intercept[k]) @ self.direction[k] > self.threshold[k]
            for child, side in ((2 * k + 1, upper), (2 * k + 2, ~upper)):
                if self.has(child):
                    at[rows[side]] = child
        return at

    def predict(self, phi: NDArray[np.float64]) -> NDArray[np.float64]:
        """The prediction of the node that each example leaves at, shape (N, K)."""
        at = self.leaving(phi)
        predicted = np.empty((len(phi), self.intercept.shape[1]))
        for k in np.unique(at):
            rows = np.flatnonzero(at == k)
            predicted[rows] = phi[rows] @ self.final_beta[k] + self.final_intercept[k]
        return predicted

    def used(self, k: int) -> NDArray[np.bool_]:
        """The weak learners that an example needs that leaves at node k, shape (T,)."""
        return np.asarray((self.beta[path_to(k)] != 0).any(axis=(0, 2)))

    def bills(self, purchases: LearnerPrices) -> NDArray[np.float64]:
        """(2) of the path to each node, shape (V,)."""
        return np.array([purchases.bill(self.used(k)) for k in range(self.n_nodes)])


@dataclass(frozen=True, eq=False)
class LearnerOutputs:
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


def fine_tuned(tree: ClassifierTree, train: LearnerOutputs, *, leaving: bool) -> ClassifierTree:
    """(F1) for every node: on the examples that leave there, or, with ``leaving=False``, on all that reach it.

    Nodes that no example leaves at, or reaches, keep their weights.
    """
    beta, intercept = tree.final_beta.copy(), tree.final_intercept.copy()
    at, ridge = tree.leaving(train.phi), PARAMS.fine_ridge * train.spread()
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
    """The tree without the nodes that do not lower the `error` of its predictions, shape (N, K), for validation examples."""
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

    `errors` are those of each tree on each example, shape (trees, N); mean errors that differ by at most `no_error` are equal.
    """
    share = weights / weights.sum()
    means = errors @ share
    lead = errors - errors[int(means.argmin())]
    noise = np.sqrt((lead - (lead @ share)[:, None]) ** 2 @ share**2)
    good = np.flatnonzero(lead @ share <= noise + no_error)
    return int(good[costs[good].argmin()])
