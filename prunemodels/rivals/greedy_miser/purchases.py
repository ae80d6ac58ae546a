"""The items that the model has bought so far, and the price that the next feature would add.

    c(f) = sum of the prices of items(f) that no split of the model needs yet                                       (1)

An item that any split needs is free for all later ones, in any branch: "features computed for all instances at once" (CEGB17
section 4.3 on GreedyMiser). An item that is paid once for all examples adds its full price to the cost of an average example
(prunemodels' OBJ), and so does one that every example pays; both kinds are treated alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from formulations.instance.cost_items import CostItems


@dataclass(frozen=True, eq=False)
class Purchases:
    """The items that a model needs.

    Parameters
    ----------
    item_price
        float64, shape (M,).
    needed
        float64, shape (F, M), sparse: 1 where the feature needs the item.
    bought
        bool, shape (M,).
    price
        float64, shape (F,): (1).
    """

    item_price: NDArray[np.float64]
    needed: csr_array
    bought: NDArray[np.bool_]
    price: NDArray[np.float64]

    @classmethod
    def none(cls, items: CostItems) -> Purchases:
        """The state in which nothing is bought."""
        start = np.cumsum([0] + [len(needs) for needs in items.needs])
        item = np.array([m for needs in items.needs for m in needs], dtype=np.int64)
        needed = csr_array((np.ones(len(item)), item, start), shape=(items.n_features, items.n_items))
        return cls(items.price, needed, np.zeros(items.n_items, dtype=bool), needed @ items.price)

    def with_feature(self, f: int) -> Purchases:
        """The state after buying the items of feature f."""
        item = self.needed.indices[self.needed.indptr[f] : self.needed.indptr[f + 1]]
        if self.bought[item].all():
            return self
        bought = self.bought.copy()
        bought[item] = True
        return Purchases(self.item_price, self.needed, bought, self.needed @ np.where(bought, 0.0, self.item_price))

    @property
    def cost(self) -> float:
        """Price of all that is bought."""
        return float(self.item_price[self.bought].sum())
