"""The prices that stages were made with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.models.costs import Costs, column_prices
from prunemodels.stages.stages import PricedStages, Stages


def priced_stages(stages: Stages) -> PricedStages:
    """The stages, if they tell what they read and what that costs."""
    if not isinstance(stages, PricedStages):
        raise InvalidInputError(
            f"the stages are {type(stages).__name__}, which do not say what they read; give a cascade of named stages, or of "
            "prunings of one forest"
        )
    return stages


def check_same_prices(stages: Stages, names: Sequence[str] | None, costs: Costs | None, evaluation_cost: Any = None) -> None:
    """Refuse prices that contradict those that the stages and their policy were made with.

    `names`: of the columns that have prices. `costs`, `evaluation_cost`: as in `problem_from_forest`; None: not given.
    """
    own = priced_stages(stages)
    if costs is not None:
        items = by_column(own.items)
        given_items = by_column(costs) if isinstance(costs, CostItems) else costs
        _check_items(items, column_prices(given_items, items.n_features, names)[0], names)
    if evaluation_cost is None or (np.ndim(evaluation_cost) == 0 and evaluation_cost == 0):
        return
    names = names if own.items.columns is None else None  # splits are on features, which are made from these columns
    given = column_prices(1, own.items.n_features, names, evaluation_cost=evaluation_cost)[1]
    for f, (a, b) in enumerate(zip(given.tolist(), own.split_prices, strict=True)):
        if a != float(b):
            raise InvalidInputError(
                f"evaluation_cost is {a:g} for {_name(f, names)}, the cascade was made with {float(b):g}; leave it out: the "
                "cascade knows its prices"
            )


def by_column(items: CostItems) -> CostItems:
    """The prices of raw columns, for prices of features that are made from these; other prices as they are."""
    return items if items.columns is None else replace(items, needs=items.columns, columns=None)


def _check_items(own: CostItems, given: CostItems, names: Sequence[str] | None) -> None:
    for f in range(own.n_features):
        ours, theirs = (
            {(items.names[m], items.prices[m], bool(items.paid_once[m])) for m in items.needs[f] if items.prices[m]}
            for items in (own, given)
        )
        if ours != theirs:
            raise InvalidInputError(
                f"costs: {_name(f, names)} needs {_listed(theirs)}, the cascade was made with {_listed(ours)}; leave costs out: "
                "the cascade knows its prices. For other prices make another cascade"
            )


def _listed(items: set[tuple[str, Fraction, bool]]) -> str:
    return ", ".join(f"{name!r} at {float(price):g}{' once' * once}" for name, price, once in sorted(items)) or "nothing paid"


def _name(f: int, names: Sequence[str] | None) -> str:
    return repr(f"x{f}" if names is None else str(names[f]))
