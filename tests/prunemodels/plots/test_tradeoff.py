"""The picture shows the path's own figures, and is saved whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from prunemodels.plots.picture import BLUE, GREY
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
    hull, outside, line = (line.get_xydata() for line in axes.get_lines())
    np.testing.assert_array_equal(hull, np.column_stack([path.cost, path.error]))
    np.testing.assert_array_equal(outside, [[e.cost, e.error] for e in reversed(held_out)])  # from cheap to dear
    assert line[:, 0].tolist() == [chosen.cost, chosen.cost]


def test_the_chosen_pruning_is_marked_where_it_errs_on_new_examples(path: pm.PruningPath) -> None:
    """In a picture with held-out errors no circle is at the training error: it is at the row's own point, or nowhere."""
    X, y = load_breast_cancer(return_X_y=True)
    seen = pm.evaluate_path(path, X[300:], y[300:])
    for k in (0, 5, len(path) - 1):
        circle = plot_tradeoff(path, held_out=seen, chosen=path[k]).axes[0].get_lines()[-1]
        np.testing.assert_array_equal(circle.get_xydata(), [[seen.cost[k], seen.error[k]]])
        assert circle.get_label() == f"chosen pruning, cost {path[k].cost:.4g}"
    root = int(path.problem.ensemble.roots[0])
    other = pm.Pruning(path.problem, np.arange(path.problem.ensemble.n_nodes) == root)
    assert not any(np.array_equal(row.kept, other.kept) for row in path)
    line = plot_tradeoff(path, held_out=seen, chosen=other).axes[0].get_lines()[-1]
    assert np.asarray(line.get_xdata()).tolist() == [other.cost, other.cost]
    assert line.get_label() == f"chosen pruning, cost {other.cost:.4g}"
    alone = plot_tradeoff(path, chosen=path[5]).axes[0].get_lines()[-1]
    np.testing.assert_array_equal(alone.get_xydata(), [[path[5].cost, path[5].error]])


def test_held_out_error_is_bold_and_training_error_faint(forest: RandomForestClassifier, path: pm.PruningPath) -> None:
    """The line that falls to 0 is named as what it is, thin and pale; the forest's own error is the thickest line."""
    X, y = load_breast_cancer(return_X_y=True)
    some = [pm.evaluate(pm.apply_pruning(path[k], forest), X[300:], y[300:], costs=1) for k in (0, 5)]
    for held_out in (some, pm.evaluate_path(path, X[300:], y[300:])):
        axes = plot_tradeoff(path, held_out=held_out).axes[0]
        lines = {str(line.get_label()): line for line in axes.get_lines()}
        faint, bold = lines["training error of single trees"], lines["error of the forest, held-out examples"]
        assert bold.get_linewidth() >= 1.8 * faint.get_linewidth()
        assert (faint.get_color(), bold.get_color()) == (GREY, BLUE)
    alone = plot_tradeoff(path).axes[0].get_lines()[0]
    assert alone.get_label() == "training error of single trees (held-out error not given)"


def test_a_whole_path_on_held_out_examples_has_a_band(path: pm.PruningPath) -> None:
    """Cost and error of every row, one standard error to both sides, and the unpruned forest there."""
    X, y = load_breast_cancer(return_X_y=True)
    seen = pm.evaluate_path(path, X[300:], y[300:])
    axes = plot_tradeoff(path, held_out=seen).axes[0]
    _, bold, whole = (np.asarray(line.get_xydata()) for line in axes.get_lines())
    np.testing.assert_array_equal(bold, np.column_stack([seen.cost, seen.error]))
    np.testing.assert_array_equal(whole, [[seen.unpruned_cost, seen.unpruned_error]])
    (band,) = axes.collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx((seen.error + seen.error_se).max())


def test_what_does_not_fit_the_path_is_refused(forest: RandomForestClassifier, path: pm.PruningPath) -> None:
    """Prunings and evaluations of another problem, no evaluation at all, by name."""
    X, y = load_breast_cancer(return_X_y=True)
    other = pm.pruning_path(pm.problem_from_forest(forest, X[300:], costs=2))
    with pytest.raises(pm.errors.InvalidInputError, match=r"^chosen is of another problem than path; give one of path\.problem"):
        plot_tradeoff(path, chosen=other[0])
    with pytest.raises(pm.errors.InvalidInputError, match=r"^held_out is of another problem than path"):
        plot_tradeoff(path, held_out=pm.evaluate_path(other, X[300:], y[300:]))
    with pytest.raises(pm.errors.InvalidInputError, match=r"^held_out is empty; give at least one Evaluation, or None"):
        plot_tradeoff(path, held_out=[])


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


def test_endings(tmp_path: Path) -> None:
    """An ending chooses one format; an unknown one is refused."""
    assert picture_files("a/b.svg") == [Path("a/b.svg")]
    with pytest.raises(pm.errors.InvalidInputError, match=r"'\.pdf'; give \.png or \.svg"):
        save_picture(Figure(), tmp_path / "a.pdf")
