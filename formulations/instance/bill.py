"""The bill of some rows for a set K of kept splits: (3) of `formulations.instance.usage`, from sums that add up over rows.

    cost = (1/N) sum_m c_m p_m  +  sum over K's items paid once for all rows of c_m  +  (1/N) sum over h in K of a_f |S_h|   (1)

where p_m is the weight of the rows that pay item m, and N the weight of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Bill:
    """What some rows pay together for a set of kept splits. Bills of different rows add up."""

    # item_price, split_price: float64: c_m of each item, shape (M,), and a_f of each kept split.
    item_price: NDArray[np.float64]
    split_price: NDArray[np.float64]
    payers: NDArray[np.float64]  # float64, shape (M,): p_m: weight of the rows that pay each item
    once: NDArray[np.bool_]  # bool, shape (M,): the items paid once for all rows that some kept split needs
    reached: NDArray[np.float64]  # float64: |S_h| of each kept split; 0 where no split has a price
    total: float  # N, the weight of all rows

    @property
    def feature_cost(self) -> float:
        """What items cost: the first two sums of (1)."""
        return float((self.item_price * self.payers / self.total).sum() + self.item_price[self.once].sum())

    @property
    def evaluation_cost(self) -> float:
        """What evaluating splits costs: the last sum of (1)."""
        return float((self.split_price * self.reached / self.total).sum())

    @property
    def cost(self) -> float:
        """(1), in the unit of the prices."""
        return self.feature_cost + self.evaluation_cost

    def __add__(self, other: Bill) -> Bill:
        """The bill of both sets of rows, at the prices of the first."""
        reached, total = self.reached + other.reached, self.total + other.total
        return replace(self, payers=self.payers + other.payers, once=self.once | other.once, reached=reached, total=total)
