"""The forms in which users give prices, and their conversion to `CostItems`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.instance.ensemble import Ensemble
from formulations.instance.price_tables import check_priced, items_from_table

Costs = Annotated[
    CostItems | Mapping[str, Price] | Sequence[Price] | NDArray[Any] | pd.Series | pd.DataFrame | float,
    "a price, a price for each feature (a sequence, or a mapping from names), a table of items, or CostItems",
]
"""What `cost_items` reads."""


def cost_items(costs: Costs, ensemble: Ensemble) -> CostItems:
    """Turn any of the accepted forms of prices into items for the forest's features.

    For the trees of a pipeline, prices are those of its raw columns. A feature needs the items of all raw columns that it is made
    from.

    Parameters
    ----------
    costs
        a `CostItems`; one number for all features; one number per feature in the forest's order; a mapping or Series from
        the names of all features to their prices; or a table with the columns of `CostItems.from_table`.

    Raises
    ------
    InvalidInputError
        for the wrong number of prices, unknown or missing features, negative or non-finite prices.
    """
    if isinstance(costs, CostItems) and costs.columns is not None:  # they are about the features already
        costs.check_features(ensemble.n_features)
        return costs
    items = _items_of_columns(costs, ensemble.column_names)
    return items if ensemble.made is None else items.of_made(ensemble.made.sources)


def _items_of_columns(costs: Costs, names: Sequence[str]) -> CostItems:
    """The items of the columns that are paid for."""
    if isinstance(costs, CostItems):
        costs.check_features(len(names))
        return costs
    if isinstance(costs, pd.DataFrame):
        return items_from_table(costs, names)
    if isinstance(costs, pd.Series):
        _check_unique([str(name) for name in costs.index])
        costs = cast("Mapping[str, Price]", costs.to_dict())
    if isinstance(costs, Mapping):
        by_name = {str(k): v for k, v in costs.items()}
        check_priced(list(by_name), names)
        return CostItems.plain([by_name[n] for n in names], names)
    if np.ndim(cast("Any", costs)) == 0:
        return CostItems.plain([cast("Price", costs)] * len(names), names)
    prices = cast("Sequence[Price]", list(cast("Sequence[Price]", costs)))
    if len(prices) != len(names):
        raise InvalidInputError(f"costs has {len(prices)} prices, the forest was trained on {len(names)} features")
    return CostItems.plain(prices, names)


def features_named_in(costs: Costs) -> list[str]:
    """The names of the features that have prices; none where prices are in the features' order."""
    if isinstance(costs, pd.DataFrame):
        return [str(name) for name in costs.get("feature", ())]
    if isinstance(costs, (Mapping, pd.Series)):
        return [str(name) for name in costs.keys()]  # noqa: SIM118 (a Series iterates over its values)
    return []


def _check_unique(given: Sequence[str]) -> None:
    twice = [n for k, n in enumerate(given) if n in given[:k]]
    if twice:
        raise InvalidInputError(f"costs has two prices for {twice[0]!r}; give one price per feature")
