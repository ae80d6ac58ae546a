"""One tree: which splits are worth their price."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from formulations.instance.cost_items import CostItems
from prunemodels.rivals.greedy_miser.growth import GrownTree, GrowthLimits, Purchases, grow_tree
from prunemodels.rivals.histograms import BinnedRows, Binning

# four rows; residuals of mean 0. On feature 0 the means are -4 and 4: the squares fall from 72 to 8, by 64, a mean of 16.
# On feature 1 they are -2 and 6: from 72 to 24, a mean of 12. Below feature 0, feature 1 parts 2 from 6: from 8 to 0, a mean
# of 2. Below feature 1, feature 0 parts -4, -4 from 2: from 24 to 0, a mean of 6.
X = np.array([[0, 0], [0, 0], [1, 0], [1, 1]], dtype=np.float32)
R = np.array([-4.0, -4, 2, 6])


def binned(X: np.ndarray, weight: np.ndarray | None = None) -> BinnedRows:
    binning = Binning.of(X, weight, 255)
    return BinnedRows(binning, binning.codes(X), weight)


def grown(lam: float, items: CostItems, X: np.ndarray = X, r: np.ndarray = R, **limits: Any) -> tuple[GrownTree, Purchases]:
    settings = {"max_depth": 2, "min_samples_leaf": 1, "evaluation": np.zeros(X.shape[1])} | limits
    tree, leaf, purchases = grow_tree(binned(X), r, np.arange(len(X)), GrowthLimits(lam=lam, **settings), Purchases.none(items))
    np.testing.assert_array_equal(tree.leaves(binned(X).codes, binned(X).binning), leaf)
    return tree, purchases


@pytest.mark.parametrize(
    ("lam", "features", "values", "cost"),
    [
        (0.0, [0, 1], [0, -4, 4, 2, 6], 4),
        (1.0, [0, 1], [0, -4, 4, 2, 6], 4),  # 16 - 3 against 12 - 1; below, 2 - 1
        (1.99, [0, 1], [0, -4, 4, 2, 6], 4),  # 10.03 against 10.01; below, 0.01
        (2.01, [1], [0, -2, 6], 1),  # 9.97 against 9.99; below, 6 - 3 * 2.01 is negative
        (11.9, [1], [0, -2, 6], 1),
        (12.1, [], [0], 0),  # 12 - 12.1 and 16 - 36.3
    ],
)
def test_splits_are_made_where_they_are_worth_their_price(
    lam: float, features: list[int], values: list[float], cost: float
) -> None:
    """Prices 3 and 1: the feature that parts better wins while lambda is below 2, and none from 12 on."""
    tree, purchases = grown(lam, CostItems.plain([3, 1]))
    assert tree.feature[tree.feature >= 0].tolist() == features
    np.testing.assert_allclose(tree.value, values, atol=1e-15)
    assert purchases.cost == cost


def test_what_a_tree_needs_already_is_free_in_its_other_branches() -> None:
    """At a price of 1 feature 1 is worth 2 in one branch and a half in the other: bought for the one, it is used in both."""
    both = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
    for y in ([0, 4, 10, 12], [10, 12, 0, 4]):  # whichever branch comes first
        tree, purchases = grown(1.0, CostItems.plain([0, 1]), both, np.array(y) - np.mean(y))
        assert tree.feature.tolist() == [0, 1, 1, -1, -1, -1, -1]
        assert purchases.cost == 1
    tree, _ = grown(2.1, CostItems.plain([0, 1]), both, np.array([0.0, 4, 10, 12]) - 6.5)
    assert tree.feature.tolist() == [0, -1, -1]  # together the two are worth 2.5, but no single split is worth 2.1


def test_items_are_bought_once_and_shared() -> None:
    """Where feature 0 pays for an item of price 2, feature 1 needs only its own of price 1: at lambda 1.5 it is used, 2 > 1.5."""
    shared = CostItems.from_items({"visit": 2, "a": 1, "b": 1}, [["visit", "a"], ["visit", "b"]])
    tree, purchases = grown(1.5, shared)
    assert tree.feature.tolist() == [0, -1, 1, -1, -1]
    assert purchases.bought.tolist() == [True, True, True]
    np.testing.assert_array_equal(purchases.price, [0, 0])
    alone = grown(1.5, CostItems.plain([3, 3]))[0]
    assert alone.feature.tolist() == [0, -1, -1]  # 2 < 4.5


def test_items_paid_once_for_all_are_priced_like_any() -> None:
    """They add their full price to the cost of an average example, as an item does that every example pays."""
    once = CostItems.from_items({"a": 3, "licence": 1}, [["a"], ["licence"]], once=["licence"])
    for lam in (1.0, 2.01):
        assert grown(lam, once)[0].feature.tolist() == grown(lam, CostItems.plain([3, 1]))[0].feature.tolist()


def test_a_split_pays_for_its_evaluation_by_those_who_pass_it() -> None:
    """Half the rows pass the second split: at a price of 2 its net is 2 - lambda (0 + 2 / 2), positive below lambda 2."""
    for lam, splits in ((1.9, 2), (2.1, 1)):
        tree, _ = grown(lam, CostItems.plain([0, 0]), evaluation=np.array([0.0, 2.0]))
        assert (tree.feature >= 0).sum() == splits


def test_rows_that_are_not_drawn_have_no_say_but_a_leaf() -> None:
    """A tree grown on three rows has their means; the fourth is routed all the same."""
    limits = GrowthLimits(2, 1, 0.0, np.zeros(2))
    tree, leaf, _ = grow_tree(binned(X), R, np.array([0, 1, 2]), limits, Purchases.none(CostItems.plain([1, 1])))
    assert tree.feature.tolist() == [0, -1, -1]
    np.testing.assert_allclose(tree.value, [-2, -4, 2])
    assert leaf.tolist() == [1, 1, 2, 2]


def test_a_weight_is_the_row_so_many_times() -> None:
    """The same tree, the same values, the same purchases; the sums are over many levels, so subtraction is checked too."""
    rng = np.random.default_rng(1)
    many, r, w = rng.integers(0, 6, (60, 3)).astype(np.float32), rng.normal(size=60), rng.integers(1, 4, 60)
    limits = GrowthLimits(5, 1, 0.01, np.array([0.0, 0.1, 0]))
    none = Purchases.none(CostItems.plain([1, 2, 3]))
    one, _, bought = grow_tree(binned(many, w.astype(float)), r, np.arange(60), limits, none)
    all_rows = np.repeat(many, w, axis=0)
    two, _, same = grow_tree(binned(all_rows), np.repeat(r, w), np.arange(len(all_rows)), limits, none)
    np.testing.assert_array_equal(one.feature, two.feature)
    np.testing.assert_array_equal(one.last_left, two.last_left)
    np.testing.assert_allclose(one.value, two.value)
    assert (one.feature >= 0).sum() > 10
    assert bought.cost == same.cost


def test_every_split_parts_the_rows_by_the_greatest_net() -> None:
    """Each node's split is the best of all by brute force over rows, at lambda 0, five levels deep."""
    rng = np.random.default_rng(2)
    many, r = rng.integers(0, 8, (80, 3)).astype(np.float32), rng.normal(size=80)
    tree, _ = grown(0.0, CostItems.plain([1, 1, 1]), many, r, max_depth=5)
    binning = binned(many).binning
    inside = {0: np.ones(80, dtype=bool)}
    for h in np.flatnonzero(tree.left >= 0):
        here, x = inside[h], many[:, tree.feature[h]]
        left = here & (x <= binning.threshold(tree.feature[h], tree.last_left[h]))
        inside[tree.left[h]], inside[tree.right[h]] = left, here & ~left
        best = max(between(r[here], many[here, f] <= t) for f in range(3) for t in np.unique(many[here, f])[:-1])
        assert between(r[here], left[here]) == pytest.approx(best)
        assert tree.value[h] == pytest.approx(r[here].mean())


def between(r: np.ndarray, left: np.ndarray) -> float:
    """Sum of squares between two sides."""
    return float(sum(part.sum() * (r[part].mean() - r.mean()) ** 2 for part in (left, ~left)))


def test_rounding_is_no_reason_to_split() -> None:
    """Equal residuals, and those below the noise that the caller names, grow a single leaf, even where all is free."""
    none = Purchases.none(CostItems.plain([1, 1]))
    limits = GrowthLimits(2, 1, 0.0, np.zeros(2))
    assert grow_tree(binned(X), np.full(4, 0.1), np.arange(4), limits, none)[0].feature.tolist() == [-1]
    assert grow_tree(binned(X), R * 1e-17, np.arange(4), limits, none, least=1e-30)[0].feature.tolist() == [-1]
    assert grow_tree(binned(X), R * 1e-17, np.arange(4), limits, none)[0].feature[0] == 0
    small = np.array([-1.0, -1, 1, 1.0001])  # on feature 1 the squares fall by a billionth of them: no rounding
    assert grow_tree(binned(X), small, np.arange(4), limits, none)[0].feature.tolist() == [0, -1, 1, -1, -1]
