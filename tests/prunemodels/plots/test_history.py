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
from prunemodels.plots.history import SMALLEST, plot_gaps, plot_history
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
