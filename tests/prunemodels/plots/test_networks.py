"""The pictures of a tree and its graph show the arcs' own names and the given path, and can be read."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.instance.papers import two_trees
from formulations.programs.shortest_path import TreeNetwork, tree_network
from prunemodels.plots.networks import draw_network, draw_tree, network_graph
from prunemodels.plots.picture import BLUE, VERMILION
from solvers.column_generation.shortest_paths import price_by_tree_pass
from tests.path_costs import arc_costs, stop_costs


@pytest.fixture(scope="module")
def small() -> pm.PruningProblem:
    """A real tree of depth 3, its features with long names."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(2, max_depth=3, random_state=0).fit(X[:300], y[:300])
    return pm.problem_from_forest(forest, X[300:], costs=1)


def arrows(figure: Figure) -> list[FancyArrowPatch]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyArrowPatch)]


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
    widths = [patch.get_linewidth() for patch in arrows(draw_network(network(), path=[1, 2, 5]))]
    assert widths == [1.0] * 4 + [1.8] * 3
    assert {patch.get_alpha() for patch in arrows(draw_network(network()))} == {None}


def test_a_pruning_in_the_tree() -> None:
    """Kept splits are black, the pruning's leaves blue, what is cut off grey; by tree or by forest."""
    problem = two_trees()
    kept = network().pruning_of([1, 2, 5])
    for given in (kept, np.append(kept, np.zeros(7, dtype=bool))):
        texts = [text for text in draw_tree(problem, 0, kept=given).axes[0].texts if text.get_bbox_patch()]
        look = {text.get_text(): to_hex(text.get_bbox_patch().get_edgecolor()) for text in texts}
        cut = to_hex("0.8")
        first, second = "0\nfeature 1\n≤ 0.5", "2\nfeature 2\n≤ 1.5"
        assert look == {first: "#000000", "1": BLUE.lower(), second: BLUE.lower(), "3": cut, "4": cut}
    whole = [text.get_text() for text in draw_tree(problem, 1).axes[0].texts]
    numbers = [text.split("\n")[0] for text in whole]
    assert numbers == ["tree 1", "5", "6", "7", "8", "9", "10", "11"]


def test_what_cannot_be_read_is_refused(small: pm.PruningProblem) -> None:
    """Hundreds of arcs, and a pruning of another tree."""
    with pytest.raises(pm.errors.InvalidInputError, match=r"the picture would have .* arcs, at most 60 can be read"):
        draw_network(tree_network(small, 0, expanded=True))
    with pytest.raises(pm.errors.InvalidInputError, match=r"kept has shape \(3,\); give one bool for each of the tree's 5 nodes"):
        draw_tree(two_trees(), 0, kept=[True, False, False])
    with pytest.raises(pm.errors.InvalidInputError, match="t is 2; give a tree, 0 to 1"):
        draw_tree(two_trees(), 2)
    with pytest.raises(pm.errors.InvalidInputError, match="path has arc 7; give arcs of the network, 0 to 6"):
        draw_network(network(), path=[1, 7])
    with pytest.raises(pm.errors.InvalidInputError, match="path has arc -1"):
        draw_network(network(), path=[-1])
    with pytest.raises(
        pm.errors.InvalidInputError, match=r"cost has shape \(6,\); give one number for each of the network's 7 arcs"
    ):
        network_graph(network(), np.ones(6))
    with pytest.raises(pm.errors.InvalidInputError, match=r"path has shape \(0,\)"):
        draw_network(network(), path=[])
    with pytest.raises(pm.errors.InvalidInputError, match=r"path has shape \(2,\) and the type float64"):
        draw_network(network(), path=[0.5, 1.5])
