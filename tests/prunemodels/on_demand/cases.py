"""Random forests with values and prices of every kind, small trees by hand, and a slow walk that says what each row pays."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from formulations import CostItems, Ensemble
from tests.instances import Node, ensemble_of, random_items, random_tree


@dataclass
class Case:
    """A forest, its prices, and rows."""

    trees: Ensemble
    costs: CostItems
    evaluation: list[Fraction]
    X: NDArray[np.float32]


def with_values(trees: Ensemble, value: NDArray[np.float64], task: Literal["classification", "regression"]) -> Ensemble:
    """The same trees with other predictions."""
    k = value.shape[1]
    classes = np.array([f"class {c}" for c in range(k)]) if task == "classification" else None
    return replace(trees, value=value, task=task, classes=classes, missing_left=trees.missing_left.copy())


def random_case(seed: int, *, regression: bool = False, ties: bool = False) -> Case:
    """One to five small trees on one to four features; items plain, grouped, shared, free or once for all; NaN among the values.

    The values of inner nodes have nothing to do with those below, as after honest or weighted fitting. With `ties`, values are
    thirds, so that classes tie often.
    """
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 5))
    bare, _ = ensemble_of(
        [random_tree(rng, n_features, int(rng.integers(0, 7)), 1) for _ in range(rng.integers(1, 6))], n_features
    )
    if regression:
        value = rng.normal(size=(bare.n_nodes, 1)) * 10.0 ** rng.integers(-3, 4)
    else:
        k = int(rng.integers(1, 5))
        parts = rng.integers(0, 4, (bare.n_nodes, k)) + 1e-12 if ties else rng.random((bare.n_nodes, k)) ** rng.integers(1, 20)
        value = parts / parts.sum(axis=1, keepdims=True)
    trees = with_values(bare, value, "regression" if regression else "classification")
    trees.missing_left[:] = rng.random(trees.n_nodes) < 0.5
    X = rng.integers(0, 5, (int(rng.integers(1, 12)), n_features)).astype(np.float32)
    X[rng.random(X.shape) < 0.15] = np.nan
    evaluation = (
        [Fraction(int(a), 10) for a in rng.integers(0, 3, n_features)] if rng.random() < 0.5 else [Fraction(0)] * n_features
    )
    return Case(trees, random_items(rng, n_features), evaluation, X)


SEEDS = st.integers(0, 2**32 - 1)


def stump(feature: int, left: tuple[float, ...], right: tuple[float, ...], root: tuple[float, ...] | None = None) -> Any:
    """One split at 0.5, as (Node, values in preorder)."""
    middle = root or tuple((a + b) / 2 for a, b in zip(left, right, strict=True))
    return Node(0, feature, 0.5, Node(0), Node(0)), [middle, left, right]


def forest_of(*stumps: Any, n_features: int, task: Literal["classification", "regression"] = "classification") -> Ensemble:
    """A forest of such trees."""
    bare, _ = ensemble_of([node for node, _ in stumps], n_features)
    return with_values(bare, np.array([v for _, values in stumps for v in values], dtype=np.float64), task)


def votes(n: int) -> Ensemble:
    """A stump for each of n features: 0 says the first class, 1 the second."""
    return forest_of(*[stump(f, (1, 0), (0, 1)) for f in range(n)], n_features=n)


def assert_same(one: Any, other: Any, *fields: str) -> None:
    """Two results have the same predictions, units, and what else is named."""
    for name in ("predictions", "units", *fields):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


Bundle = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass
class Row:
    """What one row went through."""

    orders: list[Bundle] = field(default_factory=list)
    paid: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    fell_back: bool = False

    def cost(self, costs: CostItems, evaluation: list[Fraction]) -> Fraction:
        """What the row pays by itself."""
        items = sum((costs.prices[m] for m in self.paid if not costs.paid_once[m]), Fraction(0))
        return items + sum((evaluation[f] for f in self.steps), Fraction(0))


def walk_row(trees: Ensemble, costs: CostItems, x: NDArray[np.float32], had: NDArray[np.bool_], known: set[int]) -> Row:
    """Rounds of a single row without early stopping; `had` says which features can be had."""
    tested = {int(f) for f in trees.feature if f >= 0}
    row, lost, known = Row(), set[int](), known & tested
    row.nodes = [int(r) for r in trees.roots]
    while True:
        for t in range(trees.n_trees):
            h = row.nodes[t]
            while trees.left[h] >= 0 and int(trees.feature[h]) in known:
                f = int(trees.feature[h])
                left = trees.missing_left[h] if np.isnan(x[f]) else float(x[f]) <= trees.threshold[h]
                h = int(trees.left[h] if left else trees.right[h])
                row.steps.append(f)
            row.nodes[t] = h
        waiting = {int(trees.feature[h]) for h in row.nodes if trees.left[h] >= 0} - lost
        row.fell_back = any(trees.left[h] >= 0 and int(trees.feature[h]) in lost for h in row.nodes)
        if not waiting:
            return row
        orders, taken = [], set[int]()
        for f in sorted(waiting):
            buys = set(costs.needs[f]) - set(row.paid)
            if buys & taken:
                continue
            taken |= buys
            brings = {f}
            for g in tested - known - lost:
                if set(costs.needs[g]) & buys and set(costs.needs[g]) <= set(row.paid) | buys:
                    brings.add(g)
            orders.append((tuple(sorted(buys)), tuple(sorted(brings))))
        for buys, brings in orders:
            row.orders.append((buys, brings))
            delivered = [g for g in brings if had[g]]
            row.paid += [m for m in buys if any(m in costs.needs[g] for g in delivered)]
            known |= set(delivered)
            lost |= set(brings) - set(delivered)


def mean_of(trees: Ensemble, nodes: list[int]) -> NDArray[np.float64]:
    """The mean of the nodes' values, added up in the order of the trees."""
    total = np.zeros(trees.value.shape[1])
    for h in nodes:
        total += trees.value[h]
    mean: NDArray[np.float64] = total / trees.n_trees
    return mean


def possible_nodes(trees: Ensemble, h: int, x: NDArray[np.float32], known: set[int], lost: set[int]) -> list[int]:
    """Nodes where a walk from h can still end, given what is known, whatever else comes or fails to come."""
    if trees.left[h] < 0:
        return [h]
    f = int(trees.feature[h])
    if f in lost:
        return [h]
    if f in known:
        left = trees.missing_left[h] if np.isnan(x[f]) else float(x[f]) <= trees.threshold[h]
        return possible_nodes(trees, int(trees.left[h] if left else trees.right[h]), x, known, lost)
    both = [possible_nodes(trees, int(c), x, known, lost) for c in (trees.left[h], trees.right[h])]
    return [h, *both[0], *both[1]]


class Spy:
    """An `acquire` that serves from a table, and remembers what it was asked for. Cells where `had` is false are UNAVAILABLE; the
    k-th call raises if k is in `fails`.
    """

    def __init__(self, X: NDArray[Any], had: NDArray[np.bool_] | None = None, fails: frozenset[int] = frozenset()) -> None:
        self.X, self.fails = np.asarray(X), fails
        self.had = np.ones(self.X.shape, dtype=bool) if had is None else had
        self.requests: list[Any] = []
        self.calls = 0

    def __call__(self, request: Any) -> Any:
        """Serve from the table."""
        self.calls += 1
        if self.calls - 1 in self.fails:
            raise ConnectionError("the line is dead")
        self.requests.append(request)
        where = np.ix_(request.positions, request.columns)
        return np.ma.array(self.X[where], mask=~self.had[where])

    def asked(self) -> list[tuple[int, int]]:
        """Pairs of row and feature, as they were asked for."""
        return [(int(i), int(f)) for r in self.requests for i in r.positions for f in r.columns]

    def paid(self) -> list[tuple[int, str]]:
        """Pairs of row and item, as they were named in requests."""
        return [(int(i), m) for r in self.requests for i in r.positions for m in r.items]


class Line:
    """An asynchronous `acquire` that counts who is in flight, and answers in an order of its own."""

    def __init__(self, spy, delay=lambda request: 0.0, fails=()):
        self.spy, self.delay, self.fails = spy, delay, fails
        self.now = self.most = 0
        self.begun, self.ended = [], []

    async def __call__(self, request):
        """Wait, then serve or fail."""
        self.begun.append(request.items)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(int(self.delay(request))):
                await asyncio.sleep(0)
            if request.items in self.fails:
                raise ConnectionError("the line is dead")
            return self.spy(request)
        finally:
            self.now -= 1
            self.ended.append(request.items)
