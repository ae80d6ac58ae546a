"""A tree and its shortest-path graph as pictures, for notebooks; the graph is drawn as in BP16's Figure 3.

Boundaries are on a line, and every arc of `formulations.programs.shortest_path` bends above it, wide arcs above narrow ones. Arcs
are nested or disjoint, so none cross. Names and numbers are those of the models, from 0.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Curve
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import Natural, checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.programs.shortest_path import TreeNetwork
from prunemodels.plots.picture import BLUE, SMALL, TEXT, VERMILION, axes_for, figure_of, styled, text_size
from prunemodels.plots.trees import plot_trees

GREY = "0.45"
WHITE = "white"
LABEL = {"boxstyle": "round,pad=0.12", "fc": WHITE, "ec": "none"}
MOST_DRAWN = 60
"""Largest number of arcs in one picture; with more it is far wider than a page."""


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
    >>> from formulations.instance.papers import two_trees
    >>> from formulations.programs.shortest_path import tree_network
    >>> graph = pm.plots.network_graph(tree_network(two_trees(), 0))
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
    >>> from formulations.instance.papers import two_trees
    >>> from formulations.programs.shortest_path import tree_network
    >>> figure = pm.plots.draw_network(tree_network(two_trees(), 0))
    """
    if network.n_arcs > MOST_DRAWN:
        raise InvalidInputError(
            f"the picture would have {network.n_arcs:,} arcs, at most {MOST_DRAWN} can be read; draw a smaller tree"
        )
    level, bold = _levels(network), _highlighted(network, path)
    widest = max(text_size(_math(name), TEXT)[0] for name in network.arcs)
    step = max(0.8, widest + 0.35)
    ax = axes_for(ax, (max(4.0, step * (network.n_boundaries - 1) + 0.9), max(2.4, 0.62 * level.max() + 1.2)))
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
    nx.draw_networkx_labels(graph, place, ax=ax, font_size=SMALL)
    ax.set_xlim(-0.4, network.n_boundaries - 0.6)
    ax.set_ylim(-0.35, float(level.max()) + 0.35)
    ax.axis("off")
    return figure_of(ax)


@checked
def draw_tree(problem: PruningProblem, t: Natural, *, kept: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
    """Draw tree t, and a pruning of it: `plot_trees` of one tree.

    Parameters
    ----------
    kept
        bool, the splits that a pruning keeps: those of the tree (as `TreeNetwork.pruning_of` gives them) or of the
        forest (as `Pruning.kept` has them). Kept splits are drawn bold, their leaves blue, and pruned nodes grey.
    ax
        axes to draw on; default: a figure of its own.

    Raises
    ------
    InvalidInputError
        if there is no such tree, if `kept` has another length, or there are more nodes than can be read.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> figure = pm.plots.draw_tree(two_trees(), 0)
    """
    ensemble = problem.ensemble
    if t >= ensemble.n_trees:
        raise InvalidInputError(f"t is {t}; give a tree, 0 to {ensemble.n_trees - 1}")
    if kept is None:
        return plot_trees(problem, trees=[t], ax=ax)
    nodes, given = ensemble.nodes_of(t), np.asarray(kept, dtype=bool)
    n = nodes.stop - nodes.start
    if given.shape not in ((n,), (ensemble.n_nodes,)):
        raise InvalidInputError(f"kept has shape {given.shape}; give one bool for each of the tree's {n} nodes, or of all nodes")
    whole = np.zeros(ensemble.n_nodes, dtype=bool)
    whole[nodes] = given if given.shape == (n,) else given[nodes]
    return plot_trees(problem, trees=[t], kept=whole, ax=ax)


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
    arrow = FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=9, color=colour, fill=True, **style)
    arrow.set_transform(ax.transData)
    ax.add_patch(arrow)
    middle = (start + end) / 2
    ax.text(middle, height, name, ha="center", va="center", fontsize=TEXT, color=colour, alpha=0.5 if faint else 1, bbox=LABEL)


def _math(name: str) -> str:
    """``z[3]`` as a formula."""
    kind, _, inside = name.rstrip("]").partition("[")
    index = inside.replace("all", r"\mathrm{all}").replace(",", "{,}")
    return f"$z_{{{index}}}$" if kind == "z" else f"$w^t_{{{index}}}$"
