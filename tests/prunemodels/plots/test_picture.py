"""Pictures show themselves in a notebook."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

import prunemodels as pm
from formulations.instance.papers import two_trees
from prunemodels.evaluation.path import evaluate_path
from prunemodels.plots.choice import plot_choice
from prunemodels.plots.tradeoff import plot_tradeoff


def figures() -> dict[str, Figure]:
    """One of each plot that draws a figure of its own."""
    path = pm.pruning_path(two_trees())
    return {
        "trade-off": plot_tradeoff(path),
        "budget": pm.plots.plot_budget(pm.solve(path.problem, budget=1, path=path), path),
        "choice": plot_choice(evaluate_path(path, [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [0, 0])),
    }


@pytest.mark.parametrize("name", ["trade-off", "budget", "choice"])
def test_a_figure_is_a_picture_in_jupyter(name: str) -> None:
    """What Jupyter asks a cell's last expression for is a PNG, 100 pixels an inch, without pyplot."""
    figure = figures()[name]
    png = figure._repr_png_()  # type: ignore[attr-defined]
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(png[16:20], "big") == round(100 * figure.get_figwidth())
