"""IP3 of NWS15, the totally unimodular formulation of a whole forest.

    minimise error + lam * cost     s.t.  every root-to-leaf path is cut once                                               (1)
        w^t_{m,i} + sum_{v in anc(u)} z_v = 1          u = u_{t,m,i}: the first split on i's path in tree t that needs m     (2)
        w^t_{m,i} <= w_{m,i}                                                                                                (3)

The matrix is the transpose of a network matrix, so every vertex of the relaxation is integral (NWS15 Theorem 4.2). With
evaluation cost a = 1 it is (IP) of BP16. Rows (2) and (3) and the variables w^t are named [u,m,i]: u lies in tree t, and an
item that is paid once for all rows may have several such u in one tree.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.models.pruned_trees import add_error_and_cost, add_objective, add_purchases, binary, trees_model
from formulations.programs.columns import usage_columns


def constraints(problem: PruningProblem, title: str, *, relax: bool, merge: bool) -> Any:
    """A model with the rows (1) to (3) and the expressions `error` and `cost`, without an objective."""
    columns = usage_columns(problem, merge=merge)
    m = trees_model(problem, title, relax=relax)
    arcs = columns.arcs("usage", columns.node)
    m.USAGE = pyo.Set(initialize=arcs.keys(), dimen=3, doc="(u_{t,m,i}, m, i)")
    m.w_t = pyo.Var(m.USAGE, domain=binary(relax), bounds=(0, 1), doc="w^t_{m,i}: example i pays item m in tree t, at u")
    add_purchases(m, columns, relax=relax)

    @m.Constraint(m.USAGE, doc="(2) NWS15 (2): item m is used in tree t unless the tree ends at u or above")
    def usage(m: Any, u: int, k: int, i: int | str) -> Any:
        return m.w_t[u, k, i] + m.stopped[u] == 1

    @m.Constraint(m.USAGE, doc="(3) NWS15 (IP3): what some tree uses is paid")
    def coupling(m: Any, u: int, k: int, i: int | str) -> Any:
        return m.w_t[u, k, i] <= m.w[k, i]

    add_error_and_cost(m)
    return m


def build(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """(IP3), for one tree or many.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    relax
        the linear relaxation.
    merge
        one variable for purchases with the same usage, exactly; see `formulations.programs.columns`.
    """
    m = constraints(problem, "IP3", relax=relax, merge=merge)
    add_objective(m, lam)
    return m
