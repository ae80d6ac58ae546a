"""A part of a boosted ensemble as an ensemble of its own: its first trees, or some splits of these.

A search inside a part is a search of the whole model that may keep no other splits: only those of the first rounds, or only those
that need no item outside a set. Losses and costs are those of the whole model, pruned to the part. Trees after the part's last
one add nothing, as in a model of fewer rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.integers import Integers
from formulations.instance.usage import Usage
from prunemodels.models.boosting.losses import Loss
from prunemodels.models.libraries.model_forest import ModelForest, pruned_part


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the trees, with the rows and prices of the whole.

    Parameters
    ----------
    forest, usage
        the part's own trees, and what their predictions cost.
    loss
        of the rows.
    nodes
        int64: the whole ensemble's number of each node of the part.
    size
        number of nodes of the whole ensemble.
    trees
        how many of the whole's trees count, from the first on.
    """

    forest: ModelForest
    usage: Usage
    loss: Loss
    nodes: NDArray[np.int64]
    size: int
    trees: int

    @classmethod
    def whole(cls, forest: ModelForest, usage: Usage, loss: Loss) -> Part:
        """The whole model as a part."""
        n = forest.ensemble.n_nodes
        return cls(forest, usage, loss, np.arange(n), n, forest.ensemble.n_trees)

    @cached_property
    def prices(self) -> Integers:
        """The prices of the part in integers."""
        return self.usage.in_integers()

    def inside(self, kept: NDArray[np.bool_], trees: int) -> Part:
        """The part of the whole with its first trees, in which all splits outside `kept`, shape (n,), are leaves."""
        forest, nodes = pruned_part(self.forest, kept, trees)
        smaller = forest.ensemble
        u = self.usage
        rows, evaluation = np.asarray(u.X)[u.rows], list(u.evaluation)
        usage = Usage.build(smaller, u.costs, rows, sample_weight=u.weights, evaluation_cost=evaluation)
        return Part(forest, usage, self.loss, nodes, self.forest.ensemble.n_nodes, trees)

    def lift(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A pruning of the part as one of the whole, shape (size,)."""
        lifted = np.zeros(self.size, dtype=np.bool_)
        lifted[self.nodes] = kept
        return lifted


def splits_with(usage: Usage, items: set[int]) -> NDArray[np.bool_]:
    """The largest pruning that needs no other priced items than these; bool, shape (n,)."""
    costs, ensemble = usage.costs, usage.ensemble
    free = {m for m, price in enumerate(costs.prices) if price == 0}
    allowed = np.array([set(needed) <= items | free for needed in costs.needs], dtype=np.bool_)
    kept = ensemble.is_split & allowed[ensemble.feature]
    _close(ensemble.parent, kept)
    return kept


def items_of(usage: Usage, kept: NDArray[np.bool_]) -> set[int]:
    """The priced items that the splits of a pruning need."""
    node = np.repeat(np.arange(len(kept)), np.diff(usage.charges.start))
    return set(np.unique(usage.charges.item[kept[node]]).tolist())


@njit(cache=True)
def _close(parent, kept):  # type: ignore[no-untyped-def]
    """Unmark the splits below one that is not kept; parents come first."""
    for h in range(parent.shape[0]):
        if parent[h] >= 0 and not kept[parent[h]]:
            kept[h] = False
