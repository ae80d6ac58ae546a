"""The exact optimum for one lambda: one minimum cut.

    y_h <= y_parent(h),   y_u <= w_{m,i} for every usage arc (u, (m, i)):  a maximum-weight closure          (1)

with profit gain_h - lambda * evaluation_h at splits and price lambda * omega_i c_m / N at purchases; see
`formulations.instance.problem` for (OBJ) and `solvers.closures.cut` for the network. The flow shares the price of each purchase
out among the splits that need it; these duals prove the bound, which is recomputed from them tree by tree, not taken
from the solver.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import ItemDuals, Solution, StopReason
from formulations.arguments import Seconds, checking
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties, merged_cut
from solvers.closures.duals import proven_bound
from solvers.closures.integer_objective import IntegerObjective, integer_objective
from solvers.closures.subproblem import subproblem
from solvers.closures.tree_pass import free_of_charge, without_prices


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
    """Solve (1) on the splits that are optimal for free items: these, the duals of all usage arcs, and the network's arcs.

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
