"""Why a model has no point: rows of a user's own that contradict each other, as few as possible.

A formulation has points, so the cause lies in a user's rows and fixed variables. A set of them is a *conflict* if the formulation
has no point with it, and irreducible if it has one with every smaller set. QuickXplain (Junker, AAAI 2004) finds an irreducible
conflict of k parts among n with some k log(n / k) programs, each the formulation with some parts and no objective.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from formulations.errors import InfeasibleModelError, SolverFailedError
from formulations.extras import package
from formulations.programs.linear_program import LinearProgram
from solvers.programs.engines.highs import highs
from solvers.programs.params import PARAMS


def explained(model: Any, failed: SolverFailedError, seconds: float = math.inf) -> SolverFailedError:
    """The error of a model that a solver could not solve: with the conflict, if it has no point; else the solver's own.

    Parameters
    ----------
    seconds
        to look for a conflict; what is not shown to be without points by then counts as having some.
    """
    pyo, ends = package("pyomo.environ"), time.perf_counter() + seconds
    from formulations.models.reading import own_rows

    rows = [c for component in model.component_objects(pyo.Constraint) for c in component.values()]
    variables = [v for component in model.component_objects(pyo.Var) for v in component.values()]
    fixed = {len(rows) + j: v for j, v in enumerate(variables) if v.fixed}
    program = _with_free_variables(model, list(fixed.values()))
    place = {id(row): k for k, row in enumerate(rows)}
    name = {place[id(row)]: row.name for row in own_rows(model)} | {k: f"{v.name} = {v.value:g}" for k, v in fixed.items()}

    def has_point(some: Sequence[int]) -> bool:
        off = np.array([k for k in name if k not in some and k < len(rows)], dtype=np.int64)
        on = np.array([k for k in some if k in fixed], dtype=np.int64)
        row_lower, row_upper, lower, upper = (
            a.copy() for a in (program.row_lower, program.row_upper, program.lower, program.upper)
        )
        row_lower[off], row_upper[off] = -np.inf, np.inf
        lower[on - len(rows)] = upper[on - len(rows)] = [fixed[int(k)].value for k in on]
        without = replace(
            program, cost=np.zeros_like(program.cost), row_lower=row_lower, row_upper=row_upper, lower=lower, upper=upper
        )
        try:
            highs(without, time_limit=max(0.0, ends - time.perf_counter()))
        except SolverFailedError:
            return False
        return True

    if has_point(list(name)):
        return SolverFailedError(f"the model {model.name}: {failed}")
    words = [name[part] for part in irreducible(list(name), has_point)]
    if not words:
        cause = "the formulation's own rows have none, whichever of yours are left out; build it anew"
    elif len(words) == 1:
        cause = f"{words[0]} allows no pruning; deactivate it or let it allow more"
    else:
        left = len(words) - PARAMS.most_named
        *most, last = words[: PARAMS.most_named] + ([f"{left} more"] if left > 0 else [])
        cause = f"{', '.join(most)} and {last} contradict each other; deactivate one of them or let it allow more"
    return InfeasibleModelError(f"the model {model.name} has no feasible point: {cause}")


def _with_free_variables(model: Any, fixed: Sequence[Any]) -> LinearProgram:
    """The model as arrays, as if no variable was fixed."""
    from formulations.models import standard_form

    try:
        for variable in fixed:
            variable.unfix()
        return standard_form(model)
    finally:
        for variable in fixed:
            variable.fix()


def irreducible(parts: list[int], has_point: Callable[[Sequence[int]], bool]) -> list[int]:
    """A conflict among `parts`, which together have no point, of which no part can be left out; in their order."""

    def among(known: list[int], some: list[int], *, grown: bool) -> list[int]:
        if grown and not has_point(known):
            return []
        if len(some) == 1:
            return some
        half = len(some) // 2
        first, second = some[:half], some[half:]
        of_second = among(known + first, second, grown=True)
        return among(known + of_second, first, grown=bool(of_second)) + of_second

    return among([], parts, grown=True) if parts else []
