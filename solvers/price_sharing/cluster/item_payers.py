"""Who counts an item: the shards where each row pays for it, the driver where it is paid once for all rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.usage_arcs import Charges, charges_of


def charges_by_row(ensemble: Ensemble, costs: CostItems) -> Charges:
    """The items that each split charges its rows, without those that are paid once for all rows."""
    return charges_of(ensemble, _with_free_items(costs, costs.paid_once))


def charges_once(ensemble: Ensemble, costs: CostItems) -> Charges:
    """The items that each split charges once for all rows."""
    return charges_of(ensemble, _with_free_items(costs, ~costs.paid_once))


def _with_free_items(costs: CostItems, is_free: NDArray[np.bool_]) -> CostItems:
    """The costs with some items free, which nodes therefore do not charge; bool, shape (M,)."""
    prices = tuple(Fraction(0) if free else price for price, free in zip(costs.prices, is_free, strict=True))
    return replace(costs, prices=prices)
