"""Trees as pictures: prunings, paths of examples, and fractional points of a relaxation.

Small trees are drawn with the names of their nodes, larger ones with dots, so that the shape and the colours can be read. Nodes
count from 0; ``first=1`` counts them as the papers do.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLACK, BLUE, VERMILION
from prunemodels.plots.tree_layout import TreeLayout, lay_out

MOST_NAMED = 40
"""Largest number of nodes that are drawn as boxes with names; with more, nodes are dots."""

MOST_DRAWN = 4000
"""Largest number of nodes in one picture; with more nothing can be read."""

FAINT = "0.8"
CUT = "0.6"


@dataclass(frozen=True)
class Look:
    """How a node is drawn: colours of its edge, its inside and its text, and further lines below its name."""

    edge: Any
    fill: Any
    text: Any
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Drawing:
    """Trees on axes.

    Parameters
    ----------
    ax
        the axes, without a frame.
    layout
        the places of the nodes.
    named
        whether the nodes are boxes with names.
    """

    ax: Axes
    ensemble: Ensemble
    layout: TreeLayout
    named: bool

    @property
    def figure(self) -> Figure:
        """The figure of the axes."""
        return cast("Figure", self.ax.get_figure())

    def edges(self, colour: Mapping[int, Any], width: Mapping[int, float]) -> None:
        """Draw the lines from parents to children; `colour` and `width` by child; a width of 0 draws no line."""
        parent = self.ensemble.parent
        below = [h for h in self.layout.node.tolist() if parent[h] >= 0 and width[h] > 0]
        below.sort(key=lambda h: width[h])  # the bold ones on top
        lines = [[self.place(int(parent[h])), self.place(h)] for h in below]
        style = {"colors": [colour[h] for h in below], "linewidths": [width[h] for h in below]}
        self.ax.add_collection(LineCollection(lines, zorder=1, capstyle="round", **style))

    def boxes(self, look: Mapping[int, Look], first: int) -> None:
        """Draw the nodes as boxes with their numbers and the features of splits."""
        for h, one in look.items():
            lines = [str(first + h)]
            if self.ensemble.is_split[h]:
                lines.append(feature_name(self.ensemble, h))
            box = {"boxstyle": "round,pad=0.3", "fc": one.fill, "ec": one.edge, "lw": 1.4}
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "linespacing": 1.15, "zorder": 3}
            self.ax.text(*self.place(h), "\n".join([*lines, *one.lines]), color=one.text, bbox=box, **style)

    def dots(self, nodes: Sequence[int], *, size: float, marker: str = "o", **style: Any) -> None:
        """Draw some nodes as dots."""
        at = np.asarray(nodes, dtype=np.int64)
        self.ax.scatter(self.layout.x[at], self.layout.y[at], s=size, marker=marker, linewidths=0.8, zorder=2, **style)

    def place(self, h: int) -> tuple[float, float]:
        """The place of a node."""
        return float(self.layout.x[h]), float(self.layout.y[h])


@checked
def plot_trees(
    problem: PruningProblem,
    *,
    trees: Sequence[int] | None = None,
    kept: ArrayLike | None = None,
    row: int | None = None,
    notes: Mapping[int, object] | None = None,
    first: int = 0,
    named: bool | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw trees, a pruning of them, and the path of one example.

    Parameters
    ----------
    trees
        the trees to draw, side by side; default: all.
    kept
        bool, shape (n,): the splits that a pruning keeps. They are black, the pruned trees' leaves blue, pruned nodes grey.
    row
        an example of the cost sample: its path through the pruned trees is vermilion.
    notes
        a further line in the boxes of some nodes, by node, counted from 0: an error, a gain.
    first
        number of the first node.
    named
        whether to draw boxes with names; default: if there are few nodes.
    ax
        axes to draw on; default: a picture of its own.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        for a tree or a row that does not exist, a pruning of another forest, and more nodes than can be read.
    """
    drawing = draw_on(problem.ensemble, trees, named=named, ax=ax)
    state = _states(problem.ensemble, kept)
    reached = np.zeros(problem.ensemble.n_nodes, dtype=bool) if row is None else _way(problem, row)
    nodes = drawing.layout.node.tolist()
    on_way = {h: bool(reached[h]) and state[h] != "cut" for h in nodes}
    colour = {h: FAINT if state[h] == "cut" else VERMILION if on_way[h] else BLACK for h in nodes}
    thick = 2.6 if drawing.named else 2.2
    width = {h: 0.8 if state[h] == "cut" else thick if on_way[h] else 1.4 for h in nodes}
    drawing.edges(colour, width)
    if drawing.named:
        inside = {"split": (BLACK, "white", BLACK), "leaf": (BLUE, BLUE, "white"), "cut": (FAINT, "white", CUT)}
        look = {}
        for h in nodes:
            edge, fill, text = inside[state[h]]
            lines = () if notes is None or h not in notes else (_number(notes[h]),)
            look[h] = Look(VERMILION if on_way[h] else edge, fill, text, lines)
        drawing.boxes(look, first)
        return drawing.figure
    for kind, style in {"split": {"color": BLACK, "size": 9.0}, "leaf": {"color": BLUE, "marker": "s", "size": 14.0}}.items():
        drawing.dots([h for h in nodes if state[h] == kind], **cast("dict[str, Any]", style))
    return drawing.figure


@checked
def plot_point(
    problem: PruningProblem,
    point: Mapping[str, Any],
    *,
    trees: Sequence[int] | None = None,
    first: int = 0,
    ax: Axes | None = None,
) -> Figure:
    """Draw a point of a formulation on its trees, fractional or not: z in the nodes, w below them, darker blue nearer to 1.

    Parameters
    ----------
    point
        ``z[h]`` and ``w[m,i]`` by name, as `formulations.models.read_point`, a `Relaxation` or `proofs_checks` return them;
        fractions are written as fractions.
    trees, first, ax
        as in `plot_trees`.

    Raises
    ------
    InvalidInputError
        if the point has no z for a drawn node, and for more nodes than can be read.
    """
    drawing = draw_on(problem.ensemble, trees, named=True, ax=ax, below=1.0)
    values = dict(point.items())
    missing = [h for h in drawing.layout.node.tolist() if f"z[{h}]" not in values]
    if missing:
        raise InvalidInputError(f"point has no z[{missing[0]}]; give one of a formulation in z: IP0, IP1, IP2, IP3 or LP1")
    nodes = drawing.layout.node.tolist()
    drawing.edges(dict.fromkeys(nodes, BLACK), dict.fromkeys(nodes, 1.4))
    look = {}
    for h in nodes:
        z = values[f"z[{h}]"]
        fill, text = _shade(float(z))
        look[h] = Look(BLACK, fill, text, (f"z = {_number(z)}",))
    drawing.boxes(look, first)
    _purchases(drawing, problem, {name: w for name, w in values.items() if name.startswith("w[")})
    return drawing.figure


def draw_on(
    ensemble: Ensemble, trees: Sequence[int] | None, *, named: bool | None, ax: Axes | None, below: float = 0.0
) -> Drawing:
    """Lay the trees out on axes; `below` is room under them.

    Raises
    ------
    InvalidInputError
        for trees that do not exist, and more nodes than can be read.
    """
    layout = lay_out(ensemble, trees)
    boxes = len(layout.node) <= MOST_NAMED if named is None else named
    most = 10 * MOST_NAMED if boxes else MOST_DRAWN
    if len(layout.node) > most:
        raise InvalidInputError(
            f"the picture would have {len(layout.node):,} nodes, at most {most:,} can be read; draw fewer trees"
        )
    if ax is None:
        across, down = (0.85, 1.0) if boxes else (0.2, 0.32)
        size = (max(3.4, across * layout.width + 1.2), max(1.6, down * (layout.height + below) + 1.1))
        ax = Picture(figsize=size, layout="constrained").add_subplot()
    room = 0.6 if boxes else 0.8
    ax.set_xlim(-room, layout.width + room)
    ax.set_ylim(-layout.height - below - 0.6, 0.6)
    ax.axis("off")
    return Drawing(ax, ensemble, layout, boxes)


def feature_name(ensemble: Ensemble, h: int) -> str:
    """The feature that a split tests; a bare number would look like a node's."""
    f = int(ensemble.feature[h])
    name = f"x{f}" if ensemble.feature_names is None else str(ensemble.feature_names[f])
    return f"feature {name}" if name.isdecimal() else textwrap.fill(name, 12)


def _states(ensemble: Ensemble, kept: ArrayLike | None) -> list[str]:
    """The state of each node after pruning: a split, a leaf, or cut off."""
    keep = ensemble.is_split if kept is None else np.asarray(kept, dtype=bool)
    if keep.shape != (ensemble.n_nodes,):
        raise InvalidInputError(f"kept has shape {keep.shape}; give one bool for each of the forest's {ensemble.n_nodes} nodes")
    above = keep[ensemble.parent] | (ensemble.parent < 0)
    return ["split" if k else "leaf" if a else "cut" for k, a in zip(keep.tolist(), above.tolist(), strict=True)]


def _way(problem: PruningProblem, row: int) -> NDArray[np.bool_]:
    """The nodes that a row of the cost sample reaches, bool, shape (n,)."""
    routing = problem.routing
    if not 0 <= row < routing.n_rows:
        raise InvalidInputError(f"row is {row}; the cost sample has the rows 0 to {routing.n_rows - 1}")
    place = np.array([int(np.flatnonzero(order == row)[0]) for order in routing.order])[problem.ensemble.tree_of]
    reached: NDArray[np.bool_] = (routing.start <= place) & (place < routing.stop)
    return reached


def _purchases(drawing: Drawing, problem: PruningProblem, paid: Mapping[str, Any]) -> None:
    """The purchases in a line below the trees, shaded like the nodes."""
    bottom, width = -drawing.layout.height - 1.0, drawing.layout.width
    for k, (name, w) in enumerate(paid.items()):
        item, example = name[2:-1].split(",")
        label = problem.costs.names[int(item)]
        label = f"feature {label}" if label.isdecimal() else label
        who = "" if problem.n_rows == 1 else "all: " if example == "all" else f"example {example}: "
        fill, text = _shade(float(w))
        box = {"boxstyle": "square,pad=0.35", "fc": fill, "ec": VERMILION, "lw": 1.4}
        x = width * (k + 0.5) / len(paid)
        drawing.ax.text(x, bottom, f"{who}{label}\nw = {_number(w)}", ha="center", va="center", fontsize=9, color=text, bbox=box)


def _shade(value: float) -> tuple[Any, str]:
    """White at 0, blue at 1, and a text colour that can be read on it."""
    share = min(max(value, 0.0), 1.0)
    blue = np.array(to_rgb(BLUE))
    return tuple((1 - share + share * blue).tolist()), "white" if share > 0.6 else BLACK


def _number(value: object) -> str:
    """A number as text: a fraction as such, a float with three digits, anything else unchanged."""
    if isinstance(value, Fraction):
        return str(value)
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)
