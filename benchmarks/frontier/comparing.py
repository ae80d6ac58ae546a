"""Test errors at the budgets, and confidence intervals for the difference of two methods.

Differences are paired: the two methods saw the same split of the same seed. With differences d_1, ..., d_n of n seeds

    mean +- t_{0.975, n - 1} sd(d) / sqrt(n)                                                                     (1)

is the interval, where sd has the divisor n - 1. The area under a curve is the mean of its test error over the budgets from the
least to the largest, interpolated linearly, so it has the unit of an error:

    area = sum_k (b_{k+1} - b_k) (e_k + e_{k+1}) / 2  /  (b_last - b_first)                                      (2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.frontier.choice import chosen
from benchmarks.frontier.results import candidates_of


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences and half the width of its 95 % interval; NaN for fewer than two seeds."""

    mean: float
    half_width: float
    n: int


def paired(a: Sequence[float], b: Sequence[float]) -> Difference:
    """The interval (1) for the differences a - b."""
    d = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    if d.size < 2:
        return Difference(float(d.mean()) if d.size else float("nan"), float("nan"), int(d.size))
    half = float(stats.t.ppf(0.975, d.size - 1) * d.std(ddof=1) / np.sqrt(d.size))
    return Difference(float(d.mean()), half, int(d.size))


def area(budgets: Sequence[float], errors: Sequence[float]) -> float:
    """The area under a curve, (2)."""
    b, e = np.asarray(budgets, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    return float(((b[1:] - b[:-1]) * (e[1:] + e[:-1]) / 2).sum() / (b[-1] - b[0]))


def at_budgets(results: pd.DataFrame, budgets: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """The chosen models: a row for each data set, method, seed and budget, with test error, loss and cost, and seconds."""
    rows: list[dict[str, object]] = []
    for (data, method, seed), some in results.groupby(["data", "method", "seed"], sort=False):
        candidates = candidates_of(some)
        for budget in budgets[str(data)]:
            best = chosen(candidates, budget)
            if best is not None:
                about = {"data": data, "method": method, "seed": seed, "budget": budget, "params": best.params["text"]}
                on_test = {"error": best.test_error, "loss": best.test_loss, "cost": best.test_cost}
                rows.append(
                    {**about, **on_test, "valid_error": best.valid_error, "fit_s": best.fit_s, "predict_s": best.predict_s}
                )
    return pd.DataFrame(rows)
