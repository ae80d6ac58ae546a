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
import textwrap
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.path import Path

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    DRAWING,
    SMALL,
    VERMILION,
    arrow,
    axes_for,
    boxed,
    figure_of,
    literal,
    styled,
    text_size,
)
from prunemodels.plots.tree_layout import feature_name

SOURCE, SINK = "source", "sink"
FAINT = "0.7"
ROW, PORT, FAN, CROSSING = 0.62, 0.32, 0.5, 1.3
"""Inches: the least distance of two rows, the distance of two arcs that leave a split, and the widths of the parts without text
in which arcs spread and cross."""


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

    Examples
    --------
    >>> import prunemodels as pm
    >>> graph = pm.plots.closure_graph(pm.datasets.two_trees(), 0.25)
    >>> graph.number_of_nodes(), graph.number_of_edges()
    (10, 15)
    """
    rate, ints, ensemble = exact(lam, "lam"), problem.exact_numbers, problem.ensemble
    profit = {
        h: int(ints.gain[h]) * ints.gain_unit - rate * int(ints.evaluation[h]) * ints.price_unit
        for h in problem.usage.splits.tolist()
    }
    arcs, prices = problem.usage.arcs(), problem.purchase_price()
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
    n_items, n_rows = problem.costs.n_items, problem.usage.n_rows
    return (j // n_rows, j % n_rows) if j < n_items * n_rows else (j - n_items * n_rows, "all")


def source_side(pruning: Pruning) -> set[Hashable]:
    """The nodes of `closure_graph` on the source side of a pruning's cut."""
    purchases = np.unique(pruning.problem.usage.arcs(np.flatnonzero(pruning.kept).astype(np.int32)).head)
    splits = np.flatnonzero(pruning.kept).tolist()
    return {SOURCE, *splits, *(purchase_name(pruning.problem, j) for j in purchases.tolist())}


@checked
@styled
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

    Examples
    --------
    >>> import prunemodels as pm
    >>> figure = pm.plots.plot_cut(pm.solve(pm.datasets.two_trees(), lam=0.25).pruning, 0.25)
    """
    problem, graph = pruning.problem, closure_graph(pruning.problem, lam)
    if len(graph) - 2 > DRAWING.most_cut_nodes:
        raise InvalidInputError(
            f"the picture would have {len(graph) - 2:,} splits and purchases, at most {DRAWING.most_cut_nodes} can be read"
        )
    total, flow = nx.maximum_flow(graph, SOURCE, SINK)
    inside = source_side(pruning)
    for a, b, arc in graph.edges(data=True):
        # at an unlimited arc stands the flow, if there is any
        limit = f" / {_amount(graph, arc['capacity'])}" if "capacity" in arc else ""
        shown = _amount(graph, flow[a][b]) if limit or flow[a][b] else ""
        arc.update(flow=flow[a][b], cut=a in inside and b not in inside, text=shown + limit)
    for node, drawn in graph.nodes(data=True):
        title = _title(problem, node, first)
        drawn.update(title=title, half=_half(title))
    plan = _Plan.of(problem, graph)
    caption = textwrap.fill(_caption(graph, total), int(plan.width / 0.075))
    foot = 0.35 + 0.16 * caption.count("\n")
    ax = axes_for(ax, (plan.width + 0.3, plan.height + foot + 0.5))
    for a, b, arc in graph.edges(data=True):
        corners, at = plan.route(a, b)
        known = bool(arc["flow"] or arc["cut"])
        colour = VERMILION if arc["cut"] else BLACK if known else FAINT
        look: dict[str, Any] = {"lw": 2.2 if arc["cut"] else 1.2, "ls": "-" if "capacity" in arc else ":"}
        arrow(ax, Path(corners), color=colour, **look, fill=True, zorder=2 if known else 1)
        if arc["text"]:
            colour = colour if known else "0.45"
            ax.text(*at, arc["text"], ha="center", va="center", fontsize=DRAWING.figures_size, color=colour, zorder=3)
    for node, drawn in graph.nodes(data=True):
        colours = (BLUE, BLUE, "white") if node in inside else ("white", BLACK, BLACK)
        boxed(ax, drawn["at"], literal(drawn["title"]), *colours)
    ax.set(xlim=(-0.15, plan.width + 0.15), ylim=(-plan.height - foot - 0.15, 0.15))
    ax.text(plan.width / 2, -plan.height - foot / 2, caption, ha="center", va="center", fontsize=SMALL)
    ax.axis("off")
    return figure_of(ax)


Point = tuple[float, float]
Arc = tuple[Hashable, Hashable]


@dataclass(frozen=True, eq=False)
class _Plan:
    """Where everything stands, in inches from the upper left corner; numbers have columns of their own, in which no arcs cross.

    From left to right: the source, its arcs' numbers, the splits, each to the right of its parent, the numbers of the arcs to
    purchases, the column where these arcs cross, the purchases, the numbers of their prices, the sink. An arc from a split to
    the sink has a row of its own among the purchases.
    """

    graph: nx.DiGraph
    source_numbers: Point
    split_numbers: Point
    price_numbers: Point
    width: float
    height: float

    @classmethod
    def of(cls, problem: PruningProblem, graph: nx.DiGraph) -> _Plan:
        """Set the columns side by side. Nodes get their middles ``at``, arcs that leave a split to the right their ``port``."""
        half, arcs, nodes = graph.nodes(data="half"), list(graph.edges), graph.nodes

        def widest(chosen: list[Arc]) -> float:
            return max((text_size(graph.edges[arc]["text"], DRAWING.figures_size)[0] for arc in chosen), default=0.0)

        splits, bought = problem.usage.splits.tolist(), [node for node in graph if isinstance(node, tuple)]
        rows, left_height = _split_rows(problem, graph)
        order = [*bought, *(h for h in splits if (h, SINK) in graph.edges)]
        middle = {n: rows[n] if isinstance(n, int) else float(np.mean([rows[u] for u in graph.predecessors(n)])) for n in order}
        order.sort(key=lambda node: -middle[node])  # a purchase is at the mean height of the splits that it is for
        steps = [max(0.42, 2 * half[node][1] + 0.22) if isinstance(node, tuple) else 0.36 for node in order]
        height = max(left_height, sum(steps), ROW)
        rows = {h: y - (height - left_height) / 2 for h, y in rows.items()}
        down = np.cumsum([0.0, *steps]) + (height - sum(steps)) / 2
        slot = {node: -float(down[k] + steps[k] / 2) for k, node in enumerate(order)}

        start = 2 * half[SOURCE][0] + FAN
        numbers = start + widest([arc for arc in arcs if arc[0] == SOURCE]) + 0.1
        indent = max(0.3, widest([(a, b) for a, b in arcs if isinstance(a, int) and isinstance(b, int)]) + 0.24)
        for h in splits:
            nodes[h]["at"] = numbers + 0.2 + indent * float(problem.ensemble.depth[h]) + half[h][0], rows[h]
        right = max((nodes[h]["at"][0] + half[h][0] for h in splits), default=numbers) + FAN / 2
        ports = right, right + 0.12 + widest([arc for arc in arcs if isinstance(arc[1], tuple)])
        left = ports[1] + CROSSING
        for node in bought:
            nodes[node]["at"] = left + half[node][0], slot[node]
        end = left + 2 * max((half[node][0] for node in bought), default=0.0)
        prices = end + 0.05, end + 0.17 + widest([arc for arc in arcs if arc[1] == SINK])
        nodes[SOURCE]["at"] = half[SOURCE][0], -height / 2
        nodes[SINK]["at"] = prices[1] + FAN + half[SINK][0], -height / 2
        for h in splits:
            nodes[h]["slot"] = slot.get(h)
            heads = sorted((b for b in graph[h] if not isinstance(b, int)), key=lambda b: -slot[h if b == SINK else b])
            for k, b in enumerate(heads):
                graph.edges[h, b]["port"] = rows[h] + PORT * ((len(heads) - 1) / 2 - k)
        return cls(graph, (start, numbers), ports, prices, nodes[SINK]["at"][0] + half[SINK][0], height)

    def route(self, a: Hashable, b: Hashable) -> tuple[list[Point], Point]:
        """The corners of an arc, and the middle of its number."""
        nodes, above = self.graph.nodes, 0.09
        (xa, ya), (xb, yb) = nodes[a]["at"], nodes[b]["at"]
        start, end = xa + nodes[a]["half"][0], xb - nodes[b]["half"][0]
        if a == SOURCE:
            below_another = any(isinstance(c, int) for c in self.graph[b])
            level = yb + (0.06 if below_another else 0.0)
            near, far = self.source_numbers
            return [(start, ya), (near, level), (end, level)], ((near + far) / 2, level + above)
        if isinstance(b, int):  # up to the parent, from the left side of a split to below its parent's box
            corner, level = end + 0.12, ya - 0.06
            left = xa - nodes[a]["half"][0]
            return [(left, level), (corner, level), (corner, yb - nodes[b]["half"][1])], ((corner + left) / 2, level - above)
        near, far = self.price_numbers
        if isinstance(a, tuple):
            return [(start, ya), (far, ya), (end, yb)], ((near + far) / 2, ya + above)
        level, (first, last) = self.graph.edges[a, b]["port"], self.split_numbers
        if b == SINK:
            slot = nodes[a]["slot"]
            way = [(start, ya), (first, level), (last, level), (last + CROSSING, slot), (far, slot), (end, yb)]
            return way, ((near + far) / 2, slot + above)
        return [(start, ya), (first, level), (last, level), (end, yb)], ((first + last) / 2, level + above)


def _split_rows(problem: PruningProblem, graph: nx.DiGraph) -> tuple[dict[int, float], float]:
    """The height of each split, below that of its parent, with room for the arcs that leave it; and the height of all."""
    ensemble, rows, y, tree = problem.ensemble, {}, 0.0, -1
    for h in problem.usage.splits.tolist():
        y += 0.25 if ensemble.tree_of[h] != tree and tree >= 0 else 0.0
        tree = int(ensemble.tree_of[h])
        leaving = sum(not isinstance(b, int) for b in graph[h])
        step = max(ROW, PORT * leaving + 0.1)
        rows[h], y = -(y + step / 2), y + step
    return rows, y


def _half(title: str) -> Point:
    """Half the width and half the height of a box with this text, its padding included."""
    width, height = text_size(title, SMALL)
    pad = 0.3 * SMALL / 72 + 0.02
    return width / 2 + pad, height / 2 + pad


def _title(problem: PruningProblem, node: Hashable, first: int) -> str:
    """The text in a node's box."""
    if isinstance(node, int):
        return f"{first + node}  {feature_name(problem.ensemble, node)}"
    if isinstance(node, tuple):
        name = problem.costs.names[node[0]]
        item = f"feature {name}" if name.isdecimal() else name
        return f"pay {item}" + ("" if problem.usage.n_rows == 1 else f"\n{'all' if node[1] == 'all' else f'example {node[1]}'}")
    return str(node)


def _amount(graph: nx.DiGraph, units: int) -> str:
    """A capacity as text: in units, or as a decimal number if the unit is unwieldy."""
    unit: Fraction = graph.graph["unit"]
    return str(units) if unit.denominator <= DRAWING.largest_denominator else f"{float(units * unit):.3g}"


def _caption(graph: nx.DiGraph, flow: int) -> str:
    """The line below the picture: the values of cut and flow. No unlimited arc leaves the source side of a pruning."""
    unit: Fraction = graph.graph["unit"]
    cut = [arc["capacity"] for _, _, arc in graph.edges(data=True) if arc["cut"]]
    sums, total = " + ".join(_amount(graph, capacity) for capacity in cut), _amount(graph, sum(cut))
    added = f"{sums} = {total}" if len(cut) > 1 else total
    units = f", in units of {unit}" if 1 < unit.denominator <= DRAWING.largest_denominator else ""
    return f"cut {added} {'=' if sum(cut) == flow else '>'} flow {_amount(graph, flow)}{units}"
