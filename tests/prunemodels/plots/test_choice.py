"""The picture of a choice without a budget: rows that coincide are all seen, and rows that there are not are refused."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

import prunemodels as pm
from formulations.instance.papers import two_trees
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.plots.choice import plot_choice


def evaluation() -> PathEvaluation:
    """Three rows of the papers' trees on two examples."""
    return evaluate_path(pm.pruning_path(two_trees()), [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [0, 0])


def marks(ax: Axes) -> list[Line2D]:
    """The single points, from the lowest to the highest."""
    points = [line for line in ax.get_lines() if line.get_linestyle() == "None"]
    return sorted(points, key=lambda line: line.get_zorder())


def same(a: Line2D, b: Line2D) -> bool:
    """Whether two marks are at one place."""
    return bool(np.array_equal(a.get_xydata(), b.get_xydata()))


def test_the_chosen_row_is_marked() -> None:
    """By its cost and error, which the legend says."""
    seen = evaluation()
    (star,) = [line for line in marks(plot_choice(seen, chosen=1).axes[0]) if str(line.get_label()).startswith("chosen")]
    np.testing.assert_array_equal(star.get_xydata(), [[seen.cost[1], seen.error[1]]])
    assert star.get_label() == f"chosen: cost {seen.cost[1]:.3g}, error {100 * seen.error[1]:.3g} %"


def test_rows_that_there_are_not_are_refused() -> None:
    """By the argument's name, before anything is drawn; rows do not count from the end."""
    for chosen, wanted in ((3, "a row of the path, 0 to 2"), (-1, "a whole number >= 0")):
        with pytest.raises(pm.errors.InvalidInputError, match=rf"^chosen is {chosen}; give {wanted}"):
            plot_choice(evaluation(), chosen=chosen)
