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
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from prunemodels.plots.picture import BLACK, BLUE, SMALL, VERMILION, axes_for, figure_of, literal, styled, text_size
from prunemodels.plots.trees import feature_name

SOURCE, SINK = "source", "sink"
MOST_DRAWN = 40
"""Largest number of splits and purchases in one picture; with more nothing can be read."""

LARGEST_DENOMINATOR = 10_000
"""Capacities are written as multiples of a unit if its denominator is at most this."""

FAINT = "0.7"
FIGURES = 8.0
"""Size of the numbers at the arcs, in points."""

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
    >>> from formulations.instance.papers import two_trees
    >>> graph = pm.plots.closure_graph(two_trees(), 0.25)
    >>> graph.number_of_nodes(), graph.number_of_edges()
    (10, 15)
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
class _DrawnCut:
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

    def label(self, a: Hashable, b: Hashable) -> str:
        """The number at an arc: flow and capacity, or at an unlimited arc the flow, if there is any."""
        capacity, flow = self.graph.edges[a, b].get("capacity"), self.flow[a][b]
        if capacity is not None:
            return f"{self.amount(flow)} / {self.amount(capacity)}"
        return self.amount(flow) if flow else ""

    def has_parent(self, node: Hashable) -> bool:
        """Whether a node is a split below another one."""
        return isinstance(node, int) and bool(self.problem.ensemble.parent[node] >= 0)


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
    >>> from formulations.instance.papers import two_trees
    >>> figure = pm.plots.plot_cut(pm.solve(two_trees(), lam=0.25).pruning, 0.25)
    """
    problem = pruning.problem
    graph = closure_graph(problem, lam)
    if len(graph) - 2 > MOST_DRAWN:
        raise InvalidInputError(
            f"the picture would have {len(graph) - 2:,} splits and purchases, at most {MOST_DRAWN} can be read"
        )
    value, flow = nx.maximum_flow(graph, SOURCE, SINK)
    network = _DrawnCut(problem, graph, flow, value, source_side(pruning))
    plan = _Plan.of(network, first)
    caption = textwrap.fill(_caption(network), int(plan.width / 0.075))
    foot = 0.35 + 0.16 * caption.count("\n")
    ax = axes_for(ax, (plan.width + 0.3, plan.height + foot + 0.5))
    cut = set(network.cut)
    for a, b in graph.edges:
        _arc(ax, network, plan, a, b, in_cut=(a, b) in cut)
    for node, at in plan.place.items():
        blue = node in network.inside
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "linespacing": 1.15, "zorder": 4}
        box = {"boxstyle": "round,pad=0.3", "fc": BLUE if blue else "white", "ec": BLUE if blue else BLACK, "lw": 1.4}
        ax.text(*at, literal(_title(problem, node, first)), color="white" if blue else BLACK, bbox=box, **style)
    ax.set_xlim(-0.15, plan.width + 0.15)
    ax.set_ylim(-plan.height - foot - 0.15, 0.15)
    ax.text(plan.width / 2, -plan.height - foot / 2, caption, ha="center", va="center", fontsize=SMALL)
    ax.axis("off")
    return figure_of(ax)


Point = tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Plan:
    """Where everything stands, in inches from the upper left corner; numbers have columns of their own, in which no arcs cross.

    From left to right: the source, its arcs' numbers, the splits, each to the right of its parent, the numbers of the arcs to
    purchases, the column where these arcs cross, the purchases, the numbers of their prices, the sink. An arc from a split to
    the sink has a row of its own among the purchases.
    """

    network: _DrawnCut
    place: dict[Hashable, Point]
    half: dict[Hashable, Point]
    through: dict[Hashable, float]
    port: dict[tuple[Hashable, Hashable], float]
    source_numbers: Point
    split_numbers: Point
    price_numbers: Point
    width: float
    height: float

    @classmethod
    def of(cls, network: _DrawnCut, first: int) -> _Plan:
        """Measure the texts and set the columns side by side."""
        problem, graph = network.problem, network.graph
        half = {node: _half(_title(problem, node, first)) for node in graph}
        limited = {arc: network.label(*arc) for arc in graph.edges}

        def widest(arcs: Iterator[tuple[Hashable, Hashable]]) -> float:
            return max((text_size(limited[arc], FIGURES)[0] for arc in arcs), default=0.0)

        splits = problem.splits.tolist()
        bought = [node for node in graph if isinstance(node, tuple)]
        losing = [h for h in splits if (h, SINK) in graph.edges]
        rows, left_height = _split_rows(network)
        order = sorted([*bought, *losing], key=lambda node: -_height_of(node, rows, graph))
        steps = [max(0.42, 2 * half[node][1] + 0.22) if isinstance(node, tuple) else 0.36 for node in order]
        height = max(left_height, sum(steps), ROW)
        rows = {h: y - (height - left_height) / 2 for h, y in rows.items()}
        down = np.cumsum([0.0, *steps]) + (height - sum(steps)) / 2
        slot = {node: -float(down[k] + steps[k] / 2) for k, node in enumerate(order)}

        depth = problem.ensemble.depth
        start = 2 * half[SOURCE][0] + FAN
        numbers = start + widest(a for a in graph.edges if a[0] == SOURCE) + 0.1
        up = widest(a for a in graph.edges if isinstance(a[0], int) and isinstance(a[1], int))
        indent = max(0.3, up + 0.24)
        place: dict[Hashable, Point] = {h: (numbers + 0.2 + indent * float(depth[h]) + half[h][0], rows[h]) for h in splits}
        right = max((place[h][0] + half[h][0] for h in splits), default=numbers)
        ports = right + FAN / 2, right + FAN / 2 + 0.12 + widest(a for a in graph.edges if isinstance(a[1], tuple))
        at = ports[1] + CROSSING
        end = at + 2 * max((half[node][0] for node in bought), default=0.0)
        place |= {node: (at + half[node][0], slot[node]) for node in bought}
        prices = end + 0.05, end + 0.17 + widest(a for a in graph.edges if a[1] == SINK)
        place[SOURCE] = half[SOURCE][0], -height / 2
        place[SINK] = prices[1] + FAN + half[SINK][0], -height / 2
        port: dict[tuple[Hashable, Hashable], float] = {}
        for h in splits:
            heads = sorted(
                (b for a, b in graph.out_edges(h) if not isinstance(b, int)), key=lambda b: -slot[h if b == SINK else b]
            )
            port |= {(h, b): rows[h] + PORT * ((len(heads) - 1) / 2 - k) for k, b in enumerate(heads)}
        through = {h: slot[h] for h in losing}
        whole = place[SINK][0] + half[SINK][0]
        return cls(network, place, half, through, port, (start, numbers), ports, prices, whole, height)

    def route(self, a: Hashable, b: Hashable) -> tuple[list[Point], Point]:
        """The corners of an arc, and the middle of its number."""
        (xa, ya), (xb, yb) = self.place[a], self.place[b]
        start, end = xa + self.half[a][0], xb - self.half[b][0]
        above = 0.09
        if a == SOURCE:
            level = yb + (0.06 if self.network.has_parent(b) else 0.0)
            near, far = self.source_numbers
            return [(start, ya), (near, level), (end, level)], ((near + far) / 2, level + above)
        if isinstance(b, int):  # up to the parent, from the left side of a split to below its parent's box
            corner, level = xb - self.half[b][0] + 0.12, ya - 0.06
            left = xa - self.half[a][0]
            return [(left, level), (corner, level), (corner, yb - self.half[b][1])], ((corner + left) / 2, level - above)
        near, far = self.price_numbers
        if isinstance(a, tuple):
            return [(start, ya), (far, ya), (end, yb)], ((near + far) / 2, ya + above)
        level, (first, last) = self.port[a, b], self.split_numbers
        if b == SINK:
            slot = self.through[a]
            way = [(start, ya), (first, level), (last, level), (last + CROSSING, slot), (far, slot), (end, yb)]
            return way, ((near + far) / 2, slot + above)
        return [(start, ya), (first, level), (last, level), (end, yb)], ((first + last) / 2, level + above)


def _split_rows(network: _DrawnCut) -> tuple[dict[int, float], float]:
    """The height of each split, below that of its parent, with room for the arcs that leave it; and the height of all."""
    ensemble, rows, y, tree = network.problem.ensemble, {}, 0.0, -1
    for h in network.problem.splits.tolist():
        y += 0.25 if ensemble.tree_of[h] != tree and tree >= 0 else 0.0
        tree = int(ensemble.tree_of[h])
        leaving = sum(not isinstance(b, int) for b in network.graph.successors(h))
        step = max(ROW, PORT * leaving + 0.1)
        rows[h], y = -(y + step / 2), y + step
    return rows, y


def _height_of(node: Hashable, rows: Mapping[int, float], graph: nx.DiGraph) -> float:
    """The mean height of the splits that a purchase is for, or that of the split itself."""
    return rows[node] if isinstance(node, int) else float(np.mean([rows[u] for u in graph.predecessors(node)]))


def _half(title: str) -> Point:
    """Half the width and half the height of a box with this text, its padding included."""
    width, height = text_size(title, SMALL)
    pad = 0.3 * SMALL / 72 + 0.02
    return width / 2 + pad, height / 2 + pad


def _arc(ax: Axes, network: _DrawnCut, plan: _Plan, a: Hashable, b: Hashable, *, in_cut: bool) -> None:
    """Draw an arc with its flow, and with its capacity if that is limited."""
    flow, limited = network.flow[a][b], "capacity" in network.graph.edges[a, b]
    colour = VERMILION if in_cut else BLACK if flow else FAINT
    corners, at = plan.route(a, b)
    arrow = FancyArrowPatch(path=Path(corners), arrowstyle="-|>", mutation_scale=9, transform=ax.transData)
    arrow.set(color=colour, lw=2.2 if in_cut else 1.2, ls="-" if limited else ":", fill=True, zorder=2 if flow or in_cut else 1)
    ax.add_patch(arrow)
    text = network.label(a, b)
    if text:
        ax.text(*at, text, ha="center", va="center", fontsize=FIGURES, color=colour if flow or in_cut else "0.45", zorder=3)


def _title(problem: PruningProblem, node: Hashable, first: int) -> str:
    """The text in a node's box."""
    if isinstance(node, int):
        return f"{first + node}  {feature_name(problem.ensemble, node)}"
    if isinstance(node, tuple):
        name = problem.costs.names[node[0]]
        item = f"feature {name}" if name.isdecimal() else name
        return f"pay {item}" + ("" if problem.n_rows == 1 else f"\n{'all' if node[1] == 'all' else f'example {node[1]}'}")
    return str(node)


def _caption(network: _DrawnCut) -> str:
    """The line below the picture: the values of cut and flow."""
    unit: Fraction = network.graph.graph["unit"]
    sums = " + ".join(network.amount(network.graph.edges[arc]["capacity"]) for arc in network.cut)
    sign = "=" if network.cut_value == network.flow_value else ">"
    total, flow = network.amount(network.cut_value), network.amount(network.flow_value)
    added = f"{sums} = {total}" if len(network.cut) > 1 else total
    units = f", in units of {unit}" if 1 < unit.denominator <= LARGEST_DENOMINATOR else ""
    return f"cut {added} {sign} flow {flow}{units}"
