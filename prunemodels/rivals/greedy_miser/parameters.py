"""Check the settings of boosting."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from formulations.errors import InvalidInputError
from prunemodels.rivals.greedy_miser.binning import MOST_BINS

INTEGER_RANGES: dict[str, tuple[int, int | None]] = {
    "n_estimators": (1, None),
    "max_depth": (1, 16),
    "min_samples_leaf": (1, None),
    "max_bins": (2, MOST_BINS),
}
"""Least and greatest value of each integer setting."""


def check_parameters(estimator: Any) -> None:
    """Refuse settings that are out of range.

    Raises
    ------
    InvalidInputError
        for the first one found.
    """
    for name, (least, most) in INTEGER_RANGES.items():
        value = getattr(estimator, name)
        if not isinstance(value, Integral) or int(value) < least or (most is not None and int(value) > most):
            wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise InvalidInputError(f"{name} is {value!r}; give a whole number {wanted}")
    patience = estimator.n_iter_no_change
    if patience is not None and (not isinstance(patience, Integral) or int(patience) < 1):
        raise InvalidInputError(f"n_iter_no_change is {patience!r}; give a whole number of at least 1, or None")
    if patience is not None and not 0 < estimator.validation_fraction < 1:
        raise InvalidInputError(
            f"validation_fraction is {estimator.validation_fraction!r}; stopping early takes a number between 0 and 1, or set "
            "n_iter_no_change to None"
        )
    for name in ("lam", "tol", "learning_rate", "subsample"):
        value = getattr(estimator, name)
        if not isinstance(value, Real) or not np.isfinite(float(value)) or value < 0:
            raise InvalidInputError(f"{name} is {value!r}; give a finite number >= 0")
    if estimator.learning_rate == 0:
        raise InvalidInputError("learning_rate is 0: no tree would count; give a number > 0")
    if not 0 < estimator.subsample <= 1:
        raise InvalidInputError(f"subsample is {estimator.subsample!r}; give a number in (0, 1]")
    loss = getattr(estimator, "loss", "squared_error")
    if loss not in ("log_loss", "squared_error"):
        raise InvalidInputError(f"loss is {loss!r}; give 'log_loss' or 'squared_error'")
