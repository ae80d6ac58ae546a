"""The trade-off as a picture: cost of a prediction against error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.files.outputs import OutputFiles
from prunemodels.judging.evaluate import Evaluation
from prunemodels.plots.picture import Picture

PICTURE_ENDINGS = (".png", ".svg")

# Okabe and Ito's palette: safe for the common colour blindnesses; in grey, lightness and shape differ
BLUE, VERMILION, BLACK = "#0072B2", "#D55E00", "#000000"

MOST_MARKERS = 60
"""With more breakpoints than this, only the line is drawn."""


@checked
def plot_tradeoff(
    path: NestedPrunings,
    *,
    held_out: Sequence[Evaluation] | None = None,
    chosen: Pruning | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw cost against error: the optimal prunings, the unpruned forest, and results on new data.

    Parameters
    ----------
    path
        the breakpoints: the lower convex hull of all prunings, in cost and the trees' mean error on the error sample.
    held_out
        prunings and the unpruned forest on held-out data: cost and error of the forest's own predictions there.
    chosen
        a pruning to mark.
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.
    """
    if ax is None:
        ax = Picture(figsize=(6.4, 4.2), layout="constrained").add_subplot()
    unpruned = Pruning.unpruned(path.problem)
    marker = "." if len(path) <= MOST_MARKERS else ""
    shown = f"{path.method} prunings: trees' error, error sample"
    ax.plot(path.cost, path.error, color=BLUE, lw=1.6, marker=marker, ms=6, label=shown)
    if held_out is not None and len(held_out):
        points = sorted(held_out, key=lambda e: e.cost)
        xs, ys = [e.cost for e in points], [e.error for e in points]
        ax.plot(xs, ys, color=VERMILION, lw=0.8, ls=":", marker="s", ms=5, label="some of them: forest's error, held-out data")
    _mark(ax, unpruned, marker="D", ms=7, color=BLACK, label="unpruned: trees' error, error sample")
    if chosen is not None:
        _mark(ax, chosen, marker="o", ms=11, mfc="none", mec=BLACK, mew=1.6, label="chosen pruning")
    label_axes(ax, path)
    return cast("Figure", ax.get_figure())


def _mark(ax: Axes, pruning: Pruning, **style: Any) -> None:
    """Mark one pruning; the marker is not clipped at the axes."""
    ax.plot(pruning.cost, pruning.error, ls="", zorder=3, clip_on=False, **style)


def label_axes(ax: Axes, path: NestedPrunings) -> None:
    """Label the axes with units, and give them a light grid and no box."""
    classification = path.problem.ensemble.task == "classification"
    ax.set_xlabel("cost per prediction (unit of the prices)")
    ax.set_ylabel("error rate" if classification else "mean squared error")
    if classification:
        ax.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:g} %")
    ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.grid(color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=9, framealpha=1, edgecolor="none")


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
    """Write a picture as PNG and SVG, or as the ending says, completely or not at all. Returns the files written."""
    files = picture_files(stem)
    with OutputFiles() as outputs:
        for file in files:
            draw(fig, outputs.aside(file))
    return files


def draw(fig: Figure, file: Path) -> None:
    """Write a figure as PNG or SVG, by the file's ending; equal figures give equal files."""
    with mpl.rc_context({"svg.hashsalt": "prunemodels", "svg.fonttype": "none"}):
        fig.savefig(file, dpi=160, metadata={"Date": None} if file.suffix == ".svg" else None)
