"""A choice as a picture: within a budget, with the hull and the relaxation's optimum, or by rules on held-out errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Natural, checked
from formulations.errors import InvalidInputError
from formulations.shown import is_rate
from prunemodels.evaluation.held_out import HeldOut
from prunemodels.evaluation.path import PathEvaluation, knee, one_se
from prunemodels.plots.picture import (
    AXIS,
    BLACK,
    BLUE,
    DRAWING,
    GREEN,
    LAMBDA,
    SKY,
    VERMILION,
    Picture,
    axes_for,
    finished,
    label_axes,
    legend_columns,
    styled,
)
from prunemodels.plots.tradeoff import check_same_problem, trees_error
from prunemodels.points import falling_hull

SEEN_WHOLE, SEEN_NEAR = 0.03, 0.0012
"""Shares of the largest cost or error that can be seen beside the marks: on the whole path, and around the budget."""


@checked
@styled
def plot_budget(
    solution: LimitedSolution,
    path: PruningPath,
    held_out: Sequence[HeldOut] | None = None,
    *,
    unit: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw the prunings for a budget: the whole path on the left, the neighbourhood of the budget on the right.

    Parameters
    ----------
    solution
        the answer for the budget: B is a vertical line, the relaxation's optimum a point on the chord between its two prunings.
    path
        the breakpoints: the lower convex hull of all prunings.
    held_out
        prunings on held-out examples, with their intervals. In the left part, if there are labels, they are drawn at the forest's
        own error there. In the right part, and without labels, only the cost is drawn, just above the axis.
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
        if the path or a held-out pruning is of another problem than the solution.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> solution = pm.solve(problem, budget=10)
    >>> figure = pm.plots.plot_budget(solution, path)
    """
    points = [] if held_out is None else list(held_out)
    check_same_problem("path", path.problem, solution.problem, "solution")
    for k, point in enumerate(points):
        check_same_problem(f"held_out[{k}]", point.pruning.problem, solution.problem, "solution")

    def draw(part: Axes, whole: bool) -> None:
        _draw_budget(part, solution, path, least=SEEN_NEAR if ax is None else SEEN_WHOLE)
        _draw_held_out(part, points, with_error=whole)
        label_axes(part, path.problem.ensemble.measure, unit)
        if not whole:
            _zoom_to_budget(part, solution, points)

    return _whole_and_near(ax, draw, "the whole path", "around the budget" + ("; held-out cost at the foot" if points else ""))


def _whole_and_near(ax: Axes | None, draw: Callable[[Axes, bool], None], whole: str, near: str) -> Figure:
    """The whole path on the axes; without axes, a picture with it on the left and what is near the choice on the right.

    `draw` gets axes, and whether they are for the whole path; `whole` and `near` are the titles of the two parts.
    """
    if ax is not None:
        ax = axes_for(ax, (0, 0))
        draw(ax, True)
        return finished(ax)
    figure = Picture(figsize=(10.4, 4.8), layout="constrained")
    parts = figure.subplots(1, 2)
    for part, title in zip(parts, (whole, near), strict=True):
        draw(part, part is parts[0])
        part.set_title(title, loc="left")
    parts[1].set_ylabel("")
    figure.legend(*parts[0].get_legend_handles_labels(), loc="outside lower center", ncols=legend_columns(parts[0], 10.2))
    return figure


def _draw_budget(ax: Axes, solution: LimitedSolution, path: PruningPath, *, least: float) -> None:
    """Hull, chord, budget, the relaxation's optimum and the pruning taken, and the gap between the two.

    An edge or a gap below `least` lies under the marks; it is left out, and with it its entry in the legend.
    """
    wide, high = _scales(solution)
    mixture, budget = solution.relaxation, float(solution.at_most[0])
    pair, best = (mixture.cheaper, mixture.dearer), float(mixture.value)
    ends = [p.cost for p in pair], [p.error for p in pair]
    at = min(budget, mixture.dearer.cost)
    marker = "." if len(path) <= DRAWING.most_markers else ""
    ax.axvline(budget, color=BLACK, lw=1, ls="--", label=f"budget B = {budget:.4g}", zorder=1.5)
    hull = f"breakpoints and their hull: {trees_error(path.problem)}"
    ax.plot(path.cost, path.error, color=BLUE, lw=1.4, marker=marker, ms=6, label=hull)
    if abs(ends[0][1] - ends[0][0]) > least * wide:
        ax.plot(*ends, color=SKY, lw=6, alpha=0.6, solid_capstyle="round", zorder=1.8, label="hull edge at B")
    if abs(solution.cost - at) > least * wide or abs(solution.error - best) > least * high:
        corner = [solution.cost, at, at], [solution.error, solution.error, best]
        ax.plot(*corner, color=GREEN, lw=2.4, zorder=2.5, label="from the optimum to the pruning taken")
    name = f"pruning taken: cost {solution.cost:.4g}"
    ax.plot(solution.cost, solution.error, ls="", marker="o", ms=10, color=GREEN, mec=BLACK, clip_on=False, zorder=4, label=name)
    optimum = f"optimum of the relaxation, {LAMBDA}* = {float(mixture.lam):.3g}"
    ax.plot(at, best, ls="", marker="D", ms=5.5, mfc="white", mec=BLUE, mew=1.6, clip_on=False, zorder=5, label=optimum)


def _draw_held_out(ax: Axes, points: Sequence[HeldOut], *, with_error: bool) -> None:
    """Draw each pruning at its held-out cost, with intervals; without errors, the costs are just above the axis."""
    for k, point in enumerate(points):
        cost, error = point.cost, point.error if with_error else None
        name = "" if k else f"held-out cost{' and forest error' if error else ''}, {100 * cost.confidence:g} % interval"
        ax.errorbar(
            cost.mean,
            0.05 * (k + 1) if error is None else error.mean,
            xerr=[[cost.mean - cost.low], [cost.high - cost.mean]],
            yerr=None if error is None else [[error.mean - error.low], [error.high - error.mean]],
            transform=ax.get_xaxis_transform() if error is None else ax.transData,
            fmt="s",
            ms=4,
            color=VERMILION,
            lw=1.2,
            capsize=3,
            zorder=3.5,
            label=name,
        )


def _zoom_to_budget(ax: Axes, solution: LimitedSolution, points: Sequence[HeldOut]) -> None:
    """Limits around the budget, the pruning taken, the relaxation's optimum, and the held-out costs."""
    costs = [float(solution.at_most[0]), solution.cost, *(end for p in points for end in (p.cost.low, p.cost.high))]
    errors = [solution.error, float(solution.relaxation.value)]
    scales = _scales(solution)
    for limits, values, scale in ((ax.set_xlim, costs, scales[0]), (ax.set_ylim, errors, scales[1])):
        room = max(0.6 * (max(values) - min(values)), 0.02 * scale) or 1.0
        limits(max(0.0, min(values) - room), max(values) + room)


def _scales(solution: LimitedSolution) -> tuple[float, float]:
    """The largest cost and the largest error of prunings: those of the unpruned forest, and of the forest without splits."""
    return Pruning.unpruned(solution.problem).cost, Pruning.all_roots(solution.problem).error


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

    def draw(part: Axes, whole: bool) -> None:
        _draw_choice(part, evaluation, chosen)
        label_axes(part, evaluation.path.problem.ensemble.measure, unit)
        if not whole:
            _zoom_to_least(part, evaluation)

    return _whole_and_near(ax, draw, "the whole path, held-out examples", "around the least error")


def _draw_choice(ax: Axes, evaluation: PathEvaluation, chosen: int | None) -> None:
    """Path, band, chord, least error, and the rows that the rules choose. Of markers at one place the larger ones are open."""
    cost, error, best = evaluation.cost, evaluation.error, evaluation.best
    band = np.nan_to_num(evaluation.above_best_se)
    ends = error - band, error + band
    ax.fill_between(cost, *ends, step="pre", color=BLUE, alpha=0.2, lw=0, label="± 1 se of the difference to the least")
    ax.plot(cost, error, drawstyle="steps-pre", color=BLUE, lw=1.6, label="prunings of the path")
    corners = np.array(falling_hull(cost, error))[[0, -1]]
    ax.plot(cost[corners], error[corners], color=AXIS, lw=1, ls="--", label="chord of the knee")
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


def _zoom_to_least(ax: Axes, evaluation: PathEvaluation) -> None:
    """Limits around the least error: all rows up to `Drawing.errors_shown` standard errors above it, and the unpruned forest."""
    error, least = evaluation.error, float(evaluation.error[evaluation.best])
    se = float(np.nan_to_num(evaluation.error_se[evaluation.best])) or 0.05 * float(error.max()) or 1.0
    near = error <= least + DRAWING.errors_shown * se
    costs = [*evaluation.cost[near].tolist(), evaluation.unpruned_cost]
    room = 0.05 * (max(costs) - min(costs)) or 1.0
    ax.set_xlim(max(0.0, min(costs) - room), max(costs) + room)
    ax.set_ylim(max(0.0, least - se), max(least + DRAWING.errors_shown * se, evaluation.unpruned_error + se))
