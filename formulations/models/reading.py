"""Read a solved model: its point by name, and the pruning that an integral point describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError

TOLERANCE = 1e-6
"""A value this close to 0 or 1 counts as integral; solvers run with the same tolerance."""


@checked
def read_point(model: pyo.ConcreteModel) -> dict[str, float]:
    """The values of z and w by name, ``z[3]`` and ``w[0,1]``, fractional or not; the closure form computes z from y.

    Raises
    ------
    InvalidInputError
        for a model without values: it was not solved.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> model = pm.programs.FORMULATIONS["IP3"](two_trees(), lam=0.1, relax=True)
    >>> _ = pm.programs.solve_model(model)
    >>> pm.programs.read_point(model)["z[1]"]
    1.0
    """
    return {name: _value(part, name) for name, part in _parts(model, ("z", "w"))}


@checked
def read_pruning(model: pyo.ConcreteModel) -> Pruning:
    """The pruning that an integral point describes.

    Raises
    ------
    InvalidInputError
        for a point that is not integral, naming the most fractional variable; for a model that was not solved.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> model = pm.programs.FORMULATIONS["IP3"](two_trees(), lam=0.1, relax=True)
    >>> _ = pm.programs.solve_model(model)
    >>> pm.programs.read_pruning(model)
    Pruning(cost=3, error=0.125, 5 splits)
    """
    m: Any = model
    point = {name: _value(part, name) for name, part in _parts(m, ("y", "z", "w_t", "w"))}
    worst = max(point, key=lambda name: abs(point[name] - round(point[name])))
    if abs(point[worst] - round(point[worst])) > TOLERANCE:
        raise InvalidInputError(
            f"{worst} is {point[worst]:.6g}: the point is not integral, so it is no pruning; solve the integer program "
            "(relax=False), or round a relaxation's point with solvers.closures.level_sets"
        )
    parent = m.problem.ensemble.parent
    kept = np.zeros(len(parent), dtype=bool)
    for h in range(len(parent)):
        above = parent[h] < 0 or kept[parent[h]]
        kept[h] = above and round(point[f"z[{h}]"]) == 0
    return Pruning(m.problem, kept)


def _parts(model: Any, components: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for component in components:
        if hasattr(model, component):
            yield from ((part.name, part) for part in getattr(model, component).values())


def _value(part: Any, name: str) -> float:
    value = pyo.value(part, exception=False)
    if value is None:
        raise InvalidInputError(f"{name} has no value: solve the model first")
    return float(value)
