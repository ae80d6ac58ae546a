"""Trees on axes: where their nodes stand, and how they are drawn, in boxes with names or in dots.

The leaves of a tree are side by side at distance 1; a split is in the middle above its children, and its height is its depth.
Trees follow one another with a free place between them; when a line is full, the next one begins below it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from prunemodels.plots.picture import DRAWING, INK, SMALL, axes_for, boxed, figure_of, literal, text_size

PAGE = (9.5, 9.0)
"""Inches: the largest picture that trees are fitted into; only a single tree in boxes may be wider."""

BOXES, DOTS = (0.95, 1.05), (0.2, 0.32)
"""Inches between two leaves and between two levels, in boxes and in dots at full size."""

SIZES = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3, 0.22, 0.16, 0.11, 0.07, 0.04)
"""Sizes of trees in dots: the largest at which they fit the page is taken."""


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """Places of the nodes of some trees: `node` are those drawn, tree by tree.

    `x` and `y` are over all nodes of the forest, NaN at those not drawn; y is 0 at the first line's roots and falls.
    """

    node: NDArray[np.int64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]

    @property
    def width(self) -> float:
        """Distance between the leftmost and the rightmost node."""
        return float(np.nanmax(self.x))

    @property
    def height(self) -> float:
        """Distance between the highest and the lowest node."""
        return -float(np.nanmin(self.y))


def lay_out(
    ensemble: Ensemble,
    trees: Sequence[int] | None = None,
    *,
    widest: float = 40.0,
    narrowest: float = 0.0,
    between: float = DRAWING.gap,
) -> TreeLayout:
    """Place trees side by side, in this order; default: all.

    A line is full when its next tree would exceed the width `widest`; a wider tree has a line of its own. Two roots in a line are
    at least `narrowest` apart, so that there is room for a title above each; `between` are the free places between two lines.
    """
    chosen = list(range(ensemble.n_trees)) if trees is None else [int(t) for t in trees]
    wrong = [t for t in chosen if not 0 <= t < ensemble.n_trees]
    if wrong or not chosen or len(set(chosen)) < len(chosen):
        raise InvalidInputError(f"trees is {chosen}; give different numbers between 0 and {ensemble.n_trees - 1}, at least one")
    x, y = np.full(ensemble.n_nodes, np.nan), np.full(ensemble.n_nodes, np.nan)
    left_end, top, deepest, last_root = 0.0, 0.0, 0.0, -math.inf
    for t in chosen:
        nodes = ensemble.nodes_of(t)
        own, depth = _places(ensemble, nodes), ensemble.depth[nodes]
        start = max(left_end, last_root + narrowest - float(own[0]))
        if left_end > 0 and start + own.max() > widest:
            start, top, deepest = 0.0, top + deepest + 1 + between, 0.0
        x[nodes], y[nodes] = own + start, -(top + depth)
        left_end, deepest = start + float(own.max()) + 1 + DRAWING.gap, max(deepest, float(depth.max()))
        last_root = start + float(own[0])
    return TreeLayout(np.concatenate([np.arange(ensemble.n_nodes)[ensemble.nodes_of(t)] for t in chosen]), x, y)


def _places(ensemble: Ensemble, nodes: slice) -> NDArray[np.float64]:
    """Horizontal places in a tree; parents come first."""
    left, right = (side[nodes] - nodes.start for side in (ensemble.left, ensemble.right))
    children = {h: (int(left[h]), int(right[h])) for h in np.flatnonzero(ensemble.is_split[nodes]).tolist()}
    x = side_by_side(children, range(nodes.stop - nodes.start))
    return np.array([x[h] for h in range(len(x))])


def side_by_side(children: Mapping[int, Sequence[int]], order: Sequence[int]) -> dict[int, float]:
    """Places of vertices: leaves 0, 1, 2 ... from left to right, all others in the middle above their children.

    `children` are those of each vertex that has some, from left to right; `order` has all vertices, parents before children.
    """
    leaves, x = dict.fromkeys(order, 1), dict.fromkeys(order, 0.0)
    for v in reversed(order):
        leaves[v] = sum(leaves[w] for w in children[v]) if v in children else 1
    for v in order:
        at = x[v]
        for w in children.get(v, ()):
            x[w], at = at, at + leaves[w]
    for v in reversed(order):
        if v in children:
            x[v] = (x[children[v][0]] + x[children[v][-1]]) / 2
    return x


@dataclass(frozen=True)
class Look:
    """How a node is drawn: colours of its edge, its inside and its text, and further lines below its name."""

    edge: Any
    fill: Any
    text: Any
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Drawing:
    """Trees on axes without a frame; nodes are boxes with names where `named`, else dots.

    `size` is that of dots and lines, 1 at full size; `unit` has the inches of a step to the right and of a step down.
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
            boxed(self.ax, self.place(h), "\n".join([*lines, *one.lines]), one.fill, one.edge, one.text)

    def dots(self, nodes: Sequence[int], *, size: float, marker: str = "o", **style: Any) -> None:
        """Draw some nodes as dots."""
        at = np.asarray(nodes, dtype=np.int64)
        self.ax.scatter(
            self.layout.x[at], self.layout.y[at], s=size * max(self.size, 0.2), marker=marker, linewidths=0.6, zorder=2, **style
        )

    def place(self, h: int) -> tuple[float, float]:
        """The place of a node."""
        return float(self.layout.x[h]), float(self.layout.y[h])


def draw_on(
    ensemble: Ensemble,
    trees: Sequence[int] | None,
    *,
    named: bool | None,
    ax: Axes | None,
    first: int = 0,
) -> Drawing:
    """Lay the trees out on axes, as large as fits the page or the axes given."""
    chosen = list(range(ensemble.n_trees)) if trees is None else list(trees)
    layout = lay_out(ensemble, chosen)
    leaves = max(int((~ensemble.is_split[ensemble.nodes_of(t)]).sum()) for t in chosen)
    boxes = (len(layout.node) <= DRAWING.most_named and leaves <= DRAWING.most_leaves) if named is None else named
    most = 10 * DRAWING.most_named if boxes else DRAWING.most_tree_nodes
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
        unit = BOXES if boxes else (DOTS[0] * size, max(DOTS[1] * size, DRAWING.lowest))
        lines = {"narrowest": title / unit[0], "between": 0.3 if boxes else max(DRAWING.gap, 0.3 / unit[1])}
        # boxes in the caller's axes stand in one line
        widest = 40.0 if boxes and ax is not None else (page[0] - 2 * side) / unit[0]
        layout = lay_out(ensemble, chosen, widest=widest, **lines)
        width = layout.width * unit[0] + 2 * side
        high = layout.height * unit[1] + head + tail
        if width <= page[0] and high <= page[1]:
            break
    if ax is None:
        width = max(width, DRAWING.least_width)
        ax = axes_for(None, (width, high))
    else:
        width = page[0]
        whole = BOXES if boxes else DOTS
        unit = (
            min(whole[0], (width - 2 * side) / max(layout.width, 1.0)),
            min(whole[1], max(page[1] - head - tail, 0.2) / max(layout.height, 1.0)),
        )
        high = layout.height * unit[1] + head + tail
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
