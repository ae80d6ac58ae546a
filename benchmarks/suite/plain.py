"""What engines are compared with: one raw OR-Tools cut, and the path by plain divide and conquer; nothing is folded or merged.

The raw cut is one cut of the explicit network. Its arrays are made outside the clock; inside are adding the arcs, solving, and
reading the source side. It proves nothing.

    source -> h: profit_h where > 0     h -> sink: -profit_h where < 0     h -> parent(h), h -> (m, i): unlimited
    (m, i) -> sink: lambda omega_i c_m / N                                                                              (1)

Plain divide and conquer cuts every part by OR-Tools, from nothing, on a network of its own, and guesses nothing. (1) of
`solvers.path.pruning_path` says where.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from ortools.graph.python import max_flow

from formulations import PruningPath, PruningProblem, SolverFailedError
from formulations.instance.cost_items import exact
from solvers.closures.cut import best_closure
from solvers.closures.integer_objective import integer_objective
from solvers.closures.subproblem import parametric_subproblem
from solvers.closures.tree_pass import free_of_charge, without_prices


def raw_cut(problem: PruningProblem, lam: float | Fraction) -> Callable[[], NDArray[np.bool_]]:
    """A function that cuts, and returns the splits on the source side: bool, shape (n,), the smallest optimal pruning."""
    tail, head, capacity, source, sink = network(problem, exact(lam, "lam"))

    def cut() -> NDArray[np.bool_]:
        flow = max_flow.SimpleMaxFlow()
        flow.add_arcs_with_capacity(tail, head, capacity)
        status = flow.solve(source, sink)
        if status != flow.OPTIMAL:
            raise SolverFailedError(f"OR-Tools' maximum flow ended with {status} on {tail.size} arcs")
        kept = np.zeros(sink + 1, dtype=bool)
        kept[flow.get_source_side_min_cut()] = True
        return kept[: problem.ensemble.n_nodes]

    return cut


def network(problem: PruningProblem, lam: Fraction) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], int, int]:
    """The arcs of (1) as tails, heads and capacities; source and sink. Nodes are numbered as the ensemble's, then purchases."""
    objective, arcs, splits = integer_objective(problem, lam), problem.usage.arcs(), problem.usage.splits
    profit, parent = objective.profits(splits), problem.ensemble.parent[splits]
    bought, place = np.unique(arcs.head, return_inverse=True)
    purchase = (problem.ensemble.n_nodes + np.arange(bought.size)).astype(np.int32)
    source = problem.ensemble.n_nodes + bought.size
    sink = source + 1
    unlimited = int(np.maximum(profit, 0).sum()) + 1
    parts: list[tuple[NDArray[np.int32] | int, NDArray[np.int32] | int, NDArray[np.int64] | int]] = [
        (arcs.tail, purchase[place], unlimited),
        (source, splits[profit > 0], profit[profit > 0]),
        (splits[profit < 0], sink, -profit[profit < 0]),
        (splits[parent >= 0], parent[parent >= 0], unlimited),
        (purchase, sink, objective.prices()[bought]),
    ]
    together = [np.broadcast_arrays(*part) for part in parts]
    tail, head, capacity = (np.concatenate([part[k] for part in together]) for k in range(3))
    return tail.astype(np.int32), head.astype(np.int32), capacity.astype(np.int64), source, sink


def plain_path(problem: PruningProblem) -> PruningPath:
    """The path of smallest closures, without a certificate; ``stats`` counts the arcs of all cuts."""
    reduced = problem.reduced()
    trees, groups = reduced.core, reduced.groups
    outer, inner = without_prices(trees, "smallest"), free_of_charge(trees, "smallest")
    todo = [parametric_subproblem(trees, np.flatnonzero(outer & ~inner).astype(np.int32))]
    leaving: list[tuple[Fraction, NDArray[np.int32]]] = []
    arcs_cut = 0
    while todo:
        part = todo.pop()
        if not part.nodes.size:
            continue
        ratio = Fraction(part.total_gain, part.total_cost)
        closure = best_closure(part.at(ratio))
        arcs_cut += closure.n_arcs
        if closure.value == 0:
            leaving.append((ratio, part.nodes))
            continue
        keep, used = closure.keep, part.used(closure.keep)
        todo.append(part.restricted(keep, keep[part.tail])[0])
        todo.append(part.restricted(~keep, ~keep[part.tail] & ~used[part.head])[0])
    ratios = sorted({Fraction(0), *(ratio for ratio, _ in leaving)})
    level = np.zeros(trees.ensemble.n_nodes, dtype=np.int32)
    for ratio, nodes in leaving:
        level[nodes] = ratios.index(ratio)
    level[inner] = len(ratios)
    breakpoints = tuple(ratio * trees.numbers.lam_unit for ratio in ratios)
    return PruningPath(problem, groups.levels(level, 0), breakpoints, "smallest", None, {"arcs_cut": float(arcs_cut)})
