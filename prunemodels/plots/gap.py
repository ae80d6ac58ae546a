"""Gaps of several runs in one picture: how fast each converges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from formulations.answers.solution import History
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.plots.history import SMALLEST, check_history
from prunemodels.plots.picture import COLOURS, DASHES, axes_for, figure_of, frame, literal, look, plain_numbers, styled

LOOKS = list(zip(COLOURS, DASHES, strict=True))
"""Colour and dashes of the first lines, which differ in grey as well."""

MOST_MARKERS = 25
"""With more rounds than this, only the line is drawn."""


@checked
@styled
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

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> kinds = ("shortest paths", "tree pass")
    >>> histories = {kind: pm.engines.dantzig_wolfe(problem, 0.01, pricing=kind).history for kind in kinds}
    >>> figure = pm.plots.plot_gaps(histories)
    """
    if not histories:
        raise InvalidInputError("histories is empty; give at least one run")
    for name, history in histories.items():
        check_history(history, ("gap", "seconds"), f"histories[{name!r}]")
    ax = axes_for(ax, (7.2, 4.2))
    for k, (name, history) in enumerate(histories.items()):
        n_rounds, gap = len(history["gap"]), history["gap"]
        x = np.arange(1, n_rounds + 1) if against == "round" else history["seconds"]
        # without a bound the gap is infinite: nothing to draw yet
        y = np.where(np.isfinite(gap), np.maximum(gap, SMALLEST), math.nan)
        style = look(k) | {"marker": "." if n_rounds <= MOST_MARKERS else ""}
        ax.plot(x, y, lw=1.6, label=literal(name), **style)
    ax.set(xscale="log", yscale="log", xlabel=against if against == "seconds" else "rounds", ylabel="relative gap")
    ax.xaxis.set_minor_formatter(NullFormatter())
    plain_numbers(ax.xaxis)
    frame(ax)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return figure_of(ax)
