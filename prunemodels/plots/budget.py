"""A budget as a picture: the hull, the budget, the relaxation's optimum on the chord, and the pruning taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.answers.budget_solution import BudgetSolution, Mixture
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.evaluation.held_out import HeldOut
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLACK, BLUE, MOST_MARKERS, VERMILION, label_axes

GREEN = "#009E73"


@checked
def plot_budget(
    solution: BudgetSolution,
    path: PruningPath,
    held_out: Sequence[HeldOut] | None = None,
    *,
    chosen: Pruning | None = None,
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
    ax
        axes for the whole path only; default: a figure of its own with both parts.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        if the path is of another problem than the solution.
    """
    if path.problem is not solution.problem:
        raise InvalidInputError("path is of another problem than solution; give the path of solution.problem")
    taken = solution.pruning if chosen is None else chosen
    points = [] if held_out is None else list(held_out)
    if ax is not None:
        _draw(ax, solution, path, taken)
        _draw_held_out(ax, points, with_error=True)
        label_axes(ax, path)
        return cast("Figure", ax.get_figure())
    figure = Picture(figsize=(10.4, 4.8), layout="constrained")
    overview, near = figure.subplots(1, 2)
    for axes, with_error in ((overview, True), (near, False)):
        _draw(axes, solution, path, taken)
        _draw_held_out(axes, points, with_error=with_error)
        label_axes(axes, path)
        axes.get_legend().remove()
    _zoom(near, solution, taken, points)
    overview.set_title("the whole path", fontsize=10, loc="left")
    near.set_title("around the budget" + ("; held-out cost at the foot" if points else ""), fontsize=10, loc="left")
    near.set_ylabel("")
    figure.legend(*overview.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9, edgecolor="none")
    return figure


def _draw(ax: Axes, solution: BudgetSolution, path: PruningPath, taken: Pruning) -> None:
    """Hull, chord, budget, the relaxation's optimum and the pruning taken, and the gap between the two."""
    mixture, budget = solution.relaxation, float(solution.budget)
    ends, best = _ends(mixture), float(mixture.value)
    at = min(budget, mixture.dearer.cost)
    marker = "." if len(path) <= MOST_MARKERS else ""
    ax.axvline(budget, color=BLACK, lw=1, ls="--", label=f"budget B = {budget:.4g}", zorder=1.5)
    ax.plot(path.cost, path.error, color=BLUE, lw=1.4, marker=marker, ms=6, label="breakpoints and their hull, error sample")
    ax.plot(*ends, color=BLUE, lw=5, alpha=0.25, solid_capstyle="round", label="hull edge at B")
    ax.plot([taken.cost, at], [taken.error, taken.error], color=GREEN, lw=1.4, ls=":", zorder=2)
    ax.plot([at, at], [taken.error, best], color=GREEN, lw=3, zorder=2, label="from the optimum to the pruning taken")
    optimum = f"optimum of the relaxation, lambda* = {float(mixture.lam):.3g}"
    ax.plot(at, best, ls="", marker="D", ms=7, mfc="white", mec=BLUE, mew=1.6, clip_on=False, zorder=4, label=optimum)
    name = f"pruning taken: cost {taken.cost:.4g}"
    ax.plot(taken.cost, taken.error, ls="", marker="o", ms=9, color=GREEN, mec=BLACK, clip_on=False, zorder=5, label=name)


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
    scales = (Pruning.unpruned(solution.problem).cost, Pruning.all_roots(solution.problem).error)
    for limits, values, scale in ((ax.set_xlim, costs, scales[0]), (ax.set_ylim, errors, scales[1])):
        room = max(0.6 * (max(values) - min(values)), 0.02 * scale) or 1.0
        limits(max(0.0, min(values) - room), max(values) + room)


def _ends(mixture: Mixture) -> tuple[list[float], list[float]]:
    """Costs and errors of the two neighbouring prunings."""
    pair = (mixture.cheaper, mixture.dearer)
    return [p.cost for p in pair], [p.error for p in pair]
