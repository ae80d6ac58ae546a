"""ASTC's selection of weak learners."""

from __future__ import annotations

import numpy as np
import pytest

from prunemodels.rivals.cstc.astc import Selection, select
from prunemodels.rivals.cstc.classifier_tree import Examples
from prunemodels.rivals.cstc.weak_learners import Purchases


def choose(
    train: Examples, purchases: Purchases, budget: float = np.inf, before: tuple[int, ...] = (), min_gain: float = 1e-9
) -> Selection:
    """Columns for all examples."""
    T = train.phi.shape[1]
    used = np.isin(np.arange(T), before)
    return select(train, np.arange(len(train.y)), purchases, used, budget, min_gain, np.zeros(T))


def orthogonal() -> Examples:
    """Three orthogonal columns of variance 1; y has 4, 2 and 1 of each, so they explain 16, 4 and 1 of its variance."""
    signs = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]], dtype=float)
    phi = np.vstack([signs, -signs])
    return Examples(phi, (phi @ [4.0, 2.0, 1.0] + 3)[:, None], np.ones(8))


def own(prices: list[float], evaluation: float = 0.0) -> Purchases:
    """Each column needs an item of its own."""
    return Purchases(np.eye(len(prices), dtype=bool), np.array(prices), np.full(len(prices), evaluation))


def test_gain_per_cost_decides_the_order() -> None:
    """16 / 32, 4 / 2 and 1 / 1: the second column is first, then the third, then the dear one."""
    chosen = choose(orthogonal(), own([32, 2, 1]))
    assert chosen.columns.tolist() == [1, 2, 0]
    np.testing.assert_allclose(chosen.beta[:, 0], [2, 1, 4])
    assert chosen.intercept.tolist() == pytest.approx([3])


def test_gains_are_summed_over_classes() -> None:
    """A column that explains 4 of one output and 3 of another, 25 together, comes before one that explains 16 of one."""
    base = orthogonal()
    y = base.phi @ np.array([[0.0, 4.0], [4.0, 3.0], [0.0, 0.0]])
    chosen = choose(Examples(base.phi, y, base.weights), own([1, 1, 1]))
    assert chosen.columns.tolist() == [1, 0]
    np.testing.assert_allclose(chosen.beta, [[4, 3], [0, 4]], atol=1e-12)


def test_the_budget_is_kept_and_passes_over_what_is_too_dear() -> None:
    """Of 4 to spend, 2 and 1 go to the second and third column; the first, at 32, is never affordable."""
    assert choose(orthogonal(), own([32, 2, 1]), budget=4).columns.tolist() == [1, 2]
    assert choose(orthogonal(), own([32, 2, 1]), budget=2.9).columns.tolist() == [1]
    assert choose(orthogonal(), own([32, 2, 1]), budget=3).columns.tolist() == [1, 2]
    assert choose(orthogonal(), own([32, 2, 1]), budget=0).columns.tolist() == []


def test_what_the_path_has_paid_is_free() -> None:
    """Column 0 was used above: it comes first, although at its price the others would be better, and costs no budget."""
    chosen = choose(orthogonal(), own([32, 2, 1], evaluation=0.5), budget=32.5, before=(0,))
    assert chosen.columns.tolist() == [0]
    assert choose(orthogonal(), own([32, 2, 1], evaluation=0.5), budget=35, before=(0,)).columns.tolist() == [0, 1]
    # the weakest of all, but free: first
    assert choose(orthogonal(), own([1, 1, 1], evaluation=0.5), before=(2,)).columns.tolist() == [2, 0, 1]


def test_a_shared_item_is_paid_once() -> None:
    """Columns 0 and 1 share an item of price 5: once one is bought, the other is free."""
    purchases = Purchases(np.array([[True, False], [True, False], [False, True]]), np.array([5.0, 5.0]), np.zeros(3))
    assert choose(orthogonal(), purchases, budget=5).columns.tolist() == [0, 1]


def test_gains_are_those_of_least_squares() -> None:
    """On correlated columns every step's choice is the one that least squares on each candidate set gives."""
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5))
    train = Examples(phi, (rng.normal(size=80) + phi[:, 0] - phi[:, 3])[:, None], rng.random(80))
    prices = rng.random(5) + 0.1
    root = np.sqrt(train.weights / train.weights.sum())

    def left(columns: list[int]) -> float:
        design = np.column_stack([phi[:, columns], np.ones(80)]) * root[:, None]
        y = train.y[:, 0] * root
        return float(((y - design @ np.linalg.lstsq(design, y)[0]) ** 2).sum())

    expected: list[int] = []
    for _ in range(5):
        others = [t for t in range(5) if t not in expected]
        expected.append(max(others, key=lambda t: (left(expected) - left([*expected, t])) / prices[t]))
    assert choose(train, own(prices.tolist())).columns.tolist() == expected


def test_repeats_and_constants_are_not_bought() -> None:
    """A copy of a column and a constant add nothing, whatever they cost."""
    base = orthogonal()
    phi = np.column_stack([base.phi, base.phi[:, 0], np.ones(8)])
    train = Examples(phi, base.y, base.weights)
    assert choose(train, own([1, 1, 1, 1, 0])).columns.tolist() == [0, 1, 2]


def test_columns_that_are_constant_in_a_node_are_not_used() -> None:
    """Column 0 is 0.1 + 0.2 or 0.3, which differ by rounding alone, among the node's examples; free of cost, it came first."""
    base = orthogonal()
    constant = np.where(np.arange(8) % 2, 0.1 + 0.2, 0.3)
    phi = np.vstack([np.column_stack([constant, base.phi]), np.full((8, 4), 5.0)])
    train = Examples(phi, np.vstack([base.y, base.y]), np.ones(16))
    chosen = select(train, np.arange(8), own([0, 1, 1, 1]), np.zeros(4, dtype=bool), np.inf, 1e-9, np.zeros(4))
    assert chosen.columns.tolist() == [1, 2, 3]
    np.testing.assert_allclose(chosen.beta[:, 0], [4, 2, 1])


def test_of_equal_columns_the_first_is_bought() -> None:
    """A copy that is rescaled gains the same but for round-off; the first is taken, so that weights and repeats agree."""
    base = orthogonal()
    train = Examples(base.phi[:, [0, 0, 0]] * [1, 1 / 3, 0.7], base.y, np.full(8, 0.1))
    assert choose(train, own([1, 1, 1])).columns.tolist() == [0]


def test_small_gains_are_left() -> None:
    """Gains count as a share over all examples: with half of the examples in the node they halve."""
    base = orthogonal()
    assert choose(base, own([1, 1, 1]), min_gain=3.9).columns.tolist() == [0, 1]
    twice = Examples(np.vstack([base.phi] * 2), np.vstack([base.y] * 2), np.ones(16))
    chosen = select(twice, np.arange(8), own([1, 1, 1]), np.zeros(3, dtype=bool), np.inf, 3.9, np.zeros(3))
    assert chosen.columns.tolist() == [0]
