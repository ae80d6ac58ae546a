"""Prices: the forms in which users give them, and what examples pay, all together and tree after tree.

    cost(x) = prices of the items that x's ways through the trees need, each once  +  sum of a_f over the splits passed        (1)
    cost_s  = (items paid once that the stages 0..s need)  +  weighted mean of (1), trees of the stages 0..s alone             (2)

The prices of a pruned model travel with it: plain lists in an attribute of the estimator, which every file format keeps.

The model need not be an average of its trees: boosted trees pay in the same way. An item belongs to the first stage in which an
example meets it, so one pass over the splits gives all stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, EvaluationCost, Price
from formulations.instance.cost_sample import check_weights, evaluation_prices
from formulations.instance.ensemble import Ensemble
from formulations.instance.numbers import check_prices
from formulations.instance.price_tables import check_priced, items_from_table
from formulations.instance.routing import features_of, n_examples
from formulations.instance.usage import Usage
from formulations.sparse_arrays import check_sparse

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
