"""The tree during training: examples are split softly.

    p(v_j | x) = sigma(s (f_k(x) - theta_k)) p(v_k | x),   f_k(x) = phi(x)' beta_k + b_k,   v_j the upper child of v_k     (S1)
    p(v_l | x) = (1 - sigma(s (f_k(x) - theta_k))) p(v_k | x),                              v_l its lower child
    p(v_0 | x) = 1

CSTC13 section 4.1 (the formulas were lost in our copy's extraction; rebuilt from the text around them). The paper's s is 1;
`sharpness` s is ours, with y scaled to unit variance. Intercepts b_k are ours too, and free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit


@dataclass(frozen=True, eq=False)
class Weights:
    """The trained weights: beta, shape (V, T); intercepts b and thresholds theta, shape (V,)."""

    beta: NDArray[np.float64]
    intercept: NDArray[np.float64]
    threshold: NDArray[np.float64]

    def with_node(self, k: int, beta: NDArray[np.float64], intercept: float, threshold: float) -> Weights:
        """A copy with another classifier in node k."""
        new = replace(self, beta=self.beta.copy(), intercept=self.intercept.copy(), threshold=self.threshold.copy())
        new.beta[k], new.intercept[k], new.threshold[k] = beta, intercept, threshold
        return new


def upper_chance(scores: NDArray[np.float64], threshold: NDArray[np.float64] | float, sharpness: float) -> NDArray[np.float64]:
    """sigma(s (f - theta)): the chance of going to the upper child."""
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
