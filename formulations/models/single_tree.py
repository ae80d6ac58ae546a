"""IP0 and IP2 of NWS15: one tree, without and with feature costs.

IP0     minimise error                                    s.t. every root-to-leaf path is cut once                           (1)
IP2     minimise error + lam * cost                       s.t. (1) and, where item m is first needed on i's path at u_{m,i}
            w_{m,i} + sum_{v in anc(u_{m,i})} z_v = 1                                                     NWS15 (2)        (2)

Both matrices are network matrices (Sherali et al. 2009; NWS15 Lemma 4.1), so the relaxations have integral vertices only.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.models.pruned_trees import add_error_and_cost, add_objective, add_purchases, trees_model
from formulations.programs.matrix import one_tree_columns


def build_ip0(problem: PruningProblem, *, relax: bool = False) -> pyo.ConcreteModel:
    """(IP0): prune for the error alone. It takes forests too: nothing links their trees here.

    Parameters
    ----------
    relax
        the linear relaxation.
    """
    m = trees_model(problem, "IP0", relax=relax)
    error = problem.node_error.tolist()
    m.error = pyo.Expression(expr=pyo.quicksum(error[h] * m.z[h] for h in m.NODES), doc="NWS15 (1)")
    m.objective = pyo.Objective(expr=m.error, sense=pyo.minimize)
    return m


def build_ip2(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """(IP2): one tree with feature costs.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    relax
        the linear relaxation.
    merge
        one variable for purchases with the same usage, exactly; see `formulations.programs.columns`.

    Raises
    ------
    InvalidInputError
        for more trees than one, or an item that is paid once for all rows and asked for at several splits.
    """
    columns = one_tree_columns(problem, merge=merge)
    m = trees_model(problem, "IP2", relax=relax)
    add_purchases(m, columns, relax=relax)
    arcs = columns.arcs("usage", columns.node)
    m.USAGE = pyo.Set(initialize=arcs.keys(), dimen=3, doc="(u_{m,i}, m, i)")

    @m.Constraint(m.USAGE, doc="(2) item m is paid unless the tree ends at u or above")
    def usage(m: Any, u: int, k: int, i: int | str) -> Any:
        return m.w[k, i] + m.stopped[u] == 1

    add_error_and_cost(m)
    add_objective(m, lam)
    return m
