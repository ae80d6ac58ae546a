"""The trade-off as a picture: cost against error of a path; and which features are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from prunemodels.evaluation.held_out import HeldOut
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.plots.picture import (
    BLUE,
    DRAWING,
    GREY,
    VERMILION,
    axes_for,
    banded,
    finished,
    frame,
    label_axes,
    literal,
    mark,
    per_cent,
    stepped,
    styled,
)

DOTTED = (0, (1, 1.5))
"""Dots of the line that is not about new examples."""

HELD_OUT = "error of the forest, held-out examples"
UNPRUNED = "unpruned forest, held-out examples"

SAMPLES = {"in-bag": "training error of single trees", "out-of-bag": "out-of-bag error of single trees"}
"""What the trees' mean error is, by the source of the nodes' errors."""


@checked
@styled
def plot_tradeoff(
    path: NestedPrunings,
    *,
    held_out: PathEvaluation | Sequence[HeldOut] | None = None,
    chosen: Pruning | HeldOut | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw cost against error: the forest's error on held-out examples in bold, and the trees' error that is minimised, faint.

    Parameters
    ----------
    path
        the breakpoints: the lower convex hull of all prunings, in cost and the trees' mean error on the error sample. That is the
        error of *single trees*, by default on their own training rows. It falls to about 0; the forest's error does not.
    held_out
        cost and error of the forest's own predictions on held-out examples: of the whole path, from `evaluate_path`, with a band
        of intervals, point by point, or of some prunings, such as those within several budgets, from `hold_out`. Without it the
        picture says nothing about new examples.
    chosen
        a pruning to mark: its cost on the cost sample is a line. A circle is at its held-out cost and error, if it comes from
        `hold_out`; of a `Pruning`, without `held_out`, at the trees' error.
    unit
        the unit of the prices, for the axis: "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.

    Raises
    ------
    InvalidInputError
        if `held_out` is empty or without labels, and if `held_out` or `chosen` is of another problem than the path.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path
    >>> figure = pm.plots.plot_tradeoff(path, chosen=path.at_lam(0.01))
    """
    ax = axes_for(ax, (6.8, 4.8))
    if chosen is not None:
        check_same_problem("chosen", _pruning(chosen).problem, path.problem)
    trees = trees_error(path.problem)
    if held_out is None:
        marker = "." if len(path) <= DRAWING.most_markers else ""
        name = f"{trees} (held-out error not given)"
        ax.plot(path.cost, path.error, color=GREY, lw=1.4, marker=marker, ms=6, label=name, **stepped(path.cost))
    else:
        ax.plot(path.cost, path.error, color=GREY, lw=1.0, ls=DOTTED, label=trees, **stepped(path.cost))
        if isinstance(held_out, PathEvaluation):
            check_same_problem("held_out", held_out.path.problem, path.problem)
            line = held_out.cost, held_out.error, held_out.error_ends()
            banded(ax, *line, label=HELD_OUT, band="95 % intervals, point by point", **stepped(held_out.cost))
            mark(ax, "unpruned", held_out.unpruned_cost, held_out.unpruned_error, UNPRUNED)
        elif not len(held_out):
            raise InvalidInputError("held_out is empty; give at least one HeldOut, or None")
        else:
            _draw_points(ax, sorted(held_out, key=lambda point: point.cost.mean))
    if chosen is not None:
        _mark(ax, chosen, by_trees=held_out is None)
    label_axes(ax, path.problem.ensemble.measure, unit)
    return finished(ax)


def _draw_points(ax: Axes, points: Sequence[HeldOut]) -> None:
    """Prunings at their held-out costs and errors, the cheapest first, with the intervals of the errors."""
    errors = [point.error for point in points if point.error is not None]
    if len(errors) < len(points):
        raise InvalidInputError("held_out has no errors; give hold_out the labels too")
    cost, whole = np.array([point.cost.mean for point in points]), Pruning.unpruned(points[0].pruning.problem)
    line = cost, np.array([error.mean for error in errors]), np.array([(error.low, error.high) for error in errors]).T
    band = f"{100 * errors[0].confidence:g} % intervals, point by point"
    banded(ax, *line, label=HELD_OUT, band=band, marker="o", ms=5, **stepped(cost))
    for x, y, point in zip(*line[:2], points, strict=True):
        if point.pruning.n_splits == whole.n_splits:
            mark(ax, "unpruned", x, y, UNPRUNED)


def _pruning(chosen: Pruning | HeldOut) -> Pruning:
    return chosen if isinstance(chosen, Pruning) else chosen.pruning


def _mark(ax: Axes, chosen: Pruning | HeldOut, *, by_trees: bool) -> None:
    """The chosen pruning's cost as a line, with a circle at its held-out error, or at that of the trees if no other is given."""
    cost, point = _pruning(chosen).cost, None
    if isinstance(chosen, HeldOut):
        point = None if chosen.error is None else (chosen.cost.mean, chosen.error.mean)
    elif by_trees:
        point = cost, chosen.error
    name = f"chosen pruning, cost {cost:.4g}"
    ax.axvline(cost, color=VERMILION, lw=1, ls="--", zorder=1.5, label=name if point is None else None)
    if point is not None:
        mark(ax, "chosen", *point, name)


def trees_error(problem: PruningProblem) -> str:
    """What the trees' mean error is, in words: on training rows if they are the error sample."""
    source = problem.errors.source
    return SAMPLES.get(source, f"error of single trees, error sample: {literal(source)}")


def check_same_problem(name: str, given: PruningProblem, wanted: PruningProblem, of: str = "path") -> None:
    """Refuse what belongs to another problem: its cost and error would be measured on other prices or examples."""
    if given is not wanted:
        raise InvalidInputError(f"{name} is of another problem than {of}; give one of {of}.problem")


BEFORE = "0.8"
"""Grey of the unpruned forest."""

COLUMNS = ("price", "before", "after")


@checked
@styled
def plot_purchases(purchases: pd.DataFrame, *, most: Count = 30, unit: str = "", ax: Axes | None = None) -> Figure:
    """Draw which share of the examples asks for each feature, before and after pruning, with the prices.

    Parameters
    ----------
    purchases
        from `PrunedForest.purchases`: a row for each feature, with its price and the two shares.
    most
        most features to draw: those on which the unpruned forest spends most.
    unit
        of the prices, such as "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.

    Raises
    ------
    InvalidInputError
        for a table without those columns, or without a row.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
    >>> figure = result.plot_purchases()
    """
    missing = [c for c in COLUMNS if c not in purchases.columns]
    if missing or purchases.empty:
        wrong = f"lacks the column {missing[0]!r}" if missing else "has no row"
        raise InvalidInputError(f"purchases {wrong}; give what PrunedForest.purchases() returns")
    table = purchases.iloc[:most]
    ax = axes_for(ax, (6.8, max(2.4, 1.1 + 0.27 * len(table))))
    place = np.arange(len(table))
    ax.barh(place, table["before"], height=0.8, color=BEFORE, label="unpruned")
    ax.barh(place, table["after"], height=0.44, color=BLUE, label="pruned")
    names = [f"{literal(str(name))}  ({price:g})" for name, price in zip(table.index, table["price"], strict=True)]
    frame(ax)
    ax.grid(visible=False, axis="y")
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    per_cent(ax.xaxis)
    left_out = len(purchases) - len(table)
    more = f"; {left_out} features on which less is spent are not shown" if left_out else ""
    ax.set_xlabel(f"examples that ask for the feature{more}")
    ax.set_ylabel(f"feature (price alone{f', {literal(unit)}' if unit else ''})")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return finished(ax)
