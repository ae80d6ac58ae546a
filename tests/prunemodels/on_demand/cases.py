"""Random forests with values, prices of every kind, and small trees by hand."""

from __future__ import annotations

from dataclasses import dataclass
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
    return Ensemble(
        trees.tree_start,
        trees.left,
        trees.right,
        trees.feature,
        trees.threshold,
        trees.missing_left,
        value,
        trees.n_features,
        task,
        classes,
    )


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
    for field in ("predictions", "units", *fields):
        assert np.array_equal(getattr(one, field), getattr(other, field)), field
