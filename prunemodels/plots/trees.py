"""Trees as pictures: prunings, paths of examples, and fractional points of a relaxation.

Small trees are drawn with the names, features and thresholds of their nodes, larger ones with dots, so that the shape and the
colours can be read. Examples whose feature is at most the threshold go left. Trees and nodes count from 0; ``first=1`` counts
both from 1.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import Natural, check_argument, checked
from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from prunemodels.plots.picture import BLACK, BLUE, INK, SMALL, VERMILION, axes_for, figure_of, literal, styled, text_size
from prunemodels.plots.tree_layout import GAP, TreeLayout, lay_out

MOST_NAMED = 40
"""Largest number of nodes that are drawn as boxes with names; with more, nodes are dots."""

MOST_LEAVES = 12
"""Largest number of leaves of a tree in boxes: more make the picture wider than a page."""

MOST_DRAWN = 4000
"""Largest number of nodes in one picture; with more nothing can be read."""

MOST_PURCHASES = 120
"""Largest number of purchases below the trees."""

PAGE = (9.5, 9.0)
"""Inches: the largest picture that trees are fitted into; only a single tree in boxes may be wider."""

BOXES, DOTS = (0.95, 1.05), (0.2, 0.32)
"""Inches between two leaves and between two levels, in boxes and in dots at full size."""

SIZES = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3, 0.22, 0.16, 0.11, 0.07, 0.04)
"""Sizes of trees in dots: the largest at which they fit the page is taken."""

PURCHASE = 0.56
"""Height of a line of purchases in inches."""

LOWEST = 0.1
"""Least distance of two levels, in inches."""

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
    size
        of dots and lines, 1 at full size.
    unit
        inches of a step to the right and of a step down.
    """

    ax: Axes
    ensemble: Ensemble
    layout: TreeLayout
    named: bool
    size: float = 1.0
    unit: tuple[float, float] = BOXES

    @property
    def figure(self) -> Figure:
        """The figure of the axes."""
        return figure_of(self.ax)

    def titles(self, trees: Sequence[int], first: int) -> None:
        """Write the number of each tree above its root, if the forest has several."""
        above = (0.45 if self.named else 0.05) / self.unit[1]
        for t in trees if self.ensemble.n_trees > 1 else ():
            x, y = self.place(int(self.ensemble.roots[t]))
            self.ax.text(x, y + above, f"tree {first + t}", ha="center", va="bottom", fontsize=SMALL, color=INK)

    def edges(self, colour: Mapping[int, Any], width: Mapping[int, float]) -> None:
        """Draw the lines from parents to children; `colour` and `width` by child; a width of 0 draws no line."""
        parent = self.ensemble.parent
        below = [h for h in self.layout.node.tolist() if parent[h] >= 0 and width[h] > 0]
        below.sort(key=lambda h: width[h])  # the bold ones on top
        lines = [[self.place(int(parent[h])), self.place(h)] for h in below]
        style = {"colors": [colour[h] for h in below], "linewidths": [width[h] * max(self.size, 0.4) for h in below]}
        self.ax.add_collection(LineCollection(lines, zorder=1, capstyle="round", **style))

    def boxes(self, look: Mapping[int, Look], first: int) -> None:
        """Draw the nodes as boxes with their numbers, and the features and thresholds of splits."""
        for h, one in look.items():
            lines = [str(first + h)]
            if self.ensemble.is_split[h]:
                lines.append(literal(feature_name(self.ensemble, h)))
                lines.append(f"≤ {self.ensemble.threshold[h]:.3g}")
            box = {"boxstyle": "round,pad=0.3", "fc": one.fill, "ec": one.edge, "lw": 1.4}
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "linespacing": 1.15, "zorder": 3}
            self.ax.text(*self.place(h), "\n".join([*lines, *one.lines]), color=one.text, bbox=box, **style)

    def dots(self, nodes: Sequence[int], *, size: float, marker: str = "o", **style: Any) -> None:
        """Draw some nodes as dots."""
        at = np.asarray(nodes, dtype=np.int64)
        self.ax.scatter(
            self.layout.x[at], self.layout.y[at], s=size * max(self.size, 0.2), marker=marker, linewidths=0.6, zorder=2, **style
        )

    def place(self, h: int) -> tuple[float, float]:
        """The place of a node."""
        return float(self.layout.x[h]), float(self.layout.y[h])


@checked
@styled
def plot_trees(
    problem: PruningProblem,
    *,
    trees: Sequence[int] | None = None,
    kept: ArrayLike | None = None,
    row: Natural | None = None,
    notes: Mapping[int, object] | None = None,
    first: int = 0,
    named: bool | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw trees, a pruning of them, and the path of one example.

    Parameters
    ----------
    trees
        the trees to draw, side by side; default: all, or the first that a page has room for, which the title says.
    kept
        bool, shape (n,): the splits that a pruning keeps. They are black, the pruned trees' leaves blue, pruned nodes grey.
    row
        an example of the cost sample: its path through the pruned trees is vermilion.
    notes
        a further line in the boxes of some nodes, by node, counted from 0: an error, a gain.
    first
        number of the first node, and of the first tree.
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
        for a tree, a row or a node that does not exist, for what is no pruning of this forest, and more nodes than can be read.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> figure = pm.plots.plot_trees(problem, trees=[0], kept=path.at_lam(0.01).kept)
    """
    state = _states(problem.ensemble, kept)
    unknown = [] if notes is None else [h for h in notes if not 0 <= h < problem.ensemble.n_nodes]
    if unknown:
        raise InvalidInputError(f"notes has node {unknown[0]}; the forest has the nodes 0 to {problem.ensemble.n_nodes - 1}")
    reached = np.zeros(problem.ensemble.n_nodes, dtype=bool) if row is None else _way(problem, row)
    drawing = draw_on(problem.ensemble, trees, named=named, first=first, ax=ax)
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
    drawing.dots([h for h in nodes if state[h] == "split"], color=BLACK, size=9.0)
    drawing.dots([h for h in nodes if state[h] == "leaf"], color=BLUE, marker="s", size=14.0)
    return drawing.figure


@checked
@styled
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

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> relaxation = pm.programs.solve_relaxation(two_trees(), 0.1, formulation="IP1")
    >>> figure = pm.plots.plot_point(two_trees(), relaxation.point)
    """
    values = dict(point.items())
    for name, value in values.items():
        if name.startswith(("z[", "w[")):
            check_argument(f"point[{name!r}]", value, float)
    paid = _paid(problem, values)
    cell = max((text_size(text, SMALL)[0] for text, _ in paid), default=0.0) + 0.28
    if len(paid) > MOST_PURCHASES:
        raise InvalidInputError(
            f"the picture would have {len(paid):,} purchases, at most {MOST_PURCHASES} can be read; take fewer examples"
        )

    def foot(width: float) -> float:
        return PURCHASE * -(-len(paid) // _columns(width, cell))

    least = max(3.4, min(PAGE[0], cell * min(3, len(paid)) + 0.4))
    drawing = draw_on(problem.ensemble, trees, named=True, first=first, ax=ax, least=least, foot=foot)
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
    _purchases(drawing, paid, cell)
    return drawing.figure


def draw_on(
    ensemble: Ensemble,
    trees: Sequence[int] | None,
    *,
    named: bool | None,
    ax: Axes | None,
    first: int = 0,
    least: float = 3.4,
    foot: Callable[[float], float] = lambda width: 0.0,
) -> Drawing:
    """Lay the trees out on axes, as large as fits the page or the axes given.

    A picture of its own is at least `least` inches wide; `foot` is the height of the room below the trees, by the width.

    Raises
    ------
    InvalidInputError
        for trees that do not exist, and more nodes than can be read.
    """
    chosen = list(range(ensemble.n_trees)) if trees is None else list(trees)
    layout = lay_out(ensemble, chosen)
    leaves = max(int((~ensemble.is_split[ensemble.nodes_of(t)]).sum()) for t in chosen)
    boxes = (len(layout.node) <= MOST_NAMED and leaves <= MOST_LEAVES) if named is None else named
    most = 10 * MOST_NAMED if boxes else MOST_DRAWN
    if trees is None:
        chosen = _first_trees(ensemble, most)
        layout = lay_out(ensemble, chosen)
    if len(layout.node) > most:
        raise InvalidInputError(
            f"the picture would have {len(layout.node):,} nodes, at most {most:,} can be read; draw fewer trees"
        )
    page = PAGE if ax is None else _inches(axes_for(ax, PAGE))
    title = text_size(f"tree {first + ensemble.n_trees}", SMALL)[0] + 0.12 if ensemble.n_trees > 1 else 0.0
    side, head, tail = (0.6, 0.7, 0.42) if boxes else (max(0.12, title / 2), 0.28, 0.1)
    for size in (1.0,) if boxes else SIZES:
        unit = BOXES if boxes else (DOTS[0] * size, max(DOTS[1] * size, LOWEST))
        lines = {"narrowest": title / unit[0], "between": 0.3 if boxes else max(GAP, 0.3 / unit[1])}
        # boxes in the caller's axes stand in one line
        widest = 40.0 if boxes and ax is not None else (page[0] - 2 * side) / unit[0]
        layout = lay_out(ensemble, chosen, widest=widest, **lines)
        width = layout.width * unit[0] + 2 * side
        high = layout.height * unit[1] + head + tail
        if width <= page[0] and high <= page[1]:
            break
    if ax is None:
        width = max(width, least)
        high += foot(width - 0.4)
        ax = axes_for(None, (width, high))
    else:
        width, below = page[0], foot(page[0] - 0.4)
        whole = BOXES if boxes else DOTS
        unit = (
            min(whole[0], (width - 2 * side) / max(layout.width, 1.0)),
            min(whole[1], max(page[1] - head - tail - below, 0.2) / max(layout.height, 1.0)),
        )
        high = layout.height * unit[1] + head + tail + below
    middle = layout.width / 2
    ax.set_xlim(middle - width / unit[0] / 2, middle + width / unit[0] / 2)
    ax.set_ylim((head - high) / unit[1], head / unit[1])
    ax.axis("off")
    if len(chosen) < ensemble.n_trees and trees is None:
        ax.set_title(f"the first {len(chosen)} of {ensemble.n_trees} trees", loc="left")
    drawing = Drawing(ax, ensemble, layout, boxes, size, unit)
    drawing.titles(chosen, first)
    return drawing


def _first_trees(ensemble: Ensemble, most: int) -> list[int]:
    """The first trees with at most so many nodes in all, at least one."""
    fitting = int(np.searchsorted(ensemble.tree_start[1:], most, side="right"))
    return list(range(max(1, fitting)))


def _inches(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in inches."""
    box, (width, height) = ax.get_position(), figure_of(ax).get_size_inches()
    return float(box.width * width), float(box.height * height)


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
    wrong = np.flatnonzero(keep & ~(above & ensemble.is_split))
    if wrong.size:
        why = "whose parent it cuts off" if ensemble.is_split[wrong[0]] else "which is a leaf"
        raise InvalidInputError(f"kept keeps node {wrong[0]}, {why}; give the splits of a pruning, such as Pruning.kept")
    return ["split" if k else "leaf" if a else "cut" for k, a in zip(keep.tolist(), above.tolist(), strict=True)]


def _way(problem: PruningProblem, row: int) -> NDArray[np.bool_]:
    """The nodes that a row of the cost sample reaches, bool, shape (n,)."""
    routing = problem.routing
    if not 0 <= row < routing.n_rows:
        raise InvalidInputError(f"row is {row}; the cost sample has the rows 0 to {routing.n_rows - 1}")
    place = np.array([int(np.flatnonzero(order == row)[0]) for order in routing.order])[problem.ensemble.tree_of]
    reached: NDArray[np.bool_] = (routing.start <= place) & (place < routing.stop)
    return reached


def _paid(problem: PruningProblem, values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The purchases of a point: the text of each box, and w; ordered by example, items paid once at the end."""
    found = []
    for name, w in values.items():
        if not name.startswith("w["):
            continue
        item, _, example = name[2:-1].partition(",")
        known = item.isdecimal() and int(item) < problem.costs.n_items
        if not known or not (example == "all" or (example.isdecimal() and int(example) < problem.n_rows)):
            raise InvalidInputError(
                f"point has {name}; the problem has the items 0 to {problem.costs.n_items - 1} "
                f"and the examples 0 to {problem.n_rows - 1}: give a point of this problem"
            )
        label = problem.costs.names[int(item)]
        label = f"feature {label}" if label.isdecimal() else label
        who = "" if problem.n_rows == 1 else "all: " if example == "all" else f"example {example}: "
        place = (example == "all", 0 if example == "all" else int(example), int(item))
        found.append((place, f"{who}{literal(label)}\nw = {_number(w)}", w))
    return [(text, w) for _, text, w in sorted(found, key=lambda entry: entry[0])]


def _purchases(drawing: Drawing, paid: Sequence[tuple[str, Any]], cell: float) -> None:
    """The purchases in lines below the trees, shaded like the nodes; `cell` is the width of each in inches."""
    (left, right), (bottom, _), (across, down) = drawing.ax.get_xlim(), drawing.ax.get_ylim(), drawing.unit
    width = (right - left) * across - 0.4
    columns = min(_columns(width, cell), len(paid))
    for k, (text, w) in enumerate(paid):
        row, column = divmod(k, columns)
        x = (left + right) / 2 + (column - (columns - 1) / 2) * width / columns / across
        y = bottom + PURCHASE * ((len(paid) - 1) // columns - row + 0.5) / down
        fill, colour = _shade(float(w))
        box = {"boxstyle": "square,pad=0.35", "fc": fill, "ec": VERMILION, "lw": 1.4}
        drawing.ax.text(x, y, text, ha="center", va="center", fontsize=SMALL, color=colour, bbox=box)


def _columns(width: float, cell: float) -> int:
    """How many cells fit side by side; rounding does not cost one."""
    return max(1, int(width / cell + 1e-6))


def _shade(value: float) -> tuple[Any, str]:
    """White at 0, blue at 1, and a text colour that can be read on it."""
    share = min(max(value, 0.0), 1.0)
    blue = np.array(to_rgb(BLUE))
    return tuple((1 - share + share * blue).tolist()), "white" if share > 0.6 else BLACK


def _number(value: object) -> str:
    """A number as text: a fraction as such, a float with three digits, anything else unchanged."""
    if isinstance(value, Fraction):
        return str(value)
    return f"{value + 0.0:.3g}" if isinstance(value, float | np.floating) else str(value)  # no -0
