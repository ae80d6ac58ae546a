"""The picture of several runs shows their gaps."""

from __future__ import annotations

import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from formulations import InvalidInputError
from formulations.instance.papers import two_trees
from prunemodels.plots.gap import LOOKS, MOST_MARKERS, plot_gaps
from prunemodels.plots.history import SMALLEST
from solvers.column_generation import PLAIN, dantzig_wolfe
from solvers.primal_dual import primal_dual

RUN = {"gap": np.array([math.inf, 0.5, 0.01, 0.0]), "seconds": np.array([0.1, 0.2, 0.4, 0.8])}


def points(figure: Figure, k: int = 0) -> tuple[list[float], list[float]]:
    line = figure.axes[0].get_lines()[k]
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def test_gaps_over_rounds_and_over_seconds() -> None:
    """Rounds count from 1; no bound yet is no point, and a gap of 0 stands at the bottom."""
    x, y = points(plot_gaps({"a": RUN}))
    assert x == [1, 2, 3, 4]
    np.testing.assert_array_equal(y, [math.nan, 0.5, 0.01, SMALLEST])
    figure = plot_gaps({"a": RUN}, against="seconds")
    assert points(figure)[0] == [0.1, 0.2, 0.4, 0.8]
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel()) == ("log", "log", "seconds")
    assert plt.get_fignums() == []


def test_both_decompositions_have_such_histories() -> None:
    """What `primal_dual` and `dantzig_wolfe` tell can be drawn together, named, each in a look of its own."""
    runs = {
        "subgradient": primal_dual(two_trees(), 0.25).history,
        "columns": dantzig_wolfe(two_trees(), 0.25, scheme=PLAIN).history,
    }
    figure = plot_gaps(runs)
    drawn = figure.axes[0].get_lines()
    assert [line.get_label() for line in drawn] == list(runs)
    assert [line.get_color() for line in drawn] == [colour for colour, _ in LOOKS[:2]]
    assert [len(points(figure, k)[0]) for k in (0, 1)] == [len(h["gap"]) for h in runs.values()]


def test_long_runs_have_no_markers() -> None:
    """Up to 25 rounds each is marked."""
    short, long = ({"gap": np.ones(n), "seconds": np.arange(1.0, n + 1)} for n in (MOST_MARKERS, MOST_MARKERS + 1))
    assert [line.get_marker() for line in plot_gaps({"a": short, "b": long}).axes[0].get_lines()] == [".", ""]


def test_every_run_has_a_look_of_its_own() -> None:
    """Twenty runs differ in colour and dash together; the legend stands beside the axes and covers none."""
    figure = plot_gaps({str(k): RUN for k in range(20)})
    axes = figure.axes[0]
    assert len({(line.get_color(), str(line._dash_pattern)) for line in axes.get_lines()}) == 20  # type: ignore[attr-defined]
    figure.draw_without_rendering()
    assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1


@pytest.mark.parametrize(
    ("histories", "against", "message"),
    [
        ({}, "round", "histories is empty"),
        ({"a": {name: column[:0] for name, column in RUN.items()}}, "round", r"histories\['a'\] has 0 rounds"),
        (
            {"a": {"gap": RUN["gap"]}},
            "round",
            r"histories\['a'\] has 4 rounds and lacks \['seconds'\]; give the history of a Solution",
        ),
        (
            {"a": RUN | {"gap": RUN["gap"][:3]}},
            "round",
            r"histories\['a'\]\['seconds'\] has shape \(4,\); give one number for each of 3",
        ),
        ({"a": RUN}, "minutes", "against is 'minutes'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(histories: Any, against: Any, message: str) -> None:
    """No runs, no rounds, no gaps, an axis that there is not."""
    with pytest.raises(InvalidInputError, match=message):
        plot_gaps(histories, against=against)


def test_axes_may_be_given() -> None:
    """What is drawn on is what comes back."""
    figure = Figure()
    assert plot_gaps({"a": RUN}, ax=figure.add_subplot()) is figure
