"""How sums of trees become probabilities, numbers and labels, for rows in a table s of shape (N, K).

    fractions, identity            probability_k = s_k,  number = s                                  (1)
    two classes, one sum           probability of the second = 1 / (1 + exp(-a s))                   (2)
    several classes                exp(s_k) / sum_j exp(s_j), or (2) for each class                  (3)

The results have the floating-point type of the sums: XGBoost adds float32, all others doubles.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Link = Literal["identity", "sigmoid", "softmax", "one_vs_rest", "fractions"]

SecondClass = Literal["probability > 1/2", "margin > 0", "margin >= 0"]

Sums = NDArray[np.floating[Any]]


def probabilities_of(sums: Sums, link: Link, sharpness: float) -> Sums:
    """The probability of each class, shape (N, classes)."""
    if link == "fractions":
        return sums
    if link == "softmax":
        raised = np.exp(sums - sums.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))
    second = _sigmoid(sums, sharpness)
    return np.column_stack([1 - second[:, 0], second[:, 0]]) if sums.shape[1] == 1 else second


def numbers_of(sums: Sums, link: Link, sharpness: float) -> Sums:
    """What a regression predicts, shape (N,)."""
    return np.asarray(_sigmoid(sums, sharpness)[:, 0] if link == "sigmoid" else sums[:, 0])


def places_of(sums: Sums, link: Link, sharpness: float, second: SecondClass) -> NDArray[np.integer[Any]]:
    """The place of each row's label among the classes, shape (N,): that of the likelier class, or what `second` says."""
    if sums.shape[1] == 1 and second != "probability > 1/2":
        return (sums[:, 0] >= 0 if second == "margin >= 0" else sums[:, 0] > 0).astype(np.int64)
    return np.asarray((sums if link == "softmax" else probabilities_of(sums, link, sharpness)).argmax(axis=1))


def _sigmoid(sums: Sums, sharpness: float) -> Sums:
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-sums.dtype.type(sharpness) * sums)))
