"""A tree of linear classifiers, in which each example follows one path.

Classifier nodes are in heap order: the root is 0, the upper child of node k is 2k + 1, the lower one 2k + 2; a tree of depth D
has 2^D - 1. At node k an example goes to the upper child if a_k' (beta_k' phi(x) + b_k) > theta_k, else to the lower one (CSTC13
section 4; a_k = 1 for one output). If that child does not exist, the example leaves there with node k's prediction; CSTC13 calls
this a terminal element.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prunemodels.rivals.cstc.purchases import Purchases
from prunemodels.rivals.cstc.soft_tree import Weights


def path_to(k: int) -> list[int]:
    """The nodes from the root to node k, k included."""
    nodes = [k]
    while nodes[0]:
        nodes.insert(0, (nodes[0] - 1) // 2)
    return nodes


@dataclass(frozen=True, eq=False)
class ClassifierTree:
    """V = 2^D - 1 linear classifiers over T weak learners, with K outputs: one, or one for each of more than two classes.

    Parameters
    ----------
    beta, intercept, direction, threshold
        shapes (V, T, K), (V, K), (V, K), (V,): beta_k, b_k, a_k and theta_k, by which examples are routed.
    final_beta, final_intercept
        the weights with which a node predicts the examples that leave there: CSTC13's fine-tuned weights; zero where beta is.
    kept
        bool, shape (V,): nodes that exist; the parent of each exists too.
    """

    beta: NDArray[np.float64]
    intercept: NDArray[np.float64]
    direction: NDArray[np.float64]
    threshold: NDArray[np.float64]
    final_beta: NDArray[np.float64]
    final_intercept: NDArray[np.float64]
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, weights: Weights, kept: NDArray[np.bool_]) -> ClassifierTree:
        """The tree of trained weights, whose nodes predict with the weights by which they route."""
        w = weights
        return cls(w.beta, w.intercept, w.direction, w.threshold, w.beta, w.intercept, kept)

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

    def bills(self, purchases: Purchases) -> NDArray[np.float64]:
        """(2) of the path to each node, shape (V,)."""
        return np.array([purchases.bill(self.used(k)) for k in range(self.n_nodes)])
