"""The picture of a run shows the history's own figures."""

from __future__ import annotations

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from formulations import InvalidInputError, Solver
from prunemodels.plots.history import SMALLEST, plot_history
from solvers.column_generation import PLAIN, dantzig_wolfe
from solvers.primal_dual import primal_dual
from tests.solvers.cases import instance, lambdas


@pytest.mark.parametrize(
    ("engine", "names"),
    [
        (partial(dantzig_wolfe, scheme=PLAIN), ("value", "bound", "master_value", "round_bound")),
        (primal_dual, ("value", "bound", "iterate_value", "iterate_bound")),
    ],
    ids=["dantzig_wolfe", "primal_dual"],
)
def test_lines_are_the_history(engine: Solver, names: tuple[str, ...]) -> None:
    """Values, bounds and the gap stand at their rounds; a gap of 0 at the bottom of the logarithmic axis."""
    history = engine(instance("iris"), lambdas("iris")[2]).history
    figure = plot_history(history)
    above, below = figure.axes
    for line, name in zip(above.get_lines(), names, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(history["gap"]) + 1))
        np.testing.assert_array_equal(line.get_ydata(), history[name])
    gap = below.get_lines()[0].get_ydata()
    np.testing.assert_array_equal(gap, np.maximum(history["gap"], SMALLEST))
    assert below.get_yscale() == "log"
    assert plt.get_fignums() == []


def test_a_given_figure_is_used_and_an_empty_history_refused() -> None:
    """A caller's figure is drawn on; without rounds, or without the columns needed, there is nothing to draw."""
    history = dantzig_wolfe(instance("iris"), lambdas("iris")[2], scheme=PLAIN).history
    figure = Figure()
    assert plot_history(history, figure=figure) is figure
    for empty in ({}, {name: column[:0] for name, column in history.items()}):
        with pytest.raises(InvalidInputError, match="0 rounds"):
            plot_history(empty)
    with pytest.raises(InvalidInputError, match=r"lacks \['bound'\]"):
        plot_history({name: column for name, column in history.items() if name != "bound"})
