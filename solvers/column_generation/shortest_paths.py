"""Pricing: the cheapest pruning of every single tree, as a shortest path or by a pass over the tree.

    minimise  sum over the leaves h of the pruned trees of stop_h  +  sum over the kept splits h of charge_h               (1)

Each tree is solved alone, in one of two independent ways:

    paths: one unit of flow at least cost through the graph of `formulations.programs.shortest_path`                   (2)
    pass:  v_h = min(stop_h, charge_h + v_left + v_right)           children before parents                            (3)

(2) is OR-Tools' cost-scaling minimum cost flow, in int64. Real costs are rounded to multiples of a power of two; the largest
possible effect is returned with the answer. With stop_h = error_h + lam * evaluation and charge_h = the duals of h's usage arcs,
(1) is the pricing problem of Dantzig-Wolfe (NWS15 SUB1) and the inner minimum of BP16's Algorithm 1.

Both run in one thread. OR-Tools holds Python's global lock while it solves, so threads gain nothing for (2). (3) is several
hundred times faster than (2), which processes could not make up for: it takes ten nanoseconds a node, and two threads were no
faster.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from ortools.graph.python import min_cost_flow

from formulations.errors import CapacityOverflowError, InvalidInputError, SolverFailedError
from formulations.instance.problem import PruningProblem
from formulations.programs.shortest_path import TreeNetwork, tree_networks

MOST_BITS = 62
"""Sums of costs must stay below 2^62, because OR-Tools uses int64."""

Costs = NDArray[np.float64] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PathAnswer:
    """A shortest path.

    Parameters
    ----------
    arcs
        int64: its arcs, from the first boundary to the last.
    value
        its cost. The path's true cost and the least cost of all paths are both within `rounding` of it.
    rounding
        0 for integer costs, and for real costs that are multiples of the power of two.
    """

    arcs: NDArray[np.int64]
    value: float
    rounding: float


@dataclass(frozen=True, eq=False)
class CheapestPrunings:
    """The cheapest pruning of every tree.

    Parameters
    ----------
    kept
        bool, shape (n,): the splits kept, over the nodes of all trees.
    value
        shape (T,): (1) of each tree; int64 if the costs are int64, else float64.
    rounding
        float64, shape (T,), >= 0: the least (1) of tree t lies within rounding[t] of value[t], and so does (1) of `kept`.
    seconds
        duration of the call.
    """

    kept: NDArray[np.bool_]
    value: Costs
    rounding: NDArray[np.float64]
    seconds: float


def cheapest_path(network: TreeNetwork, cost: ArrayLike) -> PathAnswer:
    """The shortest path from the first boundary to the last, by (2).

    Parameters
    ----------
    cost
        one number for each arc, of any sign; integers are used without rounding.

    Raises
    ------
    InvalidInputError
        if there is not one finite number for each arc.
    CapacityOverflowError
        if integer costs are too large for 64 bits.
    """
    costs = _checked(cost, network.n_arcs, "cost", "arc")
    if costs.dtype == np.int64:
        arcs, total = _one_unit(network, costs.astype(np.int64))
        value = float(total)
        return PathAnswer(arcs, value, float(abs(total - int(value))))
    exponent = _finest(network, np.abs(costs.astype(np.float64)))
    on_grid, lost = _to_grid(costs.astype(np.float64), np.array(exponent))
    arcs, total = _one_unit(network, on_grid)
    return PathAnswer(arcs, *_from_grid(total, exponent, float(lost.sum())))


def price_by_shortest_paths(
    problem: PruningProblem, node_cost: ArrayLike, split_charge: ArrayLike, networks: Sequence[TreeNetwork] | None = None
) -> CheapestPrunings:
    """(1) for every tree by (2).

    Parameters
    ----------
    node_cost, split_charge
        shape (n,): stop_h of every node, charge_h of every split, of any sign. If both are integers, nothing is rounded.
    networks
        the graphs of all trees, expanded or not, if they exist already; default: build them.

    Raises
    ------
    InvalidInputError
        if the arrays do not have one finite number for each node, or if the graphs are not those of the problem's trees in order.
    CapacityOverflowError
        if integer costs are too large for 64 bits.
    """
    started = time.perf_counter()
    stop, charge = _pair(problem, node_cost, split_charge)
    graphs = tree_networks(problem) if networks is None else networks
    if [g.tree for g in graphs] != list(range(problem.ensemble.n_trees)) or any(g.problem is not problem for g in graphs):
        raise InvalidInputError("networks: give the graphs of all trees of this problem, in their order")
    ints = np.zeros(len(graphs), dtype=np.int64)
    exponent, lost = ints, np.zeros(len(graphs))
    if real := stop.dtype != np.int64:
        exponent, stop, charge, lost = _gridded(problem, graphs, stop.astype(np.float64), charge.astype(np.float64))
    kept = np.zeros(problem.ensemble.n_nodes, dtype=bool)
    for t, g in enumerate(graphs):
        arcs, ints[t] = _one_unit(g, g.costs_by_split(stop.astype(np.int64), charge.astype(np.int64)))
        kept[g.nodes] = g.pruning_of(arcs)
    if not real:
        return CheapestPrunings(kept, ints, lost, time.perf_counter() - started)
    value, rounding = zip(*map(_from_grid, ints.tolist(), exponent.tolist(), lost.tolist()), strict=True)
    return CheapestPrunings(kept, np.array(value), np.array(rounding), time.perf_counter() - started)


def price_by_tree_pass(problem: PruningProblem, node_cost: ArrayLike, split_charge: ArrayLike) -> CheapestPrunings:
    """(1) for every tree by (3), in float64, or in int64 if both costs are integers. Among equals the fewest splits are kept.

    Parameters
    ----------
    node_cost, split_charge
        as in `price_by_shortest_paths`.

    Raises
    ------
    InvalidInputError
        if the arrays do not have one finite number for each node.
    CapacityOverflowError
        if integer costs are too large for 64 bits.
    """
    started = time.perf_counter()
    stop, charge = _pair(problem, node_cost, split_charge)
    ensemble = problem.ensemble
    kept = np.zeros(ensemble.n_nodes, dtype=bool)
    best = np.empty_like(stop)
    error = np.zeros(ensemble.n_nodes)
    unit = 0.0 if stop.dtype == np.int64 else 2.0**-53

    _pass(ensemble.left, ensemble.right, ensemble.parent, stop, charge, unit, kept, best, error)
    # the factor covers the rounding of these sums themselves
    rounding = error[ensemble.roots] * (1 + 2.0**-30)
    return CheapestPrunings(kept, best[ensemble.roots], rounding, time.perf_counter() - started)


def _pair(problem: PruningProblem, node_cost: ArrayLike, split_charge: ArrayLike) -> tuple[Costs, Costs]:
    """Both costs, checked and converted to one type."""
    stop = _checked(node_cost, problem.ensemble.n_nodes, "node_cost", "node")
    charge = _checked(split_charge, problem.ensemble.n_nodes, "split_charge", "node")
    if stop.dtype != charge.dtype:
        stop, charge = stop.astype(np.float64), charge.astype(np.float64)
    if stop.dtype == np.int64:
        total = float(np.abs(stop.astype(np.float64)).sum() + np.abs(charge.astype(np.float64)).sum())
        if total >= 2.0**MOST_BITS:
            raise CapacityOverflowError(
                f"node_cost and split_charge add up to {total:.3g}, which must stay below 2^{MOST_BITS}; scale them down"
            )
    return stop, charge


def _checked(amounts: ArrayLike, length: int, name: str, of: str) -> Costs:
    """The amounts as int64 if they are integers, else as float64."""
    a = np.asarray(amounts)
    if a.shape != (length,) or a.dtype.kind not in "iuf":
        raise InvalidInputError(f"{name} is {a.dtype} of shape {a.shape}; give one number for each {of}, {length} in all")
    if a.dtype.kind in "iu":
        return a.astype(np.int64, copy=False)
    finite = np.isfinite(a)
    if not finite.all():
        k = int(np.argmin(finite))
        raise InvalidInputError(f"{name}[{k}] is {a[k]}; costs must be finite")
    return a.astype(np.float64, copy=False)


def _gridded(
    problem: PruningProblem, graphs: Sequence[TreeNetwork], stop: NDArray[np.float64], charge: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Each tree's exponent, both costs on its grid, and by how much that can change the cost of any pruning of the tree."""
    ensemble = problem.ensemble
    charge = np.where(ensemble.is_split, charge, 0.0)
    size, weight = np.abs(stop), np.abs(charge)
    exponent = np.array([_finest(g, g.costs_by_split(size, weight)) for g in graphs], dtype=np.int64)
    stop_ints, lost_stop = _to_grid(stop, exponent[ensemble.tree_of])
    charge_ints, lost_charge = _to_grid(charge, exponent[ensemble.tree_of])
    return exponent, stop_ints, charge_ints, np.add.reduceat(lost_stop + lost_charge, ensemble.roots)


def _finest(network: TreeNetwork, size: NDArray[np.float64]) -> int:
    """The exponent of the finest grid 2^-exponent for costs of the given sizes.

    OR-Tools multiplies the costs by V + 3, for V boundaries, and cost scaling lowers node potentials by about 1.5 (V + 3) times
    the largest such product (at most 6 (V + 3) epsilon by each refinement to epsilon, which falls by 5 a time). The
    grid leaves room for that. An overflow would lead to an error status, never to a wrong answer.
    """
    peak = _largest(network, size)
    if not math.isfinite(peak * network.n_boundaries):
        raise CapacityOverflowError(
            f"tree {network.tree}: costs up to {peak:.3g} add up to more than a float64 holds; scale them down"
        )
    room = MOST_BITS - 2 - 2 * math.ceil(math.log2(network.runs.n_boundaries + 3))
    return room - math.frexp(peak)[1]


def _to_grid(cost: NDArray[np.float64], exponent: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The nearest multiples of 2^-exponent, and by how much rounding changed each cost; both are exact in floating point."""
    nearest = np.rint(np.ldexp(cost, exponent))
    return nearest.astype(np.int64), np.abs(cost - np.ldexp(nearest, -exponent))


def _from_grid(total: int, exponent: int, lost: float) -> tuple[float, float]:
    """A sum on the grid as a float, and a bound of its error: that of the grid plus that of the float."""
    value = float(total)
    lost += math.ldexp(float(abs(total - int(value))), -exponent)
    return math.ldexp(value, -exponent), lost * (1 + 2.0**-30)  # the factor covers the rounding of the sums


def _largest(network: TreeNetwork, size: NDArray[np.float64]) -> float:
    """The largest cost of an arc in OR-Tools' graph."""
    return float(np.add.reduceat(size, network.runs.first).max())


def _one_unit(network: TreeNetwork, cost: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """(2) in integers: the arcs of the path in order, and the sum of their costs."""
    # all arcs of a split are one arc: on a path of 10^5 boundaries OR-Tools takes minutes and does not react to Ctrl-C
    runs, peak = network.runs, _largest(network, np.abs(cost.astype(np.float64)))
    flow = min_cost_flow.SimpleMinCostFlow()
    status = flow.BAD_COST_RANGE
    if peak * (runs.n_boundaries + 3) < 2.0**MOST_BITS:
        total = np.add.reduceat(cost, runs.first)
        flow.add_arcs_with_capacity_and_unit_cost(runs.tail, runs.head, np.ones(total.size, dtype=np.int64), total)
        flow.set_nodes_supplies(np.array([0, runs.n_boundaries - 1], dtype=np.int32), np.array([1, -1], dtype=np.int64))
        status = flow.solve()
    if status == flow.BAD_COST_RANGE:
        raise CapacityOverflowError(f"tree {network.tree}: integer costs up to {peak:.3g} are too large; scale them down")
    if status != flow.OPTIMAL:
        raise SolverFailedError(f"tree {network.tree}: OR-Tools' minimum cost flow ended with {status.name}")
    used = flow.flows(np.arange(runs.first.size, dtype=np.int32)) > 0
    arcs = np.flatnonzero(np.repeat(used, runs.length))
    return arcs[np.argsort(network.tail[arcs])], int(cost[arcs].sum())


@njit(cache=True, nogil=True)
def _pass(left, right, parent, stop, charge, unit, kept, best, error):  # type: ignore[no-untyped-def]
    """(3) with a bound of its rounding errors: the error of each sum is at most `unit` times its absolute value."""
    for h in range(left.shape[0] - 1, -1, -1):
        best[h] = stop[h]
        if left[h] >= 0:
            below = best[left[h]] + best[right[h]]
            total = charge[h] + below
            if total < stop[h]:
                kept[h] = True
                best[h] = total
            if unit > 0:
                e = error[left[h]] + error[right[h]] + unit * (abs(below) + abs(total))
                # if stopping is certainly cheaper, the sums below do not matter
                error[h] = 0.0 if stop[h] < total - 2 * e else e
    for h in range(left.shape[0]):
        if kept[h] and parent[h] >= 0 and not kept[parent[h]]:
            kept[h] = False
