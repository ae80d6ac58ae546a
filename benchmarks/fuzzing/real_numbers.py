"""Instances whose weights, prices and errors are real numbers, as users have them: small enough to be enumerated.

Weights are uniform, lognormal, balanced, thirds, survey weights, have zeros or one of 1e12 among them, or span 24 orders of
magnitude. Prices are whole, in cents, roots of integers, span ten decades, or all that a float can hold. Errors are those of
trees of classes and of numbers, or drawn: sums of squares, and losses of boosting, whose gains may be negative.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from formulations import CostItems, ErrorComponent, NodeErrors, PruningProblem
from tests.instances import Node, ensemble_of

Rows = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Rows]


def _zeros(rng: np.random.Generator, n: int) -> Rows:
    """Some rows count nothing, the first one does."""
    weights = rng.lognormal(0, 1, n) * (rng.random(n) < 0.6)
    weights[0] += 0.25
    return weights


def _one_large(rng: np.random.Generator, n: int) -> Rows:
    weights = rng.random(n) + 1e-3
    weights[rng.integers(n)] = 1e12
    return weights


def _balanced(rng: np.random.Generator, n: int) -> Rows:
    """One over the size of the group of each row, times rows and one over the number of groups, as scikit-learn has it."""
    _, group, size = np.unique(rng.integers(0, 3, n), return_inverse=True, return_counts=True)
    balanced: Rows = n / (len(size) * size[group])
    return balanced


WEIGHTS: dict[str, Draw] = {
    "uniform": lambda rng, n: rng.random(n) + 1e-9,
    "lognormal": lambda rng, n: rng.lognormal(0, 1.5, n),
    "balanced": _balanced,
    "thirds": lambda rng, n: rng.integers(1, 7, n) / 3,
    "survey": lambda rng, n: (rng.uniform(1e3, 1e5, n) / rng.integers(1, 50, n)).round(4),
    "zeros": _zeros,
    "one of 1e12": _one_large,
    "1e-12 to 1e12": lambda rng, n: 10.0 ** rng.uniform(-12, 12, n),
}

PRICES: dict[str, Draw] = {
    "whole": lambda rng, n: rng.integers(0, 10, n).astype(float),
    "cents": lambda rng, n: rng.uniform(0, 20, n).round(2),
    "roots": lambda rng, n: np.sqrt(rng.integers(0, 30, n)),
    "thirds": lambda rng, n: rng.integers(0, 7, n) / 3,
    "ten decades": lambda rng, n: 10.0 ** rng.uniform(-7, 3, n),
    "1e-300 to 1e300": lambda rng, n: 10.0 ** rng.uniform(-300, 300, n),
}

RARE = ("1e-12 to 1e12", "1e-300 to 1e300")
"""What may be refused at the door: one instance in ten has it."""

TOGETHER = 1e16
"""Instances must be taken whose largest price times its largest weight is less than so many times the smallest, zeros aside."""


def one_of(rng: np.random.Generator, draws: dict[str, Draw]) -> str:
    """A name, seldom one of `RARE`."""
    chance = np.array([0.1 if name in RARE else 1.0 for name in draws])
    return str(rng.choice([*draws], p=chance / chance.sum()))


@dataclass(frozen=True)
class Drawn:
    """The numbers of an instance, and the call that builds it."""

    prices: list[float]
    evaluation: list[float] | float
    weights: Rows | None
    build: Callable[[], PruningProblem]
    about: str

    def wrong_refusal(self, message: str) -> Iterator[str]:
        """What is wrong with refusing these numbers: they are not far apart, or the message does not name two of them."""
        of_evaluation = self.evaluation if isinstance(self.evaluation, list) else [self.evaluation]
        prices = np.array([p for p in (*self.prices, *of_evaluation) if p > 0])
        weights = np.ones(1) if self.weights is None else self.weights[self.weights > 0]
        with np.errstate(over="ignore", under="ignore"):
            spread = (prices.max() / prices.min()) * (weights.max() / weights.min()) if prices.size else 1.0
        if spread < TOGETHER:
            yield f"refused numbers that span {spread:.1e} ({self.about}): {message}"
        told = {float(text) for text in re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", message)}
        named = [x for x in {*prices.tolist(), *weights.tolist()} if any(np.isclose(x, y, rtol=1e-4, atol=0.0) for y in told)]
        if len(named) + ("errors of" in message) < 2:
            yield f"the refusal does not name two of the numbers ({self.about}): {message}"


def drawn(rng: np.random.Generator) -> Drawn:
    """An instance of real numbers."""
    return _grown(rng) if rng.random() < 0.5 else _invented(rng)


def _grown(rng: np.random.Generator) -> Drawn:
    """One to three trees of scikit-learn on 40 rows, of classes or numbers, some with weights of their own; a few rows pay."""
    X, rows = rng.random((40, 3)).round(2), int(rng.integers(2, 14))
    score = 3 * X[:, 0] + np.sin(7 * X[:, 1]) + X[:, 2] * rng.random(40)
    leaves, seed, trees = int(rng.integers(3, 8)), int(rng.integers(2**31)), int(rng.integers(1, 4))
    kind = str(rng.choice(["squared error", "classes", "balanced", "weighted"]))
    options: dict[str, Any] = {"max_leaf_nodes": leaves, "random_state": seed}
    forest: Any
    if kind == "squared error":
        forest, y = RandomForestRegressor(trees, **options), score
    else:
        forest = RandomForestClassifier(trees, class_weight="balanced" if kind == "balanced" else None, **options)
        y = (score > np.quantile(score, 0.7)).astype(int)
    forest.fit(X, y, sample_weight=rng.lognormal(0, 1, 40) if kind == "weighted" else None)
    price, weight = one_of(rng, PRICES), one_of(rng, WEIGHTS)
    prices, weights = PRICES[price](rng, 3).tolist(), WEIGHTS[weight](rng, rows)
    evaluation = 0.0 if rng.random() < 0.6 else float(PRICES["roots"](rng, 1)[0])

    def build() -> PruningProblem:
        return pm.problem_from_forest(forest, X[:rows], costs=prices, sample_weight=weights, evaluation_cost=evaluation)

    return Drawn(prices, evaluation, weights, build, f"{kind}; prices {price}, weights {weight}")


def _invented(rng: np.random.Generator) -> Drawn:
    """One to three small trees of any shape, drawn errors, shared items."""
    n_features, n_trees, rows = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 13))
    trees = [tree_of_any_shape(rng, n_features, int(rng.integers(0, 8))) for _ in range(n_trees)]
    ensemble, _ = ensemble_of(trees, n_features)
    kind = str(rng.choice(["sums of squares", "loss of boosting", "tiny beside large"]))
    errors = rng.random(ensemble.n_nodes)
    if kind == "loss of boosting":  # a second-order model of the loss, shifted so that none is negative
        errors = rng.normal(0, 1, ensemble.n_nodes) ** 2 * 0.1 + 1 / 3
    elif kind == "tiny beside large":
        errors = errors * 10.0 ** rng.uniform(-9, 2, ensemble.n_nodes)
    if kind == "sums of squares":
        for h in reversed(range(ensemble.n_nodes)):
            if ensemble.left[h] >= 0:
                errors[h] += errors[ensemble.left[h]] + errors[ensemble.right[h]]
    per_tree = rng.uniform(0.5, 50, n_trees)
    price, weight = one_of(rng, PRICES), one_of(rng, WEIGHTS)
    costs = items(rng, lambda: float(PRICES[price](rng, 1)[0]), n_features)
    weights = None if rng.random() < 0.2 else WEIGHTS[weight](rng, rows)
    evaluation = [0.0] * n_features if rng.random() < 0.6 else PRICES[one_of(rng, PRICES)](rng, n_features).tolist()
    X = rng.integers(0, 5, (rows, n_features)).astype(float)

    def build() -> PruningProblem:
        given = NodeErrors((ErrorComponent(errors, per_tree),))
        return PruningProblem.build(ensemble, given, X, costs, sample_weight=weights, evaluation_cost=evaluation)

    return Drawn([float(p) for p in costs.prices], evaluation, weights, build, f"{kind}; prices {price}, weights {weight}")


def items(rng: np.random.Generator, price: Callable[[], float], n_features: int, *, plain: float = 0.5) -> CostItems:
    """One item a feature, with the probability `plain`, or items that features share; some are paid once for all rows."""
    if rng.random() < plain:
        return CostItems.plain([price() for _ in range(n_features)])
    names = [f"item{m}" for m in range(int(rng.integers(1, n_features + 2)))]
    needs = [list(rng.choice(names, size=int(rng.integers(1, min(2, len(names)) + 1)), replace=False)) for _ in range(n_features)]
    once = [name for name in names if rng.random() < 0.2]
    return CostItems.from_items({name: price() for name in names}, needs, once)


def tree_of_any_shape(rng: np.random.Generator, n_features: int, splits: int) -> Node:
    if splits == 0:
        return Node(0, threshold=0.0)
    left = int(rng.integers(0, splits))
    feature, threshold = int(rng.integers(n_features)), float(rng.integers(0, 4)) + 0.5
    below = [tree_of_any_shape(rng, n_features, count) for count in (left, splits - 1 - left)]
    return Node(0, feature, threshold, *below)
