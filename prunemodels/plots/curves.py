"""Several methods in one picture, cost of a prediction against its error; and where the rows of a cascade stop.

A method's line is the least error that it offers for a cost: a staircase through its undominated points, because whoever may
spend c takes the best point that costs at most c. Its other points are faint dots.

A cascade's picture shows where rows stop, for every policy of its path, and what they have bought by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import Stops, stops_of
from prunemodels.evaluation.curve import TradeoffCurve
from prunemodels.evaluation.evaluate import item_label
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    DRAWING,
    SMALL,
    Picture,
    axes_for,
    cost_label,
    figure_of,
    finished,
    frame,
    label_axes,
    literal,
    look,
    per_cent,
    plain_numbers,
    styled,
    text_size,
)

PAPER, MUTED = "#ffffff", "#666666"
"""Colours that a page may replace by those of its theme, as `BLACK` and `BLUE`."""

ON_DARK, ON_LIGHT = "#fefefe", "#010101"
"""Text on areas whose colours are the same in every theme: no theme replaces these."""

CLEAR_TO_BLUE = LinearSegmentedColormap.from_list("clear to blue", [(*to_rgb(BLUE), 0.0), (*to_rgb(BLUE), 1.0)])
"""From nothing, whatever the paper is, to blue."""


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
        if len(points) > DRAWING.most_markers:
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


@checked
@styled
def plot_exits(
    cascade: Cascade,
    X: Any,
    y: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    budget: Price | None = None,
    unit: str = "",
) -> Figure:
    """Draw where rows stop, for all policies and for one of them by stage, and what the rows that stop at each stage have bought.

    Parameters
    ----------
    cascade
        fitted, from `exit_path` for instance.
    X
        examples, preferably ones that nothing was learned from.
    y
        their labels: with them, the error of the rows that stop at each stage is written beside the bars.
    sample_weight
        shape (N,), >= 0: a row stands for that many.
    budget
        budget of the policy to show; default: the cascade's own policy.
    unit
        the unit of the prices, for the axis: "dollars".

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        for labels or columns that do not fit.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, path, y_test, y_valid
    >>> exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
    >>> figure = pm.plots.plot_exits(exits, X_test, y_test, budget=10)
    """
    stops = stops_of(cascade if budget is None else cascade.at_cost(budget), X, y, sample_weight=sample_weight)
    n_items = min(int(stops.bought.any(axis=1).sum()), DRAWING.most_exit_items)
    height = 2.6 + 0.27 * max(stops.used.size, 8)
    width = 0.22 * max(n_items, 4)
    figure = Picture(figsize=(8.8 + width, height), layout="constrained")
    policies, bars, items = figure.subplots(1, 3, width_ratios=[4.2, 2.4, width])
    share = stops.by_policy()
    colour = colours_of(share)
    own = float(stops.cost @ stops.evaluation.share + stops.evaluation.table.once[int(stops.stage.max())])
    draw_policies(policies, stops, share, colour, own, "shown on the right")
    policies.set_xlabel(cost_label(unit, "mean cost of a policy"))
    draw_bars(bars, stops, colour)
    cells = draw_items(items, stops)
    if cells is not None:
        fraction = min(0.15, 0.6 / len(items.get_xticks()))
        bar = figure.colorbar(cells, ax=items, aspect=10, shrink=0.6, pad=0.02, fraction=fraction, ticks=[0, 0.5, 1])
        per_cent(bar.ax.yaxis)
        bar.set_label("of these rows", fontsize=SMALL)
        bar.ax.tick_params(labelsize=SMALL)
    return figure


def colours_of(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Colours from light (cheap) to dark (dear) over the stages where rows stop; they differ in grey and to the colour-blind."""
    rank = np.cumsum(share.any(axis=0))
    return np.asarray(mpl.colormaps["cividis_r"](np.clip(rank / max(int(rank[-1]), 1), 0.05, 1.0)))


def draw_policies(ax: Axes, stops: Stops, share: NDArray[np.float64], colour: NDArray[np.float64], own: float, name: str) -> None:
    """Stacked shares of the rows by stage, against the mean cost of each policy; a line with this name is at the cost `own`."""
    cost = stops.evaluation.cost
    order = np.argsort(cost, kind="stable")
    if len(order) > 1:
        ax.stackplot(cost[order], share[order].T, colors=colour, lw=0.4, edgecolor="white")
    ax.axvline(own, color=PAPER, lw=3.0)  # the dashes are seen on light and dark areas
    ax.axvline(own, color=BLACK, lw=1.2, ls="--")
    if len(order) > 1:
        _name_areas(ax, cost[order], share[order], colour, own)
    in_left_half = own < 0.5 * (cost.min() + cost.max())
    side: Literal["left", "right"] = "left" if in_left_half else "right"
    above: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "va": "bottom", "fontsize": SMALL}
    ax.text(own, 1.015, f"{name}:\nmean cost {own:.3g}", ha=side, **above)
    ax.set_xlim(min(float(cost.min()), own), max(float(cost.max()), own) or 1.0)
    ax.set_ylim(0, 1)
    frame(ax)
    ax.grid(visible=False)
    per_cent(ax.yaxis)
    plain_numbers(ax.xaxis)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    ax.set_ylabel("share of the rows that stop at each stage")


def _name_areas(ax: Axes, cost: NDArray[np.float64], share: NDArray[np.float64], colour: NDArray[np.float64], own: float) -> None:
    """The number of each stage in its area, clear of the line at `own`; areas that are too small for it have none."""
    figure_width, figure_height = figure_of(ax).get_size_inches()
    place = ax.get_subplotspec().get_position(figure_of(ax))  # type: ignore[union-attr]
    inches = 0.75 * figure_width * place.width, figure_height - 2.2
    grid, places = np.linspace(cost[0], cost[-1], DRAWING.grid_points), np.arange(DRAWING.grid_points)
    own_place = float(np.interp(own, grid, places, left=-np.inf, right=np.inf))
    top = np.array([np.interp(grid, cost, line) for line in np.cumsum(share, axis=1).T])
    bottom = np.vstack([np.zeros(DRAWING.grid_points), top[:-1]])
    for stage in range(len(top)):
        name = f"stage {stage}"
        width, height = text_size(name, SMALL)
        half = int(np.ceil((width / 2 + 0.05) / inches[0] * DRAWING.grid_points))
        low, high = maximum_filter1d(bottom[stage], 2 * half + 1), minimum_filter1d(top[stage], 2 * half + 1)
        room = high - low  # beside each place, as far as the name reaches
        room[(np.abs(places - own_place) <= half) | (np.minimum(places, places[::-1]) < half)] = 0.0
        k = int(room.argmax())
        if room[k] > height / inches[1]:
            dark = np.dot(colour[stage][:3], (0.299, 0.587, 0.114)) < 0.5
            at = float(grid[k]), float(low[k] + high[k]) / 2
            ax.text(*at, name, ha="center", va="center", fontsize=SMALL, color=ON_DARK if dark else ON_LIGHT)


def draw_bars(ax: Axes, stops: Stops, colour: NDArray[np.float64]) -> None:
    """A bar for each stage where rows stop: their share; stage and mean cost beside the axis, the error at the bar's end."""
    place, share, error = np.arange(stops.used.size), stops.share(), stops.error()
    ax.barh(place, share, height=0.8, color=colour[stops.used], edgecolor=MUTED, lw=0.6)
    numbers = stops.evaluation.table.value.shape[2] == 1
    for k, part in enumerate(share):
        text = f"{100 * part:.3g} %"
        if error is not None:
            text += f", error {error[k]:.3g}" if numbers else f", {100 * error[k]:.3g} % wrong"
        ax.annotate(text, (part, k), xytext=(4, 0), textcoords="offset points", va="center", fontsize=SMALL)
    ax.set_yticks(place, [f"stage {s}, cost {c:.3g}" for s, c in zip(stops.used, stops.mean_cost(), strict=True)])
    ax.set_ylim(max(stops.used.size, DRAWING.fewest_rows) - 0.5, -0.5)
    ax.set_xlim(0, float(share.max()) * (1.5 if error is None else 2.4))
    ax.set_xticks([])
    ax.set_title("who stops where", loc="left")
    ax.tick_params(length=0)
    ax.spines["left"].set_bounds(stops.used.size - 0.5, -0.5)
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def draw_items(ax: Axes, stops: Stops) -> QuadMesh | None:
    """A cell for every stage where rows stop and every item: the share of these rows that have bought it; None without items."""
    by_then, order = stops.bought_by_then(), stops.staircase(DRAWING.most_exit_items)
    columns = int(by_then.any(axis=0).sum())
    some = f" ({order.size} of {columns} items)" if order.size < columns else ""
    ax.set_title(f"bought by then{some}", loc="left")
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    if not order.size:
        ax.text(0.5, 0.5, "nothing", ha="center", va="center", transform=ax.transAxes, color="0.4")
        ax.set_xticks([])
        return None
    cells = ax.pcolormesh(by_then[:, order], cmap=CLEAR_TO_BLUE, vmin=0, vmax=1, edgecolors=PAPER, lw=1.5)
    ax.set_ylim(max(stops.used.size, DRAWING.fewest_rows), 0)
    names = [
        literal(n if len(n) <= DRAWING.longest_name else n[: DRAWING.longest_name - 1] + "…")
        for n in (item_label(stops.items.names[m]) for m in order)
    ]
    ax.set_xticks(np.arange(order.size) + 0.5, names, rotation=90, fontsize=SMALL)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    return cells
