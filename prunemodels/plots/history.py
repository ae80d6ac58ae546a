"""How a decomposition came to its end: value and bound by round, and the gap."""

from __future__ import annotations

from typing import cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from formulations.errors import InvalidInputError
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLACK, BLUE, VERMILION

SMALLEST = 1e-12
"""A gap of 0 is drawn here: the axis is logarithmic."""


def plot_history(history: pd.DataFrame, *, figure: Figure | None = None) -> Figure:
    """Draw the rounds of a decomposition: value of the master, best solution and best bound above, relative gap below.

    Parameters
    ----------
    history
        of `solvers.column_generation.Decomposition`, one line a round.
    figure
        to draw on; default: a new one.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.tradeoff.save_picture`.

    Raises
    ------
    InvalidInputError
        if there is no round, or a column is missing.
    """
    needed = ["value", "upper", "bound", "round_bound", "gap"]
    missing = [name for name in needed if name not in history]
    if missing or history.empty:
        raise InvalidInputError(
            f"history has {len(history)} rounds and lacks {missing or 'none of its columns'}; nothing to draw"
        )
    fig = Picture(figsize=(6.4, 5.2), layout="constrained") if figure is None else figure
    above, below = cast("tuple[Axes, Axes]", tuple(fig.subplots(2, 1, sharex=True, height_ratios=[3, 2])))
    rounds = np.arange(1, len(history) + 1)
    marker = "." if len(history) <= 60 else ""
    above.plot(rounds, history["value"], color=BLUE, lw=1.4, marker=marker, label="restricted master")
    above.step(rounds, history["upper"], color=BLACK, lw=1.2, ls="--", where="post", label="best solution")
    above.step(rounds, history["bound"], color=VERMILION, lw=1.6, where="post", label="best bound")
    above.plot(rounds, history["round_bound"], color=VERMILION, lw=0.8, ls=":", marker=marker, label="bound of the round")
    above.set_ylabel("error + lambda * cost")
    above.legend(fontsize=9, framealpha=1, edgecolor="none")
    below.semilogy(rounds, np.maximum(history["gap"].to_numpy(dtype=float), SMALLEST), color=BLACK, lw=1.4, marker=marker)
    below.set_ylabel("relative gap")
    below.set_xlabel("round")
    for ax in (above, below):
        _frame(ax)
    return fig


def _frame(ax: Axes) -> None:
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
