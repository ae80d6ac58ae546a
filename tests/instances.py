"""Small instances for all tests: nested nodes to arrays, seeded random forests and precedence graphs, costs of a graph's arcs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations import CostItems, Ensemble, ErrorComponent, NodeErrors, ParametricClosure, PruningProblem
from formulations.instance.cost_items import Price, exact
from formulations.programs.matrix import evaluation_above
from formulations.programs.shortest_path import TreeNetwork


@dataclass
class Node:
    """A split on `feature` at `threshold`, or, without children, a leaf."""

    error: float
    feature: int = -1
    threshold: float = 0.5
    left: Node | None = None
    right: Node | None = None


def ensemble_of(trees: list[Node], n_features: int) -> tuple[Ensemble, NDArray[np.float64]]:
    """Arrays of nested nodes, numbered in preorder, and their errors."""
    rows: list[tuple[int, int, int, float, float]] = []
    starts = [0]

    def add(node: Node) -> int:
        h = len(rows)
        rows.append((-1, -1, node.feature, node.threshold, node.error))
        if node.left is not None and node.right is not None:
            left = add(node.left)
            right = add(node.right)
            rows[h] = (left, right, *rows[h][2:])
        return h

    for tree in trees:
        add(tree)
        starts.append(len(rows))
    left, right, feature, threshold, error = (np.array(column) for column in zip(*rows, strict=True))
    ensemble = Ensemble(
        np.array(starts, dtype=np.int64),
        left.astype(np.int32),
        right.astype(np.int32),
        feature.astype(np.int32),
        threshold.astype(np.float64),
        np.zeros(len(rows), dtype=bool),
        np.ones((len(rows), 1)),
        n_features,
        "classification",
        np.array([0]),
    )
    return ensemble, error.astype(np.float64)


def plain_errors(ensemble: Ensemble, error: NDArray[np.float64], weight: float) -> NodeErrors:
    """One component with the same W_t for every tree."""
    return NodeErrors((ErrorComponent(error, np.full(ensemble.n_trees, weight)),))


def problem_of(
    trees: list[Node],
    costs: CostItems | Sequence[float | Fraction],
    rows: ArrayLike | None = None,
    *,
    weight: float = 10.0,
    **options: Any,
) -> PruningProblem:
    """The problem of nested trees: `costs` are items, or prices by feature; the cost sample is one row of zeros unless given."""
    items = costs if isinstance(costs, CostItems) else CostItems.plain(costs)
    X = np.zeros((1, len(items.needs))) if rows is None else np.asarray(rows)
    ensemble, error = ensemble_of(trees, len(items.needs))
    return PruningProblem.build(ensemble, plain_errors(ensemble, error, weight), X, items, **options)


def random_tree(rng: np.random.Generator, n_features: int, splits: int, largest_error: int) -> Node:
    """A tree of any shape with the given number of splits; errors are unrelated, so gains may be negative."""
    error = float(rng.integers(0, largest_error + 1))
    if splits == 0:
        return Node(error)
    below = splits - 1
    left = int(rng.integers(0, below + 1))
    return Node(
        error,
        int(rng.integers(n_features)),
        float(rng.integers(0, 4)) + 0.5,
        random_tree(rng, n_features, left, largest_error),
        random_tree(rng, n_features, below - left, largest_error),
    )


def random_items(rng: np.random.Generator, n_features: int) -> CostItems:
    """Plain, grouped, shared or once-for-all items; some are free."""
    kind = rng.integers(4)
    if kind == 0:
        return CostItems.plain([int(p) for p in rng.integers(0, 4, n_features)])
    n_items = int(rng.integers(1, n_features + 2))
    names = [f"item{m}" for m in range(n_items)]
    prices = {name: float(rng.choice([0, 0.5, 1, 2.25, 7.27])) for name in names}
    most = 1 if kind == 1 else 2
    needs = [list(rng.choice(names, size=min(n_items, int(rng.integers(1, most + 1))), replace=False)) for _ in range(n_features)]
    once = [n for n in names if kind == 3 and rng.random() < 0.4]
    return CostItems.from_items(prices, needs, once)


def random_problem(seed: int, *, rounded: bool = False, whole_prices: bool = False) -> PruningProblem:
    """One to three small trees with everything that an instance can have.

    Negative gains, free items, nodes that no cost row reaches, evaluation prices, weights, ties; trees of a single leaf. With
    `rounded`, errors, prices and weights are real numbers, so that the instance does not fit integers; with `whole_prices`
    errors alone.
    """
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 5))
    n_trees = int(rng.integers(1, 4))
    trees = [random_tree(rng, n_features, int(rng.integers(0, 6)), int(rng.choice([1, 3, 20]))) for _ in range(n_trees)]
    ensemble, error = ensemble_of(trees, n_features)
    if rng.random() < 0.6:  # honest errors: a split gains what was drawn for it, and never loses
        for h in reversed(range(ensemble.n_nodes)):
            if ensemble.left[h] >= 0:
                error[h] += error[ensemble.left[h]] + error[ensemble.right[h]]
    if rounded:
        error = error * rng.uniform(1, 1.5) + np.where(ensemble.left >= 0, rng.random(len(error)), 0.0)
    n_rows = int(rng.integers(1, 9))
    x = rng.integers(0, 5, (n_rows, n_features)).astype(float)
    weights = None if rng.random() < 0.6 else rng.choice([0.0, 1.0, 2.0, 0.5], n_rows)
    if weights is not None and not weights.any():
        weights[0] = 1.0
    evaluation = 0 if rng.random() < 0.5 else [float(a) for a in rng.choice([0, 0.1, 1], n_features)]
    errors, items = plain_errors(ensemble, error, float(rng.integers(1, 30))), random_items(rng, n_features)
    if rounded and not whole_prices:
        real = real_prices(rng, items.n_items)
        items = replace(items, prices=tuple(exact(real[m], "a price") if p else Fraction(0) for m, p in enumerate(items.prices)))
        weights = real_weights(rng, n_rows)
    return PruningProblem.build(ensemble, errors, x, items, sample_weight=weights, evaluation_cost=evaluation)


def real_prices(rng: np.random.Generator, count: int) -> list[float]:
    """In cents, roots of integers, lognormal, or over ten decades."""
    kind = rng.integers(4)
    if kind == 0:
        return [float(p) for p in rng.uniform(0.01, 20, count).round(2)]
    if kind == 1:
        return [float(p) for p in np.sqrt(rng.integers(1, 30, count))]
    return [float(p) for p in (rng.lognormal(0, 1.5, count) if kind == 2 else 10.0 ** rng.uniform(-7, 3, count))]


def real_weights(rng: np.random.Generator, count: int) -> NDArray[np.float64] | None:
    """None, uniform, lognormal, balanced by group, thirds, some of them 0, or one far above all others."""
    kind = rng.integers(7)
    weights: NDArray[np.float64] = rng.random(count) + 1e-6 if kind % 2 else rng.lognormal(0, 1.5, count)
    if kind == 0:
        return None
    if kind == 3:
        _, group, size = np.unique(rng.integers(0, 3, count), return_inverse=True, return_counts=True)
        weights = count / (len(size) * size[group])
    elif kind == 4:
        weights = rng.integers(1, 7, count) / 3
    elif kind == 5:
        weights[1:] *= rng.random(count - 1) < 0.6
    elif kind == 6:
        weights[rng.integers(count)] = 1e12
    return weights


def with_usage(problem: PruningProblem, **changes: Any) -> PruningProblem:
    """The problem with other fields in its usage; errors and integers stay as they are."""
    return replace(problem, usage=replace(problem.usage, **changes))


@dataclass(frozen=True, eq=False)
class Known:
    """An instance, its exact gains and prices, and all its closures as rows of yes and no."""

    problem: ParametricClosure
    gain: list[Fraction]
    price: list[Fraction]
    base_error: Fraction
    base_cost: Fraction

    def closures(self) -> list[list[bool]]:
        n, arcs = self.problem.n, list(zip(self.problem.tail.tolist(), self.problem.head.tolist(), strict=True))
        every = ([bool(m >> v & 1) for v in range(n)] for m in range(2**n))
        return [y for y in every if all(y[v] for u, v in arcs if y[u])]

    def error(self, kept: list[bool]) -> Fraction:
        return self.base_error - sum((g for g, y in zip(self.gain, kept, strict=True) if y), Fraction(0))

    def cost(self, kept: list[bool]) -> Fraction:
        return self.base_cost + sum((p for p, y in zip(self.price, kept, strict=True) if y), Fraction(0))

    def smallest_optimum(self, lam: Fraction) -> list[bool]:
        return min(self.closures(), key=lambda y: (self.error(y) + lam * self.cost(y), sum(y)))


def random_known(seed: int) -> Known:
    """Up to 9 nodes; gains and prices are often 0 or equal, tenths in even seeds, counts of thirds and sevenths in odd ones."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    name = rng.permutation(n)
    arcs = [(int(name[u]), int(name[v])) for u in range(n) for v in range(u) if rng.random() < 0.3]
    gain, price = rng.integers(-3, 5, n).tolist(), rng.integers(0, 4, n).tolist()
    units = (Fraction(1, 10), Fraction(1, 10)) if seed % 2 == 0 else (Fraction(1, 3), Fraction(1, 7))
    base = int(rng.integers(0, 20)) * units[0], int(rng.integers(0, 3)) * units[1]
    problem = ParametricClosure(
        np.array([float(g * units[0]) for g in gain]),
        np.array([float(p * units[1]) for p in price]),
        np.array([u for u, _ in arcs], dtype=np.int32),
        np.array([v for _, v in arcs], dtype=np.int32),
        float(base[0]),
        float(base[1]),
        *(() if seed % 2 == 0 else units),
    )
    return Known(problem, [g * units[0] for g in gain], [p * units[1] for p in price], *base)


def random_grid(rows: int, columns: int, seed: int = 0) -> ParametricClosure:
    """Every place requires the one above it and the one to its left; counts and cents over 50,000 examples."""
    rng = np.random.default_rng(seed)
    place = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    tail = np.concatenate([place[1:].ravel(), place[:, 1:].ravel()])
    head = np.concatenate([place[:-1].ravel(), place[:, :-1].ravel()])
    n, examples = place.size, 50_000
    gain, cents = rng.integers(-300, 400, n), rng.integers(0, 500_000, n)
    unit = Fraction(1, examples), Fraction(1, 100 * examples)
    return ParametricClosure(gain / examples, cents / 100 / examples, tail, head, 0.3, 1.0, *unit)


def closure_of(
    gain: ArrayLike, price: ArrayLike, arcs: list[tuple[int, int]], base_error: Price = 0.0, **units: Any
) -> ParametricClosure:
    """An instance by hand; arcs (u, v): u requires v."""
    tail, head = (np.array([arc[k] for arc in arcs], dtype=np.int32) for k in (0, 1))
    return ParametricClosure(np.array(gain, dtype=float), np.array(price, dtype=float), tail, head, base_error, **units)


def way(ensemble: Ensemble, root: int, x: ArrayLike, kept: NDArray[np.bool_] | None = None) -> list[int]:
    """The nodes that a row passes below a root, one by one: down to a leaf, or to the first split that is not kept."""
    row, h, nodes = np.asarray(x), int(root), [int(root)]
    while ensemble.left[h] >= 0 if kept is None else kept[h]:
        value = row[ensemble.feature[h]]
        left = ensemble.missing_left[h] if np.isnan(value) else float(value) <= ensemble.threshold[h]
        h = int((ensemble.left if left else ensemble.right)[h])
        nodes.append(h)
    return nodes


def stop_costs(problem: PruningProblem, lam: Price) -> NDArray[np.float64]:
    """What it costs to stop at h in (OBJ): error_h + lam * (what those who stop there were evaluated for). Shape (n,)."""
    return problem.node_error + float(exact(lam, "lam")) * evaluation_above(problem)


def arc_costs(network: TreeNetwork, stop_cost: NDArray[np.float64], dual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Costs of the arcs: what stopping at h costs, and the dual values that an arc (2) stands for, added up.

    Parameters
    ----------
    stop_cost
        float64, shape (n,), over all nodes of the forest.
    dual
        float64, one a usage arc of the forest, in the order of the columns that the graph was built from.
    """
    own = np.zeros(0)
    if len(network.leaves.node):
        first, last = int(network.leaves.start[0]), int(network.leaves.stop[-1])
        own = np.add.reduceat(dual[first:last], network.leaves.start - first)
    return np.concatenate([stop_cost[network.nodes], own])
