"""Items that each row pays, and items that are paid once for all rows: the former are the shards', the latter the driver's."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.usage_arcs import Charges, charges_of


def charges_by_row(ensemble: Ensemble, costs: CostItems) -> Charges:
    """What each split charges its rows: items that are paid once for all rows count as free."""
    return charges_of(ensemble, _only(costs, costs.paid_once, free=True))


def charges_once(ensemble: Ensemble, costs: CostItems) -> Charges:
    """What each split charges once for all rows."""
    return charges_of(ensemble, _only(costs, costs.paid_once, free=False))


def _only(costs: CostItems, once: NDArray[np.bool_], *, free: bool) -> CostItems:
    """Costs in which those paid once are free, or all others."""
    prices = tuple(Fraction(0) if bool(o) is free else p for p, o in zip(costs.prices, once, strict=True))
    return replace(costs, prices=prices)
