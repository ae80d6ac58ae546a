"""The picture shows the path's own figures, and is saved whole."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from prunemodels.plots.tradeoff import picture_files, plot_tradeoff, save_picture


@pytest.fixture(scope="module")
def forest() -> RandomForestClassifier:
    X, y = load_breast_cancer(return_X_y=True)
    return RandomForestClassifier(4, random_state=0).fit(X[:300], y[:300])


@pytest.fixture(scope="module")
def path(forest: RandomForestClassifier) -> pm.PruningPath:
    X, _ = load_breast_cancer(return_X_y=True)
    return pm.pruning_path(pm.problem_from_forest(forest, X[300:], costs=1))


def test_lines_are_the_figures_of_the_path(forest: RandomForestClassifier, path: pm.PruningPath) -> None:
    """Breakpoints, held-out points, the unpruned forest and the chosen pruning lie at their own cost and error."""
    X, y = load_breast_cancer(return_X_y=True)
    held_out = [pm.evaluate(pm.apply_pruning(path[k], forest), X[300:], y[300:], costs=1) for k in (0, 5)]
    chosen = path[5]
    axes = plot_tradeoff(path, held_out=held_out, chosen=chosen).axes[0]
    hull, outside, unpruned, circle = (line.get_xydata() for line in axes.get_lines())
    np.testing.assert_array_equal(hull, np.column_stack([path.cost, path.error]))
    np.testing.assert_array_equal(outside, [[e.cost, e.error] for e in reversed(held_out)])  # from cheap to dear
    whole = pm.Pruning.unpruned(path.problem)
    np.testing.assert_array_equal(unpruned, [[whole.cost, whole.error]])
    np.testing.assert_array_equal(circle, [[chosen.cost, chosen.error]])


def test_axes_carry_units(path: pm.PruningPath) -> None:
    """Cost is named with its unit, error rates are in per cent, mean squared errors are not."""
    figure = plot_tradeoff(path)
    axes = figure.axes[0]
    assert axes.get_xlabel() == "cost per prediction (unit of the prices)"
    assert axes.get_ylabel() == "error rate"
    assert axes.yaxis.get_major_formatter()(0.155, 0) == "15.5 %"
    X, y = load_diabetes(return_X_y=True)
    regressor = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    axes = plot_tradeoff(pm.pruning_path(pm.problem_from_forest(regressor, X, costs=1))).axes[0]
    assert axes.get_ylabel() == "mean squared error"


def test_it_draws_on_axes_that_are_given(path: pm.PruningPath) -> None:
    """A caller's axes are used, and no figure of pyplot's is opened."""
    figure = Figure()
    axes = figure.add_subplot()
    assert plot_tradeoff(path, ax=axes) is figure
    assert axes.get_lines()
    assert plt.get_fignums() == []


def test_both_formats_are_written_and_repeatable(path: pm.PruningPath, tmp_path: Path) -> None:
    """A stem gives a PNG and an SVG; drawing again gives the same bytes."""
    for name in ("first", "second"):
        assert save_picture(plot_tradeoff(path), tmp_path / name) == [tmp_path / f"{name}.png", tmp_path / f"{name}.svg"]
    assert (tmp_path / "first.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    for ending in (".png", ".svg"):
        assert (tmp_path / f"first{ending}").read_bytes() == (tmp_path / f"second{ending}").read_bytes()
    assert ">optimal prunings" in (tmp_path / "first.svg").read_text()  # text as text
    assert len(list(tmp_path.iterdir())) == 4


def test_endings(tmp_path: Path) -> None:
    """An ending chooses one format; an unknown one is refused."""
    assert picture_files("a/b.svg") == [Path("a/b.svg")]
    with pytest.raises(pm.errors.InvalidInputError, match=r"'\.pdf'; give \.png or \.svg"):
        save_picture(Figure(), tmp_path / "a.pdf")
