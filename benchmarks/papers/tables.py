"""Tables as Markdown, and means with their spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[np.float64] | Any
"""Also a column of a table."""


def markdown(frame: pd.DataFrame) -> str:
    """A table as Markdown: floats with four significant digits, missing ones as a dash.

    Columns without any entry are left out; where a data set has nothing in some column (other budgets, say), each data set gets
    a table of its own.
    """
    frame = frame.dropna(axis=1, how="all") if len(frame) else frame
    if "data" in frame and frame.groupby("data", sort=False).apply(_has_empty_column).any():
        return "\n\n".join(markdown(of_one.dropna(axis=1, how="all")) for _, of_one in frame.groupby("data", sort=False))
    heads = [str(c) for c in frame.columns]
    right = [pd.api.types.is_numeric_dtype(kind) for kind in frame.dtypes]
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---:" if r else "---" for r in right) + " |"]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in frame.itertuples(index=False)]
    return "\n".join(lines)


def _has_empty_column(frame: pd.DataFrame) -> bool:
    return bool(frame.isna().all().any())


def cell(value: object) -> str:
    """One entry of a table."""
    if isinstance(value, float | np.floating):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return "-" if value is None else str(value)


def mean_of(values: Numbers) -> float:
    """Mean."""
    return float(np.mean(np.asarray(values, dtype=np.float64)))


def spread_of(values: Numbers) -> float:
    """Standard deviation over repeats; NaN for one."""
    numbers = np.asarray(values, dtype=np.float64)
    return float(numbers.std(ddof=1)) if numbers.size > 1 else math.nan


def plus_minus(values: Numbers, digits: int = 4) -> str:
    """Mean ± standard deviation."""
    mean, spread = mean_of(values), spread_of(values)
    return f"{mean:.{digits}f}" + ("" if math.isnan(spread) else f" ± {spread:.{digits}f}")
