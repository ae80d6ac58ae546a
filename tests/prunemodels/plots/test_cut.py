"""Pictures of cuts and of networks."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import CostItems, PruningProblem
from formulations.instance.papers import ERRORS, two_trees
from formulations.programs.shortest_path import TreeNetwork, tree_network
from prunemodels.plots.cut import closure_graph, plot_cut, purchase_name, source_side
from prunemodels.plots.networks import draw_network, network_graph
from prunemodels.plots.picture import BLUE, VERMILION
from solvers.brute_force import all_prunings
from solvers.column_generation.shortest_paths import price_by_tree_pass
from tests.instances import arc_costs, random_problem, stop_costs
from tests.loops import looped
from tests.prunemodels.plots.cases import boxes, covered, outside, overlaps

LAMBDAS = (Fraction(0), Fraction(1, 16), Fraction(1, 8), Fraction(1, 4), Fraction(3, 8), Fraction(2))


def capacity_of(graph: nx.DiGraph, side: set[object]) -> int:
    """Of the cut; unlimited arcs may not be in it."""
    return sum(arc["capacity"] for a, b, arc in graph.edges(data=True) if a in side and b not in side)


def arrows(ax: Axes) -> list[FancyArrowPatch]:
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def test_the_papers_network() -> None:
    """At lambda = 1/4, in eighths: gains 2, 2, 1, 1, 1, three prices of 2, and what leads from split to parent and purchase."""
    graph = closure_graph(two_trees(), Fraction(1, 4))
    limited = {(a, b): arc["capacity"] for a, b, arc in graph.edges(data=True) if "capacity" in arc}
    assert limited == {
        **{("source", h): gain for h, gain in {0: 2, 2: 2, 5: 1, 6: 1, 9: 1}.items()},
        **{((m, 0), "sink"): 2 for m in range(3)},
    }
    assert set(graph.edges) - set(limited) == {(2, 0), (6, 5), (9, 5), (0, (0, 0)), (2, (1, 0)), (5, (1, 0)), (9, (2, 0))}
    assert graph.graph["unit"] == Fraction(1, 8)


def test_a_split_that_loses_pays_the_sink() -> None:
    """A negative gain is a capacity to the sink, evaluation is deducted from a gain, and a gain of 0 has no arc."""
    graph = closure_graph(two_trees(errors={**ERRORS, 8: 2, 12: 2}), 1)
    assert graph.edges[6, "sink"]["capacity"] * graph.graph["unit"] == Fraction(1, 8)
    assert ("source", 6) not in graph.edges
    assert ("source", 9) not in graph.edges
    assert (9, "sink") not in graph.edges
    problem = two_trees()
    dear = PruningProblem.build(problem.ensemble, problem.errors, problem.X, problem.costs, evaluation_cost=1)
    graph = closure_graph(dear, Fraction(1, 4))
    profit = {h: graph.edges["source", h]["capacity"] * graph.graph["unit"] for h in graph.successors("source")}
    assert profit == {6: Fraction(1, 8)}  # the example does not pass node 7; the others pay 1/4 for gains of 1/4 and 1/8
    assert graph.edges[5, "sink"]["capacity"] * graph.graph["unit"] == Fraction(1, 8)


def test_purchases_have_names() -> None:
    """(m, i) for example i, (m, "all") for an item that is paid once, at its full price."""
    problem = two_trees()
    costs = CostItems.from_items({"lab": 2, "licence": 9}, [["lab"], ["lab", "licence"], []], once=["licence"])
    several = PruningProblem.build(problem.ensemble, problem.errors, np.eye(3)[:2], costs)
    graph = closure_graph(several, 1)
    price = {a: graph.edges[a, "sink"]["capacity"] * graph.graph["unit"] for a in graph.predecessors("sink")}
    assert price == {(0, 0): 1, (0, 1): 1, (1, "all"): 9}
    assert [purchase_name(several, j) for j in range(6)] == [(0, 0), (0, 1), (1, 0), (1, 1), (0, "all"), (1, "all")]


def test_every_pruning_is_a_cut() -> None:
    """(OBJ) is the capacity of a pruning's cut, less the positive profits, plus the error of the all-roots forest: all 15."""
    problem = two_trees()
    roots = pm.Pruning.all_roots(problem).exact_error
    for lam in LAMBDAS:
        graph = closure_graph(problem, lam)
        gains = sum(arc["capacity"] for _, _, arc in graph.out_edges("source", data=True))
        for kept in all_prunings(problem).kept:
            pruning = pm.Pruning(problem, kept)
            cut = capacity_of(graph, source_side(pruning))
            assert pruning.exact_error + lam * pruning.exact_cost == roots + (cut - gains) * graph.graph["unit"]


@pytest.mark.slow
@looped("seed", range(40))
def test_the_minimum_cut_is_the_optimum(seed: int) -> None:
    """With negative gains, shared and free items, weights and evaluation: networkx' cut is the least of all prunings."""
    problem = random_problem(seed)
    every = all_prunings(problem)
    units = problem.numbers.gain_unit, problem.numbers.price_unit
    roots = pm.Pruning.all_roots(problem).exact_error
    for lam in (Fraction(0), Fraction(1, 20), Fraction(1, 3)):
        worth = [int(g) * units[0] - lam * int(c) * units[1] for g, c in zip(every.gain, every.cost, strict=True)]
        graph = closure_graph(problem, lam)
        gains = sum(arc["capacity"] for _, _, arc in graph.out_edges("source", data=True))
        least = nx.minimum_cut_value(graph, "source", "sink")
        assert (gains - least) * graph.graph["unit"] == max(worth)
        best = pm.Pruning(problem, every.kept[int(np.argmax([float(x) for x in worth]))])
        assert capacity_of(graph, source_side(best)) == least
        assert roots - max(worth) == best.exact_error + lam * best.exact_cost


def test_the_picture_of_an_optimum() -> None:
    """The source side is blue, the cut vermilion, flows stand by their capacities, and the line below adds up."""
    problem = two_trees()
    pruning = pm.engines.min_cut(problem, 0.25).pruning
    assert pruning is not None
    ax = plot_cut(pruning, Fraction(1, 4), first=1).axes[0]
    texts = [text.get_text() for text in ax.texts]
    assert texts[-1] == "cut 1 + 2 + 2 = 5 = flow 5, in units of 1/8"
    assert {"source", "sink", "1  feature 1", "10  feature 3", "pay feature 2"} <= set(texts)
    blue = {text for text, (_, inside, _) in boxes(ax).items() if inside == BLUE.lower()}
    assert blue == {"source", "1  feature 1", "3  feature 2", "6  feature 2", "7  feature 1", "pay feature 1", "pay feature 2"}
    bold = [arrow for arrow in arrows(ax) if to_hex(arrow.get_edgecolor()) == VERMILION.lower()]
    assert len(bold) == 3
    assert {arrow.get_linewidth() for arrow in bold} == {2.2}
    limited = [tuple(map(int, text.split(" / "))) for text in texts if " / " in text]
    assert sorted(capacity for _, capacity in limited) == [1, 1, 1, 2, 2, 2, 2, 2]
    assert sum(flow for flow, _ in limited) == 2 * 5  # out of the source and into the sink
    assert (1, 2) in limited  # of feature 3's price
    assert sum(arrow.get_linestyle() in (":", "dotted") for arrow in arrows(ax)) == 7


@pytest.mark.slow
def test_the_picture_of_what_is_not_optimal() -> None:
    """The cut of another pruning is above the flow; kept splits that lose are in the cut."""
    problem = two_trees()
    ax = plot_cut(pm.Pruning.unpruned(problem), Fraction(1, 4)).axes[0]
    assert ax.texts[-1].get_text() == "cut 2 + 2 + 2 = 6 > flow 5, in units of 1/8"
    losing = two_trees(errors={**ERRORS, 8: 2})
    ax = plot_cut(pm.Pruning.unpruned(losing), 0).axes[0]
    assert ax.texts[-1].get_text().startswith("cut 1 + 0 + 0 + 0 = 1 > flow ")


def pictures() -> list[Figure]:
    """Small and decimal numbers, splits that pay the sink, several examples, and real trees of depth 3."""
    problem = two_trees()
    losing = two_trees(errors={**ERRORS, 8: 2, 12: 2})
    costs = CostItems.from_items({"lab": 2, "licence": 9}, [["lab"], ["lab", "licence"], []], once=["licence"])
    several = PruningProblem.build(problem.ensemble, problem.errors, np.eye(3)[:2], costs)
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X, y)
    real = pm.problem_from_forest(forest, X[:2], costs=1)
    return [
        *(plot_cut(pm.Pruning.unpruned(problem), lam, first=1) for lam in (Fraction(1, 4), 0.1234567)),
        plot_cut(pm.Pruning.unpruned(losing), 1),
        plot_cut(pm.Pruning.all_roots(several), 0.01),
        plot_cut(pm.Pruning.unpruned(real), 0.001),
    ]


@pytest.mark.slow
def test_no_label_covers_an_arrow() -> None:
    """Numbers stand beside their arcs, boxes beside all arcs but their own, and no text covers another or leaves the picture."""
    for figure in pictures():
        assert overlaps(figure) == []
        assert outside(figure) == []
        ax = figure.axes[0]
        numbers = [text for text in ax.texts if re.fullmatch(r"[\d.e-]+( / [\d.e-]+)?", text.get_text())]
        assert len(numbers) >= 7
        assert covered(figure, numbers) == []
        boxes = [text for text in ax.texts if text not in numbers]
        assert covered(figure, boxes, margin=4) == []


def network() -> TreeNetwork:
    return tree_network(two_trees(), 0)


def test_the_graph_for_networkx() -> None:
    """Networkx sees the arcs of Figure 3, and its shortest path is ours."""
    ours = network()
    cost = arc_costs(ours, stop_costs(two_trees(), 0.1), np.full(3, 0.1))
    graph = network_graph(ours, cost)
    assert {(a, b): arc["name"] for a, b, arc in graph.edges(data=True)} == {
        (0, 5): "z[0]",
        (0, 1): "z[1]",
        (1, 4): "z[2]",
        (1, 2): "z[3]",
        (2, 3): "z[4]",
        (4, 5): "w_t[0,0,0]",
        (3, 4): "w_t[2,1,0]",
    }
    steps = itertools.pairwise(nx.bellman_ford_path(graph, 0, 5))
    cheapest = price_by_tree_pass(two_trees(), stop_costs(two_trees(), 0.1), np.where(two_trees().ensemble.is_split, 0.1, 0.0))
    arcs = ours.path_of(cheapest.kept[ours.nodes])
    assert [graph.edges[step]["arc"] for step in steps] == arcs.tolist()
    assert "weight" not in network_graph(ours).edges[0, 5]


def test_arcs_by_name_and_colour() -> None:
    """Every arc is drawn under its name: z in blue, w in vermilion; boundaries by their numbers."""
    axes = draw_network(network()).axes[0]
    arcs = {text.get_text(): to_hex(text.get_color()) for text in axes.texts if "$" in text.get_text()}
    names = {f"$z_{{{k}}}$": BLUE.lower() for k in range(5)}
    assert arcs == names | {"$w^t_{0{,}0{,}0}$": VERMILION.lower(), "$w^t_{2{,}1{,}0}$": VERMILION.lower()}
    assert {text.get_text() for text in axes.texts} - set(arcs) == set("012345")


def test_a_path_is_bold() -> None:
    """The arcs of the path are drawn thick and last, the others thin and faint; without a path none is faint."""
    widths = [patch.get_linewidth() for patch in arrows(draw_network(network(), path=[1, 2, 5]).axes[0])]
    assert widths == [1.0] * 4 + [1.8] * 3
    assert {patch.get_alpha() for patch in arrows(draw_network(network()).axes[0])} == {None}
