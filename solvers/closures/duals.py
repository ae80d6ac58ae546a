"""Dual values of the coupling rows: every purchase's price shared out among the splits that need it, and what that proves.

    OPT >= error of the all-roots forest - sum over trees of (best closure, each split's profit less its duals)      (1)

for all duals >= 0 whose sum over the users of each purchase is at most its price: weak duality for the coupling rows. The flow of
a minimum cut has this property. The dual values that a linear program ends with have it once they are cut to the prices, however
roughly the program was solved.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import ItemDuals
from formulations.errors import SolverFailedError
from formulations.instance.merging import split_duals, starts_by_tail
from formulations.instance.problem import PruningProblem
from formulations.programs.columns import PurchaseColumns
from solvers.closures.integer_objective import IntegerObjective
from solvers.closures.tree_pass import best_tree_closures


def integer_duals(
    problem: PruningProblem, objective: IntegerObjective, columns: PurchaseColumns, row_dual: NDArray[np.float64]
) -> ItemDuals:
    """Duals in whole units, within the prices, from the real dual values of the rows that bind nodes to purchases.

    Parameters
    ----------
    objective
        (OBJ) in integers; `IntegerObjective.refined` loses least.
    columns
        the purchase variables and arcs that the rows are about.
    row_dual
        float64, shape (a,), in (OBJ): how much each row charges its node, >= 0 up to the engine's tolerance. Rows of naive arcs
        charge nodes below the split that needs the item; their charges are gathered there, which makes (1) no weaker.
    """
    user, column, amount = _gathered(columns, np.maximum(row_dual, 0.0))
    unit, price = float(objective.unit), objective.prices()
    most = float(price.sum()) * unit  # of one row; merged purchases add up
    integer_dual = np.floor(np.minimum(amount, most) / unit).astype(np.int64)
    arcs = problem.usage.arcs()
    dual = np.zeros(arcs.tail.size, dtype=np.int64)
    if dual.size:
        start = starts_by_tail(user, problem.ensemble.n_nodes)
        split_duals(arcs.tail, dual, columns.of_purchase, start, column, integer_dual, price, arcs.head)
    return ItemDuals(dual, objective.unit, objective.lam)


def zero_duals(problem: PruningProblem, objective: IntegerObjective) -> ItemDuals:
    """Nothing is charged: (1) is the error at lambda = 0 with evaluation paid."""
    return ItemDuals(np.zeros(problem.n_usage_arcs, dtype=np.int64), objective.unit, objective.lam)


def proven_bound(
    problem: PruningProblem, objective: IntegerObjective, duals: ItemDuals, pruning: Pruning, lam: Fraction
) -> float:
    """(1) at lambda, never above the value of `pruning`."""
    return bound_of_closure(problem, objective, worth_of_trees(problem, objective, duals), pruning, lam)


def worth_of_trees(problem: PruningProblem, objective: IntegerObjective, duals: ItemDuals) -> int:
    """The sum in (1): no closure is worth more, in integers."""
    charged = objective.profits()
    np.subtract.at(charged, problem.usage.arcs().tail, duals.dual)
    return int(best_tree_closures(problem.ensemble.parent, charged, problem.ensemble.is_split)[1])


def bound_of_closure(problem: PruningProblem, objective: IntegerObjective, best: int, pruning: Pruning, lam: Fraction) -> float:
    """The bound of (OBJ) at lambda that follows where no closure is worth more than `best` in integers."""
    value = pruning.value(float(lam))
    if objective.exact:
        gained = pruning.integer_gain * problem.numbers.gain_unit - objective.lam * pruning.exact_cost
        gap = best * objective.unit - gained
        if gap < 0:
            raise SolverFailedError(f"the duals prove a bound above a pruning's value, by {float(-gap):g}")
        gap += (lam - objective.lam) * pruning.exact_cost
        return value - float(gap)
    bound = problem.roots_error - best * objective.unit
    return min(value, math.nextafter(float(bound), -math.inf))


def _gathered(
    columns: PurchaseColumns, amount: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Sums of the amounts by split and purchase variable, sorted by split."""
    if np.array_equal(columns.user, columns.node):
        return columns.node, columns.column, amount
    key = columns.user.astype(np.int64) * columns.n_columns + columns.column
    pairs, place = np.unique(key, return_inverse=True)
    user, column = np.divmod(pairs, max(1, columns.n_columns))
    total = np.zeros(pairs.size)
    np.add.at(total, place, amount)
    return user.astype(np.int32), column.astype(np.int32), total
