"""The instance: a forest, the errors of its nodes, and what predictions cost.

    minimise  sum_h error_h z_h  +  lam * [ (1/N) sum_m c_m sum_i omega_i w_{m,i} + (1/N) sum_h a_h |S_h| y_h ]   (OBJ)

z_h = 1 where h is a leaf after pruning, y_h = 1 where it is still a split, w_{m,i} = 1 where example i pays item m in some
tree. error_h = e_h / (T W_t). The bracket is *the cost*: per example of the cost sample, in the unit of the prices, evaluation
included. lam is error per unit of cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import CapacityOverflowError, InvalidInputError
from formulations.instance.cost_items import CostItems, Price, exact
from formulations.instance.ensemble import Ensemble
from formulations.instance.integers import Integers, to_integers
from formulations.instance.node_errors import NodeErrors
from formulations.instance.routing import Amount, Routing, as_rows, route
from formulations.instance.row_blocks import RowBlocks, row_blocks
from formulations.instance.row_order import row_order
from formulations.instance.usage import Charges, Level, UsageArcs, charges_of, count_arcs, highest_user, usage_arcs

MOST_PURCHASES = 2**31 - 1
"""Largest number of pairs of item and row that an instance may have."""


@dataclass(frozen=True, eq=False)
class PruningProblem:
    """Which splits of a forest to keep, so that error and cost are least; see (OBJ).

    Build it with `PruningProblem.build`, or from a fitted forest with `prunemodels.problem_from_forest`.

    Parameters
    ----------
    ensemble
        the trees.
    errors
        e_h and W_t of every node, each >= 0. Gains may be negative all the same: a split can be wrong more often than its
        parent on data that it was not grown on.
    costs
        items, prices, and what each feature needs.
    X
        the cost sample as it was given: a reference, not a copy.
    rows
        int64: the rows of X with positive weight; the others pay nothing and are left out of all below.
    weights
        float64, one a row of `rows`: omega_i > 0.
    evaluation
        a_f >= 0 for each feature: the price of evaluating one split on it.
    routing, charges
        who reaches which node, and what each node charges them.
    integers
        the same instance in integers, for exact arithmetic.
    """

    ensemble: Ensemble
    errors: NodeErrors
    costs: CostItems
    X: object
    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    evaluation: tuple[Fraction, ...]
    routing: Routing
    charges: Charges
    integers: Integers

    @classmethod
    def build(
        cls,
        ensemble: Ensemble,
        errors: NodeErrors,
        X: object,
        costs: CostItems,
        *,
        sample_weight: ArrayLike | None = None,
        evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
    ) -> PruningProblem:
        """Route the cost sample and set up the instance.

        Parameters
        ----------
        X
            cost sample, shape (N, n_features): a table, an array or a sparse matrix; NaN is a missing value.
        sample_weight
            shape (N,), >= 0: omega, the weight of each example in the cost. Default: 1 each.
        evaluation_cost
            a >= 0: price of evaluating one split on one example, one for all features or one for each.

        Raises
        ------
        InvalidInputError
            for sizes that do not fit each other, and for negative or non-finite numbers.
        CapacityOverflowError
            for prices or weights too far apart for 64-bit integers.
        """
        costs.check_features(ensemble.n_features)
        X32 = as_rows(X, ensemble.n_features)
        omega = check_weights(sample_weight, X32.shape[0], "sample_weight")
        rows = np.flatnonzero(omega > 0)
        check_size(costs, rows.size)
        routing = route(ensemble, X32 if len(rows) == len(X32) else X32[rows])
        evaluation = evaluation_prices(evaluation_cost, ensemble)
        return cls.routed(ensemble, errors, costs, X, rows, omega[rows], evaluation, routing)

    @classmethod
    def routed(
        cls,
        ensemble: Ensemble,
        errors: NodeErrors,
        costs: CostItems,
        X: object,
        rows: NDArray[np.int64],
        weights: NDArray[np.float64],
        evaluation: tuple[Fraction, ...],
        routing: Routing,
    ) -> PruningProblem:
        """The instance of rows that are routed already; see the class for what each is."""
        integers = to_integers(ensemble, errors, costs, weights, evaluation, routing)
        return cls(ensemble, errors, costs, X, rows, weights, evaluation, routing, charges_of(ensemble, costs), integers)

    def only_tree(self, t: int) -> PruningProblem:
        """The instance of one tree alone: its errors count in full, its users pay for themselves.

        Raises
        ------
        InvalidInputError
            if there is no tree t.
        """
        ensemble = self.ensemble.only_tree(t)
        weight = np.zeros(n_examples(self.X))
        weight[self.rows] = self.weights
        errors = self.errors.only_tree(self.ensemble, t)
        return PruningProblem.build(
            ensemble, errors, self.X, self.costs, sample_weight=weight, evaluation_cost=list(self.evaluation)
        )

    @cached_property
    def node_error(self) -> NDArray[np.float64]:
        """error_h of every node, shape (n,), in the units of (OBJ)."""
        return self.errors.per_node(self.ensemble)

    @cached_property
    def gain(self) -> NDArray[np.float64]:
        """g_h = error_h - error_left - error_right at splits, 0 at leaves; may be negative. Shape (n,)."""
        return self.ensemble.gains(self.node_error)

    @cached_property
    def splits(self) -> NDArray[np.int32]:
        """The internal nodes, ascending."""
        return np.flatnonzero(self.ensemble.is_split).astype(np.int32)

    @property
    def n_rows(self) -> int:
        """Examples of positive weight in the cost sample."""
        return self.routing.n_rows

    @property
    def total_weight(self) -> float:
        """N, the weight of the cost sample."""
        return float(self.weights.sum())

    @cached_property
    def arcs_per_node(self) -> NDArray[np.int64]:
        """Usage arcs of each node, shape (n,)."""
        return count_arcs(self.charges, self.routing, self.costs.paid_once)

    @cached_property
    def n_usage_arcs(self) -> int:
        """Usage arcs of the whole instance: how large its network is."""
        return int(self.arcs_per_node.sum())

    @property
    def n_purchases(self) -> int:
        """Numbers that `UsageArcs.head` can take: M N + M."""
        return self.costs.n_items * (self.n_rows + 1)

    @cached_property
    def node_weight(self) -> NDArray[np.float64]:
        """|S_h| of every node: the weight of the examples that reach it. Shape (n,)."""
        return self.routing.node_sums(self.ensemble, self.weights)

    @cached_property
    def evaluation_price(self) -> NDArray[np.float64]:
        """a_f |S_h| / N of every split: what keeping it adds to the evaluation cost. Shape (n,)."""
        a = np.array([float(x) for x in self.evaluation])
        if not a.any():
            return np.zeros(self.ensemble.n_nodes)
        price = a[self.ensemble.feature] * self.node_weight / self.total_weight
        return np.where(self.ensemble.is_split, price, 0.0)

    @cached_property
    def row_blocks(self) -> RowBlocks:
        """The routing, cut into blocks of rows that fit a cache; 2 bytes for each row and tree, made when first asked for."""
        return row_blocks(self.routing, self.ensemble.tree_of, rows=row_order(self.routing, self.ensemble))

    def usage_arcs(self, nodes: NDArray[np.int32] | None = None) -> UsageArcs:
        """Usage arcs of the given splits (default: all), in canonical order."""
        return usage_arcs(
            self.charges,
            self.routing,
            self.ensemble.tree_of,
            self.costs.paid_once,
            self.splits if nodes is None else nodes,
        )

    def highest_user(self, nodes: NDArray[np.int32], level: NDArray[Level]) -> NDArray[Level]:
        """The highest level of the given splits that need a purchase, -1 where none does; numbered as in `UsageArcs`."""
        return highest_user(self.charges, self.routing, self.ensemble.tree_of, self.costs.paid_once, nodes, level)

    def paid_by(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which purchases the kept splits need; bool, numbered as in `UsageArcs`. `kept` is closed under parents."""
        highest = self.highest_user(np.flatnonzero(kept).astype(np.int32), kept.astype(np.int8))
        return np.greater(highest, 0, out=highest.view(np.bool_))  # in its place: there may be billions

    def purchase_price(self) -> NDArray[np.int64]:
        """Integer price of every purchase, in the numbering of `UsageArcs`. Shape (M N + M,)."""
        ints = self.integers
        return self._by_purchase(ints.price, ints.weight, ints.price * ints.weight.sum())

    def real_purchase_price(self) -> NDArray[np.float64]:
        """What each purchase adds to the cost, c_m omega_i / N, or c_m if paid once for all; numbered as in `UsageArcs`."""
        return self._by_purchase(self.costs.price / self.total_weight, self.weights, self.costs.price)

    def _by_purchase(self, per_row: NDArray[Amount], weight: NDArray[Amount], for_all: NDArray[Amount]) -> NDArray[Amount]:
        """Prices in the numbering of `UsageArcs`: items paid by each row, times its weight; then those paid once for all."""
        once = self.costs.paid_once
        return np.concatenate([np.outer(np.where(once, 0, per_row), weight).ravel(), np.where(once, for_all, 0)])

    def __repr__(self) -> str:
        return f"PruningProblem({self.ensemble!r}, {self.n_rows:,} cost rows, {self.n_usage_arcs:,} usage arcs)"


def n_examples(X: Any) -> int:
    """Rows of a table, an array or a sparse matrix."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def check_size(costs: CostItems, n_rows: int, source: str = "X") -> None:
    """Purchases are numbered in int32: half the memory of int64, and enough for 2 * 10^9 pairs of item and row."""
    if costs.n_items * (n_rows + 1) > MOST_PURCHASES:
        raise CapacityOverflowError(
            f"{source} has {n_rows:,} rows and costs {costs.n_items:,} items: {costs.n_items * n_rows:,} possible purchases, "
            f"{MOST_PURCHASES:,} can be numbered; give a smaller cost sample"
        )


def check_weights(weights: ArrayLike | None, n_rows: int, name: str) -> NDArray[np.float64]:
    """Example weights as float64, one each if None; refuses negative, non-finite, or all-zero ones."""
    if weights is None:
        return np.ones(n_rows)
    try:
        w = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} is not numeric ({error}); give one number >= 0 an example") from error
    if w.shape != (n_rows,):
        raise InvalidInputError(f"{name} has shape {w.shape}, there are {n_rows} examples: give one weight each")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0)))
    if bad.size:
        raise InvalidInputError(f"{name}[{bad[0]}] is {w[bad[0]]}; weights must be finite and >= 0")
    if not w.any():
        raise InvalidInputError(f"{name} is 0 everywhere: no example would count")
    return w


def evaluation_prices(cost: Price | Sequence[Price] | NDArray[np.float64], ensemble: Ensemble) -> tuple[Fraction, ...]:
    """a_f as exact fractions, one a feature."""
    if np.ndim(cost) == 0:  # type: ignore[arg-type]
        return (exact(cost, "evaluation_cost"),) * ensemble.n_features
    prices = list(cost)  # type: ignore[arg-type]
    if len(prices) != ensemble.n_features:
        raise InvalidInputError(
            f"evaluation_cost has {len(prices)} prices, the forest was trained on {ensemble.n_features} features"
        )
    return tuple(exact(a, f"evaluation_cost[{f}]") for f, a in enumerate(prices))
