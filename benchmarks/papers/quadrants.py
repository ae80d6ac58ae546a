"""The synthetic regression problem of CSTC13 section 5.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

MEANS = {"y++": 6.0, "y+-": 2.0, "y-+": -2.0, "y--": -6.0}
"""Mean label in each quadrant of (x, z). The paper does not give its means; these are ours."""

QUADRANT_COSTS = {"sign(x)": 1, "sign(z)": 1, "y++": 10, "y+-": 10, "y-+": 10, "y--": 10}
"""Prices as in the paper: a perfect predictor pays 12 for each example."""


def four_quadrants(n: int, random_state: Any = None) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Examples and labels.

    (x, z) is uniform on the square [-1, 1]^2; labels are Gaussian around their quadrant's mean, with variance 1. Two cheap
    features tell the quadrant. Each of four expensive ones is the label itself in its own quadrant and a random number
    elsewhere: a draw from the labels of its own quadrant (ours: the paper says "a random number"), so that only the signs tell
    which feature to trust.

    """
    rng = check_random_state(random_state)
    x, z = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    columns = {"sign(x)": np.where(x > 0, 1.0, -1.0), "sign(z)": np.where(z > 0, 1.0, -1.0)}
    y = np.empty(n)
    for name, mean in MEANS.items():
        inside = ((x > 0) == (name[1] == "+")) & ((z > 0) == (name[2] == "+"))
        drawn = rng.normal(mean, 1.0, n)
        y[inside] = drawn[inside]
        columns[name] = np.where(inside, drawn, rng.normal(mean, 1.0, n))
    return pd.DataFrame(columns), y
