"""Pictures of trees: where nodes stand, what a pruning, a way and a fractional point look like."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import CostItems, PruningProblem
from formulations.instance.papers import two_trees
from prunemodels.plots.picture import BLUE, VERMILION
from prunemodels.plots.tree_layout import feature_name, lay_out
from prunemodels.plots.trees import plot_point, plot_trees
from tests.prunemodels.plots.cases import X, Y, boxes, overlaps, path

GREY = "#cccccc"


def lines(ax: Axes) -> dict[tuple[tuple[float, float], tuple[float, float]], tuple[str, float]]:
    """Colour and width of each line, by its ends."""
    (drawn,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    ends = [tuple(map(tuple, part.tolist())) for part in drawn.get_segments()]
    return dict(zip(ends, zip(map(to_hex, drawn.get_colors()), drawn.get_linewidths(), strict=True), strict=True))  # type: ignore[arg-type]


def dots(ax: Axes, colour: str) -> set[tuple[float, float]]:
    """Where the dots of a colour stand."""
    found = [c for c in ax.collections if isinstance(c, PathCollection) and to_hex(c.get_facecolor()[0]) == colour.lower()]
    return {tuple(place) for c in found for place in np.asarray(c.get_offsets()).tolist()}


def titles(ax: Axes) -> list[str]:
    """The texts without boxes."""
    return [text.get_text() for text in ax.texts if text.get_bbox_patch() is None]


def test_leaves_side_by_side() -> None:
    """The papers' trees: leaves at distance 1, splits above the middle of their children, a free place between the trees."""
    layout = lay_out(two_trees().ensemble)
    assert layout.x.tolist() == [0.75, 0, 1.5, 1, 2, 5.5, 4.5, 4, 5, 6.5, 6, 7]
    assert layout.y.tolist() == [0, -1, -1, -2, -2, 0, -1, -2, -2, -1, -2, -2]
    assert (layout.width, layout.height) == (7, 2)
    assert layout.node.tolist() == list(range(12))


def test_chosen_trees_in_their_order() -> None:
    """Trees stand in the order given; nodes of others have no place."""
    layout = lay_out(two_trees().ensemble, [1])
    assert layout.node.tolist() == list(range(5, 12))
    assert np.isnan(layout.x[:5]).all()
    assert layout.x[7] == 0
    turned = lay_out(two_trees().ensemble, [1, 0])
    assert turned.node.tolist() == [*range(5, 12), *range(5)]
    assert (turned.x[7], turned.x[1]) == (0, 5)


def test_the_papers_figure() -> None:
    """The figure of both papers: their numbers, features at splits, a note in the box, the example's way in vermilion."""
    ax = plot_trees(two_trees(), row=0, notes={0: "e = 4", 11: Fraction(1, 3)}, first=1).axes[0]
    assert set(boxes(ax)) == {
        *("1\nfeature 1\n≤ 0.5\ne = 4", "2", "3\nfeature 2\n≤ 1.5", "4", "5"),
        *("6\nfeature 2\n≤ 0.5", "7\nfeature 1\n≤ 0.5", "8", "9", "10\nfeature 3\n≤ 0.5", "11", "12\n1/3"),
    }
    assert titles(ax) == ["tree 1", "tree 2"]
    on = {name.split("\n")[0] for name, (edge, _, _) in boxes(ax).items() if edge == VERMILION.lower()}
    assert on == {"1", "3", "4", "6", "10", "11"}
    bold = {ends for ends, (colour, width) in lines(ax).items() if colour == VERMILION.lower() and width > 2}
    widths = [width for _, width in lines(ax).values()]
    assert widths == sorted(widths)  # the way lies above the other lines
    assert bold == {
        *(((0.75, 0.0), (1.5, -1.0)), ((1.5, -1.0), (1.0, -2.0))),
        *(((5.5, 0.0), (6.5, -1.0)), ((6.5, -1.0), (6.0, -2.0))),
    }


def test_a_pruning_in_boxes() -> None:
    """Kept splits are black on white, the pruned trees' leaves blue, what is cut off grey, and the way ends at the cut."""
    problem = two_trees()
    kept = problem.ensemble.is_split.copy()
    kept[9] = False
    ax = plot_trees(problem, kept=kept, row=0).axes[0]
    look = boxes(ax)
    assert look["6\nfeature 1\n≤ 0.5"] == ("#000000", "#ffffff", "#000000")
    assert look["7"] == (BLUE.lower(), BLUE.lower(), "#ffffff")
    assert look["9\nfeature 3\n≤ 0.5"] == (VERMILION.lower(), BLUE.lower(), "#ffffff")
    assert look["10"] == (GREY, "#ffffff", "#999999")
    faint = {ends for ends, (colour, width) in lines(ax).items() if colour == GREY and width < 1}
    assert faint == {((6.5, -1.0), (6.0, -2.0)), ((6.5, -1.0), (7.0, -2.0))}
    whole = boxes(plot_trees(problem).axes[0])
    assert VERMILION.lower() not in {edge for edge, _, _ in whole.values()}


def test_a_pruning_in_dots() -> None:
    """Without names: black dots at kept splits, blue squares at the pruned trees' leaves, nothing at what is cut off."""
    problem = two_trees()
    kept = np.zeros(12, dtype=bool)
    kept[[0, 5, 6]] = True
    ax = plot_trees(problem, kept=kept, row=0, named=False).axes[0]
    assert titles(ax) == ["tree 0", "tree 1"]
    assert not boxes(ax)
    assert dots(ax, "#000000") == {(0.75, 0.0), (5.5, 0.0), (4.5, -1.0)}
    assert dots(ax, BLUE) == {(0.0, -1.0), (1.5, -1.0), (4.0, -2.0), (5.0, -2.0), (6.5, -1.0)}
    assert lines(ax)[(5.5, 0.0), (6.5, -1.0)] == (VERMILION.lower(), 2.2)
    assert lines(ax)[(5.5, 0.0), (4.5, -1.0)] == ("#000000", 1.4)
    roots = plot_trees(problem, kept=np.zeros(12, dtype=bool), named=False).axes[0]
    assert dots(roots, BLUE) == {(0.75, 0.0), (5.5, 0.0)}
    assert dots(roots, "#000000") == set()


def test_many_nodes_are_dots() -> None:
    """Beyond 40 nodes trees are dots unless names are asked for; all ways of a row start at the roots."""
    real = path().problem
    assert not boxes(plot_trees(real).axes[0])
    one = plot_trees(real, trees=[0], named=True).axes[0]
    assert len(boxes(one)) == real.ensemble.nodes_of(0).stop
    ax = plot_trees(real, row=39).axes[0]
    bold = [ends for ends, (colour, _) in lines(ax).items() if colour == VERMILION.lower()]
    leaf_depths = [
        int(real.ensemble.depth[h])
        for h in np.flatnonzero(~real.ensemble.is_split)
        if 39 in real.usage.routing.order[real.ensemble.tree_of[h]][real.usage.routing.start[h] : real.usage.routing.stop[h]]
    ]
    assert len(bold) == sum(leaf_depths)


@pytest.mark.slow
def test_a_forest_fits_a_page() -> None:
    """However many trees there are, the picture is at most 9.5 by 9 inches, and every tree has its number."""
    for n_trees in (1, 6, 30):
        forest = RandomForestClassifier(n_trees, random_state=0).fit(X, Y)
        figure = plot_trees(pm.problem_from_forest(forest, X[:2], costs=1), named=False)
        width, height = figure.get_size_inches()
        assert width <= 9.5
        assert height <= 9
        assert overlaps(figure) == []
        assert titles(figure.axes[0]) == ([f"tree {t}" for t in range(n_trees)] if n_trees > 1 else [])


@pytest.mark.slow
def test_the_first_trees_of_a_large_forest() -> None:
    """What a page has no room for is left out, and the title says so."""
    many = pm.problem_from_forest(RandomForestClassifier(150, random_state=0).fit(X, Y), X[:2], costs=1)
    ax = plot_trees(many).axes[0]
    assert ax.get_title(loc="left") == f"the first {len(titles(ax))} of 150 trees"
    assert 50 < len(titles(ax)) < 150


def test_a_fractional_point() -> None:
    """The papers' vertex: z and w beside their names, white at 0, blue at 1, and halfway in between."""
    tree = two_trees().only_tree(0)
    half = Fraction(1, 2)
    point: dict[str, Any] = {"z[0]": 0, "z[1]": 1, "z[2]": half, "z[3]": half, "z[4]": 0.25, "w[0,0]": half, "w[1,0]": 0.75}
    ax = plot_point(tree, point, first=1).axes[0]
    look = boxes(ax)
    assert set(look) == {*("1\nfeature 1\n≤ 0.5\nz = 0", "2\nz = 1", "3\nfeature 2\n≤ 1.5\nz = 1/2", "4\nz = 1/2", "5\nz = 0.25")}
    assert " ".join(ax.get_title().split()) == "w: feature 1 = 1/2; feature 2 = 0.75"
    assert look["1\nfeature 1\n≤ 0.5\nz = 0"][1:] == ("#ffffff", "#000000")
    assert look["2\nz = 1"][1:] == (BLUE.lower(), "#ffffff")
    assert look["4\nz = 1/2"][1:] == ("#80b8d8", "#000000")


def test_purchases_name_who_pays() -> None:
    """With several examples a purchase says whose it is, and an item that is paid once says so."""
    problem = two_trees()
    costs = CostItems.from_items({"lab": 2, "licence": 9}, [["lab"], ["lab", "licence"], ["lab"]], once=["licence"])
    several = PruningProblem.build(problem.ensemble, problem.errors, np.eye(3)[:2], costs)
    relaxation = pm.programs.solve_relaxation(several, 0.01, formulation="IP1")
    told = " ".join(plot_point(several, relaxation.point).axes[0].get_title().removeprefix("w: ").split())
    paid = {text.split(" = ")[0] for text in told.split("; ")}
    assert paid == {"example 0: lab", "example 1: lab", "all: licence"}


def test_names_of_features() -> None:
    """A number alone would look like a node's; without names features are numbered; long names are broken."""
    ensemble = two_trees().ensemble
    assert feature_name(ensemble, 0) == "feature 1"
    object.__setattr__(ensemble, "feature_names", None)
    assert feature_name(ensemble, 5) == "x1"
    object.__setattr__(ensemble, "feature_names", ("mean concave points", "b", "c"))
    assert feature_name(ensemble, 0) == "mean concave\npoints"
