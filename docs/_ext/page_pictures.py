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

    return pm.plots.plot_point(two_trees(), pm.programs.solve_relaxation(two_trees(), 0.25, formulation="IP1").point)


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


DRAWN = {f.__name__: f for f in (cut, fractional_point, matrix, certificate, rounds)}
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
