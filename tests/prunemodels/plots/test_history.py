"""The picture of a run shows the history's own figures."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from formulations import InvalidInputError, Solver
from formulations.instance.papers import two_trees
from prunemodels.plots.columns import plot_columns
from prunemodels.plots.history import FEWER_MARKERS, LOOKS, SMALLEST, plot_gaps, plot_history
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
    ragged = dict(history) | {"bound": history["bound"][1:]}
    with pytest.raises(InvalidInputError, match=r"^history\['bound'\] has shape .*; give one number for each of \d+ rounds"):
        plot_history(ragged)
    with pytest.raises(InvalidInputError, match=r"lacks \['bound'\]"):
        plot_history({name: column for name, column in history.items() if name != "bound"})


def test_values_that_agree_are_one_line_on_a_plain_axis() -> None:
    """Differences of 1e-13 are for the gap below: the axis shows 0.1325, and no number to be added at its end."""
    near = {
        "value": 0.1325 + np.array([2e-13, 1.1e-13, 1e-13]),
        "bound": 0.1325 + np.array([0, 5e-14, 1e-13]),
        "gap": np.array([1e-12, 4e-13, 0.0]),
    }
    figure = plot_history(near)
    figure.draw_without_rendering()
    above = figure.axes[0]
    assert above.yaxis.get_offset_text().get_text() == ""
    assert "0.1325" in [label.get_text() for label in above.get_yticklabels()]
    assert np.ptp(above.get_ylim()) > 1e-4


def test_the_best_solution_is_seen_where_it_is_the_bound() -> None:
    """It is dashed, thinner than the bound, and above it."""
    history = {"value": np.ones(3), "bound": np.ones(3), "gap": np.zeros(3)}
    value, bound = plot_history(history).axes[0].get_lines()
    assert value.get_linestyle() == "--"
    assert value.get_linewidth() < bound.get_linewidth()
    assert value.get_zorder() > bound.get_zorder()


def test_the_axis_follows_solution_and_bound() -> None:
    """An iterate a hundred times their range away does not flatten them; one nearby is shown."""
    history = {
        "value": np.array([1.2, 1.1, 1.05]),
        "bound": np.array([0.9, 1.0, 1.04]),
        "iterate_value": np.array([50.0, 1.5, 1.1]),
        "gap": np.array([1.0, 0.5, 0.01]),
    }
    low, high = plot_history(history).axes[0].get_ylim()
    assert 0.5 < low < 0.9
    assert 1.5 < high < 2.5


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
    short, long = ({"gap": np.ones(n), "seconds": np.arange(1.0, n + 1)} for n in (FEWER_MARKERS, FEWER_MARKERS + 1))
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
def test_gaps_that_cannot_be_drawn_are_refused(histories: Any, against: Any, message: str) -> None:
    """No runs, no rounds, no gaps, an axis that there is not."""
    with pytest.raises(InvalidInputError, match=message):
        plot_gaps(histories, against=against)


def test_columns_stand_at_their_rounds_and_trees() -> None:
    """One mark for each column that entered after the start; without one there is nothing to draw."""
    solution = dantzig_wolfe(instance("iris"), lambdas("iris")[2], scheme="plain")
    above, below, _ = plot_columns(solution).axes
    later = solution.columns().query("entered > 0")
    marks = below.collections[0]
    np.testing.assert_array_equal(marks.get_offsets(), later[["entered", "tree"]].to_numpy())
    np.testing.assert_array_equal(marks.get_array(), -later["reduced_cost"].to_numpy())
    assert [line.get_ydata()[-1] for line in above.get_lines()][1] == solution.history["bound"][-1]
    with pytest.raises(InvalidInputError, match="no column that entered after the start"):
        plot_columns(dantzig_wolfe(two_trees(), 0.1, scheme="plain", rounds=0))
