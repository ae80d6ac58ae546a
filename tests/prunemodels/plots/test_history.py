"""The picture of a decomposition shows the history's own figures."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from formulations import InvalidInputError
from prunemodels.plots.history import SMALLEST, plot_history
from solvers.column_generation import PLAIN, decompose
from tests.solvers.cases import instance, lambdas


def test_lines_are_the_history() -> None:
    """Value, best solution, both bounds and the gap stand at their rounds; a gap of 0 at the bottom of the logarithmic axis."""
    history = decompose(instance("iris"), lambdas("iris")[2], scheme=PLAIN).history
    figure = plot_history(history)
    above, below = figure.axes
    for line, name in zip(above.get_lines(), ("value", "upper", "bound", "round_bound"), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(history) + 1))
        np.testing.assert_array_equal(line.get_ydata(), history[name])
    gap = below.get_lines()[0].get_ydata()
    np.testing.assert_array_equal(gap, np.maximum(history["gap"], SMALLEST))
    assert below.get_yscale() == "log"
    assert plt.get_fignums() == []


def test_a_given_figure_is_used_and_an_empty_history_refused() -> None:
    """A caller's figure is drawn on; without rounds, or without the columns needed, there is nothing to draw."""
    history = decompose(instance("iris"), lambdas("iris")[2], scheme=PLAIN).history
    figure = Figure()
    assert plot_history(history, figure=figure) is figure
    with pytest.raises(InvalidInputError, match="0 rounds"):
        plot_history(history[:0])
    with pytest.raises(InvalidInputError, match=r"lacks \['bound'\]"):
        plot_history(history.drop(columns="bound"))
