"""Some splits with their gains, and the purchases that they need: what closures are taken from."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.closures.numbering import compact


@dataclass(frozen=True, eq=False)
class Part:
    """Splits k, parents before children, and purchases j, each with a user; all numbered from 0.

    Parameters
    ----------
    nodes
        int32, shape (k,): the splits' numbers in the forest.
    parent
        int32, shape (k,): within the part, or -1.
    gain, evaluation
        int64, shape (k,): in the units of ``problem.integers``.
    tail, head
        int32: usage arcs, every purchase's arcs in the order of their tails.
    price
        int64, shape (j,): > 0.
    """

    nodes: NDArray[np.int32]
    parent: NDArray[np.int32]
    gain: NDArray[np.int64]
    evaluation: NDArray[np.int64]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    price: NDArray[np.int64]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it by name, for a part that has more."""
        return {field.name: getattr(self, field.name) for field in fields(Part)}

    @property
    def total_cost(self) -> int:
        """Of all splits together."""
        return int(self.price.sum()) + int(self.evaluation.sum())

    @property
    def total_gain(self) -> int:
        """Of all splits together."""
        return int(self.gain.sum())

    def used(self, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which purchases some splits need; bool, shape (j,)."""
        mark = np.zeros(self.price.size, dtype=bool)
        mark[self.head[keep[self.tail]]] = True
        return mark

    def cost_of(self, keep: NDArray[np.bool_]) -> int:
        """Of some splits alone; bool, shape (k,)."""
        return self.cost_with(keep, self.used(keep))

    def cost_with(self, keep: NDArray[np.bool_], used: NDArray[np.bool_]) -> int:
        """The same where `used(keep)` is at hand."""
        return int(self.price[used].sum()) + int(self.evaluation[keep].sum())

    def _some(self, stays: NDArray[np.bool_], arcs: NDArray[np.bool_]) -> tuple[Part, NDArray[np.int32]]:
        """Some splits and some of their arcs as a part, and which purchases it still has."""
        place = np.cumsum(stays, dtype=np.int32) - np.int32(1)
        above = self.parent[stays]
        parent = np.where((above >= 0) & stays[above], place[above], np.int32(-1))
        purchases, head = compact(self.head[arcs], np.empty(self.price.size, dtype=np.int32))
        part = Part(
            self.nodes[stays],
            parent,
            self.gain[stays],
            self.evaluation[stays],
            place[self.tail[arcs]],
            head,
            self.price[purchases],
        )
        return part, purchases
