"""Several methods, or engines, in one picture: cost of a prediction against its error; seconds over size on logarithmic axes.

A method's line is the least error that it offers for a cost: a staircase through its undominated points, because whoever may
spend c takes the best point that costs at most c. Its other points are faint dots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.comparison.growth import Growth
from prunemodels.evaluation.curve import TradeoffCurve
from prunemodels.plots.history import SMALLEST
from prunemodels.plots.picture import (
    GREY,
    SMALL,
    axes_for,
    figure_of,
    finished,
    frame,
    label_axes,
    literal,
    look,
    plain_numbers,
    styled,
    text_size,
)
from prunemodels.plots.tradeoff import MOST_MARKERS


@checked
@styled
def plot_curves(
    curves: Sequence[TradeoffCurve],
    *,
    choose_on: Sequence[TradeoffCurve] | None = None,
    spread: Mapping[str, NDArray[np.float64]] | None = None,
    error_label: str = "error rate",
    unit: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw cost against error, one staircase for each method.

    Parameters
    ----------
    curves
        the curves of the methods, on the same examples.
    choose_on
        the same curves on another sample: the staircase goes through the points that are undominated *there*, as a user would
        choose them. On `curves` it may rise. None: through those undominated on `curves` itself, which
        flatters methods with many points.
    spread
        standard deviation of the error at each point of a method's curve, by the method's name, drawn as a band.
    error_label
        label of the ordinate; rates are shown in per cent.
    unit
        the unit of the prices, for the axis: "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.

    Raises
    ------
    InvalidInputError
        if there is no curve, or one without points; for other curves in `choose_on`; for a spread that fits no curve.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, path, problem, y_test
    >>> whole_features = pm.rivals.greedy_feature_path(problem)
    >>> figure = pm.plots.plot_curves([pm.tradeoff_curve(family, X_test, y_test) for family in (path, whole_features)])
    """
    _check(curves, choose_on, spread)
    ax = axes_for(ax, (7.2, 4.8))
    for k, curve in enumerate(curves):
        chosen = (curve if choose_on is None else choose_on[k]).undominated()
        points = chosen[np.argsort(curve.cost[chosen], kind="stable")]
        style = look(k)
        cost, error = curve.cost[points], curve.error[points]
        others = np.setdiff1d(np.arange(len(curve)), points)
        ax.plot(curve.cost[others], curve.error[others], color=style["color"], ls="", marker=".", ms=3, alpha=0.35, zorder=1.5)
        if len(points) > MOST_MARKERS:
            style["marker"] = ""
        ax.plot(cost, error, drawstyle="steps-post", ms=4.5, lw=1.6, label=literal(curve.method), **style)
        if spread is not None and curve.method in spread:
            width = spread[curve.method][points]
            ax.fill_between(cost, error - width, error + width, step="post", color=style["color"], alpha=0.15, lw=0)
    label_axes(ax, error_label, unit, whole=False)
    return finished(ax)


def _check(curves: Sequence[TradeoffCurve], choose_on: Sequence[TradeoffCurve] | None, spread: Mapping[str, Any] | None) -> None:
    """Refuse what cannot be drawn, by name."""
    if not len(curves):
        raise InvalidInputError("curves is empty; give at least one curve")
    for k, curve in enumerate(curves):
        if not len(curve):
            raise InvalidInputError(f"curves[{k}], {curve.method!r}, has no points; leave it out")
    if choose_on is not None and [len(c) for c in choose_on] != [len(c) for c in curves]:
        raise InvalidInputError("choose_on has other curves, or other points, than curves; give the same, on another sample")
    lengths = {curve.method: len(curve) for curve in curves}
    for name, width in ({} if spread is None else spread).items():
        if name not in lengths:
            raise InvalidInputError(f"spread has {name!r}, which is no curve; there are {', '.join(lengths)}")
        if np.shape(width) != (lengths[name],):
            raise InvalidInputError(
                f"spread[{name!r}] has shape {np.shape(width)}; give one number for each of the curve's {lengths[name]} points"
            )


GAPS = ("relative_gap", "above_optimum")
"""Quantities that may be 0, and that do not grow along a line."""

LABELS = {
    "seconds": "seconds",
    "peak_memory_mb": "peak memory, MB",
    "relative_gap": "relative gap",
    "above_optimum": "above optimum",
}


@checked
@styled
def plot_growth(
    growth: Growth,
    quantity: str = "seconds",
    *,
    against: str = "size",
    engines: Sequence[str] | None = None,
    least: float = 0.0,
    ax: Axes | None = None,
) -> Figure:
    """Draw a quantity over size, one line for each engine; the legend has the slopes, in the order in which the lines end.

    Parameters
    ----------
    quantity
        "seconds", "peak_memory_mb", "relative_gap" or another column of numbers.
    against
        "size", or another column that grows with it.
    engines
        the engines to draw; default: all.
    least
        as in `Growth.slopes`: smaller values do not count for the slope, but they are drawn.
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        A cross is an engine that was not usable at this size and was not tried on larger ones; the grey line is the time limit.
        Save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        for engines or columns that the table does not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest
    >>> problems = {n: pm.problem_from_forest(forest, X_valid[:n], costs=costs) for n in (30, 60, 120)}
    >>> growth = pm.engines.measure_growth(problems, ["min_cut", "price_sharing"], isolate=False)
    >>> figure = pm.plots.plot_growth(growth)
    """
    if growth.table.empty:
        raise InvalidInputError("growth has an empty table; measure at least one engine on one instance")
    names = growth.engines if engines is None else list(engines)
    unknown = sorted(set(names) - set(growth.engines))
    if unknown or not names:
        raise InvalidInputError(f"engines has {unknown or 'no names'}; there are {', '.join(growth.engines)}")
    slopes = growth.slopes(quantity, against=against, least=least)["slope"]
    ax = axes_for(ax, (8.0, 4.8))
    for name in sorted(names, key=lambda name: _end(growth, name, quantity), reverse=True):
        slope = "" if np.isnan(slopes[name]) or quantity in GAPS else f"   {slopes[name]:.2f}"
        short = name.rpartition(":")[2]  # engines outside of the registry begin with their module
        _line(ax, growth, name, quantity, against, f"{literal(short)}{slope}")
    if any(line.get_marker() == "x" for line in ax.get_lines()):
        ax.plot([], [], ls="", marker="x", ms=7, mew=1.6, color=GREY, label="not usable from here on")
    if quantity == "seconds" and np.isfinite(growth.time_limit):
        ax.axhline(growth.time_limit, color=GREY, lw=3, alpha=0.5, zorder=1, label=f"time limit, {growth.time_limit:,.10g} s")
    _frame(ax, growth, quantity, against)
    return figure_of(ax)


def _line(ax: Axes, growth: Growth, name: str, quantity: str, against: str, label: str) -> None:
    """One engine, which looks the same in every picture of its study: its points, and a cross where it stopped being usable."""
    style = look(growth.engines.index(name))
    own = growth.table[growth.table["solver"] == name]
    x, y = (own[column].to_numpy(dtype=float) for column in (against, quantity))
    y = np.maximum(y, SMALLEST if quantity in GAPS else 0.0)  # a gap of 0 is at the bottom of the axis; other zeros are left out
    ax.plot(x, y, lw=1.5, ms=5.5, mec="white", mew=0.5, label=label, **style)
    stopped = ~own["usable"].to_numpy(dtype=bool) & np.isfinite(y)
    if stopped.any():
        ax.plot(x[stopped], y[stopped], ls="", marker="x", ms=9, mew=2, color=style["color"], zorder=3)


def _end(growth: Growth, name: str, quantity: str) -> tuple[float, float]:
    """A sort key, largest for the top of the legend: lines that end at a small size first, and of these the highest."""
    last = growth.table[growth.table["solver"] == name].sort_values("size").iloc[-1]
    return -float(last["size"]), float(np.nan_to_num(last[quantity], nan=-1.0))


def _frame(ax: Axes, growth: Growth, quantity: str, against: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(growth.by if against == "size" else against.replace("_", " "))
    ax.set_ylabel(LABELS.get(quantity, quantity.replace("_", " ")))
    if quantity not in GAPS:
        plain_numbers(ax.yaxis)
    frame(ax)
    slopes = "" if quantity in GAPS else "engine   slope"
    ax.legend(title=slopes, loc="upper left", bbox_to_anchor=(1.01, 1.0), alignment="left", borderaxespad=0.0)
    sizes = sorted(set(growth.table[against].tolist()))
    ax.set_xticks(sizes, _labels(sizes, 0.6 * figure_of(ax).get_figwidth()), minor=False)
    ax.set_xticks([], minor=True)


def _labels(sizes: Sequence[float], width: float) -> list[str]:
    """Names of the ticks of a logarithmic axis of this width in inches; those that would touch the next one are left out."""
    span = math.log(sizes[-1] / sizes[0]) if sizes[0] > 0 and sizes[-1] > sizes[0] else 1.0
    labels, end = [], math.inf
    for size in reversed(sizes):
        at, text = width * math.log(size / sizes[0]) / span if sizes[0] > 0 else 0.0, f"{size:,}"
        half = text_size(text, SMALL)[0] / 2 + 0.04
        labels.append(text if at + half <= end else "")
        end = at - half if labels[-1] else end
    return labels[::-1]
