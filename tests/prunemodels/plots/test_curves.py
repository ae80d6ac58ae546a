"""The picture shows each method's own points, and tells methods apart."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import prunemodels as pm
from prunemodels.evaluation.curve import TradeoffCurve
from prunemodels.plots.curves import plot_curves


def curve(method: str, cost: list[float], error: list[float]) -> TradeoffCurve:
    return TradeoffCurve(method, "step", np.arange(len(cost), dtype=float), np.array(cost), np.array(error), 100)


ONE, TWO = curve("one", [3, 1, 2], [0.1, 0.5, 0.6]), curve("two", [4, 0], [0.2, 0.4])


def staircases(axes: Axes) -> list[Line2D]:
    """The line of each method."""
    return [line for line in axes.get_lines() if line.get_drawstyle() == "steps-post"]


def test_a_line_is_the_least_error_for_a_cost() -> None:
    """One staircase a method through its undominated points, named in the legend; the dominated point is a faint dot."""
    axes = plot_curves([ONE, TWO]).axes[0]
    first, second = staircases(axes)
    np.testing.assert_array_equal(first.get_xydata(), [[1, 0.5], [3, 0.1]])
    np.testing.assert_array_equal(second.get_xydata(), [[0, 0.4], [4, 0.2]])
    dots = [line for line in axes.get_lines() if line not in (first, second) and len(np.asarray(line.get_xdata()))]
    assert [np.asarray(line.get_xydata()).tolist() for line in dots] == [[[2, 0.6]]]
    assert all(line.get_alpha() < 0.5 for line in dots)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]
    assert axes.get_ylabel() == "error rate"
    assert axes.yaxis.get_major_formatter()(0.125) == "12.5 %"


def test_points_are_chosen_on_another_sample_and_shown_on_this_one() -> None:
    """What is undominated elsewhere is drawn where it lies here, though another point is better here."""
    elsewhere = curve("one", [1, 2, 3], [0.9, 0.3, 0.3])
    axes = plot_curves([ONE], choose_on=[elsewhere]).axes[0]
    np.testing.assert_array_equal(staircases(axes)[0].get_xydata(), [[1, 0.5], [3, 0.1]])


def test_spread_is_a_band_of_one_deviation_around_the_shown_points() -> None:
    """Of the method that has one, at its chosen points."""
    elsewhere = curve("one", [2, 3, 1], [0.3, 0.3, 0.9])
    spread = {"one": np.array([0.01, 0.02, 0.03])}
    axes = plot_curves([ONE, TWO], choose_on=[elsewhere, TWO], spread=spread).axes[0]
    (band,) = axes.collections
    corners = {(round(x, 9), round(y, 9)) for x, y in band.get_paths()[0].vertices}
    assert {(3, 0.09), (3, 0.11), (2, 0.57), (2, 0.63)} <= corners
    assert {y for _, y in corners} == {0.09, 0.11, 0.57, 0.63}


def test_long_curves_are_lines_without_markers() -> None:
    """Hundreds of points are a line."""
    long = curve("long", list(range(500)), (1 / np.arange(1, 501)).tolist())
    lines = staircases(plot_curves([long, ONE]).axes[0])
    assert [line.get_marker() in ("", "None") for line in lines] == [True, False]


def test_the_unit_is_named() -> None:
    """A unit that the caller gives stands at the axis; dollar signs are no formula."""
    axes = plot_curves([ONE], unit="$ (Canadian $)").axes[0]
    assert axes.get_xlabel() == r"cost per prediction, \$ (Canadian \$)"
    assert plot_curves([ONE]).axes[0].get_xlabel() == "cost per prediction (unit of the prices)"


def test_numbers_are_no_rates() -> None:
    """A mean squared error is not shown in per cent; given axes are drawn on."""
    figure, axes = plt.subplots()
    try:
        assert plot_curves([ONE], error_label="mean squared error", ax=axes) is figure
        assert axes.get_ylabel() == "mean squared error"
        assert "%" not in axes.yaxis.get_major_formatter()(0.125)
        assert isinstance(figure, Figure)
    finally:
        plt.close(figure)


@pytest.mark.parametrize("choose_on", [[ONE], [ONE, ONE], [ONE, TWO, TWO]])
def test_other_curves_to_choose_on_are_refused(choose_on: list[TradeoffCurve]) -> None:
    """There must be the same curves, with the same points."""
    with pytest.raises(pm.errors.InvalidInputError, match="choose_on has other curves, or other points, than curves"):
        plot_curves([ONE, TWO], choose_on=choose_on)


@pytest.mark.parametrize(
    ("curves", "spread", "message"),
    [
        ([], None, "curves is empty; give at least one curve"),
        ([ONE, curve("none", [], [])], None, r"curves\[1\], 'none', has no points; leave it out"),
        ([ONE], {"three": np.zeros(3)}, "spread has 'three', which is no curve; there are one"),
        ([ONE], {"one": np.zeros(2)}, r"spread\['one'\] has shape \(2,\); give one number for each of the curve's 3 points"),
    ],
)
def test_what_cannot_be_drawn_is_refused(curves: list[TradeoffCurve], spread: dict[str, Any] | None, message: str) -> None:
    """Nothing to draw, and bands that fit no curve, by name."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        plot_curves(curves, spread=spread)
