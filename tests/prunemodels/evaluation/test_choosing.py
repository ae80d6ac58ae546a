"""The rules choose what their formulas say, and the picture shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.data_files import FOLDER_VARIABLE, data_folder, load_dataset
from prunemodels.evaluation.choosing import at_most, choose_row, falling_hull, furthest_corner, knee, one_se
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.plots.choice import plot_choice
from tests.prunemodels.forest_kinds import fitted, labels, rows, targets


def seen(error: list[float], paired_se: list[float], *, cost: list[float] | None = None, n: int = 100) -> PathEvaluation:
    """An evaluation with these errors; the standard error of each error itself is 0.05."""
    e = np.array(error)
    least = np.flatnonzero(e == e.min())[-1]
    costs = np.arange(len(e), 0, -1.0) if cost is None else np.array(cost)
    zeros = np.zeros(len(e))
    path: Any = None
    return PathEvaluation(
        path,
        "mean",
        n,
        costs,
        zeros,
        e,
        zeros + 0.05,
        e - 0.105,
        zeros,
        int(least),
        e - e[least],
        np.array(paired_se),
        9.0,
        0.105,
    )


def test_one_se_by_hand() -> None:
    """Least error 0.10 in row 1; row 2 is 0.01 worse, se 0.02; row 3 is 0.03 worse, se 0.025 (and 0.05 unpaired)."""
    evaluation = seen([0.11, 0.10, 0.11, 0.13, 0.3], [0.01, 0, 0.02, 0.025, 0.04])
    assert one_se(evaluation) == choose_row(evaluation) == 2
    assert one_se(evaluation, paired=False) == 3


def test_one_se_skips_rows_that_differ() -> None:
    """A cheaper row within its standard error is taken even where a dearer one between them is not."""
    assert one_se(seen([0.10, 0.20, 0.11, 0.3], [0, 0.05, 0.01, 0.1])) == 2


def test_one_se_without_spread_is_the_cheapest_of_the_best() -> None:
    """Where all differences are known exactly, the cheapest of the rows of least error remains."""
    assert one_se(seen([0.1, 0.1, 0.2], [0, 0, 0])) == 1


def test_one_se_of_one_example_is_refused() -> None:
    """Without a standard error there is no such rule."""
    with pytest.raises(pm.errors.InvalidInputError, match="there is a single example"):
        one_se(seen([0.1, 0.2], [np.nan, np.nan], n=1))


def test_at_most_by_hand() -> None:
    """The unpruned forest errs at 0.105: up to 0.01 more is 0.115, inclusively of rounding; no row is below 0.08."""
    evaluation = seen([0.11, 0.10, 0.115, 0.13], [0] * 4)
    assert at_most(evaluation, 0.01) == 2
    assert at_most(evaluation, 0) == 1
    assert at_most(evaluation, 1) == 3
    assert at_most(seen([0.2, 0.3], [0] * 2), 0.01) is None


def test_knee_by_hand() -> None:
    """Chord from (0, 10) to (10, 0); (1, 5) lies 4 below it, (4, 1) lies 5, (2, 7) above the hull; (12, 0) is dearer in vain."""
    cost, error = np.array([12, 10, 4, 2, 1, 0.0]), np.array([0, 0, 1, 7, 5, 10.0])
    assert falling_hull(cost, error) == [5, 4, 2, 1]
    assert furthest_corner(cost, error) == 2
    assert knee(seen(error.tolist(), [0] * 6, cost=cost.tolist())) == 2
    assert choose_row(seen(error.tolist(), [0] * 6, cost=cost.tolist()), "knee") == 2


def test_knee_of_equally_distant_corners_is_the_cheaper() -> None:
    """(1, 6) and (6, 1) both lie 3 below the chord from (0, 10) to (10, 0)."""
    assert furthest_corner(np.array([10, 6, 1, 0.0]), np.array([0, 1, 6, 10.0])) == 2


@pytest.mark.parametrize(
    ("cost", "error", "row"),
    [([3.0], [0.2], 0), ([5, 1], [0.1, 0.5], 0), ([5, 1], [0.5, 0.1], 1), ([4, 2, 0], [0, 1, 2], 0), ([0, 0], [0.3, 0.2], 1)],
)
def test_without_a_corner_the_least_error_is_taken(cost: list[float], error: list[float], row: int) -> None:
    """One point, two points, points on a line: the cheapest row of least error."""
    assert furthest_corner(np.array(cost, dtype=float), np.array(error, dtype=float)) == row


POINTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12)


@given(POINTS)
def test_the_falling_hull_supports_all_points(points: list[tuple[int, int]]) -> None:
    """Costs rise and errors fall along it, slopes flatten, and no point that is cheaper than its end lies below it."""
    cost, error = np.array(points, dtype=float).T
    hull = falling_hull(cost, error)
    x, y = cost[hull], error[hull]
    assert x[0] == cost.min()
    assert y[-1] == error.min()
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all()
    assert (np.diff(np.diff(y) / np.diff(x)) > 0).all()
    inside = cost <= x[-1]
    assert (error[inside] >= np.interp(cost[inside], x, y) - 1e-9).all()


@given(POINTS, st.floats(0.01, 100), st.floats(0.01, 100))
def test_the_knee_does_not_depend_on_units(points: list[tuple[int, int]], a: float, b: float) -> None:
    """Scaled costs and errors put the knee equally far below the chord, in proportion: the same corner, up to rounding."""
    cost, error = np.array(points, dtype=float).T
    first, second = furthest_corner(cost, error), furthest_corner(a * cost, b * error)
    hull = falling_hull(cost, error)
    chord = np.interp(cost, cost[[hull[0], hull[-1]]], error[[hull[0], hull[-1]]])
    assert (chord - error)[first] == pytest.approx((chord - error)[second], abs=1e-6)


def test_unknown_rules_are_refused() -> None:
    """The message names the rules there are."""
    with pytest.raises(pm.errors.InvalidInputError, match="rule is 'best'; give one of 'one_se', 'knee'"):
        choose_row(seen([0.1], [0.0]), "best")  # type: ignore[arg-type]


def picture_of(kind: str) -> tuple[PathEvaluation, Any]:
    f = fitted(kind)
    X = rows(120, seed=5)
    y = labels(X, list(f.forest.classes_), seed=6) if hasattr(f.forest, "classes_") else targets(X, 6)
    return evaluate_path(pm.pruning_path(pm.problem_from_forest(f.forest, f.X, costs=1)), X, y), plot_choice


@pytest.mark.parametrize("kind", ["random forest", "regression forest"])
def test_the_picture_marks_what_the_rules_choose(kind: str) -> None:
    """Both parts have the path, the marks at the rules' rows, and the unpruned forest; the legend says what each costs."""
    evaluation, plot = picture_of(kind)
    figure = plot(evaluation, chosen=0)
    assert len(figure.axes) == 2
    for ax in figure.axes:
        lines = {line.get_label().split(":")[0]: line for line in ax.get_lines()}
        for name, row in {"one_se": one_se(evaluation), "knee": knee(evaluation), "chosen": 0}.items():
            assert lines[name].get_xydata().tolist() == [[evaluation.cost[row], evaluation.error[row]]]
        assert lines["unpruned"].get_xydata().tolist() == [[evaluation.unpruned_cost, evaluation.unpruned_error]]
        np.testing.assert_array_equal(lines["prunings of the path"].get_xdata(), evaluation.cost)
        assert lines["chord of the knee"].get_xydata().shape == (2, 2)
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    row = one_se(evaluation)
    assert any(f"one_se: cost {evaluation.cost[row]:.3g}, error" in text for text in shown)
    assert any("%" in text for text in shown) == (kind == "random forest")
    near = figure.axes[1]
    least = evaluation.error[evaluation.best]
    assert near.get_ylim()[0] <= least <= near.get_ylim()[1]
    assert near.get_xlim()[0] <= evaluation.cost[row] <= near.get_xlim()[1]


def test_the_picture_goes_on_given_axes() -> None:
    """With axes of the caller's there is one part, with its own legend."""
    from matplotlib.figure import Figure

    evaluation, plot = picture_of("random forest")
    ax = Figure().add_subplot()
    assert plot(evaluation, ax=ax) is ax.get_figure()
    assert ax.get_legend() is not None
    assert "chosen" not in {line.get_label().split(":")[0] for line in ax.get_lines()}


@pytest.mark.slow
def test_miniboone(capsys: pytest.CaptureFixture[str]) -> None:
    """On MiniBooNE the sweep equals evaluating single rows, and the rules take what docs/estimators.md says; -s shows all."""
    if not (data_folder() / "miniboone.csv.gz").is_file():
        pytest.skip(f"no miniboone.csv.gz in {data_folder()}; name its folder in {FOLDER_VARIABLE}")
    data = load_dataset("miniboone", None)
    train, valid, test = data.parts(0)
    forest = RandomForestClassifier(40, criterion="entropy", max_features=None, random_state=0, n_jobs=-1)
    forest.fit(data.X.iloc[train], data.y[train])
    path = pm.pruning_path(pm.problem_from_forest(forest, data.X.iloc[valid], costs=1), certificate=False)
    X, y = data.X.iloc[test], data.y[test]
    evaluation = evaluate_path(path, X, y)
    with capsys.disabled():
        print(f"\n{evaluation}")
        for name, row in {
            "one_se": one_se(evaluation),
            "Breiman": one_se(evaluation, paired=False),
            "knee": knee(evaluation),
        }.items():
            print(f"{name:8s} row {row}: {100 * evaluation.error[row]:.2f} % at {evaluation.cost[row]:.1f} features")
    for k in (0, one_se(evaluation), knee(evaluation)):
        one = pm.evaluate(pm.apply_pruning(path[k], forest), X, y, costs=1)
        assert evaluation.error[k] == one.error
        assert evaluation.cost[k] == pytest.approx(one.cost)
    assert evaluation.cost[one_se(evaluation)] == pytest.approx(25, abs=3)
    assert evaluation.error[one_se(evaluation)] <= evaluation.unpruned_error + 0.001
