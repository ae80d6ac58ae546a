"""Figures that a notebook shows and files hold, and what all pictures have in common: their look, how much they show, how large.

Until pyplot has opened a figure, Jupyter shows only the name of matplotlib's plain `Figure`, and pyplot keeps every figure in
memory that it opened. A `Picture` needs no pyplot: it is drawn if it is the last expression of a cell.

Pictures have an opaque white background. Names and numbers are dark, and two of the colours are too; on a transparent background
a dark page would swallow them, and so would the page of whoever gets the picture by mail. Sizes and colours hold while a picture
is drawn (`styled`), so matplotlib's own settings stay as the user has them, and do not change the picture.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Curve
from matplotlib.textpath import TextPath
from matplotlib.ticker import MaxNLocator

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.files.outputs import OutputFiles


@dataclass(frozen=True)
class Drawing:
    """How pictures look, and how much they show."""

    errors_shown: float = 4.0  # the right-hand part reaches this many standard errors above the least error
    most_cut_nodes: int = 40  # largest number of splits and purchases in one picture; with more nothing can be read
    largest_denominator: int = 10_000  # capacities are written as multiples of a unit if its denominator is at most this
    figures_size: float = 8.0  # size of the numbers at the arcs, in points
    most_exit_items: int = 20  # largest number of columns in the part that shows what was bought
    longest_name: int = 22  # largest number of letters of an item's name
    grid_points: int = 120  # places at which an area is tried for its name
    fewest_rows: int = 5  # with fewer stages than this, bars are as thick as with this many
    smallest: float = 1e-12  # a gap of 0 is drawn here: the axis is logarithmic
    # an iterate is shown if its distance from the middle of all solutions and bounds is at most this many times their range
    near: float = 3.0
    # the axis of values spans at least this share of the largest value. Smaller differences are for the axis of the gap.
    least_share: float = 2e-3
    most_markers: int = 60  # with more breakpoints or rounds than this, only the line is drawn
    scale: float = 0.7  # height of the scale below the trees, in inches
    longest_label: int = 8  # largest number of characters of a fraction in a box
    most_lines: int = 400  # largest number of rows or columns of a matrix in one picture
    most_numbers: int = 30  # with at most this many rows and columns, entries are written as numbers and lines have their names
    most_network_arcs: int = 60  # largest number of arcs in one picture; with more it is far wider than a page
    most_arcs: int = 80  # largest number of arcs of a tree in one picture
    most_named: int = 40  # largest number of nodes that are drawn as boxes with names; with more, nodes are dots
    most_leaves: int = 12  # largest number of leaves of a tree in boxes: more make the picture wider than a page
    most_tree_nodes: int = 4000  # largest number of nodes in one picture; with more nothing can be read
    least_width: float = 3.4  # least width of a picture of its own, in inches
    lowest: float = 0.1  # least distance of two levels, in inches
    gap: float = 1.0  # free places between two trees, and between two lines of trees
    most_purchases: int = 120  # largest number of purchases below the trees
    letter: float = 0.075  # inches of a letter in small text
    dpi: int = 100  # resolution of a picture in a notebook: 7 inches are 700 pixels
    handle: float = 0.66  # inches of a legend's entry beside its text


DRAWING = Drawing()


# Okabe and Ito's palette: safe for the common colour blindnesses; in grey, lightness, dash and shape differ
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
PAPER, INK, AXIS, GREY, GRID = "white", "0.15", "0.4", "0.55", "0.9"

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = "os^DvPX*<>p"

TITLE, TEXT, SMALL = 10.5, 10.0, 9.0
"""Sizes of text in points, at the size that the picture has in a notebook."""

LAMBDA = r"$\lambda$"

STYLE: dict[str, Any] = {
    "axes.edgecolor": AXIS,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.labelsize": TEXT,
    "axes.linewidth": 0.8,
    "axes.titlecolor": INK,
    "axes.titlesize": TITLE,
    "axes.titleweight": "normal",
    "figure.facecolor": PAPER,
    "font.size": TEXT,
    "hatch.color": INK,
    "legend.edgecolor": "none",
    "legend.facecolor": PAPER,
    "legend.fontsize": SMALL,
    "legend.framealpha": 0.9,
    "legend.labelcolor": INK,
    "legend.title_fontsize": SMALL,
    "lines.markeredgewidth": 1.0,
    "mathtext.default": "it",
    "text.color": INK,
    "text.usetex": False,
    "xtick.color": AXIS,
    "xtick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.color": AXIS,
    "ytick.labelcolor": INK,
    "ytick.labelsize": SMALL,
}
"""The look, as matplotlib names its parts."""

PICTURE_ENDINGS = (".png", ".svg")

MARKS: dict[str, dict[str, Any]] = {
    "unpruned": {"marker": "D", "ms": 7, "color": BLACK},
    "chosen": {"marker": "o", "ms": 11, "mfc": "none", "mec": VERMILION, "mew": 2},
    "single": {"marker": "^", "ms": 6, "color": VERMILION},
}
"""Looks of single models beside a line: the model before pruning, the chosen one, and one stage for everybody."""

P = ParamSpec("P")
R = TypeVar("R")


class Picture(Figure):
    """A matplotlib figure that Jupyter shows as a picture; everything else is `matplotlib.figure.Figure`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path
    >>> figure = pm.plots.plot_tradeoff(path)
    >>> isinstance(figure, pm.plots.Picture)
    True
    """

    def savefig(self, fname: Any, **settings: Any) -> None:
        """Write the picture on its own background, whatever matplotlib's settings say."""
        super().savefig(fname, **{"facecolor": self.get_facecolor(), **settings})

    def _repr_png_(self) -> bytes:
        """The picture as PNG, for Jupyter."""
        place = io.BytesIO()
        self.savefig(place, format="png", dpi=DRAWING.dpi)
        return place.getvalue()


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """The function, which draws in the package's look and leaves matplotlib's settings as they were."""

    @functools.wraps(draw)
    def call(*args: P.args, **named: P.kwargs) -> R:
        with mpl.rc_context(cast("Any", STYLE)):
            return draw(*args, **named)

    return call


def axes_for(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes that the caller gave, or those of a new picture of this size in inches.

    Axes that nothing can be drawn on are refused: polar ones, three-dimensional ones, and those that were removed.
    """
    if ax is None:
        return Picture(figsize=size, layout="constrained").add_subplot()
    if ax.name != "rectilinear":
        raise InvalidInputError(f"ax has the projection {ax.name!r}; give plain axes, as figure.add_subplot() makes them")
    figure = ax.get_figure()
    if figure is None or ax not in figure.axes:
        raise InvalidInputError("ax was removed from its figure; give axes that a figure still has")
    return ax


def figure_of(ax: Axes) -> Figure:
    """The figure of axes."""
    return cast("Figure", ax.get_figure())


def frame(ax: Axes) -> None:
    """Open axes with a light grid behind the lines. Ticks of a `Picture` keep the look if they are drawn later."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=GRID, lw=0.8)
    ax.set_axisbelow(True)
    if isinstance(ax.get_figure(), Picture):
        ax.tick_params(which="both", color=AXIS, labelcolor=INK, labelsize=SMALL)


def legend_above(ax: Axes) -> Legend:
    """The legend: above the axes of a `Picture`, where it covers nothing; inside of the axes of any other figure."""
    if not isinstance(ax.get_figure(), Picture):
        return ax.legend()
    columns = legend_columns(ax, figure_of(ax).get_figwidth() - 0.9)
    return ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.01), ncols=columns, borderaxespad=0.0, borderpad=0.3)


def mark(ax: Axes, kind: str, x: float, y: float, label: str, **more: Any) -> None:
    """A single model at its cost and error, see `MARKS`; `more` is for the line of matplotlib."""
    ax.plot(x, y, ls="", label=label, zorder=5, clip_on=False, **MARKS[kind], **more)


def finished(ax: Axes) -> Figure:
    """The figure, with its legend as `legend_above` places it."""
    legend_above(ax)
    return figure_of(ax)


def legend_columns(ax: Axes, width: float) -> int:
    """How many columns of entries fit in a width in inches, at most 4."""
    labels = ax.get_legend_handles_labels()[1]
    widths = [text_size(label, SMALL)[0] + DRAWING.handle for label in labels]
    for columns in range(min(4, len(labels)), 1, -1):
        rows = -(-len(labels) // columns)
        filled = -(-len(labels) // rows)  # nine labels in four columns of three rows leave the last column empty
        if sum(max(widths[k * rows : (k + 1) * rows]) for k in range(filled)) <= width:
            return filled
    return 1


def per_cent(axis: Axis) -> None:
    """Ticks in per cent, for shares and error rates."""
    axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")


def plain_numbers(axis: Axis) -> None:
    """Ticks in full, without an offset or a power of ten at the end of the axis."""
    axis.set_major_formatter(lambda x, _: f"{x:,.10g}".replace("-", "−"))


def label_axes(ax: Axes, error: str, unit: str, *, whole: bool = True) -> None:
    """Cost to the right and errors upwards, with units and a light grid, error rates in per cent; `whole`: both from 0."""
    ax.set(xlabel=cost_label(unit), ylabel=literal(error))
    plain_numbers(ax.xaxis)
    (per_cent if "rate" in error else plain_numbers)(ax.yaxis)
    if whole:
        ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
        ax.set(xlim=(0, None), ylim=(0, None))
    frame(ax)


def banded(ax: Axes, x: Any, y: Any, half: Any, *, label: str, band: str, **look: Any) -> None:
    """A bold line in a band that ends at 0: `half` is the half width of the band, or its two ends, shape (2, n)."""
    low, high = half if np.ndim(half) == 2 else (y - half, y + half)
    step: Any = look["drawstyle"].removeprefix("steps-") if "drawstyle" in look else None
    ax.fill_between(x, np.maximum(low, 0), high, step=step, color=BLUE, alpha=0.15, lw=0, label=band, zorder=1)
    ax.plot(x, y, color=BLUE, lw=2.4, label=label, **look)


def stepped(cost: Any) -> dict[str, Any]:
    """How a line through prunings is drawn: between two of them there is none, so the cheaper one holds up to the dearer one.

    `cost`: rising or falling.
    """
    return {"drawstyle": "steps-pre" if len(cost) and cost[0] > cost[-1] else "steps-post"}


def cost_label(unit: str, of: str = "cost per prediction") -> str:
    """The label of an axis of costs."""
    return f"{of}, {literal(unit)}" if unit else f"{of} (unit of the prices)"


def literal(text: str) -> str:
    """Text as it is written: matplotlib takes what stands between two dollar signs for a formula."""
    return text.replace("$", r"\$")


def look(k: int) -> dict[str, Any]:
    """Colour, dash and marker of the k-th line; 49 lines differ in colour and dash, the first seven in either alone."""
    turn = k // len(COLOURS)
    return {
        "color": COLOURS[k % len(COLOURS)],
        "ls": DASHES[(k + turn) % len(DASHES)],
        "marker": MARKERS[(k + turn) % len(MARKERS)],
    }


def colour_scale(figure: Figure, shades: ScalarMappable, ax: Axes, ticks: Mapping[float, str], label: str) -> None:
    """What colours mean, below the axes; ticks by their value."""
    bar = figure.colorbar(shades, ax=ax, orientation="horizontal", shrink=0.6, aspect=40, pad=0.02)
    bar.set_ticks(list(ticks), labels=list(ticks.values()))
    bar.minorticks_off()
    bar.outline.set_visible(False)
    bar.set_label(label, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)


def boxed(ax: Axes, at: tuple[float, float], text: str, fill: Any, edge: Any, colour: Any, shape: str = "round,pad=0.3") -> None:
    """A small text in a box around a point."""
    box = {"boxstyle": shape, "fc": fill, "ec": edge, "lw": 1.4}
    ax.text(*at, text, color=colour, bbox=box, ha="center", va="center", fontsize=SMALL, linespacing=1.15, zorder=4)


def arrow(ax: Axes, path: Curve, **look: Any) -> None:
    """An arrow along a path in the units of the axes."""
    drawn = FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=9, transform=ax.transData, **look)
    ax.add_patch(drawn)


def text_size(text: str, size: float) -> tuple[float, float]:
    """Width and height of a text in inches, at a size in points."""
    font = FontProperties(size=size)
    lines = text.split("\n")
    # a path of the letters: no canvas is needed
    width = max((TextPath((0, 0), line, prop=font).get_extents().width for line in lines if line.strip()), default=0.0)
    return width / 72, 1.2 * size * len(lines) / 72


def picture_files(target: str | Path) -> list[Path]:
    """The files for a picture: the one named, or, without an ending, a PNG and an SVG."""
    place = Path(target)
    if place.name in ("", ".."):
        raise InvalidInputError(f"{str(target)!r} names no file; give the name of a picture, with or without .png or .svg")
    if place.suffix in PICTURE_ENDINGS:
        return [place]
    if place.suffix:
        raise InvalidInputError(f"{place} has the ending {place.suffix!r}; give .png or .svg, or no ending for both")
    return [place.with_name(place.name + ending) for ending in PICTURE_ENDINGS]


@checked
def save_picture(figure: Figure, file: str | Path) -> list[Path]:
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
    files = picture_files(file)
    with OutputFiles() as outputs:
        for place in files:
            draw(figure, outputs.aside(place))
    return files


def draw(fig: Figure, file: Path) -> None:
    """Write a figure as PNG or SVG, by the file's ending; equal figures give equal files."""
    with mpl.rc_context({"svg.hashsalt": "prunemodels", "svg.fonttype": "none"}):
        fig.savefig(file, dpi=160, metadata={"Date": None} if file.suffix == ".svg" else None)
