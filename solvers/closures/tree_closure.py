"""Best closures when nothing couples the trees: one bottom-up pass.

    v_h = profit_h + max(0, v_left) + max(0, v_right)                                        (1)

A split is kept where its parent is and v_h > 0 (the smallest best closure) or v_h >= 0 (the largest).
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties


@overload
def best_tree_closures(
    ensemble: Ensemble, profit: NDArray[np.int64], allowed: NDArray[np.bool_], ties: Ties
) -> tuple[NDArray[np.bool_], int]: ...


@overload
def best_tree_closures(
    ensemble: Ensemble, profit: NDArray[np.float64], allowed: NDArray[np.bool_], ties: Ties
) -> tuple[NDArray[np.bool_], float]: ...


def best_tree_closures(
    ensemble: Ensemble, profit: NDArray[np.int64] | NDArray[np.float64], allowed: NDArray[np.bool_], ties: Ties
) -> tuple[NDArray[np.bool_], float]:
    """Best closure of every tree among the allowed splits, and the sum of their values.

    Parameters
    ----------
    profit
        int64 or float64, shape (n,), and so is the value; sums of integers must stay below 2^63.
    allowed
        bool, shape (n,): a split that is not allowed is never kept, nor is any below it.
    """
    keep = np.zeros(ensemble.n_nodes, dtype=np.bool_)
    value = _pass(ensemble.left, ensemble.right, ensemble.parent, profit, allowed, ties == "largest", keep)
    return keep, value


def without_prices(problem: PruningProblem, ties: Ties) -> NDArray[np.bool_]:
    """The optimum at lambda = 0, where items are free."""
    ensemble = problem.ensemble
    return best_tree_closures(ensemble, problem.integers.gain, ensemble.is_split, ties)[0]


def free_of_charge(problem: PruningProblem, ties: Ties) -> NDArray[np.bool_]:
    """The best closure among splits whose price is 0: the optimum for lambda beyond every breakpoint."""
    own = problem.integers.evaluation > 0
    charged = np.repeat(np.arange(problem.ensemble.n_nodes), np.diff(problem.charges.start))
    reached = problem.costs.paid_once[problem.charges.item] | (problem.routing.counts()[charged] > 0)
    own[charged[reached]] = True
    allowed = problem.ensemble.is_split & ~own
    return best_tree_closures(problem.ensemble, problem.integers.gain, allowed, ties)[0]


@njit(cache=True)
def _pass(left, right, parent, profit, allowed, largest, keep):  # type: ignore[no-untyped-def]
    """(1), children before parents; then the choice, parents before children."""
    n = left.shape[0]
    best = np.zeros(n, dtype=profit.dtype)
    total = 0
    for h in range(n - 1, -1, -1):
        if allowed[h]:
            v = profit[h] + best[left[h]] + best[right[h]]
            keep[h] = v > 0 or (largest and v == 0)
            best[h] = v if v > 0 else 0
            if parent[h] < 0:
                total += best[h]
    for h in range(n):
        if parent[h] >= 0 and not keep[parent[h]]:
            keep[h] = False
    return total
