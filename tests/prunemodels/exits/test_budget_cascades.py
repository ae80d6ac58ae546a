"""Cascades that find their own sets of items."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import CostItems
from proofs_checks import check_closure_path
from prunemodels.exits.elimination import _with_shuffled

X, Y = make_classification(240, 5, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=1)
Y = np.array(["no", "yes", "maybe"])[Y]
XR, YR = make_regression(200, 4, n_informative=2, noise=5.0, random_state=0)
YR = YR / YR.std()
QUICK: dict[str, Any] = {"doubt": "margin", "n_levels": 4, "cv": 2, "random_state": 0}
ITEMS = {
    "plain": CostItems.plain([1, 2, 0, 0.5, 3]),
    "groups": CostItems.grouped(["a", "a", "b", "b", "c"], {"a": 3, "b": 1.5, "c": 0}),
    "discounts": CostItems.discounted([5, 6, 2, 2, 1], [1, 2, 2, 1, 1], ["blood", "blood", None, "scan", None]),
    "once": CostItems.from_items(
        {"a": 1, "b": 2.5, "licence": 10, "unneeded": 4}, [["a"], ["b", "licence"], ["a"], ["licence"], ["b"]], ["licence"]
    ),
}


def tree(depth: int = 3) -> Any:
    return DecisionTreeClassifier(max_depth=depth)


def fitted(**options: Any) -> Any:
    """On the rows above, with whatever options."""
    return pm.BudgetCascadeClassifier(**{"estimator": tree(), "costs": ITEMS["plain"], **QUICK, **options}).fit(X, Y)


@pytest.mark.parametrize("prices", ITEMS)
def test_sets_are_nested_and_of_whole_items(prices: str) -> None:
    """Each stage reads all that its items allow, more than the one before, and pays for them all.

    The first stage is what is free; an item that no column needs is in no set.
    """
    items = ITEMS[prices]
    model = fitted(costs=items, lam=0.0)
    sets = [set(names) for names, _ in model.item_sets_]
    for fewer, more in itertools.pairwise(model.stages_.bought()):
        assert (fewer <= more).all()
    assert not any("unneeded" in names for names in sets)
    names = list(items.names)
    for s, (columns, bought) in enumerate(zip(model.stages_.features, model.stages_.bought(), strict=True)):
        has = {m for m in range(items.n_items) if bought[m]}
        free = {m for m in range(items.n_items) if items.price[m] == 0}
        assert columns.tolist() == [f for f, needs in enumerate(items.needs) if set(needs) <= has | free]
        assert {m for f in columns.tolist() for m in items.needs[f]} == has
        assert {names[m] for m in has} in sets
        if s == 0:
            assert all(items.price[m] == 0 for m in has)
    assert model.stages_.features[-1].tolist() == list(range(5))
    assert check_closure_path(model.exit_path_.closures).holds is True


@pytest.mark.parametrize("prices", ["discounts", "once"])
def test_the_budget_is_kept(prices: str) -> None:
    """On the rows that the policy was learned from, exactly; what a row pays are the prices of its stage."""
    dearest = fitted(costs=ITEMS[prices], lam=0.0)
    low, high = dearest.exit_path_.cost[[-1, 0]]
    for share in (0.0, 0.6):
        budget = float(low + share * (high - low))
        model = fitted(costs=ITEMS[prices], budget=budget)
        assert model.cost_ <= budget
        np.testing.assert_array_equal(model.prediction_cost(X), model.stages_.prices()[model.stop_stages(X)])
    exits, k = dearest.exit_path_, dearest.row_
    assert (dearest.held_out_cost_, dearest.held_out_error_) == (exits.held_out_cost[k], exits.held_out_error[k])


def test_the_least_missed_item_goes_first() -> None:
    """One column decides all: it goes last, whatever its place, unless its price is out of all proportion."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    y = rows[:, 2] > 0
    model = pm.BudgetCascadeClassifier(tree(), 1, budget=1.0, **QUICK).fit(rows, y)
    assert model.stages_.features[1].tolist() == [2]
    assert (model.predict(rows) == y).mean() > 0.95
    assert model.cost_ <= 1.0


def test_so_many_stages_at_most() -> None:
    """The first and the last set stay."""
    model = fitted(costs=1, n_stages=3, lam=0.0)
    assert model.stages_.n_stages == 3
    assert model.stages_.prices()[[0, -1]].tolist() == [0, 5]


def test_the_same_seed_gives_the_same_cascade() -> None:
    """And a clone, and a pickled one; the estimator that was given stays unfitted, its seed unset."""
    estimator = tree()
    one, two = (fitted(estimator=estimator, budget=2.0, doubt="auto", n_stages=4) for _ in range(2))
    for other in (two, clone(one).fit(X, Y), pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        assert one.item_sets_ == other.item_sets_
    assert estimator.random_state is None
    assert not hasattr(estimator, "tree_")


def test_tables_arrays_and_sparse_rows_are_one() -> None:
    """The same cascade from a named table, an array and a sparse matrix."""
    table = pd.DataFrame(X, columns=list("abcde"))
    prices = dict(zip("abcde", [1, 2, 0, 0.5, 3], strict=True))
    dense = fitted(costs=[1, 2, 0, 0.5, 3], budget=2.0)
    by_name = pm.BudgetCascadeClassifier(tree(), prices, budget=2.0, **QUICK).fit(table, Y)
    thin = pm.BudgetCascadeClassifier(tree(), list(prices.values()), budget=2.0, **QUICK).fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(dense.predict(X), by_name.predict(table))
    np.testing.assert_array_equal(dense.predict(X), thin.predict(sparse.csr_array(X)))
    assert next(names for names, _ in by_name.item_sets_) == tuple("abcde")


def test_one_division_of_many_rows() -> None:
    """From 5,000 rows on a part is kept apart once; the stages have seen the other part."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5_000, 6))
    y = rows[:, 0] + 0.5 * rng.normal(size=5_000) > 0
    options: dict[str, Any] = {"doubt": "margin", "n_levels": 4, "budget": 1.0, "random_state": 0, "validation_fraction": 0.2}
    once = pm.BudgetCascadeClassifier(tree(2), 1, n_stages=3, **options).fit(rows, y)
    assert once.exit_path_.n == 1_000
    assert once.stages_.models[-1].tree_.n_node_samples[0] == 4_000


def test_columns_of_sparse_rows_are_shuffled_together() -> None:
    """As those of an array and of a table are, in the same order; the others stay."""
    columns = np.array([1, 3])
    dense = _with_shuffled(X, columns, np.random.RandomState(0))
    assert (dense[:, columns] != X[:, columns]).any()
    np.testing.assert_array_equal(dense[:, [0, 2, 4]], X[:, [0, 2, 4]])
    np.testing.assert_array_equal(_with_shuffled(sparse.csr_array(X), columns, np.random.RandomState(0)).toarray(), dense)
    np.testing.assert_array_equal(_with_shuffled(pd.DataFrame(X), columns, np.random.RandomState(0)).to_numpy(), dense)
