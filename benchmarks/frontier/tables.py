"""Markdown tables of the results: the errors at the budgets of each data set, and our default object against each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from benchmarks.frontier.comparing import area, at_budgets, paired

CASCADE = "cascade"
"""The name of `BudgetCascade*` as it comes."""

Budgets = Mapping[str, Sequence[float]]


def all_tables(results: pd.DataFrame, budgets: Budgets, ours: Sequence[str], regressions: Sequence[str]) -> str:
    """Our default object against each method, then a table for each data set."""
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


def variance(some: pd.DataFrame, is_regression: bool) -> float:
    """The divisor of squared errors: the largest one in the results, that of predicting the mean; 1 for classification."""
    return float(some["error"].max()) if is_regression else 1.0


def data_table(
    some: pd.DataFrame, budgets: Sequence[float], ours: Sequence[str], data: str, is_regression: bool, what: str = "error"
) -> str:
    """The mean over the seeds for each method and budget; the least of each column is bold."""
    scale = variance(some, is_regression) if what == "error" or is_regression else 0.01
    means = some.pivot_table(index="method", columns="budget", values=what, aggfunc="mean", sort=False).reindex(
        columns=list(budgets)
    )
    seconds = some.groupby("method", sort=False)[["fit_s", "predict_s"]].mean()
    seeds = some.groupby("method", sort=False)["seed"].nunique()
    unit = "squared error, % of the largest" if is_regression else "error, %" if what == "error" else "log loss"
    lines = [f"\n**{data}** ({unit}, by mean cost of a prediction)\n"]
    lines.append("| method | seeds | " + " | ".join(f"{b:g}" for b in budgets) + " | area | fit, s | 1,000 rows, s |")
    lines.append("| --- | ---: |" + " ---: |" * (len(budgets) + 3))
    least = means.min().tolist()
    for method in map(str, means.index):
        row = means.loc[[method]].to_numpy()[0].tolist()
        cells = [f"**{shown(v, scale)}**" if v == best else shown(v, scale) for v, best in zip(row, least, strict=True)]
        name = f"**{method}**" if method in ours else method
        total = shown(area(budgets, row), scale)
        fit, predict = seconds.loc[[method]].to_numpy()[0].tolist()
        lines.append(f"| {name} | {seeds.loc[method]} | " + " | ".join(cells) + f" | {total} | {fit:.2g} | {predict:.2g} |")
    return "\n".join(lines) + "\n"


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
    lines = ["| method | splits | it stands at | the cascade there | sets: ahead | between | behind |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for method in both.groupby("method")["score"].mean().sort_values().index:
        some = both[both["method"] == method]
        means = some.groupby(["data", "seed"])[["own", "score"]].mean()
        found = [paired(m["own"].tolist(), m["score"].tolist()) for _, m in means.groupby("data")]
        ahead, behind = (sum(sign * d.mean > d.half_width for d in found) for sign in (-1, 1))
        counts = "| | |" if method == CASCADE else f"{ahead} | {len(found) - ahead - behind} | {behind} |"
        name = f"**{method}**" if method == CASCADE else str(method)
        lines.append(f"| {name} | {len(means)} | {some['score'].mean():+.1f} | {some['own'].mean():+.1f} | {counts}")
    return "\n".join(lines) + "\n"
