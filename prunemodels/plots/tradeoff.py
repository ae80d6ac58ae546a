"""The trade-off as a picture: cost of a prediction against error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.shown import is_rate
from prunemodels.evaluation.evaluate import Evaluation
from prunemodels.evaluation.path import PathEvaluation
from prunemodels.files.outputs import OutputFiles
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    axes_for,
    cost_label,
    figure_of,
    frame,
    legend_above,
    literal,
    per_cent,
    plain_numbers,
    styled,
)

PICTURE_ENDINGS = (".png", ".svg")

MOST_MARKERS = 60
"""With more breakpoints than this, only the line is drawn."""

DOTTED = (0, (1, 1.5))
"""Dots of the line that is not about new examples."""

HELD_OUT = "error of the forest, held-out examples"

SAMPLES = {"in-bag": "training error of single trees", "out-of-bag": "out-of-bag error of single trees"}
"""What the trees' mean error is, by the source of the nodes' errors."""


@checked
@styled
def plot_tradeoff(
    path: NestedPrunings,
    *,
    held_out: PathEvaluation | Sequence[Evaluation] | None = None,
    chosen: Pruning | None = None,
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
        of one standard error, or of some prunings and the unpruned forest, from `evaluate`. Without it the picture says nothing
        about new examples.
    chosen
        a pruning to mark: its cost on the cost sample is a line. A circle is at its held-out error, if `held_out` is of the whole
        path and it is a row of it; without `held_out` at the trees' error.
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
        if `held_out` is empty, and if `held_out` or `chosen` is of another problem than the path.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path
    >>> figure = pm.plots.plot_tradeoff(path, chosen=path.at_lam(0.01))
    """
    own, ax = ax is None, axes_for(ax, (6.8, 4.8))
    if chosen is not None:
        check_same_problem("chosen", chosen.problem, path.problem)
    trees = trees_error(path.problem)
    if held_out is None:
        marker = "." if len(path) <= MOST_MARKERS else ""
        name = f"{trees} (held-out error not given)"
        ax.plot(path.cost, path.error, color=GREY, lw=1.4, marker=marker, ms=6, label=name)
    else:
        ax.plot(path.cost, path.error, color=GREY, lw=1.0, ls=DOTTED, label=trees)
        if isinstance(held_out, PathEvaluation):
            check_same_problem("held_out", held_out.path.problem, path.problem)
            draw_held_out(ax, held_out, held_out.error_se, "± 1 standard error")
        elif not len(held_out):
            raise InvalidInputError("held_out is empty; give at least one Evaluation, or None")
        else:
            points = sorted(held_out, key=lambda e: e.cost)
            ax.plot([e.cost for e in points], [e.error for e in points], color=BLUE, lw=2.4, marker="o", ms=5, label=HELD_OUT)
    if chosen is not None:
        _mark(ax, path, held_out, chosen)
    label_axes(ax, path, unit)
    legend_above(ax, own=own)
    return figure_of(ax)


def draw_held_out(ax: Axes, seen: PathEvaluation, half: NDArray[np.float64], band: str) -> None:
    """The forest's own error along a path, bold, with a band of this half width and name, and the unpruned forest."""
    ax.fill_between(seen.cost, np.maximum(seen.error - half, 0), seen.error + half, color=BLUE, alpha=0.15, lw=0, label=band)
    ax.plot(seen.cost, seen.error, color=BLUE, lw=2.4, label=HELD_OUT)
    whole = seen.unpruned_cost, seen.unpruned_error
    ax.plot(*whole, ls="", marker="D", ms=7, color=BLACK, clip_on=False, zorder=3, label="unpruned forest, held-out examples")


def _mark(ax: Axes, path: NestedPrunings, held_out: PathEvaluation | Sequence[Evaluation] | None, chosen: Pruning) -> None:
    """The chosen pruning's cost as a line, with a circle at its held-out error, or at that of the trees if no other is given."""
    name = f"chosen pruning, cost {chosen.cost:.4g}"
    point = (chosen.cost, chosen.error) if held_out is None else None
    if isinstance(held_out, PathEvaluation):
        # row k keeps the nodes of rows_kept > k: it is the chosen pruning if that parts kept nodes from all others
        row = int(path.rows_kept[~chosen.kept].max(initial=0))
        if row < int(path.rows_kept[chosen.kept].min(initial=len(path))):
            point = float(held_out.cost[row]), float(held_out.error[row])
    ax.axvline(chosen.cost, color=VERMILION, lw=1, ls="--", zorder=1.5, label=name if point is None else None)
    if point is not None:
        circle: dict[str, Any] = {"mfc": "none", "mec": VERMILION, "mew": 2, "label": name}
        ax.plot(*point, ls="", marker="o", ms=11, zorder=4, clip_on=False, **circle)


def trees_error(problem: PruningProblem) -> str:
    """What the trees' mean error is, in words: on training rows if they are the error sample."""
    source = problem.errors.source
    return SAMPLES.get(source, f"error of single trees, error sample: {literal(source)}")


def check_same_problem(name: str, given: PruningProblem, wanted: PruningProblem, of: str = "path") -> None:
    """Refuse what belongs to another problem: its cost and error would be measured on other prices or examples.

    Raises
    ------
    InvalidInputError
        names the argument.
    """
    if given is not wanted:
        raise InvalidInputError(f"{name} is of another problem than {of}; give one of {of}.problem")


def label_axes(ax: Axes, path: NestedPrunings, unit: str = "") -> None:
    """Label the axes with units, and give them a light grid and no box."""
    measure = path.problem.ensemble.measure
    ax.set_xlabel(cost_label(unit))
    ax.set_ylabel(measure)
    plain_numbers(ax.xaxis)
    (per_cent if is_rate(measure) else plain_numbers)(ax.yaxis)
    ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    frame(ax)


def picture_files(target: str | Path) -> list[Path]:
    """The files for a picture: the one named, or, without an ending, a PNG and an SVG.

    Raises
    ------
    InvalidInputError
        for an ending that is neither, and for no name.
    """
    place = Path(target)
    if place.name in ("", ".."):
        raise InvalidInputError(f"{str(target)!r} names no file; give the name of a picture, with or without .png or .svg")
    if place.suffix in PICTURE_ENDINGS:
        return [place]
    if place.suffix:
        raise InvalidInputError(f"{place} has the ending {place.suffix!r}; give .png or .svg, or no ending for both")
    return [place.with_name(place.name + ending) for ending in PICTURE_ENDINGS]


@checked
def save_picture(fig: Figure, stem: str | Path) -> list[Path]:
    """Write a picture as PNG and SVG, or as the ending says, completely or not at all. Returns the files written.

    Examples
    --------
    >>> import tempfile
    >>> import prunemodels as pm
    >>> from prunemodels.example import path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = pm.plots.save_picture(pm.plots.plot_tradeoff(path), f"{folder}/tradeoff.svg")
    ...
    >>> [file.name for file in files]
    ['tradeoff.svg']
    """
    files = picture_files(stem)
    with OutputFiles() as outputs:
        for file in files:
            draw(fig, outputs.aside(file))
    return files


def draw(fig: Figure, file: Path) -> None:
    """Write a figure as PNG or SVG, by the file's ending; equal figures give equal files."""
    with mpl.rc_context({"svg.hashsalt": "prunemodels", "svg.fonttype": "none"}):
        fig.savefig(file, dpi=160, metadata={"Date": None} if file.suffix == ".svg" else None)
