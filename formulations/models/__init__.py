"""The formulations as Pyomo models, each beside its mathematics.

>>> from formulations.models import FORMULATIONS, read_pruning                   # doctest: +SKIP
>>> model = FORMULATIONS["IP3"](problem, lam=0.01, relax=True)               # doctest: +SKIP
>>> pyo.SolverFactory("highs").solve(model); read_pruning(model)              # doctest: +SKIP
"""

from collections.abc import Callable
from typing import Any

from formulations.models import budgeted, closure, naive, single_tree, unimodular
from formulations.models.own_rows import feature_used
from formulations.models.reading import read_point, read_pruning, standard_form

FORMULATIONS: dict[str, Callable[..., Any]] = {
    "IP0": single_tree.build_ip0,
    "IP1": naive.build,
    "IP2": single_tree.build_ip2,
    "IP3": unimodular.build,
    "LP1": budgeted.build,
    "closure": closure.build,
}
"""Pyomo models by the papers' names; the same names as in `formulations.programs.matrix.MATRICES`."""

__all__ = ["FORMULATIONS", "feature_used", "read_point", "read_pruning", "standard_form"]
