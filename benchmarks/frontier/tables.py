"""Markdown tables of the results: errors at the budgets of each data set, and our default object against each method.

Differences are paired: the two methods saw the same split of the same seed. With differences d_1, ..., d_n of n seeds

    mean +- t_{0.975, n - 1} sd(d) / sqrt(n)                                                                     (1)

is the interval, where sd has the divisor n - 1. The area under a curve is the mean of its test error over the budgets from the
least to the largest, interpolated linearly, so it has the unit of an error:

    area = sum_k (b_{k+1} - b_k) (e_k + e_{k+1}) / 2  /  (b_last - b_first)                                      (2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.frontier.candidate import chosen as chosen_at
from benchmarks.frontier.results import candidates_of
from benchmarks.measuring import markdown


def paired(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """The mean of the differences a - b, and half the width of its interval (1); NaN for a single seed."""
    d = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    half = stats.t.ppf(0.975, d.size - 1) * d.std(ddof=1) / np.sqrt(d.size) if d.size > 1 else np.nan
    return float(d.mean()), float(half)


def area(budgets: Sequence[float], errors: Sequence[float]) -> float:
    """The area under a curve, (2)."""
    return float(np.trapezoid(errors, budgets) / (budgets[-1] - budgets[0]))


def at_budgets(results: pd.DataFrame, budgets: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """The chosen models: a row for each data set, method, seed and budget, with test error, loss and cost, and seconds."""
    rows: list[dict[str, object]] = []
    for (data, method, seed), some in results.groupby(["data", "method", "seed"], sort=False):
        candidates = candidates_of(some)
        for budget in budgets[str(data)]:
            best = chosen_at(candidates, budget)
            if best is not None:
                about = {"data": data, "method": method, "seed": seed, "budget": budget, "params": best.params["text"]}
                on_test = {"error": best.test_error, "loss": best.test_loss, "cost": best.test_cost}
                rows.append(
                    {**about, **on_test, "valid_error": best.valid_error, "fit_s": best.fit_s, "predict_s": best.predict_s}
                )
    return pd.DataFrame(rows)


CASCADE = "cascade"  # the name of `BudgetCascade*` as it comes
Budgets = Mapping[str, Sequence[float]]


def all_tables(results: pd.DataFrame, budgets: Budgets, ours: Sequence[str], regressions: Sequence[str]) -> str:
    chosen = at_budgets(results, budgets)
    parts = [one_object(chosen)]
    parts += [
        data_table(chosen[chosen["data"] == data], budgets[data], ours, str(data), data in regressions)
        for data in chosen["data"].unique()
    ]
    return "\n".join(parts)


def shown(error: float, scale: float) -> str:
    """An error in per cent, or a squared error as a share of that of the mean."""
    return "-" if pd.isna(error) else f"{100 * error / scale:.2f}"


def data_table(some: pd.DataFrame, budgets: Sequence[float], ours: Sequence[str], data: str, is_regression: bool) -> str:
    """The mean over the seeds for each method and budget; the least of each column is bold."""
    scale = float(some["error"].max()) if is_regression else 1.0  # of squared errors that of predicting the mean
    means = some.pivot_table(index="method", columns="budget", values="error", aggfunc="mean", sort=False)
    means = means.reindex(columns=list(budgets))
    seconds = some.groupby("method", sort=False)[["fit_s", "predict_s"]].mean()
    seeds = some.groupby("method", sort=False)["seed"].nunique()
    unit = "squared error, % of the largest" if is_regression else "error, %"
    lines = []
    least = means.min().tolist()
    for method in map(str, means.index):
        row = means.loc[[method]].to_numpy()[0].tolist()
        cells = [f"**{shown(v, scale)}**" if v == best else shown(v, scale) for v, best in zip(row, least, strict=True)]
        name = f"**{method}**" if method in ours else method
        fit, predict = seconds.loc[[method]].to_numpy()[0].tolist()
        lines.append([name, seeds.loc[method], *cells, shown(area(budgets, row), scale), f"{fit:.2g}", f"{predict:.2g}"])
    head = ["method", "seeds", *(f"{b:g}" for b in budgets), "area", "fit, s", "1,000 rows, s"]
    return f"\n**{data}** ({unit}, by mean cost of a prediction)\n\n{markdown(head, lines)}\n"


def one_object(chosen: pd.DataFrame) -> str:
    """`CASCADE` as one object against every other method as one object, on the splits that both ran.

    Where a method stands is the mean over splits and budgets of

        100 (its error - the median of all methods' errors there) / (mean error of all methods on the data set)           (1)

    *Ahead* and *behind* count data sets on which (1), as a mean over the budgets, differs by more than the paired 95 % interval
    over the splits; where there is one split, a set is *between*.
    """
    place = ["data", "seed", "budget"]
    middle = chosen.groupby(place)["error"].transform("median")
    unit = chosen.groupby("data")["error"].transform("mean")
    scored = chosen.assign(score=100 * (chosen["error"] - middle) / unit)
    own = scored[scored["method"] == CASCADE].set_index(place)["score"].rename("own")
    both = scored.join(own, on=place, how="inner")
    lines = []
    for method in both.groupby("method")["score"].mean().sort_values().index:
        some = both[both["method"] == method]
        means = some.groupby(["data", "seed"])[["own", "score"]].mean()
        found = [paired(m["own"].tolist(), m["score"].tolist()) for _, m in means.groupby("data")]
        ahead, behind = (sum(sign * mean > half for mean, half in found) for sign in (-1, 1))
        counts = ["", "", ""] if method == CASCADE else [ahead, len(found) - ahead - behind, behind]
        name = f"**{method}**" if method == CASCADE else method
        lines.append([name, len(means), f"{some['score'].mean():+.1f}", f"{some['own'].mean():+.1f}", *counts])
    return markdown(["method", "splits", "it stands at", "the cascade there", "sets: ahead", "between", "behind"], lines) + "\n"
