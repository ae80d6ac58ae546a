"""Several methods in one picture: cost of a prediction against its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.judging.curve import TradeoffCurve
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import MOST_MARKERS

STYLES = (
    ("#0072B2", "-", "o"),
    ("#D55E00", "--", "s"),
    ("#009E73", "-.", "^"),
    ("#CC79A7", ":", "D"),
    ("#E69F00", "--", "v"),
    ("#56B4E9", "-.", "P"),
    ("#000000", ":", "X"),
)
"""Colour (Okabe and Ito), dash and marker of each method, which differ without colour, too."""


@checked
def plot_curves(
    curves: Sequence[TradeoffCurve],
    *,
    choose_on: Sequence[TradeoffCurve] | None = None,
    spread: Mapping[str, NDArray[np.float64]] | None = None,
    error_label: str = "error rate",
    ax: Axes | None = None,
) -> Figure:
    """Draw cost against error, one line for each method.

    Parameters
    ----------
    curves
        the curves of the methods, on the same examples.
    choose_on
        the same curves on another sample: only points that are undominated *there* are drawn, as a user would choose them.
        None: all points, in the order of cost.
    spread
        standard deviation of the error at each point of a method's curve, drawn as a band.
    error_label
        label of the ordinate; rates are shown in per cent.
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.
    """
    if choose_on is not None and [len(c) for c in choose_on] != [len(c) for c in curves]:
        raise InvalidInputError("choose_on has other curves, or other points, than curves; give the same, on another sample")
    if ax is None:
        ax = Picture(figsize=(7.2, 4.8), layout="constrained").add_subplot()
    for k, curve in enumerate(curves):
        points = np.argsort(curve.cost, kind="stable") if choose_on is None else choose_on[k].undominated()
        colour, dash, marker = STYLES[k % len(STYLES)]
        shown = marker if len(points) <= MOST_MARKERS else ""
        cost, error = curve.cost[points], curve.error[points]
        ax.plot(cost, error, color=colour, ls=dash, marker=shown, ms=4, lw=1.5, label=curve.method)
        if spread is not None and curve.method in spread:
            width = spread[curve.method][points]
            ax.fill_between(cost, error - width, error + width, color=colour, alpha=0.15, lw=0)
    ax.set_xlabel("cost per prediction (unit of the prices)")
    ax.set_ylabel(error_label)
    if "rate" in error_label:
        ax.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:g} %")
    ax.grid(color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=9, framealpha=1, edgecolor="none")
    return cast("Figure", ax.get_figure())
