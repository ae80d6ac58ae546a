"""Windows of the path around a budget: the splits between two of its rows, as a core.

A long hull edge holds most of the splits among which a budget inside it can choose, and its neighbours on the path mostly hold
few. But a window's bounds hold only at its own lambdas, see (5) of `solvers.budgets.exact.core`, and branches need other lambdas
than the edge's. So the first window also takes neighbours, the nearest lambdas first, until it has 1.5 times the edge's usage
arcs. A wider window, in the end the whole instance, is searched only if the bounds of the smaller one are too weak.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PruningPath
from solvers.budgets.exact.core import KnapsackCore
from solvers.budgets.open_part import open_part

FIRST_WINDOW_ARCS = 300_000
"""The first window may always have this many usage arcs; instances with fewer are searched as a whole."""

WINDOW_WIDTHS = (1.5, 4.0)
"""Usage arcs of the windows, as multiples of the edge's."""


def windows(path: PruningPath, budget: Fraction) -> Iterator[tuple[int, int]]:
    """Pairs of rows, outer < inner, around the budget; each pair is wider than the one before, and the last has all rows."""
    last = len(path) - 1
    row = next((k for k in range(len(path)) if path.exact_cost[k] <= budget), last)
    outer, inner = max(row - 1, 0), max(row, min(1, last))
    arcs = _arcs_between(path)
    edge, lam = float(arcs[outer:inner].sum()), path.between(outer) if last else Fraction(0)
    for width in WINDOW_WIDTHS:
        wider = _widened(path, arcs, (outer, inner), lam, max(FIRST_WINDOW_ARCS, width * edge))
        if wider == (0, last):
            break
        if wider != (outer, inner) or width == WINDOW_WIDTHS[0]:
            yield wider
        outer, inner = wider
    yield 0, last


def _widened(path: PruningPath, arcs: NDArray[np.float64], rows: tuple[int, int], lam: Fraction, most: float) -> tuple[int, int]:
    """The rows with as many neighbours as fit `most` usage arcs together, those nearest to lambda first."""
    (outer, inner), last = rows, len(path) - 1
    held = float(arcs[outer:inner].sum())
    while True:
        sides = []
        if outer > 0 and held + arcs[outer - 1] <= most:
            sides.append((lam - path.between(outer - 1), outer - 1, inner, arcs[outer - 1]))
        if inner < last and held + arcs[inner] <= most:
            sides.append((path.between(inner) - lam, outer, inner + 1, arcs[inner]))
        if not sides:
            return outer, inner
        _, outer, inner, more = min(sides)
        held += more


def _arcs_between(path: PruningPath) -> NDArray[np.float64]:
    """Usage arcs of the splits between each row and the next; shape (rows - 1,)."""
    problem = path.problem
    level = path.level[problem.splits]
    weights = problem.usage.arcs_per_node[problem.splits].astype(np.float64)
    arcs = np.bincount(level + 1, weights=weights, minlength=len(path.breakpoints) + 2).astype(np.float64)
    # the splits between the rows k and k + 1 have the level k + 1 (smallest optima) or k (largest)
    shift = 2 if path.ties == "smallest" else 1
    between: NDArray[np.float64] = arcs[shift : shift + len(path) - 1]
    return between


def core_between(path: PruningPath, outer: int, inner: int, room: int) -> KnapsackCore:
    """The window between two rows of a path, outer <= inner; the whole instance between the first and the last.

    Parameters
    ----------
    room
        the largest cost of the whole pruning, including the inner row.
    """
    problem = path.problem
    inside, unit = path[inner], problem.integers.lam_unit
    part = open_part(problem, path[outer].kept, inside.kept)
    low = path.between(outer - 1) / unit if outer > 0 else Fraction(0)
    high = path.between(inner) / unit if inner + 1 < len(path) else None
    room_left = room - inside.integer_cost
    taken = (np.flatnonzero(inside.kept).astype(np.int32),)
    return KnapsackCore(**part.arrays(), gained=inside.integer_gain, room=room_left, taken=taken, low=low, high=high).trimmed()
