"""Figures that a notebook shows, and the one look that all pictures of the package share.

Until pyplot has opened a figure, Jupyter shows only the name of matplotlib's plain `Figure`, and pyplot keeps every figure in
memory that it opened. A `Picture` needs no pyplot: it is drawn if it is the last expression of a cell.

Pictures have an opaque white background. Names and numbers are dark, and two of the colours are too; on a transparent background
a dark page would swallow them, and so would the page of whoever gets the picture by mail. Sizes and colours hold while a picture
is drawn (`styled`), so matplotlib's own settings stay as the user has them, and do not change the picture.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.textpath import TextPath

from formulations.errors import InvalidInputError

DPI = 100
"""Resolution of a picture in a notebook: 7 inches are 700 pixels."""

# Okabe and Ito's palette: safe for the common colour blindnesses; in grey, lightness, dash and shape differ
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
PAPER, INK, AXIS, GREY, GRID = "white", "0.15", "0.4", "0.55", "0.9"

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
MARKERS = "os^DvPX*<>p"

TITLE, TEXT, SMALL = 10.5, 10.0, 9.0
"""Sizes of text in points, at the size that the picture has in a notebook."""

HANDLE = 0.66
"""Inches of a legend's entry beside its text."""

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
        self.savefig(place, format="png", dpi=DPI)
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

    Raises
    ------
    InvalidInputError
        for axes that nothing can be drawn on: polar ones, three-dimensional ones, and those that were removed.
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
    """Open axes with a light grid behind the lines. In a picture of ours, ticks have its colours whoever draws them later."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=GRID, lw=0.8)
    ax.set_axisbelow(True)
    if isinstance(ax.get_figure(), Picture):
        ax.tick_params(which="both", color=AXIS, labelcolor=INK, labelsize=SMALL)


def legend_above(ax: Axes, *, own: bool) -> Legend:
    """The legend: above the axes of a picture of ours, where it covers nothing; inside of axes that the caller gave."""
    if not own:
        return ax.legend()
    columns = legend_columns(ax, figure_of(ax).get_figwidth() - 0.9)
    return ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.01), ncols=columns, borderaxespad=0.0, borderpad=0.3)


def legend_columns(ax: Axes, width: float) -> int:
    """How many columns of entries fit in a width in inches, at most 4."""
    labels = ax.get_legend_handles_labels()[1]
    widths = [text_size(label, SMALL)[0] + HANDLE for label in labels]
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
    """Ticks as whole numbers: nothing to be added or multiplied stands at the axis' end."""
    axis.set_major_formatter(lambda x, _: f"{x:,.10g}".replace("-", "−"))


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


def text_size(text: str, size: float) -> tuple[float, float]:
    """Width and height of a text in inches, at a size in points."""
    font = FontProperties(size=size)
    lines = text.split("\n")
    # a path of the letters: no canvas is needed
    width = max((TextPath((0, 0), line, prop=font).get_extents().width for line in lines if line.strip()), default=0.0)
    return width / 72, 1.2 * size * len(lines) / 72
