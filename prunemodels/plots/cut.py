"""The minimum cut of a small instance, as a graph and as a picture.

    source -> h        profit_h = gain_h - lambda * evaluation_h where it is positive; else h -> sink with -profit_h      (1)
    h -> parent(h)     unlimited: a split is kept only below kept splits                                                  (2)
    u -> (m, i)        unlimited: an example that passes u pays the items of u                                            (3)
    (m, i) -> sink     lambda * omega_i c_m / N: the price of the purchase                                                (4)

The source side of a cut is a pruning: the splits that it keeps, and the purchases that they need. Its capacity is the pruning's
(OBJ) less the error of the all-roots forest, plus the sum of the positive profits. `solvers.closures.cut` solves the same
network at any size.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLACK, BLUE, VERMILION
from prunemodels.plots.trees import feature_name

SOURCE, SINK = "source", "sink"
MOST_DRAWN = 40
"""Largest number of splits and purchases in one picture; with more nothing can be read."""

LARGEST_DENOMINATOR = 10_000
"""Capacities are written as multiples of a unit if its denominator is at most this."""

GREY = "0.75"
LABEL = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"}


@checked
def closure_graph(problem: PruningProblem, lam: Price) -> nx.DiGraph:
    """The network (1)-(4) for networkx, in whole numbers.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.

    Returns
    -------
    networkx.DiGraph
        ``capacity`` on the arcs (1) and (4), none on the unlimited ones; ``graph.graph["unit"]`` is the amount in (OBJ) that 1
        stands for, a fraction. Nodes: "source", "sink", h for split h, (m, i) for a purchase, with i = "all" if it is paid once
        for all.
    """
    rate, ints, ensemble = exact(lam, "lam"), problem.integers, problem.ensemble
    profit = {
        h: int(ints.gain[h]) * ints.gain_unit - rate * int(ints.evaluation[h]) * ints.price_unit for h in problem.splits.tolist()
    }
    arcs, prices = problem.usage_arcs(), problem.purchase_price()
    price = {j: rate * int(prices[j]) * ints.price_unit for j in np.unique(arcs.head).tolist()}
    unit = Fraction(1, math.lcm(*(x.denominator for x in (*profit.values(), *price.values()))))
    graph: nx.DiGraph = nx.DiGraph(unit=unit)
    graph.add_nodes_from([SOURCE, SINK])
    for h, p in profit.items():
        graph.add_node(h)
        if p:
            ends = (SOURCE, h) if p > 0 else (h, SINK)
            graph.add_edge(*ends, capacity=int(abs(p) / unit))
        if ensemble.parent[h] >= 0:
            graph.add_edge(h, int(ensemble.parent[h]))
    for u, j in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
        graph.add_edge(u, purchase_name(problem, j))
    for j, p in price.items():
        graph.add_edge(purchase_name(problem, j), SINK, capacity=int(p / unit))
    return graph


def purchase_name(problem: PruningProblem, j: int) -> tuple[int, int | str]:
    """(m, i) of a purchase as `formulations.instance.usage_arcs` numbers it."""
    n_items, n_rows = problem.costs.n_items, problem.n_rows
    return (j // n_rows, j % n_rows) if j < n_items * n_rows else (j - n_items * n_rows, "all")


def source_side(pruning: Pruning) -> set[Hashable]:
    """The nodes of `closure_graph` on the source side of a pruning's cut."""
    purchases = np.unique(pruning.problem.usage_arcs(np.flatnonzero(pruning.kept).astype(np.int32)).head)
    splits = np.flatnonzero(pruning.kept).tolist()
    return {SOURCE, *splits, *(purchase_name(pruning.problem, j) for j in purchases.tolist())}


@dataclass(frozen=True, eq=False)
class _Network:
    """A network with its maximum flow and a cut; `inside` is the cut's source side."""

    problem: PruningProblem
    graph: nx.DiGraph
    flow: Mapping[Hashable, Mapping[Hashable, int]]
    flow_value: int
    inside: set[Hashable]

    @property
    def cut(self) -> list[tuple[Hashable, Hashable]]:
        """The arcs from the source side to the sink side."""
        return [(a, b) for a, b in self.graph.edges if a in self.inside and b not in self.inside]

    @property
    def cut_value(self) -> int:
        """Sum of their capacities; no unlimited arc leaves the source side of a pruning."""
        return sum(self.graph.edges[arc]["capacity"] for arc in self.cut)

    def amount(self, units: int) -> str:
        """A capacity as text: in units, or as a decimal number if the unit is unwieldy."""
        unit: Fraction = self.graph.graph["unit"]
        return str(units) if unit.denominator <= LARGEST_DENOMINATOR else f"{float(units * unit):.3g}"


@checked
def plot_cut(pruning: Pruning, lam: Price, *, first: int = 0, ax: Axes | None = None) -> Figure:
    """Draw the network for one lambda, a maximum flow in it, and the cut that a pruning defines.

    Parameters
    ----------
    pruning
        its splits and purchases are blue, the arcs of its cut vermilion. It is optimal for lambda exactly if the cut is as small
        as the flow; the line below says both.
    lam
        error per unit of cost, >= 0.
    first
        number of the first node.
    ax
        axes to draw on; default: a picture of its own.

    Returns
    -------
    Figure
        "2 / 3" at an arc of limited capacity: a flow of 2, a capacity of 3; at an unlimited arc only the flow is written.

    Raises
    ------
    InvalidInputError
        for more splits and purchases than can be read.
    """
    problem = pruning.problem
    graph = closure_graph(problem, lam)
    if len(graph) - 2 > MOST_DRAWN:
        raise InvalidInputError(
            f"the picture would have {len(graph) - 2:,} splits and purchases, at most {MOST_DRAWN} can be read"
        )
    value, flow = nx.maximum_flow(graph, SOURCE, SINK)
    network = _Network(problem, graph, flow, value, source_side(pruning))
    place = _places(network)
    height = max(y for _, y in place.values()) - min(y for _, y in place.values())
    if ax is None:
        ax = Picture(figsize=(7.6, max(2.6, 0.85 * height + 1.4)), layout="constrained").add_subplot()
    cut = set(network.cut)
    for a, b in graph.edges:
        _arc(ax, network, place, a, b, in_cut=(a, b) in cut)
    for node, at in place.items():
        blue = node in network.inside
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "linespacing": 1.15, "zorder": 4}
        box = {"boxstyle": "round,pad=0.3", "fc": BLUE if blue else "white", "ec": BLUE if blue else BLACK, "lw": 1.4}
        ax.text(*at, _title(problem, node, first), color="white" if blue else BLACK, bbox=box, **style)
    ax.set_xlim(-0.35, 3.35)
    bottom = min(y for _, y in place.values())
    ax.set_ylim(bottom - 1.0, max(y for _, y in place.values()) + 0.5)
    ax.text(1.5, bottom - 0.8, _caption(network), ha="center", va="center", fontsize=9)
    ax.axis("off")
    return cast("Figure", ax.get_figure())


def _places(network: _Network) -> dict[Hashable, tuple[float, float]]:
    """Source, splits, purchases and sink from left to right; splits below their parents, a little to the right of them."""
    problem, graph = network.problem, network.graph
    ensemble, y, line, tree = problem.ensemble, {}, 0.0, -1
    deepest = max(1, int(ensemble.depth.max()) - 1)
    for h in problem.splits.tolist():
        line += 0.4 if ensemble.tree_of[h] != tree and tree >= 0 else 0.0
        tree = int(ensemble.tree_of[h])
        y[h], line = -line, line + 1.0
    place: dict[Hashable, tuple[float, float]] = {h: (0.85 + 0.32 * float(ensemble.depth[h]) / deepest, y[h]) for h in y}
    bottom = -(line - 1.0)
    bought = [node for node in graph if isinstance(node, tuple)]
    bought.sort(key=lambda node: -float(np.mean([y[u] for u in graph.predecessors(node)])))
    for k, node in enumerate(bought):
        place[node] = (2.1, bottom * (k + 0.5) / len(bought))
    place[SOURCE], place[SINK] = (0.0, bottom / 2), (3.0, bottom / 2)
    return place


def _arc(ax: Axes, network: _Network, place: Mapping[Hashable, tuple[float, float]], a: Any, b: Any, *, in_cut: bool) -> None:
    """Draw an arc with its flow, and with its capacity if that is limited."""
    capacity, flow = network.graph.edges[a, b].get("capacity"), network.flow[a][b]
    colour = VERMILION if in_cut else BLACK if flow else GREY
    (xa, ya), (xb, yb) = place[a], place[b]
    start, end = (xa + _half(a), ya), (xb - _half(b), yb)
    style = f"arc3,rad={-0.35 if isinstance(a, int) and b == SINK else 0.0}"
    if isinstance(b, int) and a != SOURCE:  # round the corner, from the left side of a split to the bottom of its parent
        start, end, style = (xa - _half(a), ya), (xb - 0.07, yb - 0.2), "angle,angleA=180,angleB=-90,rad=5"
    arrow = FancyArrowPatch(start, end, arrowstyle="-|>", connectionstyle=style, mutation_scale=10, shrinkA=0, shrinkB=0)
    arrow.set(color=colour, lw=2.2 if in_cut else 1.2, ls=":" if capacity is None else "-", zorder=2 if flow or in_cut else 1)
    ax.add_patch(arrow)
    text = network.amount(flow) if flow else ""
    if capacity is not None:
        text = f"{network.amount(flow)} / {network.amount(capacity)}"
    if text:
        up = style.startswith("angle")
        x, y = (end[0], (ya + yb) / 2) if up else (start[0] + (end[0] - start[0]) * 0.55, ya + (yb - ya) * 0.55)
        ax.text(x, y, text, ha="center", va="center", fontsize=8, color=colour, bbox=LABEL, zorder=3)


def _half(node: Hashable) -> float:
    """Half the width of a box, with a small margin."""
    return 0.16 if node == SOURCE else 0.13 if node == SINK else 0.25


def _title(problem: PruningProblem, node: Hashable, first: int) -> str:
    """The text in a node's box."""
    if isinstance(node, int):
        return f"{first + node}  {feature_name(problem.ensemble, node)}"
    if isinstance(node, tuple):
        name = problem.costs.names[node[0]]
        item = f"feature {name}" if name.isdecimal() else name
        return f"pay {item}" + ("" if problem.n_rows == 1 else f"\n{'all' if node[1] == 'all' else f'example {node[1]}'}")
    return str(node)


def _caption(network: _Network) -> str:
    """The line below the picture: the values of cut and flow."""
    unit: Fraction = network.graph.graph["unit"]
    sums = " + ".join(network.amount(network.graph.edges[arc]["capacity"]) for arc in network.cut)
    sign = "=" if network.cut_value == network.flow_value else ">"
    total, flow = network.amount(network.cut_value), network.amount(network.flow_value)
    added = f"{sums} = {total}" if len(network.cut) > 1 else total
    units = f", in units of {unit}" if 1 < unit.denominator <= LARGEST_DENOMINATOR else ""
    return f"cut {added} {sign} flow {flow}{units}"
