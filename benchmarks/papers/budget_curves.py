"""Curves over repeats: cost and error of each method within a budget, chosen on validation data and reported on test data.

All points of a method in one repeat are considered together: rows of a path, stages, values of a parameter. For each budget B

    chosen(B) = the point of least validation error among those whose validation cost is <= B                            (1)

Its cost and error on the test data are averaged over repeats, with the standard deviation. If no point is cheap enough, the
method has no entry at B. `curve_experiment` makes an experiment of a paper's figure: the run of a unit, and the paper's sentences
with what our curves say of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.measuring import mean_of, spread_of
from benchmarks.papers.data import Parts, grid_units
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit, Value
from benchmarks.papers.published import NAMES
from formulations.answers.nested_prunings import NestedPrunings
from prunemodels.evaluation.curve import Learner, LossFunction, TradeoffCurve, tradeoff_curve
from prunemodels.plots.curves import plot_curves

POINT = ("parameter", "valid_cost", "valid_error", "test_cost", "test_error")  # columns of a curve's rows
MOMENTS = ("cost", "cost_sd", "error", "error_sd", "repeats")  # columns of `by_budget` beside data, method and budget


def curve_rows(
    source: NestedPrunings | Learner | Mapping[float, Learner],
    parts: Parts,
    *,
    losses: tuple[LossFunction | None, LossFunction | None] = (None, None),
) -> list[Row]:
    """The points of a method on both parts that are undominated on validation data, and the dearest; `losses` are the parts'."""
    valid: TradeoffCurve = tradeoff_curve(source, parts.X_valid, parts.y_valid, loss=losses[0])
    test: TradeoffCurve = tradeoff_curve(source, parts.X_test, parts.y_test, loss=losses[1])
    columns = (valid.parameter, valid.cost, valid.error, test.cost, test.error)
    shown = np.union1d(valid.undominated(), valid.cost.argmax())
    return [dict(zip(POINT, (float(column[k]) for column in columns), strict=True)) for k in shown]


def chosen(points: pd.DataFrame, budgets: Sequence[float]) -> pd.DataFrame:
    """(1) for the points of one method in one repeat: one row a budget that some point meets."""
    ordered = points.sort_values(["valid_error", "valid_cost"], kind="stable")
    costs = ordered["valid_cost"].to_numpy()
    rows = []
    for budget in budgets:
        affordable = np.flatnonzero(costs <= budget * (1 + 1e-12))
        if affordable.size:
            rows.append({"budget": budget, **ordered.iloc[affordable[0]][list(POINT)].to_dict()})
    return pd.DataFrame(rows, columns=["budget", *POINT])


def by_budget(frame: pd.DataFrame, budgets: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Mean and standard deviation over repeats of the chosen points: data, method, budget, and `MOMENTS`. All settings of a
    method are considered together. A budget that some repeat cannot meet is left out.
    """
    rows: list[dict[str, Any]] = []
    for (data, method), points in frame.groupby(["data", "method"], sort=False):
        parts = [chosen(p, budgets[str(data)]) for _, p in points.groupby("seed")]
        for budget, at in pd.concat(parts).groupby("budget"):
            if len(at) == len(parts):
                moments = [of(at[column]) for column in ("test_cost", "test_error") for of in (mean_of, spread_of)]
                about = {"data": data, "method": method, "budget": budget}
                rows.append(about | dict(zip(MOMENTS, (*moments, len(at)), strict=True)))
    return pd.DataFrame(rows, columns=["data", "method", "budget", *MOMENTS])


def curves(summary: pd.DataFrame) -> tuple[list[TradeoffCurve], dict[str, Any]]:
    """Curves of one data set out of `by_budget`, and the spread of their errors, for `plot_curves`."""
    found, spread = [], {}
    for method, at in summary.groupby("method", sort=False):
        ordered = at.drop_duplicates(["cost", "error"]).sort_values("cost", kind="stable")
        numbers = {c: ordered[c].to_numpy(dtype=np.float64) for c in ("budget", "cost", "error", "error_sd")}
        name, repeats = str(method), int(ordered["repeats"].max())
        found.append(TradeoffCurve(name, "budget", numbers["budget"], numbers["cost"], numbers["error"], repeats))
        spread[name] = np.nan_to_num(numbers["error_sd"])
    return found, spread


def figures(summary: pd.DataFrame, *, error_label: str = "test error rate") -> dict[str, Figure]:
    """One picture a data set: mean test error against mean test cost, the band one standard deviation."""
    drawn = {}
    for data, at in summary.groupby("data", sort=False):
        lines, spread = curves(at)
        drawn[str(data)] = plot_curves(lines, spread=spread, error_label=error_label)
    return drawn


def error_at(summary: pd.DataFrame, budgets: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """One row a method, one column a budget: test error in per cent, mean ± standard deviation."""
    rows = []
    for (data, method), at in summary.groupby(["data", "method"], sort=False):
        cell_of = {
            b: f"{100 * e:.2f}" + ("" if np.isnan(sd) else f" ± {100 * sd:.2f}")
            for b, e, sd in zip(at["budget"], at["error"], at["error_sd"], strict=True)
        }
        cells = {f"{budget:g}": cell_of.get(budget) for budget in budgets[str(data)]}
        rows.append({"data": NAMES.get(str(data), data), "method": method, **cells})
    return pd.DataFrame(rows)


Method = tuple[str, Mapping[str, Value]]  # name and setting
Budgets = Mapping[str, Sequence[float]]
Claims = Callable[[pd.DataFrame, pd.DataFrame], Sequence[Comparison]]
"""From all points, and from what was reached within the budgets, to the paper's sentences and what ours are."""

BUDGETS: Budgets = {
    "miniboone": (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 21, 25, 30, 35, 40, 45, 50),
    "covtype426k": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 25, 30, 54),
    "covtype_two": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 25, 30, 54),
}
"""Budgets at uniform prices."""

STEPS = 24  # budgets of other data and prices: so many, up to the largest cost on the validation part, denser at small ones


def budgets_up_to(data: str, most: float) -> Sequence[float]:
    """Budgets of a data set whose largest cost on the validation part is `most`."""
    return BUDGETS.get(data) or [float(b) for b in np.geomspace(0.01, 1, STEPS) * most]


def budgets_of(frame: pd.DataFrame) -> Budgets:
    return {str(d): budgets_up_to(str(d), most) for d, most in frame.groupby("data")["valid_cost"].max().items()}


def curve_experiment(
    claims: Claims,
    grid: Callable[[bool], Iterable[Method]] = lambda full: (),
    *,
    name: str,
    protocol: str,
    version: int = 1,
    budgets: Callable[[pd.DataFrame], Budgets] = budgets_of,
    error_label: str = "test error rate",
    **fields: Any,
) -> Experiment:
    """An experiment whose rows are those of `curve_rows`: a table of errors within budgets, a picture, and the paper's claims. A
    unit is a method of the short or the full grid with its setting, the protocol's name among it, unless `fields` have units.
    """

    def units(scope: Scope) -> list[Unit]:
        return grid_units(name, scope, lambda *_: grid(scope.full), version=version, protocol=protocol)

    def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
        return claims(frame, by_budget(frame, budgets(frame)))

    def present(frame: pd.DataFrame) -> Presentation:
        reached = by_budget(frame, budgets(frame))
        shown = {data: list(at)[1::2] for data, at in budgets(frame).items()}
        notes = [f"{c.figure}: {c.published}. Here: {c.ours}" for c in claims(frame, reached)]
        return Presentation(
            {"test_error": error_at(reached, shown)}, figures(reached, error_label=error_label), notes, {"curves": reached}
        )

    shared: dict[str, Any] = {"present": present, "compare": compare, "units": units, "kept": reached_points}
    return Experiment(name=name, protocol=protocol, **{**shared, **fields})


def reached_points(points: pd.DataFrame, data: str) -> pd.DataFrame:
    """The points of a unit that some budget of `BUDGETS` chooses, and the dearest: what tables and claims are made of."""
    if data not in BUDGETS:
        return points
    dearest = points.loc[[points["test_cost"].idxmax(), points["valid_cost"].idxmax()]]
    return pd.concat([chosen(points, BUDGETS[data])[points.columns], dearest]).drop_duplicates()


def duel(reached: pd.DataFrame, one: str, other: str) -> pd.Series:
    """By how many points the mean error of one method is below the other's, at each budget that both reach, over all data."""
    wide = reached.pivot_table(index=["data", "budget"], columns="method", values="error")
    if not {one, other} <= set(wide.columns):
        return pd.Series(dtype=float)
    return 100 * (wide[other] - wide[one]).dropna()


def cost_at(reached: pd.DataFrame, method: str, error: float) -> float:
    """The least mean cost at which a method errs at most so much; NaN: never."""
    at = reached[(reached["method"] == method) & (reached["error"] <= error)]
    return float(at["cost"].min()) if len(at) else float("nan")


def always(reached: pd.DataFrame, one: str, other: str, data: str, what: str, claim: str, **more: Any) -> list[Comparison]:
    """The claim that one method errs less than the other at every budget of a data set; empty if either is missing."""
    ahead = duel(reached[reached["data"] == data], one, other)
    if ahead.empty:
        return []
    won = int((ahead > 0).sum())
    ours = f"{one} errs less at {won} of {len(ahead)} budgets, by {mean_of(ahead):+.2f} points on average"
    return [Comparison(f"{NAMES.get(data, data)}: {what}", claim, ours, holds=won == len(ahead), **more)]
