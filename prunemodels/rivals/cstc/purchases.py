"""The items that weak learners need, and what an example pays for the classifiers along a path.

The cost of a path pi_l, from the root to the terminal element v_l (CSTC13 section 4.1; the equation was lost in our copy's
extraction; it is (2) with all classifiers of the path in place of one):

    c_l = sum_t e_t || sum_{j in pi_l} |beta_t^j| ||_0 + sum_m c_m || sum_{j in pi_l} sum_t F_{mt} |beta_t^j| ||_0           (2)

The paper's features are our cost items, so that features may share what they need: F_{mt} = 1 if a feature of weak learner t
needs item m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, exact
from prunemodels.forests.column_prices import column_prices
from prunemodels.forests.costs import Costs


@dataclass(frozen=True, eq=False)
class Purchases:
    """Items and prices of T weak learners.

    Parameters
    ----------
    needs
        bool, shape (T, M): F of (2), transposed.
    price
        c_m, shape (M,), >= 0.
    evaluation
        e_t, shape (T,), >= 0: the price of evaluating a weak learner.
    """

    needs: NDArray[np.bool_]
    price: NDArray[np.float64]
    evaluation: NDArray[np.float64]

    def bill(self, active: NDArray[np.bool_]) -> float:
        """(2) for the weak learners that a path uses: bool, shape (T,)."""
        return float(self.evaluation[active].sum() + self.price[self.needs[active].any(axis=0)].sum())


def read_prices(costs: Costs | None, evaluation_cost: float, n_features: int, names: tuple[str, ...] | None) -> CostItems:
    """The cost items of the features, and a check of the price of evaluation.

    Raises
    ------
    InvalidInputError
        for prices that do not fit the features, and for items paid once for all examples, because no path pays for them.
    """
    exact(evaluation_cost, "evaluation_cost")
    items, _ = column_prices(costs, n_features, names)
    if items.paid_once.any():
        name = items.names[int(np.flatnonzero(items.paid_once)[0])]
        raise InvalidInputError(
            f"costs: {name!r} is paid once for all examples; a tree of classifiers counts what each pays: drop it"
        )
    return items


def purchases_of(items: CostItems, uses: NDArray[np.bool_], evaluation_cost: float) -> Purchases:
    """The items of weak learners, given the features that each uses, bool, shape (T, F)."""
    by_feature = np.zeros((items.n_features, items.n_items), dtype=bool)
    for f, needed in enumerate(items.needs):
        by_feature[f, list(needed)] = True
    needs = (uses.astype(np.float64) @ by_feature) > 0
    return Purchases(needs, items.price, np.full(len(uses), float(evaluation_cost)))
