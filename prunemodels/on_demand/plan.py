"""The model and the prices as a walk uses them: features that the model reads, and prices in integer units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import CapacityOverflowError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from prunemodels.models.response import Response, average_response
from prunemodels.models.tree_model import TreeModel
from prunemodels.models.user_columns import UserColumns
from prunemodels.on_demand.deciding import Extremes, extremes_of

MOST_UNITS = 2**62
"""The most that a row may pay, in units."""


@dataclass(frozen=True, eq=False)
class PurchasePlan:
    """What may be bought, the same for all rows. F features are read, M items exist."""

    costs: CostItems
    names: tuple[str, ...]  # the F features' names
    features: NDArray[np.int64]  # shape (F,): their places among the model's features
    everything: tuple[str, ...]  # names of all features of the model
    needs: NDArray[np.bool_]  # shape (F, M)
    unit: Fraction  # all prices are multiples of it
    item_units: NDArray[np.int64]  # what a row pays for each item (0 for items paid once for all)
    classes: NDArray[Any] | None  # the labels; None for regression
    dtype: Any  # of the values that the model reads
    # how a user's values of the F features become numbers; None: they are numbers, or the model's steps judge them.
    columns: UserColumns | None

    @property
    def arrays_hold_codes(self) -> bool:
        """Whether an array has codes in a column for which a user has categories."""
        return self.columns is not None and self.columns.arrays and bool(self.columns.categories)

    def nothing_known(self, n: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Values of n rows, and whether each is known: none is."""
        return np.zeros((n, len(self.names)), dtype=self.dtype), np.zeros((n, len(self.names)), dtype=bool)


@dataclass(frozen=True, eq=False)
class Plan(PurchasePlan):
    """Purchases for a forest."""

    ensemble: Ensemble
    column: NDArray[np.int32]  # shape (n,): which of the F features a node needs, -1 at leaves
    tested: NDArray[np.int32]  # shape (n,): which column of `routed` a node compares: its feature, or one that is made from it
    step_units: NDArray[np.int64]  # shape (F,): what a row pays for evaluating a split on each of the F features
    response: Response  # how the trees' values become predictions
    # turns doubles, one column for each of the F features, into the float32 that the splits compare, to which columns made from
    # categories are added; None: they are float32.
    cast: Callable[[NDArray[np.float64]], NDArray[np.float32]] | None = None

    @cached_property
    def extremes(self) -> Extremes:
        """The least and greatest values below each node."""
        return extremes_of(self.ensemble, self.response)

    def routed(self, cells: NDArray[Any]) -> NDArray[Any]:
        """The values that the splits compare, for values of the F features as they were answered."""
        return cells if self.cast is None else self.cast(cells)


def plan_of(
    ensemble: Ensemble,
    costs: CostItems,
    evaluation: tuple[Fraction, ...],
    splits: NDArray[np.bool_] | None = None,
    model: TreeModel | None = None,
) -> Plan:
    """Number the features that are tested, and express prices as integers.

    `splits`: shape (n,): the splits that are walked; default: all. `model`: what says how the trees' values become predictions;
    default: their mean is the prediction.
    """
    forest = None if model is None or model.forest is None or not model.forest.casts else model.forest
    if ensemble.made is not None:
        forest = None  # the features come from the pipeline as the splits compare them
    n_columns = ensemble.n_features if forest is None else forest.n_columns
    of = np.arange(ensemble.n_features) if forest is None else forest.columns_of_features
    features = np.unique(of[ensemble.feature[ensemble.is_split if splits is None else splits]]).astype(np.int64)
    bought_as = np.full(n_columns, -1, dtype=np.int32)
    bought_as[features] = np.arange(features.size)
    place = np.append(bought_as[of], np.int32(-1))  # the last place is for the -1 of leaves
    made = features.size + np.arange(ensemble.n_features - n_columns, dtype=np.int32)
    tested = np.concatenate([bought_as, made, np.array([-1], dtype=np.int32)])[ensemble.feature]
    costs.check_features(ensemble.n_features)
    costs = costs if len(costs.needs) == n_columns else replace(costs, needs=costs.needs[:n_columns])
    steps = [evaluation[f] for f in features]
    longest = int(ensemble.depth.max()) * ensemble.n_trees
    response = average_response(ensemble) if model is None else model.response
    cast = None if forest is None else partial(forest.routed, features=features.tolist())
    named = ensemble.feature_names if forest is None else forest.column_names
    dtype = np.float32 if cast is None else np.float64
    bought = purchases_of(features, costs, n_columns, named, response.classes, steps, longest, dtype)
    step_units = np.array([int(p / bought.unit) for p in steps], dtype=np.int64)
    column = place[ensemble.feature]
    if forest is not None and forest.codes is not None:
        forest.codes.placed()  # refuses a model that does not know its columns
        bought = replace(bought, columns=forest.codes)
    return Plan(
        **vars(bought), ensemble=ensemble, column=column, tested=tested, step_units=step_units, response=response, cast=cast
    )


def purchases_of(
    features: NDArray[np.int64],
    costs: CostItems,
    n_features: int,
    named: Sequence[str] | None,
    classes: NDArray[Any] | None,
    steps: Sequence[Fraction] = (),
    longest: int = 0,
    dtype: Any = np.float32,
) -> PurchasePlan:
    """Names, items and integer prices of some features of a model.

    `steps`, `longest`: prices of evaluating a split, and the largest number of splits that a row passes.
    """
    costs.check_features(n_features)
    everything = tuple(named) if named is not None else tuple(f"x{f}" for f in range(n_features))
    per_row = [Fraction(0) if once else p for p, once in zip(costs.prices, costs.paid_once, strict=True)]
    unit = Fraction(1, math.lcm(*(p.denominator for p in [*per_row, *steps])))
    most = sum(per_row) + max(steps, default=Fraction(0)) * longest
    if most / unit >= MOST_UNITS:
        raise CapacityOverflowError(
            f"prices: their common unit is {float(unit):.3g} and a row may pay {float(most):.3g}; that does not fit 64 bits: "
            "write prices with fewer digits"
        )
    item_units = np.array([int(p / unit) for p in per_row], dtype=np.int64)
    names, needs = tuple(everything[f] for f in features), costs.needs_of(features)
    return PurchasePlan(costs, names, features, everything, needs, unit, item_units, classes, dtype, None)
