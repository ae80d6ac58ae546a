"""The exact optimum for one lambda by one minimum cut, and the dual values of the coupling rows that prove it.

Dual values share the price of every purchase out among the splits that need it:

    OPT >= error of the all-roots forest - sum over trees of (best closure, each split's profit less its duals)      (1)

for all duals >= 0 whose sum over the users of each purchase is at most its price: weak duality for the coupling rows. The flow of
a minimum cut has this property. The dual values that a linear program ends with have it once they are cut to the prices, however
roughly the program was solved.

The optimum itself is a maximum-weight closure:

    y_h <= y_parent(h),   y_u <= w_{m,i} for every usage arc (u, (m, i))                                     (2)

with profit gain_h - lambda * evaluation_h at splits and price lambda * omega_i c_m / N at purchases; see
`formulations.instance.problem` for (OBJ) and `solvers.closures.cut` for the network. The flow shares the price of each purchase
out among the splits that need it; these duals prove the bound, which is recomputed from them tree by tree, not taken
from the solver.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import ItemDuals, Solution, StopReason
from formulations.arguments import Seconds, checking
from formulations.errors import SolverFailedError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.instance.usage_arcs import split_duals, starts_by_tail
from formulations.programs.linear_program import PurchaseColumns
from solvers.closures.cut import Ties, merged_cut, subproblem
from solvers.closures.integer_objective import IntegerObjective, integer_objective
from solvers.closures.tree_pass import best_tree_closures, free_of_charge, without_prices


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


@checking
def min_cut(problem: PruningProblem, lam: float, *, time_limit: Seconds = math.inf, ties: Ties = "smallest") -> Solution:
    """The optimal pruning for one lambda, with proof.

        minimise  error + lam * cost                                                                (OBJ)

    Parameters
    ----------
    lam
        error per unit of cost, >= 0. A float counts as the shortest decimal that denotes it; a fraction is taken exactly.
    time_limit
        seconds. It is looked at before the cut, which itself cannot be stopped: past it the answer is the best
        pruning that is free of charge, FEASIBLE, with the bound that the trees give separately.
    ties
        which optimum where there are several: the one with the fewest splits or the one with the most.

    Returns
    -------
    Solution
        gap 0 where ``problem.numbers.exact`` and lambda is a ratio that fits 62 bits; else the cut runs at the next
        fraction below lambda, or on a grid of 2^-60 of all capacities, and the gap says what that left open.
        Certificate: `ItemDuals`.

    Raises
    ------
    InvalidInputError
        for a negative, NaN or infinite lambda.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.min_cut(problem, 0.01)
    >>> solution.pruning
    Pruning(cost=13.4933, error=0.0485, 43 splits)
    """
    started = time.perf_counter()
    rate = exact(lam, "lam")
    objective = integer_objective(problem, rate)
    stopped, kept, n_arcs = StopReason.TIME_LIMIT, free_of_charge(problem, ties), 0
    dual = np.zeros(problem.n_usage_arcs, dtype=np.int64)
    if time.perf_counter() - started <= time_limit:
        reduced = problem.reduced(ties)
        kept, of_groups, n_arcs = closure_at(objective.of_groups(reduced), ties)
        kept, dual = reduced.groups.kept(kept), reduced.groups.duals(of_groups, problem.usage)
        stopped = StopReason.CONVERGED
    certificate = ItemDuals(dual, objective.unit, objective.lam)
    pruning = Pruning(problem, kept)
    if not objective.exact_at(rate):  # the cut may be off by a hair
        pruning = min(pruning, Pruning(problem, free_of_charge(problem, ties)), key=lambda found: found.value(float(lam)))
    value = pruning.value(float(lam))
    bound = proven_bound(problem, objective, certificate, pruning, rate)
    stats = {"seconds": time.perf_counter() - started, "arcs": float(n_arcs), "usage_arcs": float(dual.size)}
    return Solution(problem, lam, pruning, value, bound, stopped, certificate, stats, "min_cut")


def closure_at(objective: IntegerObjective, ties: Ties) -> tuple[NDArray[np.bool_], NDArray[np.int64], int]:
    """Solve (2) on the splits that are optimal for free items: these, the duals of all usage arcs, and the network's arcs.

    No other split is kept at any lambda, and their trees' parts below are worth nothing, so they need no duals either.
    """
    core = objective.problem
    wanted, n_nodes, arcs = without_prices(core, ties), core.ensemble.n_nodes, core.usage.arcs()
    nodes = np.flatnonzero(wanted).astype(np.int32)
    price, dual = objective.prices(), np.zeros(arcs.tail.size, dtype=np.int64)
    mine = np.flatnonzero(wanted[arcs.tail] & (price[arcs.head] > 0))
    part = subproblem(core.ensemble.parent, nodes, arcs.tail[mine], arcs.head[mine], core.usage.n_purchases)
    closure, dual[mine] = merged_cut(part.closure_problem(objective.profits(nodes), price[part.purchases]), ties)
    kept = np.zeros(n_nodes, dtype=bool)
    kept[nodes] = closure.keep
    return kept, dual, closure.n_arcs
