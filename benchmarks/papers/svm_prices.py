"""Prices that differ by feature, from a linear SVM: BP16 section 6.4, Figure 5; CEGB17's Figure 3 (a) here has them, too.

    X_f  scaled so that every feature's column has the same l2 norm                                                      (1)
    w    weights of a linear SVM on that; c_f = |w_f| rounded, in [1, 40]                                                (2)
    c    divided by its mean: the prices add up to the number of features                                                (3)

The paper does not say how |w| was scaled to [1, 40]. Here the largest weight is scaled to 40, and what rounds to 0 costs 1.
C = 1, the squared hinge and columns of mean square 1 are our choice too. With several classes |w_f| is the largest over them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

LARGEST = 40.0
"""Price of the dearest feature before (3)."""


def svm_prices(X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """(1) to (3): shape (F,), adding up to F."""
    rows = np.asarray(X, dtype=np.float64)
    norm = np.sqrt(np.mean(rows**2, axis=0))
    scaled = rows / np.where(norm > 0, norm, 1.0)
    weights = np.abs(LinearSVC(dual=False, max_iter=10_000).fit(scaled, y).coef_).max(axis=0)
    prices = np.maximum(np.round(weights * (LARGEST / weights.max())), 1.0)
    return np.asarray(prices * (prices.size / prices.sum()))
