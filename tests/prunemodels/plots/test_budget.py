"""The picture of a budget shows the solution's own figures."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.answers.budget_solution import BudgetSolution
from prunemodels.evaluation.held_out import HeldOut, hold_out
from prunemodels.plots.choice import plot_budget
from solvers.budgets import best_breakpoint

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def forest() -> RandomForestClassifier:
    return RandomForestClassifier(5, max_depth=5, random_state=0).fit(X[:200], Y[:200])


@pytest.fixture(scope="module")
def path(forest: RandomForestClassifier) -> pm.PruningPath:
    return pm.pruning_path(pm.problem_from_forest(forest, X[200:350], costs=1))


@pytest.fixture(scope="module")
def solution(path: pm.PruningPath) -> BudgetSolution:
    """Of a budget inside the longest hull edge."""
    k = int(np.argmax(-np.diff(path.cost)))
    return best_breakpoint(path.problem, float(0.7 * path.cost[k] + 0.3 * path.cost[k + 1]), path=path)


def drawn(ax: Axes) -> dict[str, Line2D]:
    """Lines by the words of the legend."""
    return {str(line.get_label()).split(":")[0].split(",")[0]: line for line in ax.get_lines()}


def words(figure: Figure) -> list[str]:
    """What the legend says, without the numbers."""
    return [text.get_text().split(":")[0].split(",")[0] for text in figure.legends[0].get_texts()]


def test_lines_are_the_figures_of_the_solution(path: pm.PruningPath, solution: BudgetSolution) -> None:
    """In both parts: the breakpoints, B, the edge, the optimum of the relaxation on it, the pruning taken, and the gap."""
    mixture, taken, budget = solution.relaxation, solution.pruning, float(solution.budget)
    figure = plot_budget(solution, path)
    assert len(figure.axes) == 2
    for ax in figure.axes:
        lines = drawn(ax)
        np.testing.assert_array_equal(lines[f"budget B = {budget:.4g}"].get_xdata(), [budget, budget])
        hull = lines["breakpoints and their hull"].get_xydata()
        np.testing.assert_array_equal(hull, np.column_stack([path.cost, path.error]))
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


def test_a_slack_budget_has_its_optimum_at_the_dearest_breakpoint(path: pm.PruningPath) -> None:
    """Above the dearest breakpoint the optimum stands at that breakpoint, not at B; the picture still shows B."""
    solution = best_breakpoint(path.problem, float(path.cost[0]) + 1, path=path)
    whole, near = plot_budget(solution, path).axes
    np.testing.assert_array_equal(drawn(whole)["optimum of the relaxation"].get_xdata(), [path.cost[0]])
    assert near.get_xlim()[1] > path.cost[0] + 1
    none = best_breakpoint(path.problem, 0, path=path)  # everything at one point
    low, high = plot_budget(none, path).axes[1].get_xlim()
    assert low == 0 < high


def held_out(forest: RandomForestClassifier, solution: BudgetSolution) -> list[HeldOut]:
    pair = (solution.pruning, solution.relaxation.dearer)
    return [hold_out(pruning, forest, X[350:], Y[350:]) for pruning in pair]


def test_held_out_points_have_their_intervals(
    forest: RandomForestClassifier, path: pm.PruningPath, solution: BudgetSolution
) -> None:
    """Left, points at held-out cost and error with both intervals; right, the costs' at the foot; one entry in the legend."""
    points = held_out(forest, solution)
    whole, near = plot_budget(solution, path, points).axes
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


def test_without_labels_the_cost_alone_is_drawn(
    forest: RandomForestClassifier, path: pm.PruningPath, solution: BudgetSolution
) -> None:
    """The left part too has it at the foot, under its own name."""
    whole = plot_budget(solution, path, [hold_out(solution.pruning, forest, X[350:])]).axes[0]
    assert whole.containers[0].get_label() == "held-out cost, 95 % interval"
    assert len(whole.containers[0].lines[2]) == 1  # type: ignore[attr-defined]


def test_a_path_of_another_problem_is_refused(forest: RandomForestClassifier, solution: BudgetSolution) -> None:
    """Solution and path must be of one instance."""
    other = pm.pruning_path(pm.problem_from_forest(forest, X[200:350], costs=2))
    with pytest.raises(
        pm.errors.InvalidInputError, match=r"path is of another problem than solution; give one of solution\.problem"
    ):
        plot_budget(solution, other)


def test_prunings_of_another_problem_are_refused(
    forest: RandomForestClassifier, path: pm.PruningPath, solution: BudgetSolution
) -> None:
    """Their cost is measured at other prices: a chosen pruning as much as a held-out one, by name."""
    other = pm.pruning_path(pm.problem_from_forest(forest, X[200:350], costs=2))
    with pytest.raises(pm.errors.InvalidInputError, match=r"^chosen is of another problem than solution"):
        plot_budget(solution, path, chosen=other[0])
    points = [hold_out(pruning, forest, X[350:], Y[350:]) for pruning in (path[0], other[0])]
    with pytest.raises(pm.errors.InvalidInputError, match=r"^held_out\[1\] is of another problem than solution"):
        plot_budget(solution, path, points)
