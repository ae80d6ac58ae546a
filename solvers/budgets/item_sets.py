"""A pruning within a budget for edges that are too large for a cut: only some items may be bought.

    K(F)  =  the best closure between two prunings of the splits that charge items of F alone, at lambda = 0               (1)

K grows with F, and so does its cost. F grows by the item whose price brings most gain, until K(F) exceeds the budget. The last
item is then left to the first trees alone, as many as fit. That takes some passes over the trees and the usage, and no array over
the usage arcs. Nothing is proven here; the bound is the relaxation's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import integer_cost
from formulations.instance.problem import PruningProblem
from solvers.closures.tree_pass import best_closure_of_forest


def kept_by_items(problem: PruningProblem, outer: NDArray[np.bool_], inner: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """A pruning between two nested ones that costs at most `most` integer prices, as the inner one does; bool, shape (n,)."""
    usage, ints, ensemble = problem.usage, problem.integers, problem.ensemble
    charged = np.repeat(np.arange(ensemble.n_nodes), np.diff(usage.charges.start))
    asks = (usage.arcs_per_node[charged] > 0) & outer[charged] & ~inner[charged]
    split, item = charged[asks], usage.charges.item[asks]
    missing = np.bincount(split, minlength=ensemble.n_nodes)

    def of_item(m: int) -> NDArray[np.int64]:
        """Whether each split charges an item."""
        return np.bincount(split[item == m], minlength=ensemble.n_nodes)

    def between(missing: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(1)."""
        return inner | best_closure_of_forest(ensemble.parent, ints.gain, inner | (outer & (missing == 0)))

    def fits(kept: NDArray[np.bool_]) -> bool:
        return integer_cost(usage, ints, kept) <= most

    found, left = inner, np.unique(item).tolist()
    while left:
        gain = {m: int(ints.gain[between(missing - of_item(m))].sum()) for m in left}
        before = int(ints.gain[found].sum())
        best = max(left, key=lambda m: (gain[m] - before) / int(ints.price[m]))
        missing = missing - of_item(best)
        kept = between(missing)
        if not fits(kept):
            return _in_first_trees(found, kept, ensemble.tree_of, fits)
        found = kept
        left.remove(best)
    return found


def _in_first_trees(
    found: NDArray[np.bool_], kept: NDArray[np.bool_], tree_of: NDArray[np.int32], fits: Callable[[NDArray[np.bool_]], bool]
) -> NDArray[np.bool_]:
    """The larger of two nested prunings in as many trees as fit, the first ones, and the smaller one in the others."""
    low, high = 0, int(tree_of[-1]) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(np.where(tree_of < middle, kept, found)) else (low, middle)
    return np.where(tree_of < low, kept, found)
