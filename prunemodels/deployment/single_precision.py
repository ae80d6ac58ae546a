"""Thresholds in single precision that send every row where the double ones do.

scikit-learn casts a row to float32 and compares it with a threshold t in float64, mostly the middle between two float32 numbers.
ONNX, and most other programs that evaluate trees, store t as float32. If t is rounded to the nearest float32, it may rise to the
value x > t of a row, which then goes left instead of right. If t is rounded towards -infinity, no row changes its way: for every
x that is a float32,

    x <= t    <=>    x <= floor32(t),        floor32(t) = the largest float32 <= t                                         (1)
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prunemodels.forests.reading import tree_views
from prunemodels.tree_models.tree_model import fitted_model


def float32_thresholds(forest: Any) -> Any:
    """A copy of a fitted forest whose thresholds are float32 numbers; it predicts exactly what the forest predicts, see (1).

    Use it before converters that cast thresholds to float32, so that the cast changes nothing. `to_onnx` does so itself.

    Raises
    ------
    UnsupportedModelError, NotFittedForestError
        as `read_forest`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest
    >>> single = pm.deployment.float32_thresholds(forest)
    >>> bool((single.predict_proba(X_test) == forest.predict_proba(X_test)).all())
    True
    """
    forest = fitted_model(forest)
    tree_views(forest)  # refuses what is not a forest before the copy is made
    rounded = copy.deepcopy(forest)
    for view in tree_views(rounded):
        tree = view.estimator.tree_
        splits = tree.children_left >= 0
        tree.threshold[splits] = floor32(tree.threshold[splits])
    return rounded


def floor32(numbers: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is at most each number."""
    with np.errstate(over="ignore"):
        nearest = numbers.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    floor: NDArray[np.float32] = np.where(nearest > numbers, below, nearest)
    return floor
