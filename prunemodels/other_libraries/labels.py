"""Labels and targets, checked: one for each row, and of the model's kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError


def class_indices(y: object, classes: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    """Each label's place among the model's classes.

    Raises
    ------
    InvalidInputError
        for a label that the model was not trained on, or another number of labels than rows.
    """
    labels = _one_a_row(y, n_rows).tolist()
    place = {label: k for k, label in enumerate(classes.tolist())}
    for i, label in enumerate(labels):
        if label not in place:
            raise InvalidInputError(f"y[{i}] is the label {label!r}, the model knows {classes.tolist()}")
    return np.array([place[label] for label in labels], dtype=np.int64)


def targets(y: object, n_rows: int) -> NDArray[np.float64]:
    """Targets as float64.

    Raises
    ------
    InvalidInputError
        for targets that are not finite numbers, or another number of them than rows.
    """
    try:
        numbers = _one_a_row(y, n_rows).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y is not numeric ({error}); the model predicts numbers") from error
    if not np.isfinite(numbers).all():
        i = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise InvalidInputError(f"y[{i}] is {numbers[i]}; targets must be finite")
    return numbers


def _one_a_row(y: object, n_rows: int) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise InvalidInputError(f"y has shape {labels.shape}, X has {n_rows} rows: give one label each")
    return labels
