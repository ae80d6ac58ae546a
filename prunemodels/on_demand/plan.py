"""The forest and the prices as the walk uses them: features that some split tests, and integer units of money."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.cost_items import CostItems
from formulations.ensemble import Ensemble
from formulations.errors import CapacityOverflowError
from prunemodels.on_demand.stopping import Extremes, extremes_of

MOST_UNITS = 2**62
"""What a row may pay at most, in units."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What stays the same for all rows. F features are tested by some split, M items exist.

    Parameters
    ----------
    ensemble, costs
        the trees and the prices.
    names
        the F features' names.
    features
        int64, shape (F,): their places among the forest's features.
    column
        int32, shape (n,): which of the F a node tests, -1 at leaves.
    needs
        bool, shape (F, M).
    unit
        all prices are multiples of it.
    item_units, step_units
        int64: what a row pays for each item (0 for items paid once for all), and for evaluating a split on each of the F.
    extremes
        what can come out below a node.
    """

    ensemble: Ensemble
    costs: CostItems
    names: tuple[str, ...]
    features: NDArray[np.int64]
    column: NDArray[np.int32]
    needs: NDArray[np.bool_]
    unit: Fraction
    item_units: NDArray[np.int64]
    step_units: NDArray[np.int64]
    extremes: Extremes


def plan_of(ensemble: Ensemble, costs: CostItems, evaluation: tuple[Fraction, ...]) -> Plan:
    """Number the features that are tested, and count money in integers.

    Raises
    ------
    InvalidInputError
        if prices and forest are about different numbers of features.
    CapacityOverflowError
        if the prices have no common unit small and large enough for 64-bit integers.
    """
    costs.check_features(ensemble.n_features)
    features = np.unique(ensemble.feature[ensemble.is_split]).astype(np.int64)
    place = np.full(ensemble.n_features + 1, -1, dtype=np.int32)  # the last place is for the -1 of leaves
    place[features] = np.arange(features.size)
    needs = np.zeros((features.size, costs.n_items), dtype=bool)
    for f, feature in enumerate(features):
        needs[f, list(costs.needs[feature])] = True
    names = ensemble.feature_names or tuple(f"x{f}" for f in range(ensemble.n_features))
    per_row = [Fraction(0) if once else p for p, once in zip(costs.prices, costs.paid_once, strict=True)]
    steps = [evaluation[f] for f in features]
    unit = Fraction(1, math.lcm(*(p.denominator for p in [*per_row, *steps])))
    most = sum(per_row) + max(steps, default=Fraction(0)) * (int(ensemble.depth.max()) * ensemble.n_trees)
    if most / unit >= MOST_UNITS:
        raise CapacityOverflowError(
            f"prices: their common unit is {float(unit):.3g} and a row may pay {float(most):.3g}; that does not fit 64 bits: "
            "write prices with fewer digits"
        )
    return Plan(
        ensemble,
        costs,
        tuple(names[f] for f in features),
        features,
        place[ensemble.feature],
        needs,
        unit,
        np.array([int(p / unit) for p in per_row], dtype=np.int64),
        np.array([int(p / unit) for p in steps], dtype=np.int64),
        extremes_of(ensemble),
    )
