"""A cascade as a picture: where rows stop, for every policy of its path, and what they have bought by then."""

from __future__ import annotations

from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from formulations.arguments import checked
from formulations.instance.cost_items import Price
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import Stops, stops_of
from prunemodels.plots.picture import (
    BLACK,
    DRAWING,
    SMALL,
    Picture,
    cost_label,
    figure_of,
    frame,
    literal,
    per_cent,
    plain_numbers,
    styled,
    text_size,
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
            ax.text(*at, name, ha="center", va="center", fontsize=SMALL, color="white" if dark else BLACK)


def draw_bars(ax: Axes, stops: Stops, colour: NDArray[np.float64]) -> None:
    """A bar for each stage where rows stop: their share; stage and mean cost beside the axis, the error at the bar's end."""
    place, share, error = np.arange(stops.used.size), stops.share(), stops.error()
    ax.barh(place, share, height=0.8, color=colour[stops.used], edgecolor="0.3", lw=0.6)
    numbers = stops.evaluation.table.value.shape[2] == 1
    for k, part in enumerate(share):
        text = f" {100 * part:.3g} %"
        if error is not None:
            text += f", error {error[k]:.3g}" if numbers else f", {100 * error[k]:.3g} % wrong"
        ax.text(part, k, text, va="center", fontsize=SMALL)
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
    cells = ax.pcolormesh(by_then[:, order], cmap="Blues", vmin=0, vmax=1, edgecolors="white", lw=1.5)
    ax.set_ylim(max(stops.used.size, DRAWING.fewest_rows), 0)
    names = [
        literal(n if len(n) <= DRAWING.longest_name else n[: DRAWING.longest_name - 1] + "…")
        for n in (stops.items.names[m] for m in order)
    ]
    ax.set_xticks(np.arange(order.size) + 0.5, names, rotation=90, fontsize=SMALL)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    return cells
