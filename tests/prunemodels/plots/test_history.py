"""Pictures of runs, of levels, and of exits."""

from __future__ import annotations

from functools import partial

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_hex
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import Solver
from formulations.instance.papers import ERRORS, two_trees
from prunemodels.cascades.evaluation import stops_of
from prunemodels.plots.curves import plot_exits
from prunemodels.plots.history import plot_history
from prunemodels.plots.picture import DRAWING
from prunemodels.plots.trees import NEVER_KEPT, plot_levels
from solvers.column_generation import PLAIN, dantzig_wolfe
from solvers.primal_dual import primal_dual
from tests.prunemodels.cascade_cases import KINDS, Kind, case, middle
from tests.prunemodels.plots.cases import boxes
from tests.solvers.cases import instance, lambdas


@pytest.mark.parametrize(
    ("engine", "names"),
    [
        (partial(dantzig_wolfe, scheme=PLAIN), ("value", "bound", "master_value", "round_bound")),
        (primal_dual, ("value", "bound", "iterate_value", "iterate_bound")),
    ],
    ids=["dantzig_wolfe", "primal_dual"],
)
def test_lines_are_the_history(engine: Solver, names: tuple[str, ...]) -> None:
    """Values, bounds and the gap stand at their rounds; a gap of 0 at the bottom of the logarithmic axis."""
    history = engine(instance("iris"), lambdas("iris")[2]).history
    figure = plot_history(history)
    above, below = figure.axes
    for line, name in zip(above.get_lines(), names, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(history["gap"]) + 1))
        np.testing.assert_array_equal(line.get_ydata(), history[name])
    gap = below.get_lines()[0].get_ydata()
    np.testing.assert_array_equal(gap, np.maximum(history["gap"], DRAWING.smallest))
    assert below.get_yscale() == "log"
    assert plt.get_fignums() == []


def test_the_axis_follows_solution_and_bound() -> None:
    """An iterate a hundred times their range away does not flatten them; one nearby is shown."""
    history = {
        "value": np.array([1.2, 1.1, 1.05]),
        "bound": np.array([0.9, 1.0, 1.04]),
        "iterate_value": np.array([50.0, 1.5, 1.1]),
        "gap": np.array([1.0, 0.5, 0.01]),
    }
    low, high = plot_history(history).axes[0].get_ylim()
    assert 0.5 < low < 0.9
    assert 1.5 < high < 2.5


def look(ax: Axes) -> dict[str, tuple[str, str, str]]:
    """The last line of each box, its colour and that of its text, by the first line."""
    found = boxes(ax).items()
    return {text.split("\n")[0]: (text.split("\n")[-1], inside, colour) for text, (_, inside, colour) in found}


def light(colour: object) -> float:
    """How light a colour is, 0 to 1."""
    return float(np.dot(mpl.colors.to_rgb(colour), (0.299, 0.587, 0.114)))  # type: ignore[arg-type]


def test_the_papers_levels() -> None:
    """Chapter 1's levels: node 10 goes at 1/8, all others at 3/8; the longer kept the darker, leaves pale."""
    found = look(plot_levels(pm.pruning_path(two_trees()), first=1).axes[0])
    assert [found[name][0] for name in ("1", "3", "6", "7", "10")] == [*["λ < 3/8"] * 4, "λ < 1/8"]
    assert found["12"][0] == "12"
    assert found["1"][1] == found["7"][1]
    assert light(found["1"][1]) < 0.3 < light(found["10"][1])
    assert (found["1"][2], found["10"][2]) == ("#ffffff", "#000000")
    largest = look(plot_levels(pm.pruning_path(two_trees(), ties="largest"), first=1).axes[0])
    assert (largest["1"][0], largest["10"][0]) == ("λ ≤ 3/8", "λ ≤ 1/8")


@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_splits_without_gain_and_splits_for_free(ties: str) -> None:
    """A split that gains nothing, or less, is grey and never kept; one that costs nothing is black and always kept. A tie at
    lambda = 0 keeps a split of gain 0 there alone: with the largest optima too it is grey.
    """
    tied = plot_levels(pm.pruning_path(two_trees(errors={**ERRORS, 12: 2}), ties=ties), first=1)  # type: ignore[arg-type]
    assert look(tied.axes[0])["10"][:2] == ("never kept", to_hex(NEVER_KEPT))
    errors = {**ERRORS, 7: 0, 10: 0, 8: 1}  # 7 -> 8, 9 loses one, 10 -> 11, 12 loses one, so node 6 saves 4
    problem = two_trees(errors=errors, prices=(1, 0, 1))
    found = look(plot_levels(pm.pruning_path(problem, ties=ties), first=1).axes[0])  # type: ignore[arg-type]
    assert found["6"][:2] == ("always kept", "#000000")
    assert found["7"][:2] == found["10"][:2] == ("never kept", to_hex(NEVER_KEPT))
    sign = "<" if ties == "smallest" else "≤"
    assert found["1"][0] == f"λ {sign} 1/2"  # 2 of 8 at node 1, and 2 of 8 at node 3 for nothing more: the dearest level
    assert light(found["1"][1]) < 0.3


def test_a_real_path_has_a_scale() -> None:
    """Dots in the colours of a logarithmic scale, darker for higher levels, and a bar that says what they mean."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(6, random_state=0).fit(X[:200], y[:200])
    path = pm.pruning_path(pm.problem_from_forest(forest, X[200:240], costs=1))
    figure = plot_levels(path, trees=range(4))
    assert [text.get_text() for text in figure.axes[0].texts] == [f"tree {t}" for t in range(4)]
    bar = figure.axes[1]
    assert bar.get_xlabel() == r"level: the split is kept for $\lambda$ below it"
    shown = path.problem.usage.splits[path.problem.ensemble.tree_of[path.problem.usage.splits] < 4]
    table = np.array([float(b) for b in path.breakpoints])
    level = table[path.level[shown]]
    assert bar.get_xlim() == pytest.approx((level[level > 0].min(), level.max()))
    (drawn,) = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    lightness = np.array([light(c) for c in drawn.get_facecolor()])
    order = np.argsort(level[level > 0], kind="stable")
    assert (np.diff(lightness[level > 0][order]) <= 1e-9).all()
    ends = [to_hex(drawn.get_facecolor()[k]) for k in (np.flatnonzero(level > 0)[order[0]], np.argmax(level))]
    assert ends == [to_hex(mpl.colormaps["viridis_r"](x)) for x in (0.08, 0.95)]  # no yellow on white paper, no black


@pytest.mark.slow_cases("prunings", "three classes")
@pytest.mark.parametrize("kind", KINDS)
def test_bars_and_cells_are_the_stops(kind: Kind) -> None:
    """Bars are the shares of the rows by stage, cells the shares that bought an item, the line is the policy's mean cost."""
    known = case(kind)
    cascade = known.cascade.at_row(middle(kind))
    stops = stops_of(cascade, known.X, known.y)
    policies, bars, items, *_ = plot_exits(cascade, known.X, known.y).axes
    np.testing.assert_allclose([bar.get_width() for bar in bars.patches], stops.share())
    told = [label.get_text() for label in bars.get_yticklabels()]
    assert [int(text.removeprefix("stage ").split(",")[0]) for text in told] == stops.used.tolist()
    assert policies.get_lines()[0].get_xdata()[0] == pytest.approx(pm.evaluate(cascade, known.X, known.y).cost)
    if stops.bought.any():
        drawn = items.collections[0].get_array()
        place = {name: m for m, name in enumerate(stops.items.names)}
        columns = [place[label.get_text()] for label in items.get_xticklabels()]
        np.testing.assert_array_equal(drawn, stops.bought_by_then()[:, columns])
    assert plt.get_fignums() == []


def test_areas_are_the_shares_of_all_policies() -> None:
    """Stacked areas end at the share of the rows that stop by each stage, for every policy, in the order of cost."""
    known = case("sets")
    policies = plot_exits(known.cascade, known.X).axes[0]
    areas = [c for c in policies.collections if isinstance(c, PolyCollection)]
    cost = np.array([pm.evaluate(known.cascade.at_row(k), known.X, known.y).cost for k in range(len(known.path))])
    by_stage_0 = [np.mean(known.cascade.at_row(k).stop_stages(known.X) == 0) for k in range(len(known.path))]
    assert len(areas) == known.path.stages.n_stages
    corners = areas[0].get_paths()[0].vertices
    for x, y in zip(cost, by_stage_0, strict=True):
        assert np.isclose(corners, [x, y]).all(axis=1).any()
