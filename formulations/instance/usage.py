"""Usage: what predictions cost, by the splits that they pass. It needs neither errors nor labels.

Let K be a set of kept splits, closed under parents, and let the rows i of a cost sample have weights omega_i > 0 that sum to N.

    w_{m,i} = 1  where a split of K that row i reaches needs item m                                                       (2)
    x_i     = sum of the prices c_m with w_{m,i} = 1  +  sum of a_f over the splits of K that row i reaches               (3)
    cost    = (1/N) sum_m c_m sum_i omega_i w_{m,i}  +  (1/N) sum over h in K of a_f |S_h|                                (4)

An item that is paid once for all rows is no part of (3). In (4) it adds its full price if any split of K needs it.

Stages keep ever more splits, K_0 in K_1 in ... . A row pays an item in the first stage that needs it, so one pass over the
splits prices all stages. `formulations.instance.usage_arcs` numbers the purchases (m, i) and lists who needs them.

The bill of some rows for a set K of kept splits is (4) from sums that add up over rows:

    cost = (1/N) sum_m c_m p_m  +  sum over K's items paid once for all rows of c_m  +  (1/N) sum over h in K of a_f |S_h|   (1)

where p_m is the weight of the rows that pay item m, and N the weight of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.compiled import njit
from formulations.instance.cost_items import CostItems, EvaluationCost
from formulations.instance.cost_sample import check_most, check_size, check_weights, evaluation_prices
from formulations.instance.ensemble import Ensemble, Forest
from formulations.instance.routing import (
    Amount,
    Reached,
    Routing,
    RowBlocks,
    features_of,
    n_examples,
    route,
    row_blocks,
    row_order,
)
from formulations.instance.usage_arcs import Charges, Level, UsageArcs, charges_of, count_arcs, raise_levels, usage_arcs
from formulations.memory import scratch_array


@dataclass(frozen=True, eq=False)
class Bill:
    """What some rows pay together for a set of kept splits. Bills of different rows add up."""

    # item_price, split_price: float64: c_m of each item, shape (M,), and a_f of each kept split.
    item_price: NDArray[np.float64]
    split_price: NDArray[np.float64]
    payers: NDArray[np.float64]  # float64, shape (M,): p_m: weight of the rows that pay each item
    once: NDArray[np.bool_]  # bool, shape (M,): the items paid once for all rows that some kept split needs
    reached: NDArray[np.float64]  # float64: |S_h| of each kept split; 0 where no split has a price
    total: float  # N, the weight of all rows

    @property
    def feature_cost(self) -> float:
        """What items cost: the first two sums of (1)."""
        return float((self.item_price * self.payers / self.total).sum() + self.item_price[self.once].sum())

    @property
    def evaluation_cost(self) -> float:
        """What evaluating splits costs: the last sum of (1)."""
        return float((self.split_price * self.reached / self.total).sum())

    @property
    def cost(self) -> float:
        """(1), in the unit of the prices."""
        return self.feature_cost + self.evaluation_cost

    def __add__(self, other: Bill) -> Bill:
        """The bill of both sets of rows, at the prices of the first."""
        reached, total = self.reached + other.reached, self.total + other.total
        return replace(self, payers=self.payers + other.payers, once=self.once | other.once, reached=reached, total=total)


@dataclass(frozen=True, eq=False)
class ForestUsage:
    """What each split of a forest charges the rows of a cost sample."""

    ensemble: Forest  # the trees
    costs: CostItems  # items, prices, and what each feature needs
    evaluation: tuple[Fraction, ...]  # a_f >= 0 for each feature: the price of evaluating one split on it
    charges: Charges  # the items that each node charges the rows that reach it
    weights: NDArray[np.float64]  # float64, one a row: omega_i > 0
    routing: Routing  # which of these rows reach which node

    @property
    def n_rows(self) -> int:
        """Rows of positive weight in the cost sample."""
        return self.weights.size

    @property
    def total_weight(self) -> float:
        """N, the weight of the cost sample."""
        return float(self.weights.sum())

    @property
    def n_purchases(self) -> int:
        """Numbers that `UsageArcs.head` can take: M N + M."""
        return len(self.costs.prices) * (self.weights.size + 1)

    @cached_property
    def splits(self) -> NDArray[np.int32]:
        """The internal nodes, ascending."""
        return np.flatnonzero(self.ensemble.is_split).astype(np.int32)

    @property
    def reached(self) -> Reached:
        """Which rows reach each node, for compiled code."""
        return Reached(self.ensemble.tree_of, self.routing.order, self.routing.start, self.routing.stop)

    @cached_property
    def arcs_per_node(self) -> NDArray[np.int64]:
        """Usage arcs of each node, shape (n,)."""
        return count_arcs(self.charges, self.routing, self.costs.paid_once)

    @cached_property
    def node_weight(self) -> NDArray[np.float64]:
        """|S_h| of every node: the weight of the rows that reach it. Shape (n,)."""
        return self.routing.node_sums(self.ensemble, self.weights)

    @cached_property
    def split_price(self) -> NDArray[np.float64]:
        """a_f of every split, 0 at leaves: the price of evaluating it on one row. Shape (n,)."""
        a = np.array([float(price) for price in self.evaluation])
        return np.where(self.ensemble.is_split, a[self.ensemble.feature], 0.0)

    @cached_property
    def evaluation_price(self) -> NDArray[np.float64]:
        """a_f |S_h| / N of every split: what keeping it adds to the evaluation cost. Shape (n,)."""
        if not self.split_price.any():
            return np.zeros(self.ensemble.n_nodes)
        return self.split_price * self.node_weight / self.total_weight

    @cached_property
    def row_blocks(self) -> RowBlocks:
        """The routing, cut into blocks of rows that fit a cache; 2 bytes for each row and tree, made when first asked for."""
        return row_blocks(self.routing, self.ensemble.tree_of, rows=row_order(self.routing, self.ensemble))

    def arcs(self, nodes: NDArray[np.int32] | None = None) -> UsageArcs:
        """Usage arcs of the given splits (default: all), in canonical order."""
        nodes = self.splits if nodes is None else nodes
        return usage_arcs(self.charges, self.reached, self.costs.paid_once, nodes)

    def highest_user(self, nodes: NDArray[np.int32], level: NDArray[Level]) -> NDArray[Level]:
        """The highest level of the given splits that need a purchase, -1 where none does; numbered as in `UsageArcs`.

        No arcs are stored. On disk if the routing is.
        """
        highest = scratch_array(self.n_purchases, level.dtype, self.routing.scratch)
        highest[:] = -1
        raise_levels(nodes, level, self.charges, self.costs.paid_once, self.reached, highest)
        return highest

    def paid_by(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(2): which purchases the kept splits need; bool, numbered as in `UsageArcs`. `kept` is closed under parents."""
        n, folder = self.n_purchases, self.routing.scratch
        paid = np.zeros(n, dtype=np.int8) if folder is None else scratch_array(n, np.int8, folder)  # a new file holds zeros
        nodes, level = np.flatnonzero(kept).astype(np.int32), kept.astype(np.int8)
        raise_levels(nodes, level, self.charges, self.costs.paid_once, self.reached, paid)
        return paid.view(np.bool_)  # in its place: there may be billions

    def payers(self, paid: NDArray[np.bool_], weight: NDArray[Amount]) -> NDArray[Amount]:
        """For each item the weight of the rows that pay it, shape (M,); `paid` as `paid_by` returns it."""
        by_item = np.zeros(len(self.costs.prices), dtype=weight.dtype)
        for m, by_row in enumerate(paid[: -by_item.size].reshape(by_item.size, -1)):  # not paid @ weight: floats of integers
            by_item[m] = weight[by_row].sum()
        return by_item

    def bill(self, kept: NDArray[np.bool_]) -> Bill:
        """What all rows pay together for the kept splits."""
        split_price = self.split_price[kept]
        reached = self.node_weight[kept] if split_price.any() else np.zeros(split_price.size)
        payers = self.payers(self.paid_by(kept), self.weights)
        return Bill(self.costs.price, split_price, payers, self.once(kept), reached, self.total_weight)

    def cost(self, kept: NDArray[np.bool_]) -> float:
        """(4): the mean cost of a prediction with the kept splits, in the unit of the prices."""
        return self.bill(kept).cost

    def once(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The items paid once for all rows that the kept splits need; bool, shape (M,)."""
        needed = np.zeros(self.costs.paid_once.size, dtype=bool)
        needed[self.charges.item[np.repeat(kept, np.diff(self.charges.start))]] = True
        return needed & self.costs.paid_once

    def once_cost(self, kept: NDArray[np.bool_]) -> float:
        """The prices of `once`."""
        return float(self.costs.price[self.once(kept)].sum())

    def first_stage_once(self, stage: NDArray[np.int32], n_stages: int) -> NDArray[np.int64]:
        """The first stage that needs each item paid once for all rows, S for all other items; shape (M,).

        `stage`: int32, shape (n,): the first stage that keeps each split, not before its parent's; S or more: none.
        """
        first = np.full(self.costs.n_items, n_stages, dtype=np.int64)
        if not self.costs.paid_once.any():
            return first
        np.minimum.at(first, self.charges.item, np.repeat(stage, np.diff(self.charges.start)))
        return np.where(self.costs.paid_once, first, n_stages)

    def first_stage_by_row(self, stage: NDArray[np.int32], n_stages: int) -> NDArray[np.int64]:
        """The first stage in which each row needs each item that rows pay, S for all other items; shape (M, N)."""
        remaining = np.maximum(n_stages - stage, 0).astype(np.int32)
        users = np.flatnonzero(self.ensemble.is_split & (stage < n_stages)).astype(np.int32)
        highest = self.highest_user(users, remaining)[: -self.costs.n_items].reshape(self.costs.n_items, self.n_rows)
        return n_stages - np.maximum(highest, 0).astype(np.int64)

    def stage_costs(self, stage: NDArray[np.int32], n_stages: int) -> NDArray[np.float64]:
        """What each row pays in each stage for what no earlier stage needed: the rises of (3) from stage to stage; (S, N)."""
        by_row = self.first_stage_by_row(stage, n_stages)
        each, row = np.zeros((n_stages + 1, self.n_rows)), np.arange(self.n_rows)
        price = self.costs.price
        for m in np.flatnonzero(price > 0):
            each[by_row[m], row] += price[m]
        for h in np.flatnonzero((self.split_price > 0) & (stage < n_stages)):
            reaching = self.routing.order[self.ensemble.tree_of[h], self.routing.start[h] : self.routing.stop[h]]
            each[stage[h], reaching] += self.split_price[h]
        return each[:-1]

    def row_costs(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """(3) for each row, shape (N,)."""
        # the kept splits as the only stage
        each: NDArray[np.float64] = self.stage_costs(np.where(kept, 0, 1).astype(np.int32), 1)[0]
        return each

    def purchase_price(self) -> NDArray[np.float64]:
        """What each purchase adds to the cost, c_m omega_i / N, or c_m if paid once for all; numbered as in `UsageArcs`."""
        return self.by_purchase(self.costs.price / self.total_weight, self.weights, self.costs.price)

    def by_purchase(self, per_row: NDArray[Amount], weight: NDArray[Amount], for_all: NDArray[Amount]) -> NDArray[Amount]:
        """Prices in the numbering of `UsageArcs`: items paid by each row, times its weight; then those paid once for all."""
        once = self.costs.paid_once
        return np.concatenate([np.outer(np.where(once, 0, per_row), weight).ravel(), np.where(once, for_all, 0)])


@dataclass(frozen=True, eq=False)
class Usage(ForestUsage):
    """The usage of a user's trees and table.

    Build it with `Usage.build`.

    Parameters
    ----------
    X
        the cost sample as it was given: a reference, not a copy.
    rows
        int64: the rows of X with positive weight. The others pay nothing and are left out of everything else.
    """

    ensemble: Ensemble
    X: object = field(kw_only=True)
    rows: NDArray[np.int64] = field(kw_only=True)

    @classmethod
    def build(
        cls,
        ensemble: Ensemble,
        costs: CostItems,
        X: object,
        *,
        sample_weight: ArrayLike | None = None,
        evaluation_cost: EvaluationCost = 0,
    ) -> Self:
        """Route the cost sample through the trees.

        Parameters
        ----------
        X
            cost sample, shape (N, n_features): a table, an array or a sparse matrix; NaN is a missing value.
        sample_weight
            shape (N,), >= 0: omega, the weight of each row in the cost. Default: 1 each.
        evaluation_cost
            a >= 0: price of evaluating one split on one row, one for all features or one for each.

        Raises
        ------
        InvalidInputError
            for sizes that do not fit each other, for negative or non-finite numbers, and for prices whose sum is no float.
        CapacityOverflowError
            if there are more pairs of item and row than int32 can number.
        """
        costs.check_features(ensemble.n_features)
        evaluation = evaluation_prices(evaluation_cost, ensemble.n_features)
        check_most(costs, evaluation, ensemble.n_splits)
        rows, weights, routing = _routed_sample(ensemble, costs, X, sample_weight)
        return cls(ensemble, costs, evaluation, charges_of(ensemble, costs), weights, routing, X=X, rows=rows)

    def on(self, X: object, sample_weight: ArrayLike | None = None) -> Self:
        """The same trees and prices with another cost sample.

        Raises
        ------
        InvalidInputError, CapacityOverflowError
            as `build`.
        """
        rows, weights, routing = _routed_sample(self.ensemble, self.costs, X, sample_weight)
        return replace(self, X=X, rows=rows, weights=weights, routing=routing)

    @property
    def on_features(self) -> Self:
        """The same, for other rows that are features instead of raw columns; see `Ensemble.on_features`."""
        return replace(self, ensemble=self.ensemble.on_features)

    def counting_features(self) -> Self:
        """The same rows at a price of 1 for each column and free evaluation: the cost counts distinct columns."""
        made = self.ensemble.made
        columns = CostItems.plain([1] * len(self.ensemble.column_names))
        costs = columns if made is None else columns.of_made(made.sources)
        evaluation = evaluation_prices(0, self.ensemble.n_features)
        return replace(self, costs=costs, evaluation=evaluation, charges=charges_of(self.ensemble, costs))

    def only_tree(self, t: int) -> Self:
        """The usage of one tree alone.

        Raises
        ------
        InvalidInputError
            if there is no tree t.
        """
        ensemble = self.ensemble.only_tree(t)
        weights = self.every_weight
        return self.build(ensemble, self.costs, self.X, sample_weight=weights, evaluation_cost=list(self.evaluation))

    @property
    def every_weight(self) -> NDArray[np.float64]:
        """The weights of all rows of `X`, also of those of weight 0."""
        weights = np.zeros(n_examples(self.X))
        weights[self.rows] = self.weights
        return weights

    def largest_row_cost(self, kept: NDArray[np.bool_]) -> float:
        """The most that (3) can be for any row: all items of the kept splits, and in each tree the dearest way to a leaf."""
        needed = {m for f in np.unique(self.ensemble.feature[kept]).tolist() for m in self.costs.needs[f]}
        items = sum(float(self.costs.prices[m]) for m in sorted(needed) if not self.costs.paid_once[m])
        if not self.split_price.any():
            return items
        below = np.zeros(self.ensemble.n_nodes)
        _climb(kept, self.split_price, self.ensemble.left, self.ensemble.right, below)
        return items + float(below[self.ensemble.roots].sum())


@njit(cache=True)
def _climb(kept, price, left, right, below):  # type: ignore[no-untyped-def]
    """The dearest way from each node down to a leaf; children stand behind their parents."""
    for h in range(kept.shape[0] - 1, -1, -1):
        if kept[h]:
            below[h] = price[h] + max(below[left[h]], below[right[h]])


def _routed_sample(
    ensemble: Ensemble, costs: CostItems, X: object, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.float64], Routing]:
    """The rows of positive weight, their weights, and their routing."""
    X32 = features_of(ensemble, X)
    omega = check_weights(sample_weight, X32.shape[0], "sample_weight", X)
    rows = np.flatnonzero(omega > 0)
    check_size(costs, rows.size)
    return rows, omega[rows], route(ensemble, X32 if len(rows) == len(X32) else X32[rows])
