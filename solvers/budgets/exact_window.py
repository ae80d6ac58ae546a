"""Windows of the path around a budget: what lies between two of its rows, as a core.

A long hull edge holds most of what a budget inside it can choose. Its window is searched first; a wider one, in the end the
whole instance, only where its bounds are not enough, see (5) of `solvers.budgets.exact_core`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from formulations.pruning_path import PruningPath
from solvers.budgets.exact_core import Core
from solvers.budgets.open_part import open_part

SMALLEST = 300_000
"""Usage arcs of the first window; instances with fewer are searched as a whole."""

WIDER = 4
"""How many times as many arcs the next one has."""


def windows(path: PruningPath, budget: Fraction) -> Iterator[tuple[int, int]]:
    """Pairs of rows, outer < inner, around the budget, wider and wider, at last all rows."""
    last, problem = len(path) - 1, path.problem
    row = next((k for k in range(len(path)) if path.exact_cost[k] <= budget), last)
    level = path.level[problem.splits]
    arcs = np.bincount(level + 1, weights=problem.arcs_per_node[problem.splits], minlength=len(path.breakpoints) + 2)
    # the splits between the rows k and k + 1 have the level k + 1 (smallest optima) or k (largest)
    shift = 2 if path.ties == "smallest" else 1
    between = arcs[shift : shift + last]
    outer, inner, limit = max(row - 1, 0), max(row, min(1, last)), float(SMALLEST)
    while (outer, inner) != (0, last):
        held = float(between[outer:inner].sum())
        if held >= limit:
            yield outer, inner
            limit = WIDER * held
        outer, inner = max(outer - 1, 0), min(inner + 1, last)
    yield 0, last


def core_between(path: PruningPath, outer: int, inner: int, room: int) -> Core:
    """The window between two rows of a path, outer <= inner; the whole instance between the first and the last.

    Parameters
    ----------
    room
        for all of the pruning, the inner row included.
    """
    problem = path.problem
    inside, unit = path[inner], problem.integers.lam_unit
    part = open_part(problem, path[outer].kept, inside.kept)
    low = path.between(outer - 1) / unit if outer > 0 else Fraction(0)
    high = path.between(inner) / unit if inner + 1 < len(path) else None
    left = room - inside.integer_cost
    taken = (np.flatnonzero(inside.kept).astype(np.int32),)
    return Core(**part.arrays(), gained=inside.integer_gain, room=left, taken=taken, low=low, high=high).trimmed()
