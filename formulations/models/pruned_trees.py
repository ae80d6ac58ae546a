"""What all formulations in z share: the pruned trees, and the objective.

    sum_{v in anc(h)} z_v = 1               for every leaf h            NWS15 (IP0); Sherali et al. 2009, Prop. 1    (1)
    error = sum_h error_h z_h                                           NWS15 (1), in the units of (OBJ)
    cost  = sum_j price_j w_j + (1/N) sum_h |S_h| z_h sum_{u above h} a_u          NWS15 sec. 4; BP16 (IP), a = 1
    minimise  error + lam * cost                                                                                   (OBJ)

anc(h) are the ancestors of h, with h itself. z_h = 1: h is a leaf after pruning. Every model carries the instance as
``model.problem``, so that its answer can be read back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from formulations.programs.columns import PurchaseColumns
from formulations.programs.matrix import evaluation_above


def trees_model(problem: PruningProblem, title: str, *, relax: bool) -> Any:
    """A model with the nodes, z and the rows (1)."""
    ensemble = problem.ensemble
    m: Any = pyo.ConcreteModel(title)
    m.problem = problem
    m.NODES = pyo.RangeSet(0, ensemble.n_nodes - 1, doc="nodes of all trees")
    m.LEAVES = pyo.Set(initialize=np.flatnonzero(~ensemble.is_split).tolist(), doc="leaves of the unpruned trees")
    m.z = pyo.Var(m.NODES, domain=binary(relax), bounds=(0, 1), doc="z_h: h is a leaf of the pruned tree")

    @m.Expression(m.NODES, doc="sum of z over the ancestors of h and h itself: the tree ends at h or above")
    def stopped(m: Any, h: int) -> Any:
        parent = int(ensemble.parent[h])
        return m.z[h] if parent < 0 else m.stopped[parent] + m.z[h]

    @m.Constraint(m.LEAVES, doc="(1) NWS15 (IP0): every path from the root to a leaf is cut exactly once")
    def leaf(m: Any, h: int) -> Any:
        return m.stopped[h] == 1

    add_kept(m)
    return m


def add_kept(m: Any) -> None:
    """The expression `kept`: 1 where a split is still a split, for rows of a user's own."""
    splits = m.problem.splits.tolist()
    m.kept = pyo.Expression(splits, rule=lambda m, h: 1 - m.stopped[h], doc="y_h = 1 - sum of z over h and what is above it")


def add_purchases(m: Any, columns: PurchaseColumns, *, relax: bool) -> None:
    """The purchases and their variables w, named [m,i]; i is ``all`` for an item that is paid once for all rows."""
    m.PURCHASES = pyo.Set(initialize=columns.w.keys(), dimen=2, doc="(m, i)")
    m.price = pyo.Param(
        m.PURCHASES, initialize=dict(zip(m.PURCHASES, columns.price.tolist(), strict=True)), doc="c_m omega_i / N"
    )
    m.w = pyo.Var(m.PURCHASES, domain=binary(relax), bounds=(0, 1), doc="w_{m,i}: example i pays item m in some tree")


def add_error_and_cost(m: Any) -> None:
    """The expressions `error` and `cost` of a model in z and w."""
    error, evaluation = m.problem.node_error.tolist(), evaluation_above(m.problem).tolist()
    m.error = pyo.Expression(expr=pyo.quicksum(error[h] * m.z[h] for h in m.NODES), doc="NWS15 (1)")
    m.cost = pyo.Expression(
        expr=pyo.quicksum(m.price[j] * m.w[j] for j in m.PURCHASES)
        + pyo.quicksum(a * m.z[h] for h, a in enumerate(evaluation) if a),
        doc="feature cost and evaluation cost of an average example",
    )


def add_objective(m: Any, lam: Price) -> None:
    """(OBJ); `lam` is a parameter that can be changed: ``model.lam = 0.2``."""
    m.lam = pyo.Param(
        initialize=float(exact(lam, "lam")), mutable=True, domain=pyo.NonNegativeReals, doc="error per unit of cost"
    )
    m.objective = pyo.Objective(expr=m.error + m.lam * m.cost, sense=pyo.minimize, doc="(OBJ)")


def binary(relax: bool) -> Any:
    """The domain of a 0-1 variable, or of its relaxation."""
    return pyo.NonNegativeReals if relax else pyo.Binary
