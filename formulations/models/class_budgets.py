"""LP1 with a budget for each of several groups of examples.

    minimise error      s.t.  the rows of IP3,   cost_c <= B_c for every group c                                            (1)

cost_c is the mean cost of the group's members, (1) of `formulations.programs.budget_rows`. The dual of a group's row is
-lambda_c: what another unit of its budget is worth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from formulations.models.unimodular import constraints
from formulations.programs.budget_rows import BudgetRows
from formulations.programs.columns import usage_columns


def build(rows: BudgetRows, *, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """(1); with ``relax=False`` the 0-1 problem.

    Parameters
    ----------
    rows
        groups and budgets: `formulations.programs.budget_rows.class_rows`, or `example_rows` for a limit on every prediction.
    relax
        the linear relaxation.
    merge
        one variable for purchases with the same usage, exactly.
    """
    problem = rows.problem
    m: Any = constraints(problem, "class budgets", relax=relax, merge=merge)
    columns = usage_columns(problem, merge=merge)
    purchases, splits = rows.of_purchases(columns).toarray(), rows.of_splits().toarray()
    names = [(k, "all" if i < 0 else i) for k, i in zip(columns.item.tolist(), columns.row.tolist(), strict=True)]
    m.GROUPS = pyo.RangeSet(0, len(rows.names) - 1, doc="groups of examples")
    m.limit = pyo.Param(
        m.GROUPS, initialize=[float(b) for b in rows.limits], mutable=True, domain=pyo.NonNegativeReals, doc="B_c"
    )

    @m.Expression(m.GROUPS, doc="mean cost of the group's members; a split is kept where no z at or above it is 1")
    def group_cost(m: Any, c: int) -> Any:
        paid = pyo.quicksum(purchases[c, j] * m.w[names[j]] for j in np.flatnonzero(purchases[c]).tolist())
        return paid + pyo.quicksum(splits[c, h] * (1 - m.stopped[h]) for h in np.flatnonzero(splits[c]).tolist())

    @m.Constraint(m.GROUPS, doc="(1)")
    def budget(m: Any, c: int) -> Any:
        return m.group_cost[c] <= m.limit[c]

    m.objective = pyo.Objective(expr=m.error, sense=pyo.minimize)
    return m
