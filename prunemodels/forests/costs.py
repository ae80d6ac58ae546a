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
        the names of all features to their prices; or a table with the columns of `items_from_table`.

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
        _check_features(list(by_name), names)
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


def items_from_table(table: pd.DataFrame, names: Sequence[str]) -> CostItems:
    """Read prices from a table, with one row per feature, or one for each item that a feature needs.

    Columns: ``feature`` and ``cost``, and optionally

    - ``item``: name of the item that the cost buys; features that name the same item share it (default: an item of the feature's
      own);
    - ``discount_cost`` and ``shared_group``: the price once another feature of the group was bought, see `CostItems.discounted`;
    - ``needs``: names of other features, separated by ``;``, whose items this feature needs too (a ratio of two tests).
      Then ``cost`` may be empty, if the feature needs no item of its own.
    - ``once``: 1 where the item is paid once for all examples; the same in all rows of an item.
    """
    missing = [c for c in ("feature", "cost") if c not in table.columns]
    if missing:
        raise InvalidInputError(f"costs: the table has the columns {list(table.columns)}, it needs {missing[0]!r}")
    table = table.astype({"feature": str})
    _check_features(table["feature"].tolist(), names)
    prices: dict[str, Price] = {}
    needs: dict[str, list[str]] = {n: [] for n in names}
    once: dict[str, bool] = {}
    for record in table.to_dict("records"):
        feature = record["feature"]
        for item, price in _row_items({str(k): v for k, v in record.items()}):
            if prices.setdefault(item, price) != price:
                raise InvalidInputError(
                    f"costs: the item {item!r} costs {price} for {feature!r} and {prices[item]} elsewhere; give it one price"
                )
            needs[feature].append(item)
            marked = _is_once(record.get("once"), feature)
            if once.setdefault(item, marked) != marked:
                raise InvalidInputError(
                    f"costs: the item {item!r} has `once` {int(marked)} for {feature!r} and {int(not marked)} elsewhere; "
                    "write the same in each of its rows"
                )
    for feature, other in _all_needed(_needed(table, names)):
        needs[feature] += [item for item in needs[other] if item not in needs[feature]]
    return CostItems.from_items(prices, [needs[n] for n in names], [item for item, marked in once.items() if marked])


def _needed(table: pd.DataFrame, names: Sequence[str]) -> dict[str, list[str]]:
    """The other features that the column ``needs`` names for each feature."""
    needed: dict[str, list[str]] = {n: [] for n in names}
    for record in table.to_dict("records"):
        others = str(record["needs"]).split(";") if _filled(record.get("needs")) else []
        for other in (o.strip() for o in others):
            if other not in needed:
                raise InvalidInputError(f"costs: {record['feature']!r} needs {other!r}, which is not a feature")
            needed[record["feature"]].append(other)
    return needed


def _all_needed(needed: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Pairs (feature, other) for all that a feature needs, directly or through others."""
    pairs = []
    for feature in needed:
        found, todo = {feature}, list(needed[feature])
        while todo:
            other = todo.pop(0)
            if other not in found:
                found.add(other)
                pairs.append((feature, other))
                todo += needed[other]
    return pairs


def _is_once(cell: Any, feature: str) -> bool:
    """Whether the cell of the column ``once`` holds 1."""
    if not _filled(cell):
        return False
    if cell not in (0, 1, "0", "1"):
        raise InvalidInputError(f"costs: `once` is {cell!r} for {feature!r}; write 1 (paid once for all examples) or 0")
    return bool(int(cell))


def _row_items(record: dict[str, Any]) -> list[tuple[str, Price]]:
    """The items that one row of the table names, with their prices."""
    feature, cost = record["feature"], record["cost"]
    if not _filled(cost):
        if _filled(record.get("needs")):
            return []
        raise InvalidInputError(
            f"costs: {feature!r} has no cost; write 0, or name the features it is computed from in the column 'needs'"
        )
    group = record.get("shared_group")
    if _filled(group):
        if not _filled(record.get("discount_cost")):
            raise InvalidInputError(
                f"costs: {feature!r} is in the group {group!r} and has no discount_cost; write what it costs once another "
                "feature of the group was bought"
            )
        parts = CostItems.discounted([cost], [record["discount_cost"]], [str(group)], [feature])
        return list(zip(parts.names, parts.prices, strict=True))
    item = record.get("item")
    return [(str(item) if _filled(item) else feature, CostItems.plain([cost], [feature]).prices[0])]


def _filled(cell: Any) -> bool:
    """Whether a cell of the table holds something."""
    return not pd.isna(cell) and str(cell).strip() != ""


def _check_unique(given: Sequence[str]) -> None:
    twice = [n for k, n in enumerate(given) if n in given[:k]]
    if twice:
        raise InvalidInputError(f"costs has two prices for {twice[0]!r}; give one price per feature")


def _check_features(given: Sequence[str], names: Sequence[str]) -> None:
    known = set(names)
    unknown = [n for n in given if n not in known]
    if unknown:
        raise InvalidInputError(f"costs has a price for {unknown[0]!r}, the forest has no such feature; it has {_shown(names)}")
    absent = [n for n in names if n not in set(given)]
    if absent:
        raise InvalidInputError(f"costs has no price for {absent[0]!r} ({len(absent)} missing); write 0 for a free feature")


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
