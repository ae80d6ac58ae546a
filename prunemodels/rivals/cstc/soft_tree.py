"""The tree during training: examples are split softly.

    p(v_j | x) = sigma(s (a_k' f_k(x) - theta_k)) p(v_k | x),   f_k(x) = beta_k' phi(x) + b_k,   v_j the upper child of v_k  (S1)
    p(v_l | x) = (1 - sigma(s (a_k' f_k(x) - theta_k))) p(v_k | x),                              v_l its lower child
    p(v_0 | x) = 1

CSTC13 section 4.1 (the formulas were lost in our copy's extraction; rebuilt from the text around them). The paper has one output,
so a_k = 1, and s = 1. Ours: `sharpness` s, with y scaled to unit variance; free intercepts b_k; and, for more than two classes, K
outputs f_k, one for each class, of which a unit vector a_k makes the number that an example branches by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit


@dataclass(frozen=True, eq=False)
class Weights:
    """The trained weights of V nodes, T weak learners and K outputs.

    Parameters
    ----------
    beta, intercept
        beta and b, shapes (V, T, K) and (V, K).
    direction, threshold
        a and theta, shapes (V, K) and (V,).
    """

    beta: NDArray[np.float64]
    intercept: NDArray[np.float64]
    direction: NDArray[np.float64]
    threshold: NDArray[np.float64]

    @classmethod
    def zero(cls, n_nodes: int, n_weak: int, n_outputs: int) -> Weights:
        """Classifiers that predict 0 and branch by their first output."""
        direction = np.zeros((n_nodes, n_outputs))
        direction[:, 0] = 1.0
        return cls(np.zeros((n_nodes, n_weak, n_outputs)), np.zeros((n_nodes, n_outputs)), direction, np.zeros(n_nodes))

    def with_node(
        self,
        k: int,
        beta: NDArray[np.float64],
        intercept: NDArray[np.float64],
        threshold: float,
        direction: NDArray[np.float64] | None = None,
    ) -> Weights:
        """A copy with another classifier in node k; its direction stays unless one is given."""
        new = replace(
            self,
            beta=self.beta.copy(),
            intercept=self.intercept.copy(),
            threshold=self.threshold.copy(),
            direction=self.direction.copy(),
        )
        new.beta[k], new.intercept[k], new.threshold[k] = beta, intercept, threshold
        if direction is not None:
            new.direction[k] = direction
        return new

    def branching(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """a_k' f_k, shape (N, V), from the outputs f of all nodes, shape (N, V, K)."""
        return np.asarray(np.einsum("nvk,vk->nv", scores, self.direction))


def upper_chance(scores: NDArray[np.float64], threshold: NDArray[np.float64] | float, sharpness: float) -> NDArray[np.float64]:
    """sigma(s (a'f - theta)): the chance of going to the upper child; at an infinite s 1 above the threshold, else 0."""
    if np.isinf(sharpness):
        return np.asarray(scores > threshold, dtype=np.float64)
    return np.asarray(expit(sharpness * (scores - threshold)))


def reach(up: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S1): p(v_k | x) of every node, shape (N, V), from the chances (N, V) of going up."""
    p = np.ones_like(up)
    for k in range(1, up.shape[1]):
        parent = (k - 1) // 2
        p[:, k] = p[:, parent] * (up[:, parent] if k % 2 else 1 - up[:, parent])
    return p


def risk_below(k: int, up: NDArray[np.float64], risk: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected risk of an example in node k and all below, given that it is in node k, shape (N,)."""
    if 2 * k + 2 >= up.shape[1]:
        return risk[:, k]
    above, below = risk_below(2 * k + 1, up, risk), risk_below(2 * k + 2, up, risk)
    return np.asarray(risk[:, k] + up[:, k] * above + (1 - up[:, k]) * below)


def terminals_below(k: int, up: NDArray[np.float64]) -> tuple[list[int], NDArray[np.float64]]:
    """The last classifiers below node k, and the chance (N, leaves) to end there of an example that is in node k."""
    if 2 * k + 2 >= up.shape[1]:
        return [k], np.ones((len(up), 1))
    (first, p), (second, q) = terminals_below(2 * k + 1, up), terminals_below(2 * k + 2, up)
    return first + second, np.hstack([up[:, k, None] * p, (1 - up[:, k, None]) * q])
