"""The formulations as Pyomo models, with their mathematics in `formulations.models.nws15`.

>>> from formulations.models import FORMULATIONS, read_pruning                   # doctest: +SKIP
>>> model = FORMULATIONS["IP3"](problem, lam=0.01, relax=True)               # doctest: +SKIP
>>> pyo.SolverFactory("highs").solve(model); read_pruning(model)              # doctest: +SKIP

Every formulation but IP0 takes `lam`, error per unit of cost, >= 0; LP1 takes `budget`, the largest mean cost, or `limits`, a
list of `pm.Limit`, in its place. With ``relax=True`` it is the linear relaxation; with ``merge=True`` purchases in the same rows
are one variable, exactly (`formulations.programs.linear_program`). Every model carries the instance as ``model.problem``, so
that its answer can be read back.
"""

import importlib
from collections.abc import Callable
from typing import Any

from formulations.models.nws15 import feature_used
from formulations.models.reading import read_point, read_pruning, standard_form
from formulations.programs.formulation import BY_NAME


def _builder(place: str) -> Callable[..., Any]:
    module, _, function = place.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(f"{__name__}.{module}"), function)
    return found


FORMULATIONS: dict[str, Callable[..., Any]] = {name: _builder(known.model) for name, known in BY_NAME.items()}
"""Pyomo models by the papers' names."""

__all__ = ["FORMULATIONS", "feature_used", "read_point", "read_pruning", "standard_form"]
