"""What examples pay for the trees of a model, all together and tree after tree.

    cost(x) = prices of the items that x's ways through the trees need, each once  +  sum of a_f over the splits passed        (1)
    cost_s  = (items paid once that the stages 0..s need)  +  weighted mean of (1), trees of the stages 0..s alone             (2)

The model need not be an average of its trees: boosted trees pay in the same way. An item belongs to the first stage in which an
example meets it, so one pass over the splits gives all stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.cost_sample import check_weights, evaluation_prices
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import Routing, as_rows, n_examples, route
from formulations.instance.usage_arcs import charges_of, highest_user
from prunemodels.forests.costs import Costs, cost_items

BLOCK_BYTES = 2**27
"""Examples are taken in blocks that need about so much memory."""

EvaluationCost = Price | Sequence[Price] | NDArray[np.float64]


def example_costs(ensemble: Ensemble, X: Any, costs: Costs, *, evaluation_cost: EvaluationCost = 0) -> NDArray[np.float64]:
    """(1) for every row of X, shape (N,), in the unit of the prices; items that are paid once for all are left out.

    Parameters
    ----------
    ensemble
        the trees.
    X
        examples, shape (N, n_features).
    costs, evaluation_cost
        as in `problem_from_forest`.
    """
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

    Parameters
    ----------
    stage
        int32, shape (n,): the first stage that each split belongs to, not before its parent's; S: none.
    """
    account = _Account(ensemble, costs, evaluation_cost, stage, n_stages)
    return np.concatenate([np.cumsum(account.settle(block)[0], axis=0) for block in account.blocks(X)], axis=1)


def first_stages_of_items(ensemble: Ensemble, X: Any, costs: Costs, stage: NDArray[np.int32], n_stages: int) -> NDArray[np.int64]:
    """The first stage at which each row needs each priced item, shape (M, N); S: at none. Items paid once for all count for all.

    Parameters
    ----------
    stage
        as in `staged_example_costs`.
    """
    account = _Account(ensemble, costs, 0, stage, n_stages)
    found = []
    for block in account.blocks(X):
        by_row, once = account.first_needed(route(ensemble, block))
        found.append(np.where(account.items.paid_once[:, None], once[:, None], by_row))
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
    """(2) for every stage, shape (S,), rising.

    Parameters
    ----------
    stage
        int, shape (T,): the stage that each tree belongs to, from 0 on; default: each tree is one.
    sample_weight
        weights of the examples in the mean, >= 0.

    Raises
    ------
    InvalidInputError
        if the stages do not fit the trees, or weights or columns do not fit.
    """
    stages = np.arange(ensemble.n_trees, dtype=np.int32) if stage is None else np.asarray(stage, dtype=np.int32)
    if stages.shape != (ensemble.n_trees,) or (stages < 0).any():
        raise InvalidInputError(f"stage has shape {stages.shape}; give one number >= 0 for each of {ensemble.n_trees} trees")
    account = _Account(ensemble, costs, evaluation_cost, stages[ensemble.tree_of], int(stages.max(initial=-1)) + 1)
    weights = check_weights(sample_weight, n_examples(X), "sample_weight")
    paid, first_once, done = np.zeros(account.n_stages), np.full(account.items.n_items, account.n_stages), 0
    for block in account.blocks(X):
        w = weights[done : done + len(block)]
        done += len(block)
        each, once = account.settle(block)
        paid += each @ w
        first_once = np.minimum(first_once, once)
    for_all = np.bincount(first_once, weights=account.items.price * account.items.paid_once, minlength=account.n_stages + 1)
    return np.asarray(np.cumsum(paid) / weights.sum() + np.cumsum(for_all[:-1]))


class _Account:
    """Who pays what for the splits of an ensemble, by the stage that they belong to."""

    def __init__(
        self, ensemble: Ensemble, costs: Costs, evaluation_cost: EvaluationCost, stage: NDArray[np.int32], n_stages: int
    ) -> None:
        self.ensemble, self.items = ensemble, cost_items(costs, ensemble)
        self.charges = charges_of(ensemble, self.items)
        a = np.array([float(price) for price in evaluation_prices(evaluation_cost, ensemble)])
        self.splits = np.flatnonzero(ensemble.is_split & (stage < n_stages)).astype(np.int32)
        self.split_price = np.zeros(ensemble.n_nodes)
        self.split_price[self.splits] = a[ensemble.feature[self.splits]]
        self.n_stages, self.stage = n_stages, stage

    def blocks(self, X: Any) -> Iterator[NDArray[np.float32]]:
        """The rows of X, a block at a time."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        X = X.tocsr() if hasattr(X, "tocsr") else as_rows(X, self.ensemble.n_features)
        size = max(1, BLOCK_BYTES // (8 * self.ensemble.n_trees + 16 * self.items.n_items + 8 * self.n_stages + 32))
        for first in range(0, n_examples(X), size):
            yield as_rows(X[first : first + size], self.ensemble.n_features)

    def settle(self, rows: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """What each row of a block pays at each stage, shape (S, rows); the first stage that needs each item paid once."""
        routing = route(self.ensemble, rows)
        by_row, once = self.first_needed(routing)
        each, row = np.zeros((self.n_stages + 1, len(rows))), np.arange(len(rows))
        for m in np.flatnonzero(self.items.price > 0):
            each[by_row[m], row] += self.items.price[m]
        for h in np.flatnonzero(self.split_price > 0):
            each[self.stage[h], routing.order[self.ensemble.tree_of[h], routing.start[h] : routing.stop[h]]] += self.split_price[
                h
            ]
        return each[:-1], once

    def first_needed(self, routing: Routing) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first stage that needs each item, S: none; of each row, shape (M, rows), and of items paid once for all, (M,)."""
        n, m = routing.n_rows, self.items.n_items
        remaining = np.maximum(self.n_stages - self.stage, 0).astype(np.int32)
        found = highest_user(self.charges, routing, self.ensemble.tree_of, self.items.paid_once, self.splits, remaining)
        first = self.n_stages - np.maximum(found, 0).astype(np.int64)
        return first[: n * m].reshape(m, n), first[n * m :]
