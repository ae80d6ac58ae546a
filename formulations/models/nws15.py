"""The formulations of NWS15 as Pyomo models, and the closure form of IP3. `formulations.models` says what their parameters are.

anc(h) are the ancestors of h, with h itself. z_h = 1: h is a leaf after pruning. y_h = 1: h is still a split. w_{m,i} = 1:
example i pays item m in some tree. u_{t,m,i} is the first split on i's path in tree t that needs m. S_h are the examples at h.

    error = sum_h error_h z_h                                           NWS15 (1), in the units of (OBJ)                    (1)
    cost  = sum_j price_j w_j + (1/N) sum_h |S_h| z_h sum_{u above h} a_u          NWS15 sec. 4; BP16 (IP), a = 1           (2)

    IP0     minimise error                s.t.  sum_{v in anc(h)} z_v = 1   for every leaf h;  Sherali et al. 2009, Prop. 1 (3)
    IP1     minimise error + lam * cost   s.t.  (3),  w_{m,i} >= z_h   for i in S_h, m needed by a strict ancestor of h     (4)
    IP2     the same of one tree          s.t.  (3),  w_{m,i} + sum_{v in anc(u_{m,i})} z_v = 1              NWS15 (2)      (5)
    IP3     the same of a forest          s.t.  (3),  w^t_{m,i} + sum_{v in anc(u_{t,m,i})} z_v = 1                         (6)
                                                      w^t_{m,i} <= w_{m,i}                                                  (7)
    LP1     minimise error                s.t.  (3), (6), (7),  cost <= B,  or  use_r <= B_r  for every limit               (8)
    closure IP3 in  y_h = 1 - sum_{v in anc(h)} z_v   s.t.   y_h <= y_parent(h)                                             (9)
                                                             y_u <= w_{m,i}         u = u_{t,m,i}, for every tree t        (10)

IP0's and IP2's matrices are network matrices (Sherali et al. 2009; NWS15 Lemma 4.1); IP3's is the transpose of one (Theorem 4.2),
and with evaluation cost a = 1 it is (IP) of BP16: relaxations of all three have integral vertices only. IP1 is right in 0-1
variables. Its relaxation has fractional vertices (section 4: z = (0, 1, .5, .5, .5), w = (.5, .5) on their first tree), because
(4) bounds w by each z_h alone, where IP3 bounds it by their sum along i's path. LP1 is a precedence-constrained knapsack; its
relaxation's optimum is a mixture of two prunings unless one of them costs exactly B, its value is the lower convex hull of all
prunings (cost, error) at B, and the dual of (8) is -lambda there. Every row of the closure form is a difference of two variables:
its matrix is a network matrix, and the problem one minimum cut.

Rows of a user's own may ask what the pruned forest uses, whether an example of the cost sample reaches a split or not:

    y_h <= feature_used_k          for every split h on feature k                                                          (11)

With limits, use_r is what `formulations.programs.limit_rows` (1) counts. There is a purchase for whatever some row counts:
w_{m,i} for items that it counts by example, priced or not, and w_{m,all} for those that it counts once. `cost` is (2) as ever.

Purchases say what examples of the cost sample pay. A split that none of them reaches is free and stays, so rows over w do not
keep a feature out of the forest. Rows over `feature_used` do.

Rows (6) and (7) and the variables w^t are named [u,m,i]: u lies in tree t, and an item that is paid once for all rows may have
several such u in one tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.programs.limit_rows import limit_rows
from formulations.programs.linear_program import PurchaseColumns, naive_columns, usage_columns
from formulations.programs.matrix import evaluation_above, one_tree_columns


def build_ip0(problem: PruningProblem, *, relax: bool = False) -> pyo.ConcreteModel:
    """(IP0): prune for the error alone. It takes forests too: nothing links their trees here."""
    m = trees_model(problem, "IP0", relax=relax)
    error = problem.node_error.tolist()
    m.error = pyo.Expression(expr=pyo.quicksum(error[h] * m.z[h] for h in m.NODES), doc="(1)")
    m.objective = pyo.Objective(expr=m.error, sense=pyo.minimize)
    return m


def build_ip1(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """(IP1), the naive formulation, for one tree or many."""
    columns = naive_columns(problem, merge=merge)
    m = trees_model(problem, "IP1", relax=relax)
    add_purchases(m, columns, relax=relax)
    arcs = columns.arcs("naive_usage", columns.node)
    m.MET = pyo.Set(initialize=arcs.keys(), dimen=3, doc="(h, m, i): i meets m above h")

    @m.Constraint(m.MET, doc="(4) NWS15 (IP1): an example that stops at h has paid what the splits above it need")
    def naive_usage(m: Any, h: int, k: int, i: int | str) -> Any:
        return m.z[h] <= m.w[k, i]

    add_error_and_cost(m)
    add_objective(m, lam)
    return m


def build_ip2(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """(IP2): one tree with feature costs."""
    columns = one_tree_columns(problem, merge=merge)
    m = trees_model(problem, "IP2", relax=relax)
    add_purchases(m, columns, relax=relax)
    arcs = columns.arcs("usage", columns.node)
    m.USAGE = pyo.Set(initialize=arcs.keys(), dimen=3, doc="(u_{m,i}, m, i)")

    @m.Constraint(m.USAGE, doc="(5) NWS15 (2): item m is paid unless the tree ends at u or above")
    def usage(m: Any, u: int, k: int, i: int | str) -> Any:
        return m.w[k, i] + m.stopped[u] == 1

    add_error_and_cost(m)
    add_objective(m, lam)
    return m


def build_ip3(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """(IP3), the totally unimodular formulation, for one tree or many."""
    m = _unimodular(problem, usage_columns(problem, merge=merge), "IP3", relax=relax)
    add_objective(m, lam)
    return m


def build_lp1(
    problem: PruningProblem,
    *,
    budget: Price | None = None,
    limits: Sequence[Limit] | None = None,
    relax: bool = False,
    merge: bool = False,
    lam: Price | None = None,
) -> pyo.ConcreteModel:
    """(LP1); with ``relax=False`` the 0-1 problem. `budget` is the largest cost of an average example, evaluation included.

    It is ``model.limit``; with `limits`, beside a budget or alone, ``model.limit[title]`` is that of the limit of this title.
    """
    if (budget is None and limits is None) or lam is not None:
        raise InvalidInputError(
            f"LP1 takes budget, the largest mean cost, or limits, and no lam; budget is {budget!r}, lam is {lam!r}: "
            "for a lambda build IP3 or closure"
        )
    if limits is not None:
        return _within(problem, [*([] if budget is None else [Limit(budget)]), *limits], relax=relax, merge=merge)
    m = _unimodular(problem, usage_columns(problem, merge=merge), "LP1", relax=relax)
    m.limit = pyo.Param(initialize=float(exact(budget, "budget")), mutable=True, domain=pyo.NonNegativeReals, doc="B")
    m.budget = pyo.Constraint(expr=m.cost <= m.limit, doc="(8)")
    m.objective = pyo.Objective(expr=m.error, sense=pyo.minimize)
    return m


def _within(problem: PruningProblem, limits: list[Limit], *, relax: bool, merge: bool) -> pyo.ConcreteModel:
    """LP1 with limits. The last row counts the cost, which is not limited by it."""
    titles = [limit.title for limit in limits]
    limit_rows(problem, limits)  # refuses them by their places
    if len(set(titles)) < len(titles):
        again = next(title for title in titles if titles.count(title) > 1)
        raise InvalidInputError(
            f"several limits have the title {again!r}, by which model.limit tells them apart; give each a name"
        )
    rows = limit_rows(problem, [*limits, Limit(0, name=f"cost beside {', '.join(titles)}")])
    columns = usage_columns(rows.metered, merge=merge)
    bought, kept = rows.of_purchases(columns), rows.of_splits()
    item = np.concatenate(rows.counted)[columns.item].astype(np.int32)  # numbered as the user's
    m = _unimodular(problem, replace(columns, item=item, price=bought[[-1]].toarray()[0]), "LP1", relax=relax)
    limited, purchases = {row.name: r for r, row in enumerate(rows.rows[:-1])}, list(m.PURCHASES)
    m.LIMITS = pyo.Set(initialize=titles, doc="limits, by their titles")
    m.limit = pyo.Param(
        m.LIMITS,
        initialize={limit.title: float(exact(limit.at_most, "at_most")) for limit in limits},
        mutable=True,
        domain=pyo.NonNegativeReals,
        doc="B_r",
    )
    m.USES = pyo.Set(initialize=list(limited), doc="limits, and the examples of those on every one")

    @m.Expression(m.USES, doc="use_r")
    def use(m: Any, name: str) -> Any:
        r = limited[name]
        amounts = [(bought, lambda j: m.w[purchases[j]]), (kept, lambda h: m.kept[h])]
        terms = [a * of(int(j)) for matrix, of in amounts for j, a in zip(matrix[[r]].indices, matrix[[r]].data, strict=True)]
        return float(rows.meters[rows.rows[r].limit].constant) + pyo.quicksum(terms)

    @m.Constraint(m.USES, doc="(8) of every limit")
    def budget(m: Any, name: str) -> Any:
        return m.use[name] <= m.limit[titles[rows.rows[limited[name]].limit]]

    m.objective = pyo.Objective(expr=m.error, sense=pyo.minimize)
    return m


def build_closure(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """The closure form, for one tree or many: a maximum closure, written as a minimisation."""
    columns = usage_columns(problem, merge=merge)
    ensemble, splits = problem.ensemble, problem.usage.splits
    m: Any = pyo.ConcreteModel("closure")
    m.problem = problem
    m.NODES = pyo.RangeSet(0, ensemble.n_nodes - 1, doc="nodes of all trees")
    m.SPLITS = pyo.Set(initialize=splits.tolist(), doc="splits of all trees")
    m.BELOW = pyo.Set(initialize=splits[ensemble.parent[splits] >= 0].tolist(), doc="splits that are no roots")
    m.y = pyo.Var(m.SPLITS, domain=binary(relax), bounds=(0, 1), doc="y_h: h is still a split")
    add_purchases(m, columns, relax=relax)
    arcs = columns.arcs("usage", columns.node)
    m.USAGE = pyo.Set(initialize=arcs.keys(), dimen=3, doc="(u_{t,m,i}, m, i)")

    @m.Constraint(m.BELOW, doc="(9) a split is kept only below kept splits")
    def parent_kept(m: Any, h: int) -> Any:
        return m.y[h] <= m.y[int(ensemble.parent[h])]

    @m.Constraint(m.USAGE, doc="(10) what a kept split needs is paid")
    def usage(m: Any, u: int, k: int, i: int | str) -> Any:
        return m.y[u] <= m.w[k, i]

    @m.Expression(m.NODES, doc="z_h = y_parent(h) - y_h, with y = 0 at leaves and 1 above roots")
    def z(m: Any, h: int) -> Any:
        parent = int(ensemble.parent[h])
        return (1 if parent < 0 else m.y[parent]) - (m.y[h] if ensemble.is_split[h] else 0)

    m.kept = pyo.Expression(m.SPLITS, rule=lambda m, h: m.y[h], doc="y_h, as in the other models")
    gain, evaluation = problem.gain.tolist(), problem.usage.evaluation_price.tolist()
    roots = float(problem.node_error[ensemble.roots].sum())
    m.error = pyo.Expression(expr=roots - pyo.quicksum(gain[h] * m.y[h] for h in m.SPLITS), doc="by the gains of the kept splits")
    _add_cost(m, {h: m.y[h] * evaluation[h] for h in splits.tolist() if evaluation[h]})
    add_objective(m, lam)
    return m


def _unimodular(problem: PruningProblem, columns: PurchaseColumns, title: str, *, relax: bool) -> Any:
    """A model with the rows (3), (6) and (7) and the expressions `error` and `cost`, without an objective."""
    m = trees_model(problem, title, relax=relax)
    arcs = columns.arcs("usage", columns.node)
    m.USAGE = pyo.Set(initialize=arcs.keys(), dimen=3, doc="(u_{t,m,i}, m, i)")
    m.w_t = pyo.Var(m.USAGE, domain=binary(relax), bounds=(0, 1), doc="w^t_{m,i}: example i pays item m in tree t, at u")
    add_purchases(m, columns, relax=relax)

    @m.Constraint(m.USAGE, doc="(6) NWS15 (2): item m is used in tree t unless the tree ends at u or above")
    def usage(m: Any, u: int, k: int, i: int | str) -> Any:
        return m.w_t[u, k, i] + m.stopped[u] == 1

    @m.Constraint(m.USAGE, doc="(7) NWS15 (IP3): what some tree uses is paid")
    def coupling(m: Any, u: int, k: int, i: int | str) -> Any:
        return m.w_t[u, k, i] <= m.w[k, i]

    add_error_and_cost(m)
    return m


def trees_model(problem: PruningProblem, title: str, *, relax: bool) -> Any:
    """A model with the nodes, z, the rows (3), and `kept`: 1 where a split is still a split, for rows of a user's own."""
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

    @m.Constraint(m.LEAVES, doc="(3) NWS15 (IP0): every path from the root to a leaf is cut exactly once")
    def leaf(m: Any, h: int) -> Any:
        return m.stopped[h] == 1

    splits = problem.usage.splits.tolist()
    m.kept = pyo.Expression(splits, rule=lambda m, h: 1 - m.stopped[h], doc="y_h = 1 - sum of z over h and what is above it")
    return m


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
    m.error = pyo.Expression(expr=pyo.quicksum(error[h] * m.z[h] for h in m.NODES), doc="(1)")
    _add_cost(m, {h: a * m.z[h] for h, a in enumerate(evaluation) if a})


def _add_cost(m: Any, evaluation: dict[int, Any]) -> None:
    """(2): the purchases, and what evaluating splits costs."""
    bought = pyo.quicksum(m.price[j] * m.w[j] for j in m.PURCHASES)
    m.cost = pyo.Expression(
        expr=bought + pyo.quicksum(evaluation.values()), doc="feature cost and evaluation cost of an average example"
    )


def add_objective(m: Any, lam: Price) -> None:
    """(OBJ): error + lam * cost; `lam` is a parameter that can be changed: ``model.lam = 0.2``."""
    m.lam = pyo.Param(
        initialize=float(exact(lam, "lam")), mutable=True, domain=pyo.NonNegativeReals, doc="error per unit of cost"
    )
    m.objective = pyo.Objective(expr=m.error + m.lam * m.cost, sense=pyo.minimize, doc="(OBJ)")


def binary(relax: bool) -> Any:
    """The domain of a 0-1 variable, or of its relaxation."""
    return pyo.NonNegativeReals if relax else pyo.Binary


@checked
def feature_used(model: pyo.ConcreteModel) -> Any:
    """The variables (11) of a model, by the features' names; made and added to it at the first call.

    Parameters
    ----------
    model
        one of `formulations.models.FORMULATIONS`.

    Returns
    -------
    pyomo.environ.Var
        0 or 1, ``model.feature_used[name]``; between them where the model is a relaxation. Nothing makes a variable smaller than
        it must be but a row or an objective.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import prunemodels as pm
    >>> model = pm.programs.FORMULATIONS["IP3"](pm.datasets.two_trees(), lam=0)
    >>> used = pm.programs.feature_used(model)
    >>> model.one_feature = pyo.Constraint(expr=pyo.quicksum(used.values()) <= 1)
    >>> _ = pm.programs.solve_model(model)
    >>> pm.programs.read_pruning(model).n_splits
    1
    """
    m: Any = model
    if not hasattr(m, "feature_used"):
        ensemble = m.problem.ensemble
        names = list(ensemble.names)
        relaxed = not any(v.is_integer() for v in m.component_data_objects(pyo.Var))
        domain = pyo.NonNegativeReals if relaxed else pyo.Binary
        m.feature_used = pyo.Var(names, domain=domain, bounds=(0, 1), doc="whether the pruned forest asks for a feature")

        @m.Constraint(list(m.kept), doc="(11)")
        def asks(m: Any, h: int) -> Any:
            return m.kept[h] <= m.feature_used[names[int(ensemble.feature[h])]]

    return m.feature_used
