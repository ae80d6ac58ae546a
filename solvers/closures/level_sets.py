"""From a fractional point to a pruning: the best of all its level sets.

    kept = { h : y_h >= theta },   0 < theta <= 1,   y_h = 1 - sum_{v in anc(h)} z_v                              (1)

Every level set of an optimal point of IP3's relaxation, vertex or not, is an optimal pruning: (OBJ) is the mean of the level
sets' values over theta. In a point that is only nearly feasible, y of a child is first lowered to that of its parent; the best
level set is then a pruning as good as the mean. One pass over the usage arcs compares all level sets: a purchase is paid by every
level set up to the highest level of its users.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import level_sets, sums_in_rows
from formulations.answers.pruning import Pruning
from formulations.compiled import njit
from formulations.instance.problem import PruningProblem
from formulations.programs.linear_program import LinearProgram


def best_level_set(problem: PruningProblem, y: NDArray[np.float64], lam: float) -> Pruning:
    """The best pruning (1) of a point, for lambda; among equals the one with the fewest splits.

    Parameters
    ----------
    y
        float64, shape (n,): how far each split is kept, 0 to 1; what stands at leaves does not matter.
    lam
        error per unit of cost.
    """
    falling = np.where(problem.ensemble.is_split, y, 0.0)
    lower_to_parents(problem.ensemble.parent, falling)
    sets = level_sets(problem, falling)
    profit = problem.gain - lam * problem.usage.evaluation_price
    worth = sums_in_rows(sets, profit, -lam * problem.usage.purchase_price())
    return sets[len(sets) - 1 - int(np.argmax(worth[::-1]))]


def splits_kept(problem: PruningProblem, lp: LinearProgram, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The y of (1) that a point of any formulation has; float64, shape (n,), 0 at leaves of the closure form."""
    ensemble = problem.ensemble
    y = np.zeros(ensemble.n_nodes)
    if lp.columns.has("y"):
        y[problem.usage.splits] = x[lp.columns.of("y")]
        return y
    z = x[lp.columns.of("z")]
    _stopped(ensemble.parent, z, y)
    return 1.0 - y


def pruning_of_point(problem: PruningProblem, lp: LinearProgram, x: NDArray[np.float64]) -> Pruning:
    """The pruning that a point of any formulation stands for, which is integral up to tolerances."""
    y = np.where(problem.ensemble.is_split, np.rint(splits_kept(problem, lp, x)), 0.0)
    lower_to_parents(problem.ensemble.parent, y)
    return Pruning(problem, y > 0.5)


@njit(cache=True, nogil=True)
def lower_to_parents(parent, y):  # type: ignore[no-untyped-def]
    """Lower every y to that of its parent, in place, parents before children: rounding must not make a child larger."""
    for h in range(parent.shape[0]):
        if parent[h] >= 0 and y[h] > y[parent[h]]:
            y[h] = y[parent[h]]


@njit(cache=True)
def _stopped(parent, z, total):  # type: ignore[no-untyped-def]
    """Sum of z over the ancestors with h itself."""
    for h in range(parent.shape[0]):
        total[h] = z[h] if parent[h] < 0 else total[parent[h]] + z[h]
