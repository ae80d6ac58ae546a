"""Costs of the arcs of a tree's graph, as the papers have them: arc by arc, from dual values of single usage arcs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from formulations.programs.matrix import evaluation_above
from formulations.programs.shortest_path import TreeNetwork


def stop_costs(problem: PruningProblem, lam: Price) -> NDArray[np.float64]:
    """What it costs to stop at h in (OBJ): error_h + lam * (what those who stop there were evaluated for). Shape (n,)."""
    return problem.node_error + float(exact(lam, "lam")) * evaluation_above(problem)


def arc_costs(network: TreeNetwork, stop_cost: NDArray[np.float64], dual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Costs of the arcs: what stopping at h costs, and the dual values that an arc (2) stands for, added up.

    Parameters
    ----------
    stop_cost
        float64, shape (n,), over all nodes of the forest.
    dual
        float64, one a usage arc of the forest, in the order of the columns that the graph was built from.
    """
    own = np.zeros(0)
    if len(network.leaves.node):
        first, last = int(network.leaves.start[0]), int(network.leaves.stop[-1])
        own = np.add.reduceat(dual[first:last], network.leaves.start - first)
    return np.concatenate([stop_cost[network.nodes], own])
