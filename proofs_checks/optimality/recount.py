"""The instance, built a second time, in integers of its own, from its trees, rows, prices, weights and errors alone.

    error of node h  =  error[h] * error_unit                                                                             (1)
    cost of purchase (m, i)  =  price[m] * weight[i] * cost_unit,   paid once for all:  price[m] * total * cost_unit       (2)
    cost of evaluating split h  =  evaluation[h] * cost_unit                                                              (3)

Nothing is rounded: units are the common denominators, and integers are as long as they have to be. Nothing of the solvers is used
here, nor the instance's own routing, usage arcs or integers: rows are sent down the trees by their thresholds again.

Node by node, a parent's rows are divided among its children:

    rows of h = order[tree of h, start_h : stop_h],   those of the left child first                                        (4)

That keeps the rows of one leaf ascending, and leaves in the order of a depth-first walk: the order in which certificates store
their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent
from formulations.instance.problem import PruningProblem
from formulations.sparse_arrays import check_sparse, dense_array
from proofs_checks.verdict import DEFAULTS


class Refuted(Exception):  # noqa: N818 (not an error: the answer no)
    """The claim is false; the message says where. Whatever reads a certificate in this folder raises it."""


def shown(number: Fraction) -> str:
    """A fraction as text: as a float, or as a power of ten where it is too large for one."""
    try:
        return repr(float(number))
    except OverflowError:
        return f"about 10^{len(str(int(abs(number)))) - 1}"


@dataclass(frozen=True, eq=False)
class Segment:
    """The usage arcs of one split and one item: `first` to `last` of all arcs of the splits asked for, in canonical order.

    `purchases`: what they buy, numbered as in `formulations.instance.usage_arcs.UsageArcs`.
    """

    split: int
    item: int
    purchases: NDArray[np.int64]
    first: int
    last: int


class Recount:
    """The instance by (1) to (3), with a cost sample X if that of the problem is missing or not to be trusted.

    InvalidInputError is raised for data that no instance can have: a table of another shape, weights or errors that are no
    numbers; Refuted where the rows do not go down the trees as the problem's routing has it, since certificates store a number
    for each usage arc in that order.
    """

    def __init__(self, problem: PruningProblem, X: Any = None) -> None:
        self.problem, self.ensemble, self.costs = problem, problem.ensemble, problem.costs
        self.routes = Routes(problem.ensemble, cost_rows(problem, X))
        self.n_rows = self.routes.n_rows
        _check_routing(self.routes, problem)
        self.n_purchases = self.costs.n_items * (self.n_rows + 1)
        self.priced = [p > 0 for p in self.costs.prices]
        self.once = self.costs.paid_once
        # (1) to (3)
        self.error, self.error_unit = _errors(problem)
        self.weight, self.total = _weights(problem)
        self.price, evaluation, price_unit = _prices(problem)
        self.cost_unit = price_unit / self.total
        reach = self.routes.node_sums(self.weight) if any(evaluation) else [0] * self.ensemble.n_nodes
        rate = [evaluation[f] if f >= 0 else 0 for f in self.ensemble.feature.tolist()]
        self.evaluation = [a * w if a else 0 for a, w in zip(rate, reach, strict=True)]
        self.left: list[int] = self.ensemble.left.tolist()
        self.right: list[int] = self.ensemble.right.tolist()
        self.parent: list[int] = self.ensemble.parent.tolist()

    @cached_property
    def splits(self) -> list[int]:
        """All splits, parents before children."""
        return [h for h, child in enumerate(self.left) if child >= 0]

    def gain(self, h: int) -> int:
        """error_h - error_left - error_right, in `error_unit`."""
        return self.error[h] - self.error[self.left[h]] - self.error[self.right[h]]

    def roots_error(self) -> int:
        """Error of the forest of single leaves, in `error_unit`."""
        return sum(self.error[int(r)] for r in self.ensemble.roots)

    @cached_property
    def largest_error(self) -> Fraction:
        """What the error of no pruning exceeds: that of the forest of single leaves and all losses."""
        return (self.roots_error() - sum(min(0, self.gain(h)) for h in self.splits)) * self.error_unit

    def float_error(self, number: Fraction) -> Fraction:
        """How far a float that stands for this error, value or bound may be from it, in the units of (OBJ)."""
        return DEFAULTS.precision * self.largest_error + DEFAULTS.float_rounding * abs(number)

    @cached_property
    def charged_items(self) -> dict[int, list[int]]:
        """For every split the items that have a price and that its rows meet first there, as its feature lists them."""
        needs = [sum(1 << m for m in items) for items in self.costs.needs]
        feature = self.ensemble.feature.tolist()
        met = [0] * self.ensemble.n_nodes  # items as bits
        charged: dict[int, list[int]] = {}
        for h in self.splits:
            above = self.parent[h]
            met[h] = met[above] | needs[feature[above]] if above >= 0 else 0
            charged[h] = [m for m in self.costs.needs[feature[h]] if self.priced[m] and not met[h] >> m & 1]
        return charged

    @cached_property
    def charging_splits(self) -> dict[int, NDArray[np.int64]]:
        """For every item the splits of `charged_items` that have it, ascending."""
        charging: dict[int, list[int]] = {m: [] for m in range(self.costs.n_items)}
        for h, items in self.charged_items.items():
            for m in items:
                charging[m].append(h)
        return {m: np.array(splits, dtype=np.int64) for m, splits in charging.items()}

    def users(self, item: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The usage arcs of an item, tree by tree: their splits, and the places of their purchases in `by_item`."""
        splits = self.charging_splits[item]
        if self.once[item]:
            yield splits, np.zeros_like(splits)
            return
        tree = self.ensemble.tree_of
        for mine in np.split(splits, np.flatnonzero(np.diff(tree[splits])) + 1) if splits.size else []:
            size = self.routes.stop[mine] - self.routes.start[mine]
            at = np.arange(size.sum()) + np.repeat(self.routes.start[mine] - np.cumsum(size) + size, size)
            yield np.repeat(mine, size), self.routes.order[tree[mine[0]]][at].astype(np.int64)

    def purchases(self, h: int, item: int) -> NDArray[np.int64]:
        """The purchases of an item by the rows that reach h, or the one for all, in the numbering of usage arcs."""
        if self.once[item]:
            return np.array([self.costs.n_items * self.n_rows + item])
        numbers: NDArray[np.int64] = self.routes.rows(h).astype(np.int64) + item * self.n_rows
        return numbers

    def buy(self, bought: NDArray[np.bool_], h: int) -> None:
        """Mark the purchases that split h needs; bool, shape (M N + M,)."""
        for m in self.charged_items[h]:
            if self.once[m]:
                bought[self.by_item(m)] = True
            else:
                bought[self.by_item(m)][self.routes.rows(h)] = True

    def segments(self, nodes: list[int] | None = None) -> Iterator[Segment]:
        """The usage arcs of some splits (default: all) in canonical order."""
        first = 0
        for h in self.splits if nodes is None else nodes:
            for m in self.charged_items[h]:
                bought = self.purchases(h, m)
                yield Segment(h, m, bought, first, first + bought.size)
                first += bought.size

    def by_item(self, item: int) -> slice:
        """The purchases of an item."""
        if self.once[item]:
            return slice(self.costs.n_items * self.n_rows + item, self.costs.n_items * self.n_rows + item + 1)
        return slice(item * self.n_rows, (item + 1) * self.n_rows)

    def prices(self, item: int) -> NDArray[np.object_]:
        """What the purchases of an item cost by (2), in `cost_unit`, as Python's integers; aligned with `by_item`."""
        if self.once[item]:
            return np.array([self.price[item] * self.total], dtype=object)
        prices: NDArray[np.object_] = self.weight.astype(object) * self.price[item]
        return prices

    def distinct_prices(self, item: int) -> tuple[list[int], NDArray[np.intp]]:
        """The different prices of an item's purchases, in `cost_unit`, and which of them each purchase has."""
        if self.once[item]:
            return [self.price[item] * self.total], np.zeros(1, dtype=np.intp)
        weights, place = self._distinct_weights
        return [self.price[item] * weight for weight in weights], place

    @cached_property
    def _distinct_weights(self) -> tuple[list[int], NDArray[np.intp]]:
        weights, place = np.unique(self.weight, return_inverse=True)
        return weights.tolist(), place

    def name(self, purchase: int) -> str:
        """A purchase in words."""
        item, row = divmod(purchase, self.n_rows)
        if item >= self.costs.n_items:
            return f"{self.costs.names[purchase - self.costs.n_items * self.n_rows]!r} for all rows"
        return f"{self.costs.names[item]!r} by row {self.problem.usage.rows[row]}"

    def cost_of(self, bought: NDArray[np.bool_]) -> int:
        """Sum of (2) over some purchases; bool, shape (M N + M,)."""
        total = 0
        for m in range(self.costs.n_items):
            mine = bought[self.by_item(m)]
            if self.priced[m] and mine.any():
                total += self.price[m] * (self.total if self.once[m] else int(self.weight[mine].sum()))
        return total

    def objective(self, kept: NDArray[Any]) -> tuple[Fraction, Fraction]:
        """Error and cost of a pruning."""
        n = self.ensemble.n_nodes
        if not isinstance(kept, np.ndarray) or kept.shape != (n,) or kept.dtype != np.bool_:
            raise Refuted(f"the pruning is no array of {n} times yes or no, one for each node")
        stays = kept.tolist()
        error = cost = 0
        bought = np.zeros(self.n_purchases, dtype=bool)
        for h in range(n):
            above = self.parent[h]
            if stays[h]:
                if self.left[h] < 0 or (above >= 0 and not stays[above]):
                    raise Refuted(f"node {h} is kept, but it is a leaf or its parent is not kept")
                cost += self.evaluation[h]
                self.buy(bought, h)
            elif above < 0 or stays[above]:
                error += self.error[h]
        return error * self.error_unit, (cost + self.cost_of(bought)) * self.cost_unit


def _check_routing(routes: Routes, problem: PruningProblem) -> None:
    """Check that the problem's routing is the one recomputed from its rows."""
    theirs = problem.usage.routing
    if theirs.order.shape != routes.order.shape or not np.array_equal(theirs.order, routes.order):
        raise Refuted(
            "the rows do not go down the trees as the problem's routing has it: X, a threshold or the routing was changed"
        )
    for mine, stored in ((routes.start, theirs.start), (routes.stop, theirs.stop)):
        if not np.array_equal(mine, stored):
            h = int(np.argmax(mine != stored)) if mine.shape == stored.shape else 0
            raise Refuted(
                f"other rows reach node {h} than the problem's routing has it: X, a threshold or the routing was changed"
            )


def _errors(problem: PruningProblem) -> tuple[list[int], Fraction]:
    """(1); a float counts as the binary fraction that it is."""
    parts = [_component(c, problem) for c in problem.errors.components]
    denominator = math.lcm(*(f.denominator for _, factors in parts for f in factors))
    error = [0] * problem.ensemble.n_nodes
    deepest = max(shift for (_, shift), _ in parts)
    for (numerators, shift), factors in parts:
        per_tree = [f.numerator * (denominator // f.denominator) << (deepest - shift) for f in factors]
        for h, t in enumerate(problem.ensemble.tree_of.tolist()):
            error[h] += numerators[h] * per_tree[t]
    return error, Fraction(1, denominator << deepest)


def _component(c: ErrorComponent, problem: PruningProblem) -> tuple[tuple[list[int], int], list[Fraction]]:
    """e_h as integers and the power of two that they were multiplied with, and share / (T W_t) of every tree."""
    if not (np.isfinite(c.e).all() and np.isfinite(c.weight).all() and (c.weight > 0).all()):
        raise InvalidInputError(f"the errors ({c.source}) or their weights are not all finite; give e_h >= 0 and W_t > 0")
    ratios = [float(e).as_integer_ratio() for e in c.e]
    shift = max(d for _, d in ratios).bit_length() - 1
    factors = [c.share / (problem.ensemble.n_trees * Fraction(float(w))) for w in c.weight]
    return ([n * (1 << shift) // d for n, d in ratios], shift), factors


def _weights(problem: PruningProblem) -> tuple[NDArray[Any], int]:
    """The rows' weights over their common denominator, int64 where sums fit it; and their sum."""
    if problem.usage.weights.shape != problem.usage.rows.shape or not (problem.usage.weights > 0).all():
        raise InvalidInputError(
            f"{problem.usage.weights.size} weights for {problem.usage.rows.size} rows; give one above 0 for each"
        )
    values, place = np.unique(problem.usage.weights, return_inverse=True)
    decimals = [exact(float(v), "a row's weight") for v in values]
    denominator = math.lcm(*(d.denominator for d in decimals))
    integers = [int(d * denominator) for d in decimals]
    total = sum(w * int(k) for w, k in zip(integers, np.bincount(place), strict=True))
    return np.array(integers, dtype=np.int64 if total < DEFAULTS.int64_safe else object)[place], total


def _prices(problem: PruningProblem) -> tuple[list[int], list[int], Fraction]:
    """Prices of the items and of evaluating each feature over one common denominator."""
    real = [exact(p, "a price") for p in (*problem.costs.prices, *problem.usage.evaluation)]
    denominator = math.lcm(*(p.denominator for p in real))
    integers = [int(p * denominator) for p in real]
    return integers[: problem.costs.n_items], integers[problem.costs.n_items :], Fraction(1, denominator)


class Routes:
    """Which rows reach which node, by (4): `order` is int32, shape (T, N), `start` and `stop` int64, shape (n,)."""

    def __init__(self, ensemble: Ensemble, rows: NDArray[np.float32]) -> None:
        self.ensemble, self.n_rows = ensemble, rows.shape[0]
        self.order = np.tile(np.arange(self.n_rows, dtype=np.int32), (ensemble.n_trees, 1))
        self.start = np.zeros(ensemble.n_nodes, dtype=np.int64)
        self.stop = np.full(ensemble.n_nodes, self.n_rows, dtype=np.int64)
        for h in np.flatnonzero(ensemble.is_split):
            reaching = self.rows(h)
            x = rows[reaching, ensemble.feature[h]].astype(np.float64)
            goes_left = np.where(np.isnan(x), ensemble.missing_left[h], x <= ensemble.threshold[h])
            left, right, first = ensemble.left[h], ensemble.right[h], self.start[h]
            reaching[:] = np.concatenate([reaching[goes_left], reaching[~goes_left]])
            self.start[left], self.stop[right] = first, self.stop[h]
            self.stop[left] = self.start[right] = first + np.count_nonzero(goes_left)

    def rows(self, h: int | np.integer[Any]) -> NDArray[np.int32]:
        """The rows that reach node h: a view."""
        part: NDArray[np.int32] = self.order[self.ensemble.tree_of[h], self.start[h] : self.stop[h]]
        return part

    def node_sums(self, amounts: NDArray[Any]) -> list[int]:
        """Sum of the rows' integer amounts at every node."""
        sums: list[int] = []
        for t in range(self.ensemble.n_trees):
            nodes = self.ensemble.nodes_of(t)
            running = np.concatenate([np.zeros(1, dtype=amounts.dtype), np.cumsum(amounts[self.order[t]])])
            sums += (running[self.stop[nodes]] - running[self.start[nodes]]).tolist()
        return sums


def cost_rows(problem: PruningProblem, X: Any = None) -> NDArray[np.float32]:
    """The rows of the cost sample that count, as float32: of X, or of the table that the problem refers to."""
    table = problem.X if X is None else X
    if table is None:
        raise InvalidInputError("the problem carries no rows; give the cost sample as X")
    check_sparse(table, "X")
    made = problem.ensemble.made
    given: Any = table if made is None else made.features(table)
    given = dense_array(given, "X") if issparse(given) else given
    # the table as float32
    try:
        with np.errstate(over="ignore"):
            if hasattr(given, "iloc"):
                given = given.to_numpy(dtype=np.float32, na_value=np.nan)
            rows = np.asarray(given).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"X is not a table of numbers ({error}); give the cost sample") from error
    # a column for each feature, and the rows that the problem counts
    n_features = problem.ensemble.n_features
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise InvalidInputError(f"X has shape {rows.shape}, the trees ask for {n_features} features: give one column for each")
    chosen = problem.usage.rows
    if chosen.size == 0 or int(chosen.min()) < 0 or int(chosen.max()) >= rows.shape[0]:
        asked = f"rows up to {chosen.max()}" if chosen.size else "no row"
        raise InvalidInputError(f"X has {rows.shape[0]} rows, the problem counts {asked} of them; give the cost sample as it was")
    if X is not None and problem.X is not None and _length(problem.X) != rows.shape[0]:
        raise InvalidInputError(
            f"X has {rows.shape[0]} rows, the problem's cost sample has {_length(problem.X)}; give the same rows"
        )
    return rows[chosen]


def _length(table: Any) -> int:
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)
