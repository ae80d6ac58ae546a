"""Greedy Miser's boosting and the growth of its trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

from formulations.instance.cost_items import CostItems
from prunemodels.rivals.boosted_learner import ModelItems, settings_of
from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor
from prunemodels.rivals.greedy_miser_growth import GrownTree, Settings, grow_tree
from prunemodels.rivals.histograms import BinnedRows, Binning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4)).astype(np.float32)
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=90)
LABELS = np.digitize(Y, [-0.6, 0.6])  # three classes
NEW = RNG.normal(size=(40, 4)).astype(np.float32)


def small(**settings: Any) -> GreedyMiserRegressor:
    return GreedyMiserRegressor(**{"n_estimators": 12, "max_depth": 3, "learning_rate": 0.3} | settings)


@pytest.mark.slow_cases("weight1")
@pytest.mark.parametrize("weight", [None, RNG.integers(1, 5, 90).astype(float)])
def test_without_prices_it_is_gradient_boosting(weight: Any) -> None:
    """At lambda 0 it predicts what scikit-learn's exact gradient boosting predicts, rounding apart, with weights or without."""
    theirs = GradientBoostingRegressor(n_estimators=12, max_depth=3, learning_rate=0.3, random_state=0)
    theirs.fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(small().fit(X, Y, sample_weight=weight).predict(X), theirs.predict(X), atol=1e-9)


def test_missing_values_go_where_scikit_learn_sends_them() -> None:
    """With holes in half the columns, at lambda 0, the training rows are predicted as by histogram boosting."""
    holes = X.copy()
    holes[RNG.random(90) < 0.3, 0] = np.nan
    holes[RNG.random(90) < 0.1, 1] = np.nan
    theirs = HistGradientBoostingRegressor(
        max_iter=12, max_depth=3, learning_rate=0.3, min_samples_leaf=1, max_leaf_nodes=None, early_stopping=False
    )
    np.testing.assert_allclose(small().fit(holes, Y).predict(holes), theirs.fit(holes, Y).predict(holes), atol=1e-5)


def test_three_classes_are_boosted_by_the_softmax() -> None:
    """A tree a class and stage, all fitted to the gradient of the stage's start: as written out with scikit-learn's trees."""
    targets, weight = np.eye(3)[LABELS], RNG.uniform(1, 2, 90)  # weights, so that no two splits are equally good
    F = np.tile(np.log(np.average(targets, axis=0, weights=weight)), (90, 1))
    for _ in range(4):
        residual = targets - softmax(F, axis=1)
        trees = [DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, residual[:, k], weight) for k in range(3)]
        F = F + 0.5 * np.column_stack([tree.predict(X) for tree in trees])
    model = GreedyMiserClassifier(lam=0, n_estimators=4, max_depth=2, learning_rate=0.5).fit(X, LABELS, weight)
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), softmax(F, axis=1), atol=1e-9)
    assert model.output_of_tree_.tolist() == [0, 1, 2] * 4
    assert model.stage_of_tree_.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_what_an_earlier_tree_needs_is_free() -> None:
    """Two features that a first tree pays for at lambda 1 are used by the second, where one gains less than its price.

    Rows and prices are those of `test_growth`: nets 16 - 3 and 2 - 1. At rate 0.5 the residuals halve, so the second tree's gains
    are 4 and 0.5; at its full price of 1 the last split would not be made.
    """
    rows, y = np.array([[0, 0], [0, 0], [1, 0], [1, 1]]), np.array([0.0, 0, 6, 10])
    model = GreedyMiserRegressor([3, 1], lam=1.0, n_estimators=2, learning_rate=0.5, max_depth=2).fit(rows, y)
    assert model.ensemble_.feature.tolist() == [0, -1, 1, -1, -1] * 2
    np.testing.assert_allclose(model.ensemble_.value[:, 0], [0, -2, 2, 1, 3, 0, -1, 1, 0.5, 1.5])
    np.testing.assert_allclose(model.predict(rows), [1, 1, 5.5, 8.5])  # 4, and 0.75 of each residual
    np.testing.assert_array_equal(model.model_cost_, [4, 4])
    np.testing.assert_array_equal(model.prediction_cost(rows), [3, 3, 4, 4])
    np.testing.assert_array_equal(model.staged_cost(rows), [3.5, 3.5])


def test_with_rate_one_a_tree_lowers_error_plus_lambda_cost_by_its_nets() -> None:
    """Of the same rows: from 18 to 0 + 1 * 4, by 13 + 1. So lambda is squared error per unit of cost, as in (OBJ)."""
    rows, y = np.array([[0, 0], [0, 0], [1, 0], [1, 1]]), np.array([0.0, 0, 6, 10])
    model = GreedyMiserRegressor([3, 1], lam=1.0, n_estimators=1, learning_rate=1.0, max_depth=2).fit(rows, y)
    before = np.mean((y - y.mean()) ** 2)
    after = np.mean((y - model.predict(rows)) ** 2) + 1.0 * model.model_cost_[-1]
    assert (before, after) == pytest.approx((18, 18 - 13 - 1))


def test_it_stops_after_just_so_many_stages_without_a_fall() -> None:
    """The last four losses, and no four in a row before them, are all no less than the least before."""
    model = small(n_estimators=300, n_iter_no_change=4, validation_fraction=0.3, random_state=0, learning_rate=0.9).fit(X, Y)
    losses, since = model.validation_loss_, 0
    for s in range(1, len(losses)):
        assert since < 4
        since = 0 if losses[s] < losses[:s].min() - 1e-7 else since + 1
    assert since == 4
    assert model.n_estimators_ < 300


# four rows; residuals of mean 0. On feature 0 the means are -4 and 4: the squares fall from 72 to 8, by 64, a mean of 16.
# On feature 1 they are -2 and 6: from 72 to 24, a mean of 12. Below feature 0, feature 1 parts 2 from 6: from 8 to 0, a mean
# of 2. Below feature 1, feature 0 parts -4, -4 from 2: from 24 to 0, a mean of 6.
FIVE_ROWS = np.array([[0, 0], [0, 0], [1, 0], [1, 1]], dtype=np.float32)
R = np.array([-4.0, -4, 2, 6])


def binned(X: np.ndarray, weight: np.ndarray | None = None) -> BinnedRows:
    binning = Binning.of(X, weight, 255)
    return BinnedRows(binning, binning.codes(X), weight)


def limits(lam: float = 0.0, max_depth: int = 2) -> Settings:
    return settings_of(Settings, GreedyMiserRegressor(lam=lam, max_depth=max_depth))


def grown(
    lam: float, items: CostItems, X: np.ndarray = FIVE_ROWS, r: np.ndarray = R, evaluation: Any = (0.0, 0.0)
) -> tuple[GrownTree, ModelItems]:
    purchases = ModelItems.all_of(items)
    tree, leaf = grow_tree(binned(X), r, np.arange(len(X)), limits(lam), np.array(evaluation), purchases)
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
    items = CostItems.plain([3, 1])
    tree, purchases = grown(lam, items)
    assert tree.feature[tree.feature >= 0].tolist() == features
    np.testing.assert_allclose(tree.value, values, atol=1e-15)
    assert items.price[purchases.bought].sum() == cost


def test_what_a_tree_needs_already_is_free_in_its_other_branches() -> None:
    """At a price of 1 feature 1 is worth 2 in one branch and a half in the other: bought for the one, it is used in both."""
    both = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
    for y in ([0, 4, 10, 12], [10, 12, 0, 4]):  # whichever branch comes first
        tree, purchases = grown(1.0, CostItems.plain([0, 1]), both, np.array(y) - np.mean(y))
        assert tree.feature.tolist() == [0, 1, 1, -1, -1, -1, -1]
        assert purchases.bought.tolist() == [True, True]
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


def test_a_split_pays_for_its_evaluation_by_those_who_pass_it() -> None:
    """Half the rows pass the second split: at a price of 2 its net is 2 - lambda (0 + 2 / 2), positive below lambda 2."""
    for lam, splits in ((1.9, 2), (2.1, 1)):
        tree, _ = grown(lam, CostItems.plain([0, 0]), evaluation=np.array([0.0, 2.0]))
        assert (tree.feature >= 0).sum() == splits


def test_rows_that_are_not_drawn_have_no_say_but_a_leaf() -> None:
    """A tree grown on three rows has their means; the fourth is routed all the same."""
    free = ModelItems.all_of(CostItems.plain([1, 1]))
    tree, leaf = grow_tree(binned(FIVE_ROWS), R, np.array([0, 1, 2]), limits(), np.zeros(2), free)
    assert tree.feature.tolist() == [0, -1, -1]
    np.testing.assert_allclose(tree.value, [-2, -4, 2])
    assert leaf.tolist() == [1, 1, 2, 2]


def test_a_weight_is_the_row_so_many_times() -> None:
    """The same tree, the same values, the same purchases; the sums are over many levels, so subtraction is checked too."""
    rng = np.random.default_rng(1)
    many, r, w = rng.integers(0, 6, (60, 3)).astype(np.float32), rng.normal(size=60), rng.integers(1, 4, 60)
    evaluation = np.array([0.0, 0.1, 0])
    bought, same = (ModelItems.all_of(CostItems.plain([1, 2, 3])) for _ in range(2))
    one, _ = grow_tree(binned(many, w.astype(float)), r, np.arange(60), limits(0.01, 5), evaluation, bought)
    all_rows = np.repeat(many, w, axis=0)
    two, _ = grow_tree(binned(all_rows), np.repeat(r, w), np.arange(len(all_rows)), limits(0.01, 5), evaluation, same)
    np.testing.assert_array_equal(one.feature, two.feature)
    np.testing.assert_array_equal(one.last_left, two.last_left)
    np.testing.assert_allclose(one.value, two.value)
    assert (one.feature >= 0).sum() > 10
    assert bought.bought.tolist() == same.bought.tolist()


def test_rounding_is_no_reason_to_split() -> None:
    """Equal residuals, and those below the noise that the caller names, grow a single leaf, even where all is free."""

    def features(r: np.ndarray, least: float = 0.0) -> list[int]:
        free = ModelItems.all_of(CostItems.plain([0, 0]))
        tree, _ = grow_tree(binned(FIVE_ROWS), r, np.arange(4), limits(), np.zeros(2), free, least)
        return list(tree.feature)

    assert features(np.full(4, 0.1)) == [-1]
    assert features(R * 1e-17, least=1e-30) == [-1]
    assert features(R * 1e-17)[0] == 0
    # on feature 1 the squares fall by a billionth of them: no rounding
    assert features(np.array([-1.0, -1, 1, 1.0001])) == [0, -1, 1, -1, -1]
