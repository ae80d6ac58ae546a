"""Whether one model is better than another on rows that neither was trained on, by loss and error of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SMALLEST = 1e-4
"""Smaller probabilities count as this one, since a forest gives 0 to a class that it has not seen at a leaf."""


def is_better(new: Floats, old: Floats, truth: NDArray[Any], weights: Floats) -> bool:
    """Whether the new model's mean loss is lower by more than a standard error, and its error is not larger.

    Parameters
    ----------
    new, old
        shape (N, K): each model's output for the rows, probabilities or, with K = 1, numbers.
    truth
        shape (N,): class numbers, or targets.
    weights
        shape (N,), > 0: of the rows.
    """
    gain = losses(old, truth) - losses(new, truth)
    fewer_errors = errors(old, truth) - errors(new, truth)
    return is_beyond_chance(gain, weights) and float(fewer_errors @ weights) >= 0


def is_beyond_chance(gain: Floats, weights: Floats, errors_apart: float = 1.0) -> bool:
    """Whether the weighted mean of the rows' gains exceeds some standard errors."""
    share = weights / weights.sum()
    mean = float(gain @ share)
    return mean > errors_apart * float(np.sqrt((gain - mean) ** 2 @ share**2))


def losses(value: Floats, truth: NDArray[Any]) -> Floats:
    """Log loss or squared error of every row."""
    if value.shape[1] == 1:
        return errors(value, truth)
    of_true_class = np.take_along_axis(value, truth[:, None].astype(np.int64), axis=1)[:, 0]
    return np.asarray(-np.log(np.maximum(of_true_class, SMALLEST)))


def errors(value: Floats, truth: NDArray[Any]) -> Floats:
    """0-1 loss, or squared error, of every row; `value` has the shape (N, K), or (S, N, K) for several models."""
    if value.shape[-1] == 1:
        return np.asarray((value[..., 0] - truth) ** 2)
    return np.asarray(value.argmax(axis=-1) != truth, dtype=np.float64)
