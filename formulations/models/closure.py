"""IP3 after the substitution y_h = 1 - sum_{v in anc(h)} z_v: a maximum closure, written as a minimisation.

    minimise  error of the all-roots forest - sum_h gain_h y_h + lam * cost
    s.t.      y_h <= y_parent(h)            a split is kept only below kept splits                                          (1)
              y_u <= w_{m,i}                u = u_{t,m,i}, for every tree t                                                  (2)
    cost  =   sum_j price_j w_j + sum_h (a_h |S_h| / N) y_h

Every row of IP3 becomes a difference of two variables, so the matrix is a network matrix and the problem one minimum cut.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.models.pruned_trees import add_objective, add_purchases, binary
from formulations.programs.columns import usage_columns


def build(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """The closure form, for one tree or many.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    relax
        the linear relaxation.
    merge
        one variable for purchases with the same usage, exactly; see `formulations.programs.columns`.
    """
    columns = usage_columns(problem, merge=merge)
    ensemble, splits = problem.ensemble, problem.splits
    m: Any = pyo.ConcreteModel("closure")
    m.problem = problem
    m.NODES = pyo.RangeSet(0, ensemble.n_nodes - 1, doc="nodes of all trees")
    m.SPLITS = pyo.Set(initialize=splits.tolist(), doc="splits of all trees")
    m.BELOW = pyo.Set(initialize=splits[ensemble.parent[splits] >= 0].tolist(), doc="splits that are no roots")
    m.y = pyo.Var(m.SPLITS, domain=binary(relax), bounds=(0, 1), doc="y_h: h is still a split")
    add_purchases(m, columns, relax=relax)
    arcs = columns.arcs("usage", columns.node)
    m.USAGE = pyo.Set(initialize=arcs.keys(), dimen=3, doc="(u_{t,m,i}, m, i)")

    @m.Constraint(m.BELOW, doc="(1)")
    def parent_kept(m: Any, h: int) -> Any:
        return m.y[h] <= m.y[int(ensemble.parent[h])]

    @m.Constraint(m.USAGE, doc="(2)")
    def usage(m: Any, u: int, k: int, i: int | str) -> Any:
        return m.y[u] <= m.w[k, i]

    @m.Expression(m.NODES, doc="z_h = y_parent(h) - y_h, with y = 0 at leaves and 1 above roots")
    def z(m: Any, h: int) -> Any:
        parent = int(ensemble.parent[h])
        return (1 if parent < 0 else m.y[parent]) - (m.y[h] if ensemble.is_split[h] else 0)

    m.kept = pyo.Expression(m.SPLITS, rule=lambda m, h: m.y[h], doc="y_h, as in the other models")
    _add_error_and_cost(m)
    add_objective(m, lam)
    return m


def _add_error_and_cost(m: Any) -> None:
    """Error and cost in y and w."""
    problem = m.problem
    gain, evaluation = problem.gain.tolist(), problem.evaluation_price.tolist()
    roots = float(problem.node_error[problem.ensemble.roots].sum())
    m.error = pyo.Expression(expr=roots - pyo.quicksum(gain[h] * m.y[h] for h in m.SPLITS), doc="by the gains of the kept splits")
    m.cost = pyo.Expression(
        expr=pyo.quicksum(m.price[j] * m.w[j] for j in m.PURCHASES)
        + pyo.quicksum(evaluation[h] * m.y[h] for h in m.SPLITS if evaluation[h]),
        doc="feature cost and evaluation cost of an average example",
    )
