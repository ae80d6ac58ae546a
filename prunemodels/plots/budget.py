"""A budget as a picture: the hull, the budget, the relaxation's optimum on the chord, and the pruning taken."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.answers.budget_solution import BudgetSolution, Mixture
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from prunemodels.evaluation.held_out import HeldOut
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    LAMBDA,
    SKY,
    VERMILION,
    Picture,
    axes_for,
    figure_of,
    legend_above,
    legend_columns,
    styled,
)
from prunemodels.plots.picture import (
    GREEN as GREEN,
)
from prunemodels.plots.tradeoff import MOST_MARKERS, check_same_problem, label_axes, trees_error

SEEN_WHOLE, SEEN_NEAR = 0.03, 0.0012
"""Shares of the largest cost or error that can be seen beside the marks: on the whole path, and around the budget."""


@checked
@styled
def plot_budget(
    solution: BudgetSolution,
    path: PruningPath,
    held_out: Sequence[HeldOut] | None = None,
    *,
    chosen: Pruning | None = None,
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
    chosen
        the pruning taken, if it is not the solution's own (a certified one, say).
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
        if the path, the chosen pruning or a held-out one is of another problem than the solution.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> solution = pm.solve(problem, budget=10)
    >>> figure = pm.plots.plot_budget(solution, path)
    """
    points = [] if held_out is None else list(held_out)
    check_same_problem("path", path.problem, solution.problem, "solution")
    taken = solution.pruning if chosen is None else chosen
    check_same_problem("chosen", taken.problem, solution.problem, "solution")
    for k, point in enumerate(points):
        check_same_problem(f"held_out[{k}]", point.pruning.problem, solution.problem, "solution")
    if ax is not None:
        ax = axes_for(ax, (0, 0))
        draw_budget(ax, solution, path, taken, least=SEEN_WHOLE)
        _draw_held_out(ax, points, with_error=True)
        label_axes(ax, path, unit)
        legend_above(ax, own=False)
        return figure_of(ax)
    figure = Picture(figsize=(10.4, 4.8), layout="constrained")
    overview, near = figure.subplots(1, 2)
    for axes, with_error in ((overview, True), (near, False)):
        draw_budget(axes, solution, path, taken, least=SEEN_NEAR)
        _draw_held_out(axes, points, with_error=with_error)
        label_axes(axes, path, unit)
    _zoom(near, solution, taken, points)
    overview.set_title("the whole path", loc="left")
    near.set_title("around the budget" + ("; held-out cost at the foot" if points else ""), loc="left")
    near.set_ylabel("")
    figure.legend(*overview.get_legend_handles_labels(), loc="outside lower center", ncols=legend_columns(overview, 10.2))
    return figure


def draw_budget(ax: Axes, solution: BudgetSolution, path: PruningPath, taken: Pruning, *, least: float) -> None:
    """Hull, chord, budget, the relaxation's optimum and the pruning taken, and the gap between the two.

    An edge or a gap below `least` lies under the marks; it is left out, and with it its entry in the legend.
    """
    wide, high = _scales(solution)
    mixture, budget = solution.relaxation, float(solution.budget)
    ends, best = _ends(mixture), float(mixture.value)
    at = min(budget, mixture.dearer.cost)
    marker = "." if len(path) <= MOST_MARKERS else ""
    ax.axvline(budget, color=BLACK, lw=1, ls="--", label=f"budget B = {budget:.4g}", zorder=1.5)
    hull = f"breakpoints and their hull: {trees_error(path.problem)}"
    ax.plot(path.cost, path.error, color=BLUE, lw=1.4, marker=marker, ms=6, label=hull)
    if abs(ends[0][1] - ends[0][0]) > least * wide:
        ax.plot(*ends, color=SKY, lw=6, alpha=0.6, solid_capstyle="round", zorder=1.8, label="hull edge at B")
    if abs(taken.cost - at) > least * wide or abs(taken.error - best) > least * high:
        corner = [taken.cost, at, at], [taken.error, taken.error, best]
        ax.plot(*corner, color=GREEN, lw=2.4, zorder=2.5, label="from the optimum to the pruning taken")
    name = f"pruning taken: cost {taken.cost:.4g}"
    ax.plot(taken.cost, taken.error, ls="", marker="o", ms=10, color=GREEN, mec=BLACK, clip_on=False, zorder=4, label=name)
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


def _zoom(ax: Axes, solution: BudgetSolution, taken: Pruning, points: Sequence[HeldOut]) -> None:
    """Limits around the budget, the pruning taken, the relaxation's optimum, and the held-out costs."""
    costs = [float(solution.budget), taken.cost, *(end for p in points for end in (p.cost.low, p.cost.high))]
    errors = [taken.error, float(solution.relaxation.value)]
    scales = _scales(solution)
    for limits, values, scale in ((ax.set_xlim, costs, scales[0]), (ax.set_ylim, errors, scales[1])):
        room = max(0.6 * (max(values) - min(values)), 0.02 * scale) or 1.0
        limits(max(0.0, min(values) - room), max(values) + room)


def _scales(solution: BudgetSolution) -> tuple[float, float]:
    """The largest cost and the largest error of prunings: those of the unpruned forest, and of the forest without splits."""
    return Pruning.unpruned(solution.problem).cost, Pruning.all_roots(solution.problem).error


def _ends(mixture: Mixture) -> tuple[list[float], list[float]]:
    """Costs and errors of the two neighbouring prunings."""
    pair = (mixture.cheaper, mixture.dearer)
    return [p.cost for p in pair], [p.error for p in pair]
