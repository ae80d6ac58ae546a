"""Dantzig-Wolfe's pricing by trees, the trees parted among workers.

Each tree's pricing problem is its own (NWS15 section 5): a worker keeps the errors of its trees' nodes, gets what their splits
bear at this round's dual values, and returns the prunings. The arithmetic is that of one place, tree by tree: the columns are the
same to the last bit.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from solvers.column_generation.shortest_paths import CheapestPrunings, price_by_tree_pass
from solvers.price_sharing.cluster.workers import Recipe, Workers


class TreeBlock:
    """Some trees.

    Parameters
    ----------
    ensemble
        those trees.
    stop
        float64, shape (n,): error of each of their nodes in (OBJ).
    first
        id of their first node in the whole ensemble.
    """

    def __init__(self, ensemble: Ensemble, stop: NDArray[np.float64], first: int) -> None:
        nothing = NodeErrors((ErrorComponent(np.zeros(ensemble.n_nodes), np.ones(ensemble.n_trees), source="not needed"),))
        row = np.zeros((1, ensemble.n_features), dtype=np.float32)
        # pricing looks at the trees alone: one row, free features
        self.problem = PruningProblem.build(ensemble, nothing, row, CostItems.plain([0] * ensemble.n_features))
        self.stop, self.first = np.array(stop), first

    def price(self, bears: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
        """Splits kept, the trees' values and roundings, when splits bear that; `bears` is of the whole ensemble, shape (n,)."""
        mine = np.array(bears[self.first : self.first + self.stop.size])
        found = price_by_tree_pass(self.problem, self.stop, mine)
        return found.kept, found.value.astype(np.float64), found.rounding


def tree_recipes(problem: PruningProblem, n_parts: int) -> list[Recipe]:
    """How each worker builds its `TreeBlock`: consecutive trees with about as many nodes each.

    Raises
    ------
    InvalidInputError
        for fewer trees than parts.
    """
    ensemble = problem.ensemble
    if not 1 <= n_parts <= ensemble.n_trees:
        raise InvalidInputError(
            f"n_parts is {n_parts}; {ensemble.n_trees} trees can be parted among 1 to {ensemble.n_trees} workers"
        )
    cuts = [0]
    for k in range(1, n_parts):
        nearest = int(np.argmin(np.abs(ensemble.tree_start - ensemble.n_nodes * k / n_parts)))
        cuts.append(min(max(nearest, cuts[-1] + 1), ensemble.n_trees - n_parts + k))
    cuts.append(ensemble.n_trees)
    return [_recipe(problem, a, b) for a, b in pairwise(cuts)]


def _recipe(problem: PruningProblem, a: int, b: int) -> Recipe:
    """Trees a to b - 1."""
    ensemble = problem.ensemble
    first, last = int(ensemble.tree_start[a]), int(ensemble.tree_start[b])
    nodes = slice(first, last)
    below = ensemble.left[nodes] >= 0
    part = replace(
        ensemble,
        tree_start=ensemble.tree_start[a : b + 1] - first,
        left=np.where(below, ensemble.left[nodes] - first, -1).astype(np.int32),
        right=np.where(below, ensemble.right[nodes] - first, -1).astype(np.int32),
        feature=ensemble.feature[nodes],
        threshold=ensemble.threshold[nodes],
        missing_left=ensemble.missing_left[nodes],
        value=ensemble.value[nodes],
    )
    return partial(TreeBlock, part, problem.node_error[nodes], first)


class ShardedPricing:
    """A `solvers.column_generation.pricing.TreePricer` whose trees are at workers built from `tree_recipes`."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    def __call__(self, problem: PruningProblem, stop: NDArray[np.float64], bears: NDArray[np.float64]) -> CheapestPrunings:
        """Every tree's cheapest pruning; `stop` is what the workers hold already."""
        began = time.perf_counter()
        kept, value, rounding = (np.concatenate(parts) for parts in zip(*self.workers.ask("price", bears), strict=True))
        if kept.size != problem.ensemble.n_nodes:
            raise InvalidInputError(
                f"the workers hold trees of {kept.size:,} nodes, the problem has {problem.ensemble.n_nodes:,}"
            )
        return CheapestPrunings(kept, value, rounding, time.perf_counter() - began)
