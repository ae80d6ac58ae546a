"""Pictures of the explanations, drawn at build time from the papers' two small trees and from the example of the docstrings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx.application import Sphinx

PICTURES = Path(__file__).resolve().parents[1] / "_build" / "pictures"
"""Where pages find them; nothing of it is in git."""


def cut() -> Figure:
    """The network of two small trees, and its minimum cut."""
    import prunemodels as pm
    from formulations.instance.papers import two_trees

    return pm.plots.plot_cut(pm.solve(two_trees(), lam=0.25).pruning, 0.25)


def fractional_point() -> Figure:
    """Where the naive formulation's relaxation stops."""
    import prunemodels as pm
    from formulations.instance.papers import two_trees

    return pm.plots.plot_point(two_trees(), pm.programs.solve_relaxation(two_trees(), 0.1, formulation="IP1").point)


def matrix() -> Figure:
    """The matrix of IP3."""
    import prunemodels as pm
    from formulations.instance.papers import two_trees

    return pm.plots.plot_matrix(pm.programs.solve_relaxation(two_trees(), 0.1).program)


def certificate() -> Figure:
    """The tree in which the rows of that matrix are paths."""
    import prunemodels as pm
    from formulations.instance.papers import two_trees

    program = pm.programs.solve_relaxation(two_trees(), 0.1).program
    return pm.plots.plot_certificate(program, pm.checks.formulation_network(two_trees(), program))


def rounds() -> Figure:
    """The rounds of a column generation."""
    import prunemodels as pm
    from prunemodels.example import problem

    return pm.plots.plot_history(pm.engines.dantzig_wolfe(problem, 0.01).history)


def ensemble_loss() -> Figure:
    """The forest's own loss, for prunings found for it and for those found for its trees."""
    import matplotlib.pyplot as plt

    import prunemodels as pm
    from prunemodels.example import X_valid, costs, forest, y_valid

    found = pm.ensemble_loss.ensemble_path(forest, X_valid, y_valid, costs=costs, lams=8)
    trees = found.tree_path
    rows = [pm.Pruning(trees.problem, trees.rows_kept > k) for k in range(len(trees))]
    loss = [found.problem.loss_of(found.problem.of_pruning(row)) for row in rows]
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    axes.plot(trees.cost, loss, "s--", ms=4, color="#D55E00", label="found for the trees' errors")
    axes.plot(found.cost, found.loss, "o-", ms=5, color="#0072B2", label="found for the forest's loss")
    axes.set(xlabel="cost of a prediction", ylabel="Brier score of the forest", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    plt.close(figure)
    return figure


DRAWN = {f.__name__: f for f in (cut, fractional_point, matrix, certificate, rounds, ensemble_loss)}
"""Every picture by the name of its file."""


def write(app: Sphinx) -> None:
    """Draw them all: that takes seconds."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        draw().savefig(PICTURES / f"{name}.svg", bbox_inches="tight")


def setup(app: Sphinx) -> dict[str, Any]:
    """Join the beginning of the build, before sources are read."""
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
