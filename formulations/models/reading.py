"""Read a model of this package: as arrays, its point by name, and the pruning that an integral point describes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.common.errors import InfeasibleConstraintException, InvalidConstraintError, InvalidExpressionError
from pyomo.repn import generate_standard_repn
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from scipy import sparse

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InfeasibleModelError, InvalidInputError
from formulations.programs.linear_program import FOR_ALL, INTEGRAL, Block, LinearProgram, Names


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
    >>> model = pm.programs.FORMULATIONS["IP3"](pm.datasets.two_trees(), lam=0.1, relax=True)
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
        for a point that is not integral, naming the most fractional variable; for one that breaks a row of the user's own, naming
        it; for a model that was not solved.

    Examples
    --------
    >>> import prunemodels as pm
    >>> model = pm.programs.FORMULATIONS["IP3"](pm.datasets.two_trees(), lam=0.1, relax=True)
    >>> _ = pm.programs.solve_model(model)
    >>> pm.programs.read_pruning(model)
    Pruning(cost=3, error=0.125, 5 splits)
    """
    m: Any = model
    point = {name: _value(part, name) for name, part in _parts(m, ("y", "z", "w_t", "w"))}
    worst = max(point, key=lambda name: abs(point[name] - round(point[name])))
    if abs(point[worst] - round(point[worst])) > INTEGRAL:
        raise InvalidInputError(
            f"{worst} is {point[worst]:.6g}: the point is not integral, so it is no pruning; solve the integer program "
            "(relax=False), or round a relaxation's point with solvers.closures.tree_pass"
        )
    _refuse_broken_rows(m)
    parent = m.problem.ensemble.parent
    kept = np.zeros(len(parent), dtype=bool)
    for h in range(len(parent)):
        above = parent[h] < 0 or kept[parent[h]]
        kept[h] = above and round(point[f"z[{h}]"]) == 0
    return Pruning(m.problem, kept)


def own_rows(model: Any) -> list[Any]:
    """The active rows that a user added or gave a number: those declared behind the formulation's objective, and the budget's.

    Rows of `feature_used` are the package's: they only say what a feature's use is.
    """
    declared, found = list(model.component_objects()), list[Any]()
    active = _active_rows(model)
    place = next((k for k, part in enumerate(declared) if part.name == "objective"), 0)
    for k, part in enumerate(declared):
        if part.ctype is pyo.Constraint and (k > place or part.name == "budget") and part.name != "asks":
            found += [row for row in part.values() if id(row) in active]
    return found


def _active_rows(model: Any) -> set[int]:
    """The active rows by their identity; those of blocks that are not active bind nothing, either."""
    return {id(row) for row in model.component_data_objects(pyo.Constraint, active=True)}


def _refuse_broken_rows(model: Any) -> None:
    """Refuse a point that breaks a user's row by more than solvers' tolerances: it is old, or of a model that has no point."""
    for row in own_rows(model):
        value = pyo.value(row.body, exception=False)
        for bound, sign in ((row.lb, -1.0), (row.ub, 1.0)):
            if value is not None and bound is not None and sign * (value - bound) > INTEGRAL * max(1.0, abs(bound)):
                raise InvalidInputError(
                    f"the point breaks the row {row.name}: {value:.6g} where {bound:.6g} is the limit; solve the model "
                    "as it is now"
                )


def _parts(model: Any, components: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for component in components:
        if hasattr(model, component):
            yield from ((part.name, part) for part in getattr(model, component).values())


def _value(part: Any, name: str) -> float:
    value = pyo.value(part, exception=False)
    if value is None:
        raise InvalidInputError(f"{name} has no value: solve the model first")
    return float(value)


@checked
def standard_form(model: pyo.ConcreteModel) -> LinearProgram:
    """Compile a model: rows and columns as it declares them, with its names; a maximisation becomes a minimisation.

    Rows that are not active bind nothing; a variable that is fixed has its value as both bounds, and no entries.

    Parameters
    ----------
    model
        linear, with one active objective.

    Raises
    ------
    InvalidInputError
        for what Pyomo's compiler does not take: constraints and objectives that are not linear, and components that are neither,
        such as a Disjunction; for another number of objectives, variables of another model, and domains with holes.
    InfeasibleModelError
        for a row without variables that does not hold.
    """
    m: Any = model
    variables, rows = columns_and_rows(m)
    active = _active_rows(m)
    order = [row for row in rows if id(row) in active]
    try:
        compiled = LinearStandardFormCompiler().write(
            m, mixed_form=True, set_sense=pyo.minimize, column_order=variables, row_order=order
        )
    except InfeasibleConstraintException as error:
        raise InfeasibleModelError(f"{error}; change its numbers, or deactivate it") from error
    except (InvalidConstraintError, InvalidExpressionError, ValueError) as error:
        raise InvalidInputError(f"{' '.join(str(error).split())}; deactivate it, or turn it into linear constraints") from error
    _check_columns(variables, compiled)
    column = _places(variables, compiled.columns)
    row = _places(rows, [r.constraint for r in compiled.rows])  # a row with two sides stands there twice, one behind the other
    kind = np.array([r.bound_type for r in compiled.rows], dtype=np.int64)
    again = np.append(False, row[1:] == row[:-1])[: row.size]
    body = sparse.coo_array(compiled.A)
    once = ~again[body.row]
    places = (row[body.row[once]], column[body.col[once]])
    cost = np.zeros(len(variables))
    cost[column] = np.asarray(compiled.c.todense()).ravel()
    side = np.array(compiled.rhs, dtype=np.float64)
    sides = np.tile([-np.inf, np.inf], (len(rows), 1))
    sides[row[kind != 1], 0], sides[row[kind != -1], 1] = side[kind != 1], side[kind != -1]
    for k in set(range(len(rows))) - set(row.tolist()):  # Pyomo leaves out rows that are not active, and rows of constants
        if id(rows[k]) in active and (rows[k].lb, rows[k].ub) != (None, None):
            sides[k] = np.array(_bounds(rows[k])) - generate_standard_repn(rows[k].body).constant
    bounds = np.array([(v.value, v.value) if v.fixed else _bounds(v) for v in variables], dtype=np.float64).reshape(-1, 2)
    return LinearProgram(
        cost=cost,
        offset=float(compiled.c_offset[0]),
        matrix=sparse.csr_array(sparse.coo_array((body.data[once], places), shape=(len(rows), len(variables)))),
        row_lower=sides[:, 0].copy(),
        row_upper=sides[:, 1].copy(),
        lower=bounds[:, 0].copy(),
        upper=bounds[:, 1].copy(),
        integer=np.array([v.is_integer() for v in variables], dtype=bool),
        columns=Names(tuple(_block(*member) for member in _members(m, pyo.Var))),
        rows=Names(tuple(_block(*member) for member in _members(m, pyo.Constraint))),
    )


def _check_columns(variables: list[Any], compiled: Any) -> None:
    """Refuse what the compiler takes, and arrays cannot say."""
    if len(compiled.objectives) != 1:
        raise InvalidInputError(f"the model has {len(compiled.objectives)} active objectives; give it one")
    known = {id(variable) for variable in variables}
    for variable in compiled.columns:
        if id(variable) not in known:
            raise InvalidInputError(f"the model reads {variable.name}, which is no variable of it; add the variable to the model")
    for variable in variables:
        if not (variable.is_continuous() or variable.is_integer()):
            raise InvalidInputError(
                f"{variable.name} has the domain {variable.domain}, neither an interval nor all integers in one; use "
                "binary variables"
            )


def _bounds(part: Any) -> tuple[float, float]:
    """Both bounds of a variable or a row, infinite where there is none."""
    return -np.inf if part.lb is None else part.lb, np.inf if part.ub is None else part.ub


def _places(all_parts: list[Any], some: list[Any]) -> NDArray[np.int64]:
    """Where each of some parts stands among all."""
    place = {id(part): k for k, part in enumerate(all_parts)}
    return np.array([place[id(part)] for part in some], dtype=np.int64)


def columns_and_rows(model: Any) -> tuple[list[Any], list[Any]]:
    """The variables and constraints of `standard_form`, active or not, in its order."""
    variables, rows = (
        [part for _, parts in _members(model, kind) for part in parts.values()] for kind in (pyo.Var, pyo.Constraint)
    )
    return variables, rows


def _members(model: Any, kind: Any) -> list[tuple[Any, dict[Any, Any]]]:
    """All components of a kind with their members by index; references have those alone that no other component has."""
    components = list(model.component_objects(kind))
    seen = {id(part) for component in components if not component.is_reference() for part in component.values()}
    found = []
    for component in components:
        parts = dict(component.items())
        if component.is_reference():
            parts = {key: part for key, part in parts.items() if id(part) not in seen}
            seen |= {id(part) for part in parts.values()}
        found.append((component, parts))
    return found


def _block(component: Any, parts: dict[Any, Any]) -> Block:
    """A component's name and the indices of some members."""
    if not component.is_indexed():
        return Block(component.name, ())
    keys = [key if isinstance(key, tuple) else (key,) for key in parts]
    if not all(k == "all" or isinstance(k, int | np.integer) for key in keys for k in key):  # a user's own names
        keys = [(number,) for number in range(len(keys))]
    index = [np.array([FOR_ALL if k == "all" else k for k in part], dtype=np.int32) for part in zip(*keys, strict=True)]
    return Block(component.name, tuple(index) if keys else (np.zeros(0, dtype=np.int32),))
