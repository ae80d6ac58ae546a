"""A tree and its shortest-path graph as pictures, for notebooks; the graph is drawn as in BP16's Figure 3.

Boundaries are on a line, and every arc of `formulations.programs.shortest_path` bends above it, wide arcs above narrow ones. Arcs
are nested or disjoint, so none cross. Names and numbers are those of the models, from 0.
"""

from __future__ import annotations

import textwrap
from typing import Any, cast

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Curve
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.programs.shortest_path import TreeNetwork
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLUE, VERMILION

GREY = "0.45"
WHITE = "white"
LABEL = {"boxstyle": "round,pad=0.12", "fc": WHITE, "ec": "none"}
MOST_DRAWN = 400
"""Largest number of arcs or nodes in one picture; with more nothing can be read."""


@checked
def network_graph(network: TreeNetwork, cost: ArrayLike | None = None) -> nx.DiGraph:
    """The graph for networkx: boundaries 0 .. L, arcs with ``name``, number ``arc`` and, given costs, ``weight``."""
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
def draw_network(network: TreeNetwork, *, path: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
    """Draw the graph of a tree: z in blue, w^t in vermilion, a path in bold.

    Parameters
    ----------
    path
        arcs to highlight, as `solvers.column_generation.shortest_paths.cheapest_path` gives them.
    ax
        axes to draw on; default: a figure of its own.

    Raises
    ------
    InvalidInputError
        if there are more arcs than can be read.
    """
    _check_size(network.n_arcs, "arcs")
    level = _levels(network)
    if ax is None:
        size = (max(4.0, 1.15 * network.n_boundaries), max(2.4, 0.62 * level.max() + 1.2))
        ax = Picture(figsize=size, layout="constrained").add_subplot()
    bold = np.zeros(network.n_arcs, dtype=bool)
    if path is not None:
        bold[np.asarray(path, dtype=np.int64)] = True
    graph, (after, before) = network_graph(network), _offsets(network, level)
    for a, b, arc in sorted(graph.edges(data=True), key=lambda edge: bool(bold[edge[2]["arc"]])):
        k = arc["arc"]
        colour = BLUE if k < network.n_nodes else VERMILION
        ends = a + float(after[k]), b - float(before[k])
        _bend(ax, *ends, float(level[k]), _math(arc["name"]), colour, faint=path is not None and not bold[k])
    place = {b: (float(b), 0.0) for b in graph}
    on_path = set() if path is None else {int(b) for b in np.append(network.head[bold], 0)}
    edges = ["black" if path is None or b in on_path else GREY for b in graph]
    nx.draw_networkx_nodes(graph, place, ax=ax, node_color=WHITE, edgecolors=edges, node_size=330, linewidths=1.2)
    nx.draw_networkx_labels(graph, place, ax=ax, font_size=9)
    ax.set_xlim(-0.4, network.n_boundaries - 0.6)
    ax.set_ylim(-0.35, float(level.max()) + 0.35)
    ax.axis("off")
    return cast("Figure", ax.get_figure())


@checked
def draw_tree(problem: PruningProblem, t: int, *, kept: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
    """Draw tree t with the numbers of its nodes and the features of its splits.

    Parameters
    ----------
    kept
        bool: the splits that a pruning keeps, over the nodes of the tree (as `TreeNetwork.pruning_of` gives them) or of the
        forest (as `Pruning.kept` has them). Kept splits are drawn bold, their leaves blue, and pruned nodes grey.
    ax
        axes to draw on; default: a figure of its own.

    Raises
    ------
    InvalidInputError
        if `kept` has another length, or there are more nodes than can be read.
    """
    ensemble, nodes = problem.ensemble, problem.ensemble.nodes_of(t)
    n = nodes.stop - nodes.start
    _check_size(n, "nodes")
    left, right = ensemble.left[nodes] - nodes.start, ensemble.right[nodes] - nodes.start
    split = ensemble.is_split[nodes]
    x, depth = _places(left, right, split), ensemble.depth[nodes]
    state = _states(kept, problem, nodes)
    if ax is None:
        ax = Picture(figsize=(max(3.2, 0.95 * x.max() + 1.4), 0.95 * depth.max() + 1.3), layout="constrained").add_subplot()
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from((h, int(child)) for h in np.flatnonzero(split) for child in (left[h], right[h]))
    place = {h: (float(x[h]), -float(depth[h])) for h in graph}
    inside = [state[h] == "split" for h, _ in graph.edges]
    nx.draw_networkx_edges(
        graph,
        place,
        ax=ax,
        arrows=False,
        edge_color=["black" if i else "0.8" for i in inside],
        width=[1.6 if i else 1.0 for i in inside],
    )
    look = {"split": ("black", WHITE, "black"), "leaf": (BLUE, BLUE, WHITE), "cut": ("0.8", WHITE, "0.6")}
    for h in graph:
        edge, fill, text = look[state[h]]
        name = f"{nodes.start + h}\n{_feature(problem, nodes.start + h)}" if split[h] else str(nodes.start + h)
        box = {"boxstyle": "round,pad=0.3", "fc": fill, "ec": edge, "lw": 1.4}
        ax.text(*place[h], name, ha="center", va="center", fontsize=9, color=text, bbox=box, linespacing=1.15)
    ax.set_xlim(-0.6, float(x.max()) + 0.6)
    ax.set_ylim(-float(depth.max()) - 0.45, 0.45)
    ax.axis("off")
    return cast("Figure", ax.get_figure())


def _check_size(count: int, of: str) -> None:
    if count > MOST_DRAWN:
        raise InvalidInputError(f"the picture would have {count:,} {of}, at most {MOST_DRAWN} can be read; draw a smaller tree")


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
    arrow = FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=9, color=colour, fill=True, **style)
    arrow.set_transform(ax.transData)
    ax.add_patch(arrow)
    middle = (start + end) / 2
    ax.text(middle, height, name, ha="center", va="center", fontsize=10, color=colour, alpha=0.5 if faint else 1, bbox=LABEL)


def _math(name: str) -> str:
    """``z[3]`` as a formula."""
    kind, _, inside = name.rstrip("]").partition("[")
    index = inside.replace("all", r"\mathrm{all}").replace(",", "{,}")
    return f"$z_{{{index}}}$" if kind == "z" else f"$w^t_{{{index}}}$"


def _places(left: NDArray[np.int32], right: NDArray[np.int32], split: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Horizontal places: leaves side by side, splits in the middle of their children. Parents come before their children."""
    n = len(left)
    leaves = np.ones(n, dtype=np.int64)
    for h in np.flatnonzero(split)[::-1]:
        leaves[h] = leaves[left[h]] + leaves[right[h]]
    x = np.zeros(n)
    for h in np.flatnonzero(split):
        x[left[h]] = x[h]
        x[right[h]] = x[h] + leaves[left[h]]
    for h in np.flatnonzero(split)[::-1]:
        x[h] = (x[left[h]] + x[right[h]]) / 2
    return x


def _states(kept: ArrayLike | None, problem: PruningProblem, nodes: slice) -> list[str]:
    """The state of each node of the tree after pruning: a split, a leaf, or cut off."""
    ensemble = problem.ensemble
    n = nodes.stop - nodes.start
    if kept is None:
        return ["split" if s else "leaf" for s in ensemble.is_split[nodes]]
    keep = np.asarray(kept, dtype=bool)
    if keep.shape == (ensemble.n_nodes,):
        keep = keep[nodes]
    if keep.shape != (n,):
        raise InvalidInputError(f"kept has shape {keep.shape}; give one bool for each of the tree's {n} nodes, or of all nodes")
    parent = ensemble.parent[nodes] - nodes.start
    above = keep[np.maximum(parent, 0)] | (parent < 0)
    return ["split" if keep[h] else "leaf" if above[h] else "cut" for h in range(n)]


def _feature(problem: PruningProblem, h: int) -> str:
    """The feature that a split tests, by name where there are names; a bare number would look like a node's."""
    ensemble = problem.ensemble
    f = int(ensemble.feature[h])
    name = f"x{f}" if ensemble.feature_names is None else str(ensemble.feature_names[f])
    return f"feature {name}" if name.isdecimal() else textwrap.fill(name, 12)
