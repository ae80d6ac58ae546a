"""Pictures of curves of several methods, and of seconds that grow."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from prunemodels.plots.curves import plot_curves
from tests.prunemodels.plots.cases import ONE, TWO, curve


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


def test_numbers_are_no_rates() -> None:
    """A mean squared error is not shown in per cent."""
    axes = plot_curves([ONE], error_label="mean squared error").axes[0]
    assert axes.get_ylabel() == "mean squared error"
    assert "%" not in axes.yaxis.get_major_formatter()(0.125)
