"""Passes over trees: the best closure, and levels as the largest multiples of the charges."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from solvers.closures.tree_levels import LevelTrees
from solvers.closures.tree_pass import best_closure_of_forest, choose, force
from tests.loops import looped

TOP = -1


def log_levels(
    parent: np.ndarray, profit: np.ndarray, charge: np.ndarray, limit: float, found: np.ndarray, pool: Any = None, middle: int = 0
) -> float:
    """Write the levels at the charges for which the trees are made; the value of the best closure."""
    return LevelTrees(parent, profit, charge, middle).log_levels(charge, limit, found, pool)


def levels(parent: list[int], profit: list[int], charge: list[float], limit: float = 50.0) -> tuple[list[float], float]:
    """The levels, no longer as logarithms, and the value of the best closure."""
    found = np.empty(len(parent), dtype=np.float32)
    value = log_levels(
        np.array(parent, dtype=np.int32), np.array(profit, dtype=np.int64), np.array(charge, dtype=np.float64), limit, found
    )
    return [math.exp(x) for x in found.tolist()], value


@looped(
    ("parent", "profit", "charge", "expected", "worth"),
    [
        # a parent with 2 of 4 and a child with 10 of 2 pay 12 of 6 together, and 6 is left over
        ([TOP, 0], [2, 10], [4, 2], [2, 2], 6),
        # a parent with 10 of 2 has the level 5, its child with 3 of 4 has 3/4, and is not in the best closure, worth 8
        ([TOP, 0], [10, 3], [2, 4], [5, 0.75], 8),
        # the child, 0 of 1, joins the grandchild, 9 of 1: 9 of 2, which is more than the top's 4 of 2, so all have 13 of 4
        ([TOP, 0, 1], [4, 0, 9], [2, 1, 1], [13 / 4] * 3, 9),
        # a top with profit -3 and charge 1 owes 4; with a child's 12 of 2 it has 12 of 6
        ([TOP, 0], [-3, 12], [1, 2], [2, 2], 6),
        # below a top with 1 of 4, a split with 0 of 0 passes on what its child has beyond its charge, 9 of 1: 10 of 5
        ([TOP, 0, 1], [1, 0, 9], [4, 0, 1], [2, 2, 2], 5),
        # a top with 1 of 4, below it 3 of 0, below that 9 of 1: 3 of 0 joins the top, then 9 of 1 does: 13 of 5 in all
        ([TOP, 0, 1], [1, 3, 9], [4, 0, 1], [13 / 5] * 3, 8),
    ],
)
def test_levels_by_hand(parent: list[int], profit: list[int], charge: list[float], expected: list[float], worth: int) -> None:
    """Who can pay more joins whom it is needed by; the value of the best closure is what is left over."""
    found, value = levels(parent, profit, charge)
    assert found == pytest.approx(expected)
    assert value == pytest.approx(worth)


def test_nothing_owed_is_the_highest_level() -> None:
    """A split without a charge is kept at any price, one without profit at none."""
    found, value = levels([TOP, TOP, 0], [5, 0, 0], [0, 3, 1], limit=2.0)
    assert found == pytest.approx([math.exp(2), math.exp(-2), math.exp(-2)])
    assert value == pytest.approx(5)


def random_forest(seed: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parents before children, profits of either sign, charges some of which are 0."""
    rng = np.random.default_rng(seed)
    parent = np.array([rng.integers(max(0, h - 9), h) if h and rng.random() < 0.9 else TOP for h in range(k)], dtype=np.int32)
    profit = np.rint(1e6 * rng.lognormal(0, 1, k)).astype(np.int64) * rng.choice([1, 1, 1, 0, -1], k)
    return parent, profit, 1e6 * rng.lognormal(0, 1, k) * rng.choice([1, 1, 1, 0], k)


@looped("seed", range(12))
def test_levels_are_the_largest_multiples_of_the_charges(seed: int) -> None:
    """At x times the charges the best closure is the set of splits with a level above x; at x = 1 it has the value."""
    parent, profit, charge = random_forest(seed, 200)
    found = np.empty(200, dtype=np.float32)
    value = log_levels(parent, profit, charge, 20.0, found)
    paid = charge - np.minimum(profit, 0)  # what a split owes grows with x, negative profits too
    for x in (0.05, 0.3, 0.9, 1.0, 1.3, 4.0):
        keep = np.zeros(200, dtype=bool)
        best = choose(parent, np.maximum(profit, 0) - x * paid, keep)
        sure = (np.abs(found - math.log(x)) > 1e-5) & ((profit != 0) | (charge != 0))  # nothing at all has no level
        np.testing.assert_array_equal(keep[sure], (found > math.log(x))[sure])
        assert x != 1.0 or value == pytest.approx(best)


@looped("seed", range(12))
def test_a_limit_cuts_levels_and_changes_nothing_else(seed: int) -> None:
    """With a limit the logarithms are those without one, cut to it, and the value is the same."""
    parent, profit, charge = random_forest(seed, 300)
    free, limited = np.empty(300, dtype=np.float32), np.empty(300, dtype=np.float32)
    value = log_levels(parent, profit, charge, 50.0, free)
    for limit in (0.02, 0.3, 2.0):
        assert log_levels(parent, profit, charge, limit, limited) == pytest.approx(value)
        some = (profit != 0) | (charge != 0)
        np.testing.assert_allclose(limited[some], np.clip(free, -limit, limit)[some], atol=1e-5)


PARENT = np.array([-1, 0, 1, 0, -1, 4], dtype=np.int32)


def closures(parent: NDArray[np.int32]) -> NDArray[np.bool_]:
    """All closures, one a row."""
    every = [
        k for k in product([False, True], repeat=parent.size) if all(p < 0 or k[p] or not k[h] for h, p in enumerate(parent))
    ]
    return np.array(every)


def test_ties_decide_what_is_worth_nothing() -> None:
    """A subtree worth 0 is left out of the smallest best closure and is in the largest, with what lies above it."""
    profit = np.array([1, -2, 2, -1, 0, -1])
    anything = np.ones(6, dtype=bool)
    assert best_closure_of_forest(PARENT, profit, anything).tolist() == [True, False, False, False, False, False]
    assert best_closure_of_forest(PARENT, profit, anything, "largest").tolist() == [True, True, True, False, True, False]


def test_split_that_is_not_allowed_takes_along_what_is_below() -> None:
    """Gains below a forbidden split reach nobody above it."""
    profit = np.array([-1, 1, 5, 3, 2, 2])
    allowed = np.array([True, False, True, True, True, True])
    assert best_closure_of_forest(PARENT, profit, allowed).tolist() == [True, False, False, True, True, True]
    assert profit.tolist() == [-1, 1, 5, 3, 2, 2]


@pytest.mark.parametrize("seed", range(8))
def test_passes_agree_with_all_closures(seed: int) -> None:
    """`choose` finds the best value and the extreme best closure; `force` the best with each split in, and out."""
    rng = np.random.default_rng(seed)
    profit, allowed = rng.integers(-3, 4, 6), rng.random(6) < 0.8
    every = closures(PARENT)
    permitted = every[~(every & ~allowed).any(axis=1)]
    worth = permitted @ profit
    best = permitted[worth == worth.max()]
    for largest in (False, True):
        keep = np.zeros(6, dtype=bool)
        assert choose(PARENT, profit.copy(), keep, allowed, largest) == worth.max()
        assert (keep == (best.any(axis=0) if largest else best.all(axis=0))).all()
    kept, pruned = np.empty_like(profit), np.empty_like(profit)
    assert force(PARENT, profit.copy(), kept, pruned) == (every @ profit).max()
    for h in range(6):
        assert kept[h] == (every[every[:, h]] @ profit).max()
        assert pruned[h] == (every[~every[:, h]] @ profit).max()
