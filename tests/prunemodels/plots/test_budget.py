"""Pictures of budgets, of a path's trade-off and of the choice on it."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import prunemodels as pm
from prunemodels.evaluation.held_out import hold_out
from prunemodels.plots.choice import plot_budget, plot_choice
from prunemodels.plots.picture import BLUE, GREY
from prunemodels.plots.tradeoff import plot_tradeoff
from solvers.within import best_breakpoint
from tests.prunemodels.plots.cases import HELD_OUT, evaluation, forest, path, solution

FAINT = "training error of single trees"


def drawn(ax: Axes) -> dict[str, Line2D]:
    """Lines by the words of the legend."""
    return {str(line.get_label()).split(":")[0].split(",")[0]: line for line in ax.get_lines()}


def test_lines_are_the_figures_of_the_solution() -> None:
    """In both parts: the breakpoints, B, the edge, the optimum of the relaxation on it, the pruning taken, and the gap."""
    mixture, taken, budget = solution().relaxation, solution().pruning, float(solution().budget)
    figure = plot_budget(solution(), path())
    assert len(figure.axes) == 2
    for ax in figure.axes:
        lines = drawn(ax)
        np.testing.assert_array_equal(lines[f"budget B = {budget:.4g}"].get_xdata(), [budget, budget])
        hull = lines["breakpoints and their hull"].get_xydata()
        np.testing.assert_array_equal(hull, np.column_stack([path().cost, path().error]))
        ends = [[p.cost, p.error] for p in (mixture.cheaper, mixture.dearer)]
        np.testing.assert_array_equal(lines["hull edge at B"].get_xydata(), ends)
        optimum = lines["optimum of the relaxation"].get_xydata()
        np.testing.assert_array_equal(optimum, [[budget, float(mixture.value)]])
        np.testing.assert_array_equal(lines["pruning taken"].get_xydata(), [[taken.cost, taken.error]])
        gap = lines["from the optimum to the pruning taken"].get_xydata()
        corner = [budget, taken.error]
        np.testing.assert_array_equal(gap, [[taken.cost, taken.error], corner, [budget, float(mixture.value)]])
        assert rf"$\lambda$* = {float(mixture.lam):.3g}" in str(lines["optimum of the relaxation"].get_label())
        # the optimum lies on the chord
        at = np.interp(budget, [ends[0][0], ends[1][0]], [ends[0][1], ends[1][1]])
        assert float(mixture.value) == pytest.approx(at)


def test_a_slack_budget_has_its_optimum_at_the_dearest_breakpoint() -> None:
    """Above the dearest breakpoint the optimum stands at that breakpoint, not at B; the picture still shows B."""
    slack = best_breakpoint(path().problem, float(path().cost[0]) + 1, path=path())
    whole, near = plot_budget(slack, path()).axes
    np.testing.assert_array_equal(drawn(whole)["optimum of the relaxation"].get_xdata(), [path().cost[0]])
    assert near.get_xlim()[1] > path().cost[0] + 1
    none = best_breakpoint(path().problem, 0, path=path())  # everything at one point
    low, high = plot_budget(none, path()).axes[1].get_xlim()
    assert low == 0 < high


def test_held_out_points_have_their_intervals() -> None:
    """Left, points at held-out cost and error with both intervals; right, and without labels, the costs' at the foot."""
    points = [hold_out(p, forest(), *HELD_OUT) for p in (solution().pruning, solution().relaxation.dearer)]
    whole, near = plot_budget(solution(), path(), points).axes
    assert (len(whole.containers), len(near.containers)) == (2, 2)
    for k, point in enumerate(points):
        assert point.error is not None
        left, right = whole.containers[k], near.containers[k]
        np.testing.assert_allclose(left.lines[0].get_xydata(), [[point.cost.mean, point.error.mean]])  # type: ignore[attr-defined]
        np.testing.assert_allclose(right.lines[0].get_xydata(), [[point.cost.mean, 0.05 * (k + 1)]])  # type: ignore[attr-defined]
        across, along = (bars.get_segments()[0] for bars in left.lines[2])  # type: ignore[attr-defined]
        np.testing.assert_allclose(across[:, 0], [point.cost.low, point.cost.high])
        np.testing.assert_allclose(along[:, 1], [point.error.low, point.error.high])
        np.testing.assert_allclose(right.lines[2][0].get_segments()[0][:, 0], [point.cost.low, point.cost.high])  # type: ignore[attr-defined]
    assert near.get_xlim()[0] < points[1].cost.high < near.get_xlim()[1]
    assert "at the foot" in near.get_title(loc="left")
    words = [text.get_text() for text in whole.figure.legends[0].get_texts()]
    assert words.count("held-out cost and forest error, 95 % interval") == 1
    whole = plot_budget(solution(), path(), [hold_out(solution().pruning, forest(), HELD_OUT[0])]).axes[0]
    assert whole.containers[0].get_label() == "held-out cost, 95 % interval"
    assert len(whole.containers[0].lines[2]) == 1  # type: ignore[attr-defined]


def test_lines_are_the_figures_of_the_path() -> None:
    """Breakpoints, held-out points, the unpruned forest and the chosen pruning lie at their own cost and error."""
    held_out = [hold_out(pruning, forest(), *HELD_OUT) for pruning in (pm.Pruning.unpruned(path().problem), path()[5])]
    seen = [pm.evaluate(pm.apply_pruning(point.pruning, forest()), *HELD_OUT, costs=1) for point in held_out]
    chosen = path()[5]
    axes = plot_tradeoff(path(), held_out=held_out, chosen=chosen).axes[0]
    hull, outside, unpruned, line = (np.asarray(line.get_xydata()) for line in axes.get_lines())
    np.testing.assert_array_equal(hull, np.column_stack([path().cost, path().error]))
    np.testing.assert_allclose(outside, [[e.cost, e.error] for e in reversed(seen)])  # from cheap to dear
    np.testing.assert_array_equal(unpruned, outside[1:])
    (band,) = axes.collections
    ends = [end for point in held_out if point.error is not None for end in (point.error.low, point.error.high)]
    assert set(ends) <= set(band.get_paths()[0].vertices[:, 1].tolist())  # type: ignore[union-attr]
    assert line[:, 0].tolist() == [chosen.cost, chosen.cost]


@pytest.mark.slow
def test_the_chosen_pruning_is_marked_where_it_errs_on_new_examples() -> None:
    """In a picture with held-out errors no circle is at the training error: it is at the held-out point, or nowhere."""
    seen = pm.evaluate_path(path(), *HELD_OUT)
    root = int(path().problem.ensemble.roots[0])
    between = pm.Pruning(path().problem, np.arange(path().problem.ensemble.n_nodes) == root)
    for chosen in (path()[0], path()[5], path()[-1], between):
        name = f"chosen pruning, cost {chosen.cost:.4g}"
        apart = hold_out(chosen, forest(), *HELD_OUT)
        assert apart.error is not None
        *_, line, circle = plot_tradeoff(path(), held_out=seen, chosen=apart).axes[0].get_lines()
        np.testing.assert_array_equal(circle.get_xydata(), [[apart.cost.mean, apart.error.mean]])
        assert circle.get_label() == name
        for without in (chosen, hold_out(chosen, None, HELD_OUT[0])):
            alone = plot_tradeoff(path(), held_out=seen, chosen=without).axes[0].get_lines()[-1]
            assert (alone.get_label(), np.asarray(alone.get_xdata()).tolist()) == (name, [chosen.cost, chosen.cost])
        assert np.asarray(line.get_xdata()).tolist() == [chosen.cost, chosen.cost]
    alone = plot_tradeoff(path(), chosen=path()[5]).axes[0].get_lines()[-1]
    np.testing.assert_array_equal(alone.get_xydata(), [[path()[5].cost, path()[5].error]])


@pytest.mark.slow
def test_a_whole_path_on_held_out_examples_has_a_band() -> None:
    """Cost and error of every row, the exact 95 % interval of each, and the unpruned forest there. The line that falls to 0 is
    named as what it is, thin and pale; the forest's own error is the thickest line.
    """
    seen = pm.evaluate_path(path(), *HELD_OUT)
    axes = plot_tradeoff(path(), held_out=seen).axes[0]
    thin, thick, _ = axes.get_lines()
    assert [line.get_label() for line in (thin, thick)] == [FAINT, "error of the forest, held-out examples"]
    assert thick.get_linewidth() >= 1.8 * thin.get_linewidth()
    assert (thin.get_color(), thick.get_color()) == (GREY, BLUE)
    assert plot_tradeoff(path()).axes[0].get_lines()[0].get_label() == f"{FAINT} (held-out error not given)"
    _, bold, whole = (np.asarray(line.get_xydata()) for line in axes.get_lines())
    np.testing.assert_array_equal(bold, np.column_stack([seen.cost, seen.error]))
    np.testing.assert_array_equal(whole, [[seen.unpruned_cost, seen.unpruned_error]])
    (band,) = axes.collections
    highest = binomtest(round(seen.error.max() * seen.n), seen.n).proportion_ci(0.95, method="exact").high
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(highest)


def test_axes_carry_units() -> None:
    """Cost is named with its unit, error rates are in per cent, mean squared errors are not."""
    figure = plot_tradeoff(path())
    axes = figure.axes[0]
    assert axes.get_xlabel() == "cost per prediction (unit of the prices)"
    assert axes.get_ylabel() == "error rate"
    assert axes.yaxis.get_major_formatter()(0.155, 0) == "15.5 %"
    X, y = load_diabetes(return_X_y=True)
    regressor = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    axes = plot_tradeoff(pm.pruning_path(pm.problem_from_forest(regressor, X, costs=1))).axes[0]
    assert axes.get_ylabel() == "mean squared error"


def test_the_chosen_row_is_marked() -> None:
    """By its cost and error, which the legend says."""
    seen = evaluation()
    lines = plot_choice(seen, chosen=1).axes[0].get_lines()
    (star,) = [line for line in lines if line.get_linestyle() == "None" and str(line.get_label()).startswith("chosen")]
    np.testing.assert_array_equal(star.get_xydata(), [[seen.cost[1], seen.error[1]]])
    assert star.get_label() == f"chosen: cost {seen.cost[1]:.3g}, error {100 * seen.error[1]:.3g} %"


def test_between_two_prunings_the_cheaper_one_holds() -> None:
    """No line promises an error that no pruning has: just below a row's cost the next cheaper row's error is drawn."""
    seen = pm.evaluate_path(path(), *HELD_OUT)
    held_out = [hold_out(path()[k], forest(), *HELD_OUT) for k in (0, 5)]
    figures = plot_tradeoff(path(), held_out=seen), plot_tradeoff(path(), held_out=held_out), plot_choice(seen)
    lines = [line for figure in figures for line in figure.axes[0].get_lines() if len(line.get_xydata()) > 1]
    stepped = {line.get_label(): line.get_drawstyle() for line in lines if line.get_linestyle() != "--"}
    assert set(stepped.values()) == {"steps-pre", "steps-post"}
    for line in (line for line in lines if line.get_label() in stepped):
        cost = np.asarray(line.get_xdata())
        assert line.get_drawstyle() == ("steps-pre" if cost[0] > cost[-1] else "steps-post")  # the cheaper one, to its right
