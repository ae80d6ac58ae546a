"""A choice without a budget as a picture: held-out cost and error along the path, and the rows that the rules choose."""

from __future__ import annotations

from typing import cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.evaluation.choosing import falling_hull, knee, one_se
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.plots.budget import GREEN
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLACK, BLUE, VERMILION, label_axes

ERRORS_SHOWN = 4.0
"""The right-hand part reaches this many standard errors above the least error."""


@checked
def plot_choice(evaluation: PathEvaluation, *, chosen: int | None = None, ax: Axes | None = None) -> Figure:
    """Draw the rules' choices: the whole path on the left, the neighbourhood of the least error on the right.

    Parameters
    ----------
    evaluation
        of the path on held-out examples. The band is one standard error of the paired difference to the row of least error:
        "one_se" takes the cheapest row whose band reaches down to that error. The dashed line is the chord of the knee.
    chosen
        another row of the path to mark, e.g. that of a budget.
    ax
        axes for the whole path only; default: a figure of its own with both parts.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`.
    """
    if ax is not None:
        _draw(ax, evaluation, chosen)
        label_axes(ax, evaluation.path)
        return cast("Figure", ax.get_figure())
    figure = Picture(figsize=(10.4, 4.8), layout="constrained")
    overview, near = figure.subplots(1, 2)
    for axes in (overview, near):
        _draw(axes, evaluation, chosen)
        label_axes(axes, evaluation.path)
        axes.get_legend().remove()
    _zoom(near, evaluation)
    overview.set_title("the whole path, held-out examples", fontsize=10, loc="left")
    near.set_title("around the least error", fontsize=10, loc="left")
    near.set_ylabel("")
    figure.legend(*overview.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9, edgecolor="none")
    return figure


def _draw(ax: Axes, evaluation: PathEvaluation, chosen: int | None) -> None:
    """Path, band, chord, least error, and the rows that the rules choose."""
    cost, error, best = evaluation.cost, evaluation.error, evaluation.best
    band = np.nan_to_num(evaluation.above_best_se)
    ax.fill_between(cost, error - band, error + band, color=BLUE, alpha=0.2, lw=0, label="± 1 se of the difference to the least")
    ax.plot(cost, error, color=BLUE, lw=1.4, label="prunings of the path")
    ends = np.array(falling_hull(cost, error))[[0, -1]]
    ax.plot(cost[ends], error[ends], color="0.4", lw=1, ls="--", label="chord of the knee")
    ax.plot(cost[best], error[best], ls="", marker="v", ms=7, color=BLUE, zorder=3, label="least error")
    if evaluation.n > 1:
        _mark(ax, evaluation, one_se(evaluation), "one_se", marker="o", mfc="none", mec=VERMILION)
    _mark(ax, evaluation, knee(evaluation), "knee", marker="s", mfc="none", mec=GREEN)
    if chosen is not None:
        _mark(ax, evaluation, chosen, "chosen", marker="*", mfc=BLACK, mec=BLACK)
    ax.plot(evaluation.unpruned_cost, evaluation.unpruned_error, ls="", marker="D", ms=6, color=BLACK, zorder=3, label="unpruned")


def _mark(ax: Axes, evaluation: PathEvaluation, row: int, name: str, *, marker: str, mfc: str, mec: str) -> None:
    """One row of the path, with its cost and error."""
    if not 0 <= row < len(evaluation.cost):
        raise InvalidInputError(f"{name} is {row}; give a row of the path, 0 to {len(evaluation.cost) - 1}")
    x, y = float(evaluation.cost[row]), float(evaluation.error[row])
    shown = f"{100 * y:.3g} %" if evaluation.path.problem.ensemble.task == "classification" else f"{y:.3g}"
    ax.plot(x, y, ls="", marker=marker, ms=10, mfc=mfc, mec=mec, mew=1.8, zorder=4, label=f"{name}: cost {x:.3g}, error {shown}")


def _zoom(ax: Axes, evaluation: PathEvaluation) -> None:
    """Limits around the least error: all rows up to `ERRORS_SHOWN` standard errors above it, and the unpruned forest."""
    error, least = evaluation.error, float(evaluation.error[evaluation.best])
    se = float(np.nan_to_num(evaluation.error_se[evaluation.best])) or 0.05 * float(error.max()) or 1.0
    near = error <= least + ERRORS_SHOWN * se
    costs = [*evaluation.cost[near].tolist(), evaluation.unpruned_cost]
    room = 0.05 * (max(costs) - min(costs)) or 1.0
    ax.set_xlim(max(0.0, min(costs) - room), max(costs) + room)
    ax.set_ylim(max(0.0, least - se), max(least + ERRORS_SHOWN * se, evaluation.unpruned_error + se))
