"""Any linear Pyomo model of this package as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from scipy import sparse

from formulations.arguments import checked
from formulations.programs.linear_program import FOR_ALL, Block, LinearProgram, Names


@checked
def standard_form(model: pyo.ConcreteModel) -> LinearProgram:
    """Compile a model: rows and columns as it declares them, with its names.

    Parameters
    ----------
    model
        linear, minimising one objective, with bounded variables; rows with one side or equal sides.
    """
    m: Any = model
    variables = [v for component in m.component_objects(pyo.Var) for v in component.values()]
    rows = [c for component in m.component_objects(pyo.Constraint) for c in component.values()]
    compiled = LinearStandardFormCompiler().write(
        m, mixed_form=True, set_sense=pyo.minimize, column_order=variables, row_order=rows
    )
    column = _places(variables, compiled.columns)
    row = _places(rows, [r.constraint for r in compiled.rows])  # Pyomo leaves out rows without variables
    kind = np.array([r.bound_type for r in compiled.rows], dtype=np.int64)
    body = sparse.coo_array(compiled.A)
    places = (row[body.row], column[body.col])
    cost = np.zeros(len(variables))
    cost[column] = np.asarray(compiled.c.todense()).ravel()
    lower = np.array([-np.inf if r.lb is None else r.lb for r in rows], dtype=np.float64)
    upper = np.array([np.inf if r.ub is None else r.ub for r in rows], dtype=np.float64)
    lower[row] = np.where(kind == 1, -np.inf, compiled.rhs)
    upper[row] = np.where(kind == -1, np.inf, compiled.rhs)
    return LinearProgram(
        cost=cost,
        offset=float(compiled.c_offset[0]),
        matrix=sparse.csr_array(sparse.coo_array((body.data, places), shape=(len(rows), len(variables)))),
        row_lower=lower,
        row_upper=upper,
        lower=np.array([v.lb for v in variables], dtype=np.float64),
        upper=np.array([v.ub for v in variables], dtype=np.float64),
        integer=np.array([v.is_integer() for v in variables], dtype=bool),
        columns=Names(tuple(_block(c) for c in m.component_objects(pyo.Var))),
        rows=Names(tuple(_block(c) for c in m.component_objects(pyo.Constraint))),
    )


def _places(all_parts: list[Any], some: list[Any]) -> NDArray[np.int64]:
    """Where each of some parts stands among all."""
    place = {id(part): k for k, part in enumerate(all_parts)}
    return np.array([place[id(part)] for part in some], dtype=np.int64)


def _block(component: Any) -> Block:
    """A component's name and indices."""
    if not component.is_indexed():
        return Block(component.name, ())
    keys = [key if isinstance(key, tuple) else (key,) for key in component]
    if not all(k == "all" or isinstance(k, int | np.integer) for key in keys for k in key):  # a user's own names
        keys = [(number,) for number in range(len(keys))]
    parts = [np.array([FOR_ALL if k == "all" else k for k in part], dtype=np.int32) for part in zip(*keys, strict=True)]
    return Block(component.name, tuple(parts) if keys else (np.zeros(0, dtype=np.int32),))
