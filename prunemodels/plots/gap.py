"""Gaps of several runs in one picture: how fast each converges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from formulations.answers.solution import History
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.plots.budget import GREEN
from prunemodels.plots.history import SMALLEST
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLACK, BLUE, VERMILION

LOOKS = [
    (BLUE, "-"),
    (VERMILION, "--"),
    (GREEN, "-."),
    (BLACK, ":"),
    ("#CC79A7", (0, (5, 1, 1, 1, 1, 1))),
    ("#E69F00", (0, (1, 1))),
]
"""Colour and dashes of each line, which differ in grey as well."""

MOST_MARKERS = 25
"""With more rounds than this, only the line is drawn."""


@checked
def plot_gaps(
    histories: Mapping[str, History], *, against: Literal["round", "seconds"] = "round", ax: Axes | None = None
) -> Figure:
    """Draw the relative gap of every run, best value against best bound so far, on logarithmic axes.

    Parameters
    ----------
    histories
        a name, and the ``history`` of a `Solution` whose engine proceeds in rounds.
    against
        rounds, counted from 1, or seconds since the call.
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        A gap of 0 is drawn at the bottom, 1e-12. Save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        if there is nothing to draw, or a history has no gaps.
    """
    if not histories:
        raise InvalidInputError("histories is empty; give at least one run")
    if ax is None:
        ax = Picture(figsize=(6.4, 4.2), layout="constrained").add_subplot()
    for k, (name, history) in enumerate(histories.items()):
        n_rounds = len(next(iter(history.values()), ()))
        if not n_rounds or not {"gap", "seconds"} <= set(history):
            raise InvalidInputError(f"histories[{name!r}] has {n_rounds} rounds with {list(history)}; gap and seconds are needed")
        x = np.arange(1, n_rounds + 1) if against == "round" else history["seconds"]
        gap = history["gap"]
        # without a bound the gap is infinite: nothing to draw yet
        y = np.where(np.isfinite(gap), np.maximum(gap, SMALLEST), math.nan)
        colour, dashes = LOOKS[k % len(LOOKS)]
        ax.plot(x, y, color=colour, ls=dashes, lw=1.6, marker="." if n_rounds <= MOST_MARKERS else "", label=name)
    ax.set(xscale="log", yscale="log", xlabel=against if against == "seconds" else "rounds", ylabel="relative gap")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.grid(color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=9, framealpha=1, edgecolor="none")
    return cast("Figure", ax.get_figure())
