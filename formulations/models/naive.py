"""IP1 of NWS15, the naive formulation.

    minimise error + lam * cost     s.t.  every root-to-leaf path is cut once                                               (1)
                                          w_{m,i} >= z_h      for h, i in S_h, and m needed by a strict ancestor of h       (2)

Right in 0-1 variables. Its relaxation has fractional vertices (NWS15 section 4: z = (0, 1, .5, .5, .5), w = (.5, .5) on
their first tree) and a weaker bound than IP3's: (2) bounds w by each z_h alone, where IP3 bounds it by their sum along i's path.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.models.pruned_trees import add_error_and_cost, add_objective, add_purchases, trees_model
from formulations.programs.columns import naive_columns


def build(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> pyo.ConcreteModel:
    """(IP1), for one tree or many.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    relax
        the linear relaxation.
    merge
        one variable for purchases that are in the same rows (2), exactly; see `formulations.programs.columns`.
    """
    columns = naive_columns(problem, merge=merge)
    m = trees_model(problem, "IP1", relax=relax)
    add_purchases(m, columns, relax=relax)
    arcs = columns.arcs("naive_usage", columns.node)
    m.MET = pyo.Set(initialize=arcs.keys(), dimen=3, doc="(h, m, i): i meets m above h")

    @m.Constraint(m.MET, doc="(2) NWS15 (IP1): an example that stops at h has paid what the splits above it need")
    def naive_usage(m: Any, h: int, k: int, i: int | str) -> Any:
        return m.z[h] <= m.w[k, i]

    add_error_and_cost(m)
    add_objective(m, lam)
    return m
