"""Pricing: the cheapest pruning of every single tree, as a shortest path or by a pass over the tree.

    minimise  sum over the leaves h of the pruned trees of stop_h  +  sum over the kept splits h of charge_h               (1)

Each tree is solved alone, in one of two independent ways:

    paths: one unit of flow at least cost through the graph of `formulations.programs.shortest_path`                   (2)
    pass:  v_h = min(stop_h, charge_h + v_left + v_right)           children before parents                            (3)

(2) is OR-Tools' cost-scaling minimum cost flow, in int64. Costs are rounded to multiples of a power of two; the largest
possible effect is returned with the answer. With stop_h = error_h + lam * evaluation and charge_h = the duals of h's usage arcs,
(1) is the pricing problem of Dantzig-Wolfe (NWS15 SUB1) and the inner minimum of BP16's Algorithm 1.

The graphs of many trees are one network without arcs between them, with one unit of supply for each tree, so that OR-Tools is
called once for thousands of boundaries. It holds Python's global lock while it solves, so threads gain nothing for (2).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from ortools.graph.python import min_cost_flow

from formulations.arguments import checked
from formulations.compiled import njit
from formulations.errors import CapacityOverflowError, InvalidInputError, SolverFailedError
from formulations.instance.problem import PruningProblem
from formulations.programs.shortest_path import TreeNetwork, tree_networks
from formulations.shown import Brief
from solvers.column_generation.params import DEFAULTS


@dataclass(frozen=True, eq=False, repr=False)
class CheapestPrunings(Brief):
    """The cheapest pruning of every tree: what the pricing of `dantzig_wolfe` returns.

    Parameters
    ----------
    kept
        bool, shape (n,): the splits kept, over the nodes of all trees.
    value
        float64, shape (T,): each tree's cost, of its leaves and of the charges on its kept splits.
    rounding
        float64, shape (T,), >= 0: the least cost of tree t lies within rounding[t] of value[t], and so does that of `kept`.
    seconds
        duration of the call.

    Examples
    --------
    >>> import numpy as np
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> found = pm.engines.price_by_tree_pass(problem, problem.node_error, np.full(12, 0.1))
    >>> found.value, np.flatnonzero(found.kept)
    (array([0.2  , 0.425]), array([0, 2, 5, 6, 9]))
    """

    kept: NDArray[np.bool_]
    value: NDArray[np.float64]
    rounding: NDArray[np.float64]
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Batch:
    """The graphs of some trees as one network, with the arcs (2) of each split as one arc."""

    networks: tuple[TreeNetwork, ...]  # the graphs
    # tail, head: int32: boundaries of the network.
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    # first_arc, first_boundary: of each graph; one more at the end.
    first_arc: NDArray[np.int64]
    first_boundary: NDArray[np.int64]

    @classmethod
    def of(cls, networks: Sequence[TreeNetwork]) -> Batch:
        """The graphs side by side."""
        runs = [g.runs for g in networks]
        first_arc = np.cumsum([0, *(r.tail.size for r in runs)])
        first_boundary = np.cumsum([0, *(r.n_boundaries for r in runs)])
        tail, head = (
            np.concatenate([ends + start for ends, start in zip(both, first_boundary.tolist(), strict=False)]).astype(np.int32)
            for both in ([r.tail for r in runs], [r.head for r in runs])
        )
        return cls(tuple(networks), tail, head, first_arc, first_boundary)

    @property
    def n_boundaries(self) -> int:
        """Boundaries of all graphs."""
        return int(self.first_boundary[-1])


@checked
def batches_of(networks: Sequence[TreeNetwork]) -> list[Batch]:
    """The graphs in batches of at most 512 boundaries, in their order: what `price_by_shortest_paths` solves in one call each.

    Examples
    --------
    >>> import prunemodels as pm
    >>> len(pm.engines.batches_of(pm.programs.tree_networks(pm.datasets.two_trees())))
    1
    """
    groups: list[list[TreeNetwork]] = []
    room = 0
    for g in networks:
        room -= g.runs.n_boundaries
        if not groups or room < 0:
            groups.append([])
            room = DEFAULTS.batch - g.runs.n_boundaries
        groups[-1].append(g)
    return [Batch.of(group) for group in groups]


@checked
def price_by_shortest_paths(
    problem: PruningProblem, node_cost: ArrayLike, split_charge: ArrayLike, batches: Sequence[Batch] | None = None
) -> CheapestPrunings:
    """The cheapest pruning of every tree as a shortest path, by OR-Tools' minimum cost flow in integers.

    Parameters
    ----------
    node_cost, split_charge
        shape (n,): what every node costs as a leaf, and every split if it is kept, of any sign.
    batches
        ``batches_of`` the graphs of all trees, expanded or not, if they exist already; default: build them.

    Examples
    --------
    >>> import numpy as np
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> pm.engines.price_by_shortest_paths(problem, problem.node_error, np.full(12, 0.1)).value.round(9)
    array([0.2  , 0.425])
    """
    started = time.perf_counter()
    stop, charge = _pair(problem, node_cost, split_charge)
    parts = batches_of(tree_networks(problem)) if batches is None else batches
    graphs = [g for part in parts for g in part.networks]
    if [g.tree for g in graphs] != list(range(problem.ensemble.n_trees)) or any(g.problem is not problem for g in graphs):
        raise InvalidInputError("batches: give the graphs of all trees of this problem, in their order")
    exponent, stop_ints, charge_ints, lost = _gridded(problem, parts, stop, charge)
    kept, totals = np.zeros(problem.ensemble.n_nodes, dtype=bool), list[int]()
    for part in parts:
        costs = [g.costs_by_split(stop_ints, charge_ints) for g in part.networks]
        for g, (arcs, total) in zip(part.networks, _one_unit_each(part, costs), strict=True):
            totals.append(total)
            kept[g.nodes] = g.pruning_of(arcs)
    value, rounding = zip(*map(_from_grid, totals, exponent.tolist(), lost.tolist()), strict=True)
    return CheapestPrunings(kept, np.array(value), np.array(rounding), time.perf_counter() - started)


@checked
def price_by_tree_pass(problem: PruningProblem, node_cost: ArrayLike, split_charge: ArrayLike) -> CheapestPrunings:
    """The cheapest pruning of every tree by one pass, children before parents. Among equals the fewest splits are kept.

    Parameters
    ----------
    node_cost, split_charge
        as in `price_by_shortest_paths`.

    Examples
    --------
    >>> import numpy as np
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> pm.engines.price_by_tree_pass(problem, problem.node_error, np.zeros(12)).value
    array([0.   , 0.125])
    """
    started = time.perf_counter()
    stop, charge = _pair(problem, node_cost, split_charge)
    ensemble = problem.ensemble
    kept = np.zeros(ensemble.n_nodes, dtype=bool)
    best, error = np.empty_like(stop), np.zeros(ensemble.n_nodes)
    _pass(ensemble.left, ensemble.right, ensemble.parent, stop, charge, kept, best, error)
    # the factor covers the rounding of these sums themselves
    rounding = error[ensemble.roots] * (1 + 2.0**-30)
    return CheapestPrunings(kept, best[ensemble.roots], rounding, time.perf_counter() - started)


def _pair(problem: PruningProblem, node_cost: ArrayLike, split_charge: ArrayLike) -> tuple[NDArray[np.float64], ...]:
    """Both costs as float64, one finite number for each node."""
    n, pair = problem.ensemble.n_nodes, []
    for name, amounts in (("node_cost", node_cost), ("split_charge", split_charge)):
        a = np.asarray(amounts)
        if a.shape != (n,) or a.dtype.kind not in "iuf":
            raise InvalidInputError(f"{name} is {a.dtype} of shape {a.shape}; give one number for each node, {n} in all")
        finite = np.isfinite(a)
        if not finite.all():
            k = int(np.argmin(finite))
            raise InvalidInputError(f"{name}[{k}] is {a[k]}; costs must be finite")
        pair.append(a.astype(np.float64, copy=False))
    return tuple(pair)


def _gridded(
    problem: PruningProblem, parts: Sequence[Batch], stop: NDArray[np.float64], charge: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Each tree's exponent, both costs on its grid, and by how much that can change the cost of any pruning of the tree."""
    ensemble = problem.ensemble
    charge = np.where(ensemble.is_split, charge, 0.0)
    size, weight = np.abs(stop), np.abs(charge)
    finest = [_finest(g, g.costs_by_split(size, weight), part.n_boundaries) for part in parts for g in part.networks]
    exponent = np.array(finest, dtype=np.int64)
    stop_ints, lost_stop = _to_grid(stop, exponent[ensemble.tree_of])
    charge_ints, lost_charge = _to_grid(charge, exponent[ensemble.tree_of])
    return exponent, stop_ints, charge_ints, np.add.reduceat(lost_stop + lost_charge, ensemble.roots)


def _finest(network: TreeNetwork, size: NDArray[np.float64], n_boundaries: int) -> int:
    """The exponent of the finest grid 2^-exponent for costs of the given sizes, in a call for so many boundaries.

    OR-Tools multiplies the costs by V + 3, for V boundaries, and cost scaling lowers node potentials by about 1.5 (V + 3) times
    the largest such product (at most 6 (V + 3) epsilon by each refinement to epsilon, which falls by 5 a time). The grid leaves
    room for that below 2^62, since OR-Tools adds up in int64. An overflow would lead to an error status, never to a wrong answer.
    """
    peak = float(np.add.reduceat(size, network.runs.first).max())
    if not math.isfinite(peak * network.n_boundaries):
        raise CapacityOverflowError(
            f"tree {network.tree}: costs up to {peak:.3g} add up to more than a float64 holds; scale them down"
        )
    room = 62 - 2 - 2 * math.ceil(math.log2(n_boundaries + 3))
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


def _one_unit_each(batch: Batch, costs: Sequence[NDArray[np.int64]]) -> list[tuple[NDArray[np.int64], int]]:
    """(2) on the grid for every graph: the arcs of its path in order, and the sum of their costs."""
    # all arcs of a split are one arc: on a path of 10^5 boundaries OR-Tools takes minutes and does not react to Ctrl-C
    total = np.concatenate([np.add.reduceat(cost, g.runs.first) for g, cost in zip(batch.networks, costs, strict=True)])
    flow = min_cost_flow.SimpleMinCostFlow()
    flow.add_arcs_with_capacity_and_unit_cost(batch.tail, batch.head, np.ones(total.size, dtype=np.int64), total)
    sources, sinks = batch.first_boundary[:-1], batch.first_boundary[1:] - 1
    ends, one = np.concatenate([sources, sinks]).astype(np.int32), np.ones(sources.size, dtype=np.int64)
    flow.set_nodes_supplies(ends, np.concatenate([one, -one]))
    status = flow.solve()
    if status != flow.OPTIMAL:
        first_tree, last_tree = batch.networks[0].tree, batch.networks[-1].tree
        raise SolverFailedError(f"trees {first_tree} to {last_tree}: OR-Tools' minimum cost flow ended with {status.name}")
    used = flow.flows(np.arange(total.size, dtype=np.int32)) > 0
    paths = []
    for g, cost, first, last in zip(batch.networks, costs, batch.first_arc[:-1], batch.first_arc[1:], strict=True):
        arcs = np.flatnonzero(np.repeat(used[first:last], g.runs.length))
        paths.append((arcs[np.argsort(g.tail[arcs])], int(cost[arcs].sum())))
    return paths


@njit(cache=True, nogil=True)
def _pass(left, right, parent, stop, charge, kept, best, error):  # type: ignore[no-untyped-def]
    """(3) with a bound of its rounding errors: the error of each sum is at most 2^-53 times its absolute value."""
    for h in range(left.shape[0] - 1, -1, -1):
        best[h] = stop[h]
        if left[h] >= 0:
            below = best[left[h]] + best[right[h]]
            total = charge[h] + below
            if total < stop[h]:
                kept[h] = True
                best[h] = total
            e = error[left[h]] + error[right[h]] + 2.0**-53 * (abs(below) + abs(total))
            # if stopping is certainly cheaper, the sums below do not matter
            error[h] = 0.0 if stop[h] < total - 2 * e else e
    for h in range(left.shape[0]):
        if kept[h] and parent[h] >= 0 and not kept[parent[h]]:
            kept[h] = False
