"""Prices: the forms in which users give them, and what examples pay, all together and tree after tree.

    cost(x) = prices of the items that x's ways through the trees need, each once  +  sum of a_f over the splits passed        (1)
    cost_s  = (items paid once that the stages 0..s need)  +  weighted mean of (1), trees of the stages 0..s alone             (2)

The prices of a pruned model travel with it: plain lists in an attribute of the estimator, which every file format keeps.

The model need not be an average of its trees: boosted trees pay in the same way. An item belongs to the first stage in which an
example meets it, so one pass over the splits gives all stages.

A table of prices has one row for each feature, or one for each item that a feature needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, EvaluationCost, Price
from formulations.instance.cost_sample import check_weights, evaluation_prices
from formulations.instance.ensemble import Ensemble
from formulations.instance.numbers import check_prices
from formulations.instance.routing import features_of, n_examples
from formulations.instance.usage import Usage
from formulations.shown import probably_meant
from formulations.sparse_arrays import check_sparse

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

    `table`: the prices. `names`: the features in the order of the data. Default: in the order of the table. Raises
    `InvalidInputError` for features without a price, prices without a feature, and prices that contradict each other.
    """
    # the table has a price for each feature
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
    # the items: rows that name the same one must agree
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
    # items of the features that a feature needs
    for feature, other in _all_needed(_needed(table, names)):
        needs[feature] += [item for item in needs[other] if item not in needs[feature]]
    items = CostItems.from_items(prices, [needs[n] for n in names], [item for item, marked in once.items() if marked])
    # other currencies
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
        listed = ", ".join(map(repr, absent[:12])) + ", ..." * (len(absent) > 12)
        raise InvalidInputError(f"costs has no price for {listed} ({len(absent)} missing){meant}; write 0 for a free feature")


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


Costs = Annotated[
    CostItems | Mapping[str, Price] | Sequence[Price] | NDArray[Any] | pd.Series | pd.DataFrame | float,
    "a price, a price for each feature (a sequence, or a mapping from names), a table of items, or CostItems",
]
"""What `cost_items` reads."""


def cost_items(costs: Costs, ensemble: Ensemble) -> CostItems:
    """Turn any of the accepted forms of prices into items for the forest's features.

    These are a `CostItems`; one number for all features; one number per feature in the forest's order; a mapping or Series from
    the names of all features to their prices; or a table with the columns of `items_from_table`. For the trees of a pipeline,
    prices are those of its raw columns, and a feature needs the items of all raw columns that it is made from.
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
        given = costs.index.map(str)
        if given.has_duplicates:
            raise InvalidInputError(f"costs has two prices for {given[given.duplicated()][0]!r}; give one price per feature")
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


def column_prices(
    costs: Costs | None,
    n_features: int,
    names: Sequence[str] | None = None,
    *,
    evaluation_cost: EvaluationCost = 0,
) -> tuple[CostItems, NDArray[np.float64]]:
    """The items, and the evaluation prices a_f, shape (n_features,), as any forest that is trained on these columns reads them.

    Without costs each column costs 1; `evaluation_cost` is one number, or one per column.
    """
    items = column_items(1 if costs is None else costs, n_features, names)
    evaluation = evaluation_prices(evaluation_cost, n_features)
    check_prices(items, evaluation)
    return items, np.array([float(a) for a in evaluation])


def column_items(costs: Costs, n_features: int, names: Sequence[str] | None) -> CostItems:
    """The items of columns that may have names."""
    return _items_of_columns(costs, [str(n) for n in names] if names is not None else [f"x{f}" for f in range(n_features)])


BLOCK_BYTES = 2**27
"""Examples are taken in blocks that need about so much memory."""


def example_costs(ensemble: Ensemble, X: Any, costs: Costs, *, evaluation_cost: EvaluationCost = 0) -> NDArray[np.float64]:
    """(1) for every row of X, shape (N,), in the unit of the prices; items that are paid once for all are left out."""
    stage = np.zeros(ensemble.n_nodes, dtype=np.int32)
    paid: NDArray[np.float64] = staged_example_costs(ensemble, X, costs, stage, 1, evaluation_cost=evaluation_cost)[0]
    return paid


def staged_example_costs(
    ensemble: Ensemble,
    X: Any,
    costs: Costs,
    stage: NDArray[np.int32],
    n_stages: int,
    *,
    evaluation_cost: EvaluationCost = 0,
) -> NDArray[np.float64]:
    """(1) for every row of X and the splits of the stages 0..s alone, shape (S, N); items paid once for all are left out.

    `stage`, shape (n,), is the first stage that each split belongs to, not before its parent's; S: none.
    """
    blocks = _by_blocks(ensemble, X, costs, evaluation_cost, n_stages)
    return np.concatenate([np.cumsum(usage.stage_costs(stage, n_stages), axis=0) for usage in blocks], axis=1)


def first_stages_of_items(ensemble: Ensemble, X: Any, costs: Costs, stage: NDArray[np.int32], n_stages: int) -> NDArray[np.int64]:
    """The first stage at which each row needs each priced item, shape (M, N); S: at none. Items paid once for all count for all.

    `stage` is as in `staged_example_costs`.
    """
    found = []
    for usage in _by_blocks(ensemble, X, costs, 0, n_stages):
        once = usage.first_stage_once(stage, n_stages)[:, None]
        found.append(np.minimum(once, usage.first_stage_by_row(stage, n_stages)))
    return np.concatenate(found, axis=1)


def staged_costs(
    ensemble: Ensemble,
    X: Any,
    costs: Costs,
    *,
    evaluation_cost: EvaluationCost = 0,
    stage: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """(2) for every stage, shape (S,), rising; `stage`, shape (T,), is that of each tree, by default its number."""
    stages = np.arange(ensemble.n_trees, dtype=np.int32) if stage is None else np.asarray(stage, dtype=np.int32)
    if stages.shape != (ensemble.n_trees,) or (stages < 0).any():
        raise InvalidInputError(f"stage has shape {stages.shape}; give one number >= 0 for each of {ensemble.n_trees} trees")
    first, n_stages = stages[ensemble.tree_of], int(stages.max(initial=-1)) + 1
    weights = check_weights(sample_weight, n_examples(X), "sample_weight", X)
    paid, done = np.zeros(n_stages), 0
    for usage in _by_blocks(ensemble, X, costs, evaluation_cost, n_stages):
        paid += usage.stage_costs(first, n_stages) @ weights[done : done + usage.n_rows]
        done += usage.n_rows
    once = usage.first_stage_once(first, n_stages)
    for_all = np.bincount(once, weights=usage.costs.price * usage.costs.paid_once, minlength=n_stages + 1)
    return np.asarray(np.cumsum(paid) / weights.sum() + np.cumsum(for_all[:-1]))


def _by_blocks(ensemble: Ensemble, X: Any, costs: Costs, evaluation_cost: EvaluationCost, n_stages: int = 0) -> Iterator[Usage]:
    """The usage of the rows of X, block by block."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_sparse(X, "X")
    X = X.tocsr() if hasattr(X, "tocsr") and ensemble.made is None else features_of(ensemble, X)
    items, ensemble = cost_items(costs, ensemble), ensemble.on_features
    size = max(1, BLOCK_BYTES // (8 * ensemble.n_trees + 16 * items.n_items + 8 * n_stages + 32))
    usage = Usage.build(ensemble, items, X[:size], evaluation_cost=evaluation_cost)
    yield usage
    for first in range(size, n_examples(X), size):
        yield usage.on(X[first : first + size])


ATTRIBUTE = "prunemodels_prices_"


def keep_prices(model: Any, costs: CostItems, evaluation: Sequence[Any]) -> None:
    """Store the prices of a model's features, and those of evaluating splits, on the model."""
    setattr(model, ATTRIBUTE, {**costs.as_plain(), "evaluation": [str(Fraction(a)) for a in evaluation]})


def saved_prices(model: Any, n_columns: int) -> tuple[CostItems, list[Fraction]] | None:
    """The prices that a model holds for its columns; None where it holds none, or was given other columns since."""
    is_pipeline = hasattr(model, "steps")
    holder = model.steps[-1][1] if is_pipeline and not hasattr(model, ATTRIBUTE) else model
    told = getattr(holder, ATTRIBUTE, None)
    if told is None:
        return None
    try:
        costs, evaluation = CostItems.from_plain(told), [Fraction(a) for a in told["evaluation"]]
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InvalidInputError(f"the prices that the model holds are damaged ({error!r}); give costs") from error
    costs = replace(costs, needs=costs.by_column if is_pipeline else costs.needs, columns=None)
    return (costs, evaluation) if costs.n_features == n_columns else None
