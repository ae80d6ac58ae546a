"""The picture shows each method's own points, and tells methods apart."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import prunemodels as pm
from prunemodels.judging.curve import TradeoffCurve
from prunemodels.plots.curves import STYLES, plot_curves


def curve(method: str, cost: list[float], error: list[float]) -> TradeoffCurve:
    return TradeoffCurve(method, "step", np.arange(len(cost), dtype=float), np.array(cost), np.array(error), 100)


ONE, TWO = curve("one", [3, 1, 2], [0.1, 0.5, 0.6]), curve("two", [4, 0], [0.2, 0.4])


def test_lines_are_the_points_in_the_order_of_cost() -> None:
    """One line a method, all of its points, named in the legend."""
    axes = plot_curves([ONE, TWO]).axes[0]
    first, second = axes.get_lines()
    np.testing.assert_array_equal(first.get_xydata(), [[1, 0.5], [2, 0.6], [3, 0.1]])
    np.testing.assert_array_equal(second.get_xydata(), [[0, 0.4], [4, 0.2]])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]
    assert axes.get_ylabel() == "error rate"
    assert axes.yaxis.get_major_formatter()(0.125) == "12.5 %"


def test_points_are_chosen_on_another_sample_and_shown_on_this_one() -> None:
    """What is undominated elsewhere is drawn where it lies here, though another point is better here."""
    elsewhere = curve("one", [1, 2, 3], [0.9, 0.3, 0.3])
    axes = plot_curves([ONE], choose_on=[elsewhere]).axes[0]
    np.testing.assert_array_equal(axes.get_lines()[0].get_xydata(), [[3, 0.1], [1, 0.5]])


def test_spread_is_a_band_of_one_deviation_around_the_shown_points() -> None:
    """Of the method that has one, at its chosen points."""
    elsewhere = curve("one", [2, 3, 1], [0.3, 0.3, 0.9])
    spread = {"one": np.array([0.01, 0.02, 0.03])}
    axes = plot_curves([ONE, TWO], choose_on=[elsewhere, TWO], spread=spread).axes[0]
    (band,) = axes.collections
    corners = {(round(x, 9), round(y, 9)) for x, y in band.get_paths()[0].vertices}
    assert corners == {(3, 0.09), (3, 0.11), (2, 0.57), (2, 0.63)}


def test_every_method_has_a_style_of_its_own() -> None:
    """Seven methods differ in marker and colour; the eighth begins anew."""
    axes = plot_curves([curve(str(k), [k], [0.1]) for k in range(8)]).axes[0]
    styles = [(line.get_color(), line.get_marker()) for line in axes.get_lines()]
    assert len(set(styles)) == len(STYLES) == 7
    assert styles[7] == styles[0]


def test_long_curves_are_lines_without_markers() -> None:
    """Hundreds of points are a line."""
    axes = plot_curves([curve("long", list(range(500)), [0.1] * 500), ONE]).axes[0]
    assert [line.get_marker() in ("", "None") for line in axes.get_lines()] == [True, False]


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
