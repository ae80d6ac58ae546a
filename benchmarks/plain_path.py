"""The path by plain divide and conquer, with which the package's own is compared.

Every part is cut by OR-Tools, from nothing, on a network of its own: nothing is merged, nothing is guessed. (1) of
`solvers.path.pruning_path` says where.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations import PruningPath, PruningProblem
from solvers.closures.cut import best_closure
from solvers.closures.subproblem import parametric_subproblem
from solvers.closures.tree_pass import free_of_charge, without_prices


def plain_path(problem: PruningProblem) -> PruningPath:
    """The path of smallest closures, without a certificate; ``stats`` counts the arcs of all cuts."""
    reduced = problem.reduced()
    trees, groups = reduced.problem, reduced.groups
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
    breakpoints = tuple(ratio * trees.integers.lam_unit for ratio in ratios)
    return PruningPath(problem, groups.levels(level, 0), breakpoints, "smallest", None, {"arcs_cut": float(arcs_cut)})
