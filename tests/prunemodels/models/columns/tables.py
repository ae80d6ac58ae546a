"""A table with words, missing values and numbers, as pipelines read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

NUMBERS = ["age", "income", "score", "debt"]
WORDS = ["city", "job"]


def raw_table(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Rows of two columns of words and four of numbers, one of them with missing values, and labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, n).astype(float),
            "city": rng.choice(["Rome", "Bonn", "Oslo"], n),
            "income": rng.normal(50, 10, n),
            "job": rng.choice(["baker", "judge", "pilot", "miner"], n, p=[0.4, 0.4, 0.15, 0.05]),
            "score": rng.normal(size=n) + 4,
            "debt": rng.normal(size=n) + 4,
        }
    )
    X.loc[rng.random(n) < 0.2, "income"] = np.nan
    y = ((X["age"] > 50) ^ (X["city"] == "Rome") | (X["score"] > 5)).astype(int).to_numpy()
    return X, y
