"""Growing instances as a picture: one line for each engine, both axes logarithmic, and where it stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.comparison.growth import Growth
from prunemodels.plots.budget import GREEN
from prunemodels.plots.history import SMALLEST
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLACK, BLUE, VERMILION

ORANGE, PURPLE, GREY = "#E69F00", "#CC79A7", "0.55"
"""More of Okabe and Ito's palette."""

FAMILIES: dict[str, tuple[str, ...]] = {
    BLUE: ("min_cut", "price_sharing"),
    VERMILION: ("dantzig_wolfe", "primal_dual"),
    GREEN: ("highs_ip3", "highs_closure", "highs_ipm", "glop", "highs_pdlp", "pdlp"),
    BLACK: ("highs_ip1", "pyomo_ip1"),
    PURPLE: ("pyomo",),
    ORANGE: ("brute_force",),
}
"""Engines whose names begin like this share a colour: cuts and price sharing, decompositions, linear programs, the naive
formulation, Pyomo, enumeration. Others are grey."""

MARKERS = "os^Dv*Xp<>"
"""Markers of the engines of a family."""

GAPS = ("relative_gap", "above_optimum")
"""Quantities that may be 0, and that do not grow along a line."""

LABELS = {
    "seconds": "seconds",
    "peak_memory_mb": "peak memory, MB",
    "relative_gap": "relative gap",
    "above_optimum": "above optimum",
}


@checked
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
        A cross is an engine that was not usable at this size and was not tried on larger ones; the dashed line is the time limit.
        Save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        for engines or columns that the table does not have.
    """
    names = growth.engines if engines is None else list(engines)
    unknown = sorted(set(names) - set(growth.engines))
    if unknown or not names:
        raise InvalidInputError(f"engines has {unknown or 'no names'}; there are {', '.join(growth.engines)}")
    slopes = growth.slopes(quantity, against=against, least=least)["slope"]
    if ax is None:
        ax = Picture(figsize=(7.0, 4.6), layout="constrained").add_subplot()
    looks = _looks(growth.engines)
    for name in sorted(names, key=lambda name: _end(growth, name, quantity), reverse=True):
        slope = "" if np.isnan(slopes[name]) or quantity in GAPS else f"   {slopes[name]:.2f}"
        _line(ax, growth, name, quantity, against, looks[name], f"{_short(name)}{slope}")
    if quantity == "seconds" and np.isfinite(growth.time_limit):
        ax.axhline(growth.time_limit, color=GREY, lw=1, ls="--", zorder=1)
    _frame(ax, growth, quantity, against)
    return cast("Figure", ax.get_figure())


def _line(ax: Axes, growth: Growth, name: str, quantity: str, against: str, look: tuple[str, str], label: str) -> None:
    """One engine: its points, and a cross where it stopped being usable."""
    own = growth.table[growth.table["solver"] == name]
    x, y = own[against].to_numpy(dtype=float), np.maximum(own[quantity].to_numpy(dtype=float), _floor(quantity))
    colour, marker = look
    ax.plot(x, y, color=colour, lw=1.3, marker=marker, ms=5, mec="white", mew=0.5, label=label)
    stopped = ~own["usable"].to_numpy(dtype=bool) & np.isfinite(y)
    ax.plot(x[stopped], y[stopped], ls="", marker="x", ms=9, mew=2, color=colour, zorder=3)


def _floor(quantity: str) -> float:
    """The least value that is drawn: gaps of 0 are at the bottom of the logarithmic axis; other zeros are left out."""
    return SMALLEST if quantity in GAPS else 0.0


def _looks(engines: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each engine, the same in every picture of the same study."""
    looks: dict[str, tuple[str, str]] = {}
    used: dict[str, int] = {}
    for name in engines:
        found = [
            (len(start), colour) for colour, starts in FAMILIES.items() for start in starts if _short(name).startswith(start)
        ]
        colour = max(found)[1] if found else GREY
        looks[name] = colour, MARKERS[used.get(colour, 0) % len(MARKERS)]
        used[colour] = used.get(colour, 0) + 1
    return looks


def _end(growth: Growth, name: str, quantity: str) -> tuple[float, float]:
    """A sort key, largest for the top of the legend: lines that end at a small size first, and of these the highest."""
    last = growth.table[growth.table["solver"] == name].sort_values("size").iloc[-1]
    return -float(last["size"]), float(np.nan_to_num(last[quantity], nan=-1.0))


def _short(name: str) -> str:
    """The name without the module, which engines outside of the registry have."""
    return name.rpartition(":")[2]


def _frame(ax: Axes, growth: Growth, quantity: str, against: str) -> None:
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(growth.by if against == "size" else against.replace("_", " "))
    ax.set_ylabel(LABELS.get(quantity, quantity.replace("_", " ")))
    ax.set_xticks(sorted(set(growth.table[against])), [f"{x:,}" for x in sorted(set(growth.table[against]))], minor=False)
    ax.set_xticks([], minor=True)
    ax.grid(color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    slopes = "" if quantity in GAPS else "engine   slope"
    ax.legend(
        title=slopes, loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=8, title_fontsize=8, alignment="left", frameon=False
    )
