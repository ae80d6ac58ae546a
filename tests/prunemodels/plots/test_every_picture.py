"""What holds for every picture: it can be read, on light and dark pages, and leaves matplotlib's settings alone."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import matplotlib as mpl
import matplotlib.pyplot as plt
import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from formulations.programs.shortest_path import tree_network
from proofs_checks import formulation_network
from prunemodels.evaluation.curve import TradeoffCurve
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.prunemodels.cascade_cases import case
from tests.prunemodels.plots.cases import outside, overlaps, visible_texts

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)


@cache
def path() -> pm.PruningPath:
    return pm.pruning_path(pm.problem_from_forest(forest(), X[200:350], costs=1))


@cache
def forest() -> RandomForestClassifier:
    return RandomForestClassifier(5, max_depth=4, random_state=0).fit(X[:200], Y[:200])


RUN = {
    "value": 0.1325 + np.array([2e-13, 1.1e-13, 1e-13]),
    "bound": 0.1325 + np.array([0.0, 5e-14, 1e-13]),
    "iterate_value": np.array([0.2, 0.15, 0.1325]),
    "iterate_bound": np.array([0.1, 0.12, 0.1325]),
    "gap": np.array([1e-12, 4e-13, 0.0]),
    "seconds": np.array([0.1, 0.2, 0.4]),
}


def budget(ax: Axes | None) -> Figure:
    solution = pm.solve(path().problem, budget=3.3, path=path())
    return pm.plots.plot_budget(solution, path(), [pm.hold_out(solution.pruning, forest(), X[350:], Y[350:])], ax=ax)


def purchases(ax: Axes | None) -> Figure:
    table = pd.DataFrame({"price": [7.0, 1.0], "before": [1.0, 0.9], "after": [0.4, 0.0]}, index=["US$ a", "US$ b"])
    return pm.plots.plot_purchases(table, most=2, unit="US$", ax=ax)


def curves(ax: Axes | None) -> Figure:
    rng = np.random.default_rng(0)
    names = "optimal, cost-complexity pruning (error), greedy feature pruning, individual, early stopping (entropy), trees"
    found = [(name, np.arange(20.0), 600 * rng.random(20), rng.random(20) / 2) for name in names.split(", ")]
    return pm.plots.plot_curves([TradeoffCurve(name, "step", *figures, 100) for name, *figures in found], ax=ax)


def point(ax: Axes | None) -> Figure:
    problem = path().problem
    values = dict.fromkeys([f"z[{h}]" for h in range(problem.ensemble.n_nodes)], 0.125)
    values |= {f"w[{m},{i}]": 0.5 for m in (3, 20, 27) for i in range(5)}
    return pm.plots.plot_point(problem, values, trees=[0], ax=ax)


def certificate(ax: Axes | None) -> Figure:
    program = MATRICES["IP3"](two_trees(), lam=1)
    network = formulation_network(two_trees(), program)
    assert network is not None
    return pm.plots.plot_certificate(program, network, paths=["leaf[4]", "coupling[2,1,0]"], ax=ax)


def decomposition(ax: Axes | None) -> Figure:
    matrix = families.block_diagonal(families.r10(), families.r12(), families.cycles_of_k5())
    return pm.plots.plot_decomposition(matrix, pm.checks.check_total_unimodularity(matrix), ax=ax)


def seen() -> pm.evaluation.PathEvaluation:
    return pm.evaluate_path(path(), X[350:], Y[350:])


ON_AXES: dict[str, Callable[[Axes | None], Figure]] = {
    "tradeoff": lambda ax: pm.plots.plot_tradeoff(path(), held_out=seen(), chosen=path()[3], ax=ax),
    "tradeoff_alone": lambda ax: pm.plots.plot_tradeoff(path(), ax=ax),
    "budget": budget,
    "purchases": purchases,
    "choice": lambda ax: pm.plots.plot_choice(seen(), chosen=2, ax=ax),
    "curves": curves,
    "cut": lambda ax: pm.plots.plot_cut(pm.Pruning.unpruned(two_trees()), Fraction(7, 24), first=1, ax=ax),
    "levels": lambda ax: pm.plots.plot_levels(path(), ax=ax),
    "levels_in_boxes": lambda ax: pm.plots.plot_levels(path(), trees=[0], named=True, ax=ax),
    "trees": lambda ax: pm.plots.plot_trees(path().problem, kept=path()[2].kept, row=0, ax=ax),
    "trees_in_boxes": lambda ax: pm.plots.plot_trees(path().problem, trees=[0, 1], named=True, row=0, ax=ax),
    "point": point,
    "matrix": lambda ax: pm.plots.plot_matrix(MATRICES["IP3"](two_trees(), lam=1), ax=ax),
    "decomposition": decomposition,
    "certificate": certificate,
    "network": lambda ax: pm.plots.draw_network(tree_network(two_trees(), 1), path=[0], ax=ax),
}
"""Pictures on axes that the caller gives, or on their own."""

PICTURES: dict[str, Callable[[], Figure]] = {name: partial(draw, None) for name, draw in ON_AXES.items()} | {
    "exits": lambda: pm.plots.plot_exits(case("sets").cascade, case("sets").X, case("sets").y),
    "history": lambda: pm.plots.plot_history(RUN),
}
every_picture = pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)


@pytest.mark.slow_cases("budget", "certificate", "choice", "decomposition", "exits", "history", "matrix", "point", "tradeoff")
@every_picture
def test_it_can_be_read(draw: Callable[[], Figure]) -> None:
    """On 14 by 11 inches at most, texts and legends cover nothing and stay inside, and no number is hidden at an axis' end."""
    figure = draw()
    width, height = figure.get_size_inches()
    assert width <= 14
    assert height <= 11
    assert overlaps(figure) == []
    assert outside(figure) == []
    for ax in figure.axes:
        assert ax.xaxis.get_offset_text().get_text() == ax.yaxis.get_offset_text().get_text() == ""
    assert not any("lambda " in text.get_text() for text, _ in visible_texts(figure))
    areas = [ax.get_window_extent() for ax in figure.axes]
    for legend in figure.findobj(Legend):  # beside, above or below the axes
        assert not any(legend.get_window_extent().shrunk(0.98, 0.98).overlaps(area) for area in areas)


@pytest.mark.slow_cases(
    "budget",
    "certificate",
    "choice",
    "cut",
    "decomposition",
    "exits",
    "history",
    "levels_in_boxes",
    "matrix",
    "point",
    "tradeoff",
    "tradeoff_alone",
)
@every_picture
def test_it_looks_the_same_whatever_the_settings(draw: Callable[[], Figure]) -> None:
    """With matplotlib's dark style the background is white, texts are dark, and the settings stay as they were."""
    with mpl.rc_context():
        mpl.style.use("dark_background")
        before = dict(mpl.rcParams)
        figure = draw()
        assert dict(mpl.rcParams) == before
        place = io.BytesIO()
        figure.savefig(place, format="rgba", dpi=40)
        pixels = np.frombuffer(place.getvalue(), dtype=np.uint8).reshape(-1, 4)
        assert pixels[0].tolist() == [255, 255, 255, 255]
        for ax in figure.axes:
            assert to_hex(ax.get_facecolor()) == "#ffffff"
            labels = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label, ax.title]
            assert all(max(to_rgb(text.get_color())) < 0.3 for text in labels if ax.axison)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [PICTURES["cut"], PICTURES["levels"]], ids=["cut", "levels"])
def test_equal_pictures_are_equal_files(draw: Callable[[], Figure]) -> None:
    """Nothing in a picture depends on when it is drawn; Jupyter gets it as PNG, 100 pixels an inch."""
    figure = draw()
    png = figure._repr_png_()  # type: ignore[attr-defined]
    assert png == draw()._repr_png_()  # type: ignore[attr-defined]
    assert struct.unpack(">II", png[16:24]) == tuple(int(100 * side) for side in figure.get_size_inches())


def wrong_axes() -> list[tuple[Axes, str]]:
    """Axes that nothing can be drawn on, and why."""
    polar = Figure().add_subplot(projection="polar")
    removed = Figure().add_subplot()
    removed.remove()
    return [(polar, "ax has the projection 'polar'; give plain axes"), (removed, "ax was removed from its figure; give axes")]


@pytest.mark.parametrize("draw", ON_AXES.values(), ids=ON_AXES)
def test_axes_may_be_given(draw: Callable[[Axes | None], Figure]) -> None:
    """They are drawn on, without pyplot; polar axes, and axes removed from their figure, are refused with the remedy."""
    figure = Figure()
    ax = figure.add_subplot()
    assert draw(ax) is figure
    assert figure.axes[0] is ax
    assert ax.has_data() or ax.texts or ax.patches
    assert plt.get_fignums() == []
    for ax, message in wrong_axes():
        with pytest.raises(pm.errors.InvalidInputError, match=message):
            draw(ax)


def test_dollar_signs_are_no_formulas() -> None:
    """A name with two of them is written as it is."""
    curve = TradeoffCurve("up to $5 or $6", "step", np.ones(1), np.ones(1), np.ones(1), 1)
    figure = pm.plots.plot_curves([curve])
    (text,) = figure.axes[0].get_legend().get_texts()
    assert text.get_text() == r"up to \$5 or \$6"
    assert text._preprocess_math(text.get_text()) == ("up to $5 or $6", False)  # type: ignore[attr-defined]
