"""Prices as a table: one row for each feature, or one for each item that a feature needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.shown import probably_meant

MOST_NAMED = 12
"""Most features without a price that a message names."""

CURRENCY = "cost_"
"""Columns whose names begin so hold amounts of further currencies."""


@checked
def items_from_table(table: pd.DataFrame, names: Sequence[str] | None = None) -> CostItems:
    """Read prices from a table, with one row per feature, or one for each item that a feature needs.

    Everything that takes prices takes such a table, too: models of trees, cascades, and ``--costs`` of the command line. The
    features are the columns that a user pays for, of any type; those of a pipeline are its raw columns.

    Columns: ``feature`` and ``cost``, and optionally

    - ``item``: name of the item that the cost buys; features that name the same item share it (default: an item of the feature's
      own);
    - ``discount_cost`` and ``shared_group``: the price once another feature of the group was bought, see `CostItems.discounted`;
    - ``needs``: names of other features, separated by ``;`` or ``,``, whose items this feature needs too (a ratio of two tests).
      Then ``cost`` may be empty, if the feature needs no item of its own.
    - ``once``: 1 where the item is paid once for all examples; the same in all rows of an item;
    - ``cost_minutes`` and any other name that begins so: what the item takes of a second currency, here "minutes", for `Limit`.

    Parameters
    ----------
    table
        the prices.
    names
        the features in the order of the data. Default: in the order of the table.

    Raises
    ------
    InvalidInputError
        for features without a price, prices without a feature, and prices that contradict each other.
    """
    missing = [c for c in ("feature", "cost") if c not in table.columns]
    if missing:
        raise InvalidInputError(f"costs: the table has the columns {list(table.columns)}, it needs {missing[0]!r}")
    empty = np.flatnonzero(table["feature"].isna())
    if empty.size:
        raise InvalidInputError(
            f"costs: row {empty[0] + 1} of the table names no feature; write its name (pandas.read_csv reads NA, None and nan as "
            "empty cells unless it is told keep_default_na=False)"
        )
    table = table.astype({"feature": str})
    names = list(dict.fromkeys(table["feature"])) if names is None else names
    check_priced(table["feature"].tolist(), names)
    prices: dict[str, Price] = {}
    needs: dict[str, list[str]] = {n: [] for n in names}
    once: dict[str, bool] = {}
    for record in table.to_dict("records"):
        feature = record["feature"]
        for item, price in _row_items({str(k): v for k, v in record.items()}):
            if prices.setdefault(item, price) != price:
                raise InvalidInputError(
                    f"costs: the item {item!r} costs {float(price):g} for {feature!r} and {float(prices[item]):g} elsewhere; "
                    "give it one price"
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
    items = CostItems.from_items(prices, [needs[n] for n in names], [item for item, marked in once.items() if marked])
    for column in (str(c) for c in table.columns if str(c).startswith(CURRENCY)):
        items = items.with_currency(column.removeprefix(CURRENCY), _amounts(table, column))
    return items


def items_from_list(table: pd.DataFrame, names: Sequence[str]) -> tuple[CostItems, list[str]]:
    """The items of the named features from a list that may price others, too; and the features that it prices besides.

    Items of others count where a named feature needs them, see `items_from_table`. A feature without a price is refused.
    """
    if not {"feature", "cost"} <= {*table.columns} or table["feature"].isna().any():
        return items_from_table(table, names), []
    table = table.astype({"feature": str})
    listed = list(dict.fromkeys(table["feature"]))
    there, others = {*listed}, [feature for feature in listed if feature not in {*names}]
    check_priced([name for name in names if name in there], names, there=others)
    needed = _needed(table, listed)
    more = {other for name in names for other in needed[name]}
    while (further := {other for name in more for other in needed[name]} - more) != set():
        more |= further
    every = [*names, *(other for other in others if other in more)]
    items = items_from_table(table[table["feature"].isin(every)], every)
    return items.of_features(range(len(names))), others


def _amounts(table: pd.DataFrame, column: str) -> dict[str, Price]:
    """What the items take of a second currency; of a row with several items the first takes it."""
    amounts: dict[str, Price] = {}
    for record in table.to_dict("records"):
        found = _row_items({str(k): v for k, v in record.items()})
        if found and _filled(record[column]) and amounts.setdefault(found[0][0], record[column]) != record[column]:
            raise InvalidInputError(
                f"costs: {column!r} of the item {found[0][0]!r} is {record[column]} for {record['feature']!r} and "
                f"{amounts[found[0][0]]} elsewhere; give it one amount"
            )
    return amounts


def _needed(table: pd.DataFrame, names: Sequence[str]) -> dict[str, list[str]]:
    """The other features that the column ``needs`` names for each feature."""
    needed: dict[str, list[str]] = {n: [] for n in names}
    for record in table.to_dict("records"):
        parts = [part.strip() for part in str(record["needs"]).split(";")] if _filled(record.get("needs")) else []
        # a comma may be part of a name
        others = [name.strip() for part in parts for name in ([part] if part in needed else part.split(","))]
        for other in others:
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


def check_priced(given: Sequence[str], names: Sequence[str], *, there: Sequence[str] = ()) -> None:
    """Refuse prices for features that do not exist, and features without a price; `there` are other names that have prices."""
    known = set(names)
    unknown = [n for n in given if n not in known]
    absent = [n for n in names if n not in set(given)]
    meant = probably_meant(absent, [*unknown, *there])
    if unknown:
        raise InvalidInputError(
            f"costs has a price for {unknown[0]!r}, and there is no such feature; there are {_shown(names)}{meant}"
        )
    if absent:
        listed = ", ".join(map(repr, absent[:MOST_NAMED])) + ", ..." * (len(absent) > MOST_NAMED)
        raise InvalidInputError(f"costs has no price for {listed} ({len(absent)} missing){meant}; write 0 for a free feature")


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
