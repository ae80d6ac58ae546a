"""Pictures of curves of several methods, and of seconds that grow."""

from __future__ import annotations

import math
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from prunemodels.comparison.growth import Growth
from prunemodels.plots.curves import plot_curves, plot_growth
from prunemodels.plots.history import SMALLEST
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


def growth(time_limit: float = 10.0) -> Growth:
    """Four engines: quick, slow, one that stops at 100, one that refuses at once."""
    rows = []
    for name, seconds in {"min_cut": [0.1, 1.0, 10.0], "my.module:mine": [0.2, 2.0, 2.0], "highs_ip1": [0.5, 12.0]}.items():
        for size, s in zip((10, 100, 1000), seconds, strict=False):
            gap = 0.0 if name == "min_cut" else 0.01
            rows.append(
                {"solver": name, "size": size, "usage_arcs": size**2, "seconds": s, "relative_gap": gap, "usable": s <= 10}
            )
    rows.append(
        {"solver": "brute_force", "size": 10, "usage_arcs": 100, "seconds": math.nan, "relative_gap": math.nan, "usable": False}
    )
    return Growth(pd.DataFrame(rows), "cost rows", 0.5, time_limit, True, "a machine")


def lines(figure: Figure) -> dict[str, tuple[list[float], list[float]]]:
    """Points of the lines that have some, by the first word of the label; a cross has none, and its label begins with _."""
    points = {str(line.get_label()).split()[0]: np.asarray(line.get_xydata()).T.tolist() for line in figure.axes[0].get_lines()}
    return {name: (x, y) for name, (x, y) in points.items() if x}


def legend(figure: Figure) -> list[str]:
    """What it says."""
    found = figure.axes[0].get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def test_lines_are_the_table() -> None:
    """Seconds over size, on logarithmic axes; a cross where an engine was too slow, and the time limit; no window is opened."""
    figure = plot_growth(growth())
    drawn = lines(figure)
    assert drawn["min_cut"] == ([10, 100, 1000], [0.1, 1.0, 10.0])
    assert drawn["highs_ip1"] == ([10, 100], [0.5, 12.0])
    crosses = [line.get_xydata() for line in figure.axes[0].get_lines() if line.get_marker() == "x"]
    assert [np.asarray(points).tolist() for points in crosses if len(points)] == [[[100, 12.0]]]  # brute_force has no seconds
    assert drawn["time"][1] == [10.0, 10.0]
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("cost rows", "seconds")
    assert [t.get_text() for t in axes.get_xticklabels()] == ["10", "100", "1,000"]
    assert plt.get_fignums() == []
    for other in (plot_growth(growth(), "usage_arcs"), plot_growth(growth(math.inf))):
        assert "time" not in lines(other)
    one = plot_growth(replace(growth(), table=growth().table.iloc[:1])).axes[0]
    assert [t.get_text() for t in one.get_xticklabels()] == ["10"]


def test_the_legend_follows_the_ends_of_the_lines_and_has_the_slopes() -> None:
    """Who stopped first stands first, then from the slowest down; slopes where there are three points that count.

    Usage arcs that grow with the square of the size halve the slope.
    """
    figure, names = plot_growth(growth()), ["brute_force", "highs_ip1", "min_cut   1.00", "mine   0.50"]
    assert legend(figure) == [*names, "not usable from here on", "time limit, 10 s"]
    assert figure.axes[0].get_legend().get_title().get_text() == "engine   slope"  # type: ignore[union-attr]
    assert "min_cut" in legend(plot_growth(growth(), least=0.5))  # two points are left: no slope
    assert "min_cut   0.50" in legend(plot_growth(growth(), against="usage_arcs"))


def test_gaps_of_zero_stand_at_the_bottom() -> None:
    """A logarithmic axis has no 0; gaps have no slopes."""
    figure = plot_growth(growth(), "relative_gap", against="usage_arcs")
    assert lines(figure)["min_cut"] == ([100, 10_000, 1_000_000], [SMALLEST] * 3)
    assert figure.axes[0].get_xlabel() == "usage arcs"
    assert legend(figure) == ["brute_force", "highs_ip1", "mine", "min_cut", "not usable from here on"]
