"""A choice without a budget as a picture: held-out cost and error along the path, and the rows that the rules choose."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.arguments import Natural, checked
from formulations.errors import InvalidInputError
from formulations.shown import is_rate
from prunemodels.evaluation.choosing import knee, one_se
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.plots.picture import (
    AXIS,
    BLACK,
    BLUE,
    GREEN,
    VERMILION,
    Picture,
    axes_for,
    figure_of,
    legend_above,
    legend_columns,
    styled,
)
from prunemodels.plots.tradeoff import label_axes
from prunemodels.points import falling_hull

ERRORS_SHOWN = 4.0
"""The right-hand part reaches this many standard errors above the least error."""


@checked
@styled
def plot_choice(evaluation: PathEvaluation, *, chosen: Natural | None = None, unit: str = "", ax: Axes | None = None) -> Figure:
    """Draw the rules' choices: the whole path on the left, the neighbourhood of the least error on the right.

    Parameters
    ----------
    evaluation
        of the path on held-out examples. The band is one standard error of the paired difference to the row of least error:
        "one_se" takes the cheapest row whose band reaches down to that error. The dashed line is the chord of the knee.
    chosen
        another row of the path to mark, e.g. that of a budget.
    unit
        the unit of the prices, for the axes: "dollars".
    ax
        axes for the whole path only; default: a figure of its own with both parts.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        if the path has no row `chosen`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> figure = pm.plots.plot_choice(pm.evaluate_path(path, X_valid, y_valid))
    """
    if chosen is not None and chosen >= len(evaluation.cost):
        raise InvalidInputError(f"chosen is {chosen}; give a row of the path, 0 to {len(evaluation.cost) - 1}")
    if ax is not None:
        ax = axes_for(ax, (0, 0))
        _draw(ax, evaluation, chosen)
        label_axes(ax, evaluation.path, unit)
        legend_above(ax, own=False)
        return figure_of(ax)
    figure = Picture(figsize=(10.4, 4.8), layout="constrained")
    overview, near = figure.subplots(1, 2)
    for axes in (overview, near):
        _draw(axes, evaluation, chosen)
        label_axes(axes, evaluation.path, unit)
    _zoom(near, evaluation)
    overview.set_title("the whole path, held-out examples", loc="left")
    near.set_title("around the least error", loc="left")
    near.set_ylabel("")
    figure.legend(*overview.get_legend_handles_labels(), loc="outside lower center", ncols=legend_columns(overview, 10.2))
    return figure


def _draw(ax: Axes, evaluation: PathEvaluation, chosen: int | None) -> None:
    """Path, band, chord, least error, and the rows that the rules choose. Of markers at one place the larger ones are open."""
    cost, error, best = evaluation.cost, evaluation.error, evaluation.best
    band = np.nan_to_num(evaluation.above_best_se)
    ax.fill_between(cost, error - band, error + band, color=BLUE, alpha=0.2, lw=0, label="± 1 se of the difference to the least")
    ax.plot(cost, error, color=BLUE, lw=1.6, label="prunings of the path")
    ends = np.array(falling_hull(cost, error))[[0, -1]]
    ax.plot(cost[ends], error[ends], color=AXIS, lw=1, ls="--", label="chord of the knee")
    point: dict[str, Any] = {"ls": "", "zorder": 4}
    ax.plot(cost[best], error[best], marker="v", ms=6, color=BLUE, label="least error", **point)
    if evaluation.n > 1:
        _mark(ax, evaluation, one_se(evaluation), "one_se", marker="o", ms=10, mfc="none", mec=VERMILION)
    _mark(ax, evaluation, knee(evaluation), "knee", marker="s", ms=13, mfc="none", mec=GREEN)
    if chosen is not None:
        _mark(ax, evaluation, chosen, "chosen", marker="*", ms=8, mfc=BLACK, mec=BLACK)
    whole = evaluation.unpruned_cost, evaluation.unpruned_error
    ax.plot(*whole, marker="D", ms=9, mfc="none", mec=BLACK, mew=1.6, label="unpruned", **point)


def _mark(ax: Axes, evaluation: PathEvaluation, row: int, name: str, **style: Any) -> None:
    """One row of the path, with its cost and error."""
    x, y = float(evaluation.cost[row]), float(evaluation.error[row])
    shown = f"{100 * y:.3g} %" if is_rate(evaluation.path.problem.ensemble.measure) else f"{y:.3g}"
    ax.plot(x, y, ls="", mew=1.8, zorder=4, label=f"{name}: cost {x:.3g}, error {shown}", **style)


def _zoom(ax: Axes, evaluation: PathEvaluation) -> None:
    """Limits around the least error: all rows up to `ERRORS_SHOWN` standard errors above it, and the unpruned forest."""
    error, least = evaluation.error, float(evaluation.error[evaluation.best])
    se = float(np.nan_to_num(evaluation.error_se[evaluation.best])) or 0.05 * float(error.max()) or 1.0
    near = error <= least + ERRORS_SHOWN * se
    costs = [*evaluation.cost[near].tolist(), evaluation.unpruned_cost]
    room = 0.05 * (max(costs) - min(costs)) or 1.0
    ax.set_xlim(max(0.0, min(costs) - room), max(costs) + room)
    ax.set_ylim(max(0.0, least - se), max(least + ERRORS_SHOWN * se, evaluation.unpruned_error + se))
