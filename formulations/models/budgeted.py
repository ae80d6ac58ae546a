"""LP1 of NWS15: the least error within a budget.

    minimise error      s.t.  the rows of IP3,   cost <= B                                                                  (1)

The budget row destroys total unimodularity: the relaxation's optimum is a mixture of two prunings unless one of them
costs exactly B, and its value is the lower convex hull of all prunings (cost, error) at B. The dual of (1) is -lambda there.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from formulations.models.unimodular import constraints


def build(
    problem: PruningProblem,
    *,
    budget: Price | None = None,
    relax: bool = False,
    merge: bool = False,
    lam: Price | None = None,
) -> pyo.ConcreteModel:
    """(LP1); with ``relax=False`` the 0-1 problem, a precedence-constrained knapsack.

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices, evaluation included.
    relax
        the linear relaxation, which is what the paper calls (LP1).
    merge
        one variable for purchases with the same usage, exactly; see `formulations.programs.columns`.
    lam
        refused: LP1 has a budget in its place.

    Raises
    ------
    InvalidInputError
        without a budget, or with a lambda.
    """
    if budget is None or lam is not None:
        raise InvalidInputError(
            f"LP1 takes budget, the largest mean cost, and no lam; budget is {budget!r}, lam is {lam!r}: "
            "for a lambda build IP3 or closure"
        )
    m: Any = constraints(problem, "LP1", relax=relax, merge=merge)
    limit = float(exact(budget, "budget"))
    m.limit = pyo.Param(initialize=limit, mutable=True, domain=pyo.NonNegativeReals, doc="B")
    m.budget = pyo.Constraint(expr=m.cost <= m.limit, doc="(1)")
    m.objective = pyo.Objective(expr=m.error, sense=pyo.minimize)
    return m
