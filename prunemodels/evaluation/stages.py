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

from formulations.cost_items import Price
from formulations.ensemble import Ensemble
from formulations.errors import InvalidInputError
from formulations.problem import check_weights, evaluation_prices, n_examples
from formulations.routing import Routing, as_rows, route
from formulations.usage import charges_of, highest_user
from prunemodels.costs import Costs, cost_items

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
    account = _Account(ensemble, costs, evaluation_cost, np.zeros(ensemble.n_trees, dtype=np.int32))
    return np.concatenate([account.settle(block)[0] for block in account.blocks(X)])


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
    account = _Account(ensemble, costs, evaluation_cost, stages)
    weights = check_weights(sample_weight, n_examples(X), "sample_weight")
    paid, first_once, done = np.zeros(account.n_stages), np.full(account.items.n_items, account.n_stages), 0
    for block in account.blocks(X):
        w = weights[done : done + len(block)]
        done += len(block)
        by_stage, once = account.settle(block, w)[1:]
        paid += by_stage
        first_once = np.minimum(first_once, once)
    for_all = np.bincount(first_once, weights=account.items.price * account.items.paid_once, minlength=account.n_stages + 1)
    return np.asarray(np.cumsum(paid) / weights.sum() + np.cumsum(for_all[:-1]))


class _Account:
    """Who pays what for the trees of an ensemble, by stage."""

    def __init__(self, ensemble: Ensemble, costs: Costs, evaluation_cost: EvaluationCost, stage: NDArray[np.int32]) -> None:
        self.ensemble, self.items = ensemble, cost_items(costs, ensemble)
        self.charges = charges_of(ensemble, self.items)
        a = np.array([float(price) for price in evaluation_prices(evaluation_cost, ensemble)])
        self.splits = np.flatnonzero(ensemble.is_split).astype(np.int32)
        self.split_price = np.where(ensemble.is_split, a[ensemble.feature], 0.0)
        self.n_stages = int(stage.max()) + 1 if stage.size else 0
        self.stage_of = stage[ensemble.tree_of]

    def blocks(self, X: Any) -> Iterator[NDArray[np.float32]]:
        """The rows of X, a block at a time."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        X = X.tocsr() if hasattr(X, "tocsr") else as_rows(X, self.ensemble.n_features)
        size = max(1, BLOCK_BYTES // (8 * self.ensemble.n_trees + 16 * self.items.n_items + 32))
        for first in range(0, n_examples(X), size):
            yield as_rows(X[first : first + size], self.ensemble.n_features)

    def settle(
        self, rows: NDArray[np.float32], weights: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Of a block: (1) of each row; weighted sums by stage; the first stage that needs each item paid once."""
        n, w = len(rows), np.ones(len(rows)) if weights is None else weights
        routing = route(self.ensemble, rows)
        remaining = (self.n_stages - self.stage_of).astype(np.int32)
        found = highest_user(self.charges, routing, self.ensemble.tree_of, self.items.paid_once, self.splits, remaining)
        first = self.n_stages - np.maximum(found, 0).astype(np.int64)  # n_stages: never
        by_row = first[: n * self.items.n_items].reshape(self.items.n_items, n)
        each = np.zeros(n)
        by_stage = np.zeros(self.n_stages + 1)
        for m in np.flatnonzero(self.items.price > 0):
            each += self.items.price[m] * (by_row[m] < self.n_stages)
            by_stage += self.items.price[m] * np.bincount(by_row[m], weights=w, minlength=self.n_stages + 1)
        self._evaluate(routing, w, each, by_stage)
        return each, by_stage[:-1], first[n * self.items.n_items :]

    def _evaluate(
        self, routing: Routing, w: NDArray[np.float64], each: NDArray[np.float64], by_stage: NDArray[np.float64]
    ) -> None:
        """Add the price of the splits that the rows pass."""
        for h in np.flatnonzero(self.split_price > 0):
            reached = routing.order[self.ensemble.tree_of[h], routing.start[h] : routing.stop[h]]
            each[reached] += self.split_price[h]
            by_stage[self.stage_of[h]] += self.split_price[h] * w[reached].sum()
