"""Losses and their first two derivatives in the margins: CEGB17 eq. (9a), (9b).

    squares      L = (y - m)^2 / 2,    g = m - y,      h = 1                                        (1)
    two classes  L = -log P(y),        g = p - y,      h = p (1 - p),      p = 1 / (1 + exp(-m))    (2)
    K classes    L = -log P(y),        g_o = p_o - y_o,  h_o = p_o (1 - p_o) K / (K - 1),  p = softmax(m)    (3)

They are those of LightGBM; the factor in (3) is Friedman's (2000), for trees that are fitted class by class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss for margins of shape (N, K').

    Parameters
    ----------
    target
        shape (N, K'): numbers, or 1 where the example is of the class (K' = 1: of the second of two).
    classes
        number of classes; 0 for squares.
    """

    target: NDArray[np.float64]
    classes: int

    @classmethod
    def squares(cls, y: NDArray[np.float64]) -> Loss:
        """The squared error (1)."""
        return cls(np.asarray(y, dtype=np.float64)[:, None], 0)

    @classmethod
    def log_loss(cls, labels: NDArray[np.int64], classes: int) -> Loss:
        """The log loss (2) or (3), for labels 0, 1, ..."""
        if classes == 2:
            return cls(labels[:, None].astype(np.float64), 2)
        return cls(np.eye(classes)[labels], classes)

    @property
    def n_outputs(self) -> int:
        """K', the number of margins."""
        return int(self.target.shape[1])

    def start(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """The best margins that are the same for all examples, shape (K',)."""
        mean = np.average(self.target, axis=0, weights=weight)
        if self.classes == 0:
            return np.asarray(mean)
        tiny = np.finfo(np.float64).tiny
        return np.asarray(np.log(mean) - np.log1p(-mean)) if self.classes == 2 else np.log(np.maximum(mean, tiny))

    def derivatives(self, margins: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return g and h, shape (N, K')."""
        if self.classes == 0:
            return margins - self.target, np.ones_like(margins)
        if self.classes == 2:
            p = expit(margins)
            return p - self.target, p * (1.0 - p)
        p = softmax(margins, axis=1)
        return p - self.target, p * (1.0 - p) * (self.classes / (self.classes - 1.0))
