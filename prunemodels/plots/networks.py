"""Networks as pictures: a tree's shortest-path graph, and the tree that proves a matrix totally unimodular.

The graph is drawn as in BP16's Figure 3: boundaries are on a line, and every arc of `formulations.programs.shortest_path` bends
above it, wide arcs above narrow ones. Arcs are nested or disjoint, so none cross. A network matrix is drawn as a directed tree
whose arcs are the matrix's rows, and as paths in it, which are the columns. If the transpose is the network matrix, rows and
columns change places. Names and numbers are those of the models, from 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Curve
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.programs.shortest_path import TreeNetwork
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from prunemodels.plots.matrices import math_name
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    DRAWING,
    GREEN,
    PURPLE,
    SMALL,
    TEXT,
    VERMILION,
    arrow,
    axes_for,
    figure_of,
    styled,
    text_size,
)
from prunemodels.plots.tree_layout import side_by_side

OFF_PATH = "0.45"
"""Grey of boundaries that the path does not touch."""

LABEL = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none"}

STEP, LEVEL = 0.78, 0.95
"""Inches between two vertices side by side, and between two levels."""

PATHS = (VERMILION, BLUE, GREEN, PURPLE)
"""Colours of paths, of Okabe and Ito's palette."""


@checked
def network_graph(network: TreeNetwork, cost: ArrayLike | None = None) -> nx.DiGraph:
    """The graph for networkx: boundaries 0 .. L, arcs with ``name``, number ``arc`` and, given costs, ``weight``.

    Raises
    ------
    InvalidInputError
        if `cost` has not one number for each arc.

    Examples
    --------
    >>> import prunemodels as pm
    >>> graph = pm.plots.network_graph(pm.programs.tree_network(pm.datasets.two_trees(), 0))
    >>> graph.number_of_nodes(), graph.number_of_edges()
    (6, 7)
    """
    if cost is not None and np.shape(cost) != (network.n_arcs,):
        raise InvalidInputError(
            f"cost has shape {np.shape(cost)}; give one number for each of the network's {network.n_arcs} arcs"
        )
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(network.n_boundaries))
    ends = zip(network.tail.tolist(), network.head.tolist(), strict=True)
    for k, ((a, b), name) in enumerate(zip(ends, network.arcs, strict=True)):
        graph.add_edge(a, b, name=name, arc=k)
    if cost is not None:
        for k, c in enumerate(np.asarray(cost).tolist()):
            graph.edges[int(network.tail[k]), int(network.head[k])]["weight"] = c
    return graph


@checked
@styled
def draw_network(network: TreeNetwork, *, path: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
    """Draw the graph of a tree: z in blue, w^t in vermilion, a path in bold.

    Parameters
    ----------
    path
        numbers of the arcs to highlight, as `TreeNetwork.path_of` gives them.
    ax
        axes to draw on; default: a figure of its own.

    Raises
    ------
    InvalidInputError
        if there are more arcs than can be read, and for arcs that the network does not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> figure = pm.plots.draw_network(pm.programs.tree_network(pm.datasets.two_trees(), 0))
    """
    if network.n_arcs > DRAWING.most_network_arcs:
        raise InvalidInputError(
            f"the picture would have {network.n_arcs:,} arcs, at most {DRAWING.most_network_arcs} can be read; "
            "draw a smaller tree"
        )
    level, bold = _levels(network), _highlighted(network, path)
    widest = max(text_size(math_name(name), TEXT)[0] for name in network.arcs)
    step = max(0.8, widest + 0.35)
    ax = axes_for(ax, (max(4.0, step * (network.n_boundaries - 1) + 0.9), max(2.4, 0.62 * level.max() + 1.2)))
    graph, (after, before) = network_graph(network), _offsets(network, level)
    for a, b, arc in sorted(graph.edges(data=True), key=lambda edge: bool(bold[edge[2]["arc"]])):
        k = arc["arc"]
        colour = BLUE if k < network.n_nodes else VERMILION
        ends = a + float(after[k]), b - float(before[k])
        _bend(ax, *ends, float(level[k]), math_name(arc["name"]), colour, faint=path is not None and not bold[k])
    place = {b: (float(b), 0.0) for b in graph}
    on_path = set() if path is None else {int(b) for b in np.append(network.head[bold], 0)}
    edges = ["black" if path is None or b in on_path else OFF_PATH for b in graph]
    nx.draw_networkx_nodes(graph, place, ax=ax, node_color="white", edgecolors=edges, node_size=330, linewidths=1.2)
    nx.draw_networkx_labels(graph, place, ax=ax, font_size=SMALL)
    ax.set_xlim(-0.4, network.n_boundaries - 0.6)
    ax.set_ylim(-0.35, float(level.max()) + 0.35)
    ax.axis("off")
    return figure_of(ax)


def _highlighted(network: TreeNetwork, path: ArrayLike | None) -> NDArray[np.bool_]:
    """Whether each arc is on the path."""
    bold = np.zeros(network.n_arcs, dtype=bool)
    if path is None:
        return bold
    arcs = np.asarray(path)
    if arcs.ndim != 1 or not arcs.size or arcs.dtype.kind not in "iu":
        raise InvalidInputError(f"path has shape {arcs.shape} and the type {arcs.dtype}; give the numbers of its arcs")
    wrong = arcs[(arcs < 0) | (arcs >= network.n_arcs)]
    if wrong.size:
        raise InvalidInputError(f"path has arc {wrong[0]}; give arcs of the network, 0 to {network.n_arcs - 1}")
    bold[arcs] = True
    return bold


def _levels(network: TreeNetwork) -> NDArray[np.int64]:
    """The height of each arc: one more than that of the highest arc below it."""
    level = np.ones(network.n_arcs, dtype=np.int64)
    for k in np.argsort(network.head - network.tail, kind="stable"):
        below = (network.tail >= network.tail[k]) & (network.head <= network.head[k])
        below[k] = False
        level[k] = 1 + level[below].max(initial=0)
    return level


def _offsets(network: TreeNetwork, level: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far right of its tail and left of its head each arc is drawn: at a boundary the highest arc is the innermost."""
    sides = []
    for end in (network.tail, network.head):
        offset = np.empty(network.n_arcs)
        for b in np.unique(end):
            arcs = np.flatnonzero(end == b)
            rank = np.empty(arcs.size, dtype=np.int64)
            rank[np.argsort(-level[arcs])] = np.arange(arcs.size)
            offset[arcs] = 0.03 + min(0.05, 0.14 / arcs.size) * rank
        sides.append(offset)
    return sides[0], sides[1]


def _bend(ax: Axes, start: float, end: float, height: float, name: str, colour: str, *, faint: bool) -> None:
    """Draw an arc up, across and down with round corners, so that nested arcs never touch, and its name in the middle."""
    foot, corner = 0.16, min(0.32, (end - start) / 2)
    points = [
        (start, foot),
        (start, height - corner),
        (start, height),
        (start + corner, height),
        (end - corner, height),
        (end, height),
        (end, height - corner),
        (end, foot),
    ]
    line, round_ = [Curve.LINETO], [Curve.CURVE3, Curve.CURVE3]
    curve = Curve(points, [Curve.MOVETO, *line, *round_, *line, *round_, *line])
    style: dict[str, Any] = {"lw": 1.0, "alpha": 0.35} if faint else {"lw": 1.8}
    arrow(ax, curve, color=colour, fill=True, **style)
    middle = (start + end) / 2
    ax.text(middle, height, name, ha="center", va="center", fontsize=TEXT, color=colour, alpha=0.5 if faint else 1, bbox=LABEL)


@checked
@styled
def plot_certificate(matrix: Any, network: NetworkMatrix, *, paths: Sequence[str] = (), ax: Axes | None = None) -> Figure:
    """Draw the tree of a network matrix, and some of its paths.

    Parameters
    ----------
    matrix
        see `proofs_checks.read_matrix`.
    network
        its certificate, from `proofs_checks.formulation_network` or any other source: it is checked first.
    paths
        names of at most four rows of the matrix (columns, where the matrix itself is the network matrix): their paths are
        coloured bands, along an arc where the entry is 1 and against it where it is -1.
    ax
        axes to draw on; default: a picture of its own.

    Returns
    -------
    Figure
        the hub R, the vertex with most arcs, has single arcs above it and the rest of the tree below.

    Raises
    ------
    InvalidInputError
        for a certificate that is wrong, a path that the matrix does not have, more paths than colours, or more arcs than can be
        read.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> program = pm.programs.solve_relaxation(problem, 0.1).program
    >>> figure = pm.plots.plot_certificate(program, pm.checks.formulation_network(problem, program))
    """
    given = read_matrix(matrix)
    verdict = check_network_matrix(given, network)
    if not verdict:
        raise InvalidInputError(f"network is no certificate of this matrix: {verdict.certificate}")
    if len(network.tail) > DRAWING.most_arcs:
        raise InvalidInputError(f"the picture would have {len(network.tail):,} arcs, at most {DRAWING.most_arcs} can be read")
    lines = given.transposed() if network.transposed else given
    if len(paths) > len(PATHS):
        raise InvalidInputError(f"paths has {len(paths)} names; give at most {len(PATHS)}")
    places = [_line_named(lines, name) for name in paths]
    x, y = _places(network)
    size = (max(3.4, STEP * float(x.max()) + 0.8), LEVEL * float(y.max() - y.min()) + 1.0 + 0.25 * len(paths))
    ax = axes_for(ax, size)
    _arcs(ax, network, x, y, [math_name(str(name)) for name in lines.rows], band=4 * len(paths) / 144)
    body = lines.entries
    for k, (name, j) in enumerate(zip(paths, places, strict=True)):
        entries = slice(body.indptr[j], body.indptr[j + 1])
        arcs, sign = body.indices[entries].tolist(), body.data[entries].tolist()
        pairs = [[(x[v], y[v]) for v in (network.tail[a], network.head[a])] for a in arcs]
        terms = "".join(f" {'+' if s > 0 else '−'} {math_name(str(lines.rows[a]))}" for a, s in zip(arcs, sign, strict=True))
        # the first bands are the widest, so that all bands are visible where paths share an arc
        style: dict[str, Any] = {"colors": PATHS[k], "lw": 4 * (len(paths) - k), "capstyle": "round", "zorder": 1 + 0.1 * k}
        ax.add_collection(LineCollection(pairs, label=f"{name}: {terms.removeprefix(' + ')}", alpha=0.6, **style))
    ax.set_xlim(-0.6, float(x.max()) + 0.6)
    ax.set_ylim(float(y.min()) - 0.3, float(y.max()) + 0.5)
    ax.axis("off")
    if paths:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=SMALL, frameon=False)
    return figure_of(ax)


def _line_named(lines: SignMatrix, name: str) -> int:
    """The column of that name."""
    for j, other in enumerate(lines.columns):
        if str(other) == name:
            return j
    raise InvalidInputError(f"there is no path {name!r}; there are {lines.columns[0]}, ..., {lines.columns[-1]}")


def _places(network: NetworkMatrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates: the vertex of most arcs is the hub, at height 0; single arcs lead up from it, all else is below."""
    graph: nx.Graph = nx.Graph(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    hub = max(sorted(graph), key=lambda v: graph.degree[v])
    single = [v for v in graph[hub] if graph.degree[v] == 1]
    below = graph.subgraph(set(graph) - set(single))
    depth = nx.single_source_shortest_path_length(below, hub)
    children = {v: found for v, found in nx.bfs_successors(below, hub) if found}
    x, y = np.zeros(network.n_vertices), np.ones(network.n_vertices)
    for v, place in side_by_side(children, list(depth)).items():
        x[v], y[v] = place, -depth[v]
    x[single] = x[hub] + np.arange(len(single)) - (len(single) - 1) / 2
    return x - x.min(), y


def _arcs(
    ax: Axes, network: NetworkMatrix, x: NDArray[np.float64], y: NDArray[np.float64], names: Sequence[str], *, band: float
) -> None:
    """Vertices, arrows, and the names of the arcs: `band` inches beside the middle, or at the upper end of single arcs."""
    ax.scatter(x, y, s=22, color=BLACK, zorder=3)
    degree = np.bincount(np.concatenate([network.tail, network.head]), minlength=network.n_vertices)
    hub = int(np.argmax(degree))
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "zorder": 5}
    text: dict[str, Any] = {"ha": "center", "fontsize": SMALL, "zorder": 4}
    ax.text(float(x[hub]), float(y[hub]), "R", bbox={"boxstyle": "circle,pad=0.25", "fc": "white", "ec": BLACK}, **style)
    for a, b, name in zip(network.tail.tolist(), network.head.tolist(), names, strict=True):
        line = FancyArrowPatch((x[a], y[a]), (x[b], y[b]), arrowstyle="-|>", mutation_scale=10, shrinkA=3)
        line.set(color="0.35", lw=1.0, zorder=2)
        line.shrinkB = 11 if b == hub else 4
        ax.add_patch(line)
        away, near = (a, b) if abs(y[a]) > abs(y[b]) else (b, a)
        if y[away] > 0:  # single arcs converge in the hub, but their upper ends stand apart
            ax.text(float(x[away]), float(y[away]) + 0.12, name, va="bottom", **text)
            continue
        # beside the arc on its outer side, in inches: the flatter the arc, the further away
        across, up = STEP * float(x[near] - x[away]), LEVEL * abs(float(y[near] - y[away]))
        slope = abs(across) / up
        aside = text_size(name, SMALL)[0] / 2 + 0.09 * slope + 0.05 + band * math.hypot(1.0, slope)
        middle, outwards = float(x[away] + x[near]) / 2, 1.0 if across <= 0 else -1.0
        ax.text(middle + outwards * aside / STEP, float(y[away] + y[near]) / 2, name, va="center", **text)
