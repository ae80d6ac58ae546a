"""Better multipliers for the limits of a core: the master of `solvers.within.relaxation` over the closures that were met.

Its duals are the multipliers at which the next closure may lower the bound; where it has found them all, its value is the bound,
and its optimum mixes the closures of few prunings. Closures of a core are closures of what branching leaves of it where they
agree with what was decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.within.core import KnapsackCore
from solvers.within.edge import BudgetEdge
from solvers.within.relaxation import best_mixture

LEAST = 1e-9
"""Multipliers below this share of the largest, each times its limit's room, count as 0."""


@dataclass(frozen=True)
class Column:
    """A closure by its splits in the reduced forest, as bytes of int32, ascending, with those that a core has taken."""

    splits: bytes

    @property
    def nodes(self) -> NDArray[np.int32]:
        """The splits."""
        return np.frombuffer(self.splits, dtype=np.int32)


def columns_of(core: KnapsackCore, edge: BudgetEdge) -> list[Column]:
    """The closures that an edge met."""
    taken = np.concatenate([core.nodes[:0], *core.taken])
    return [Column(np.sort(np.concatenate([taken, met])).astype(np.int32).tobytes()) for met in edge.met]


def still_columns(core: KnapsackCore, columns: tuple[Column, ...]) -> list[Column]:
    """Those that agree with what a core has taken and pruned."""
    taken = np.concatenate([core.nodes[:0], *core.taken])
    allowed = np.union1d(taken, core.nodes)
    found = []
    for column in columns:
        nodes = column.nodes
        if np.isin(taken, nodes, assume_unique=True).all() and np.isin(nodes, allowed, assume_unique=True).all():
            found.append(column)
    return found


@dataclass(frozen=True, eq=False)
class CoreMixture:
    """The best mixture of closures of a core, the empty one among them."""

    y: NDArray[np.float64]  # float64, shape (k,): how far each split is kept
    mu: NDArray[np.float64]  # float64, shape (R,): the limits' multipliers, in integer gain per unit of use in the core


def _mixture(core: KnapsackCore, columns: tuple[Column, ...]) -> CoreMixture | None:
    """None where no mixture keeps to the limits: in a window what is taken may exceed one."""
    assert core.uses is not None
    keep = np.array([np.isin(core.nodes, column.nodes, assume_unique=True) for column in columns])
    keep = np.vstack([keep.reshape(len(columns), core.nodes.size), np.zeros((1, core.nodes.size), dtype=bool)])
    use = np.array([core.uses.by(k, core.used(k)) for k in keep])
    found = best_mixture(-(keep @ core.gain.astype(np.float64)), use, core.uses.room + core.uses.same)
    return None if found is None else CoreMixture(found[0] @ keep.astype(np.float64), found[1])


def best_direction(core: KnapsackCore, columns: tuple[Column, ...], gain_unit: Fraction) -> NDArray[np.float64] | None:
    """Multipliers in error per unit of each limit, float64, shape (R,); None where no limit has one."""
    assert core.uses is not None
    mixture = _mixture(core, columns)
    if mixture is None:
        return None
    mu = mixture.mu
    size = mu * np.abs(core.uses.room)
    mu[size <= LEAST * size.max(initial=0.0)] = 0.0
    return mu * core.uses.scale * float(gain_unit) if mu.any() else None


def halved(core: KnapsackCore, columns: tuple[Column, ...]) -> int:
    """The place of the split that the best mixture keeps nearest to one half; one of most gain where it keeps none in part."""
    mixture = _mixture(core, columns)
    y = np.zeros(core.nodes.size) if mixture is None else mixture.y
    part = np.round(np.minimum(y, 1.0 - y), 9)
    return int(np.lexsort((-core.gain, -part))[0])
