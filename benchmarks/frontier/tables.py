"""Markdown tables of the results: the errors at the budgets of each data set, and our best method against the best rival."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from benchmarks.frontier.comparing import area, at_budgets, best_method, paired

Budgets = Mapping[str, Sequence[float]]


def all_tables(results: pd.DataFrame, budgets: Budgets, ours: Sequence[str], regressions: Sequence[str]) -> str:
    """The summary, then a table for each data set."""
    chosen = at_budgets(results, budgets)
    parts = [summary(chosen, budgets, ours, regressions)]
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


def summary(chosen: pd.DataFrame, budgets: Budgets, ours: Sequence[str], regressions: Sequence[str]) -> str:
    """Our best method and the best of the others at every budget of every data set, and the interval of their paired difference.

    Both are the methods of least mean *test* error at that budget, so each side is shown at its best.
    """
    lines = ["| data | budget | ours | error | not ours | error | difference | 95 % interval |"]
    lines.append("| --- | ---: | --- | ---: | --- | ---: | ---: | --- |")
    for data in chosen["data"].unique():
        some = chosen[chosen["data"] == data]
        lines += _summary_of(some, str(data), budgets[data], ours, variance(some, data in regressions))
    return "\n".join(lines) + "\n"


def _summary_of(some: pd.DataFrame, data: str, budgets: Sequence[float], ours: Sequence[str], scale: float) -> Iterator[str]:
    means = some.pivot_table(index="method", columns="budget", values="error", aggfunc="mean", sort=False)
    others = [str(m) for m in means.index if m not in ours]
    for budget in budgets:
        a, b = best_method(means, ours, budget), best_method(means, others, budget)
        if a is None or b is None:
            continue
        errors = some[some["budget"] == budget].pivot(index="seed", columns="method", values="error")[[a, b]].dropna()
        d = paired(errors[a].tolist(), errors[b].tolist())
        low, high = (100 * (d.mean + s * d.half_width) / scale for s in (-1, 1))
        pair = f"{a} | {shown(errors[a].mean(), scale)} | {b} | {shown(errors[b].mean(), scale)}"
        interval = "one split" if len(errors) < 2 else f"{low:+.2f} to {high:+.2f}"
        yield f"| {data} | {budget:g} | {pair} | {100 * d.mean / scale:+.2f} | {interval} |"
