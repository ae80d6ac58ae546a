"""Forests are read as they predict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import prunemodels as pm
from formulations.instance.routing import as_rows, leaves_of
from tests.loops import looped
from tests.prunemodels.forest_kinds import CLASSIFIERS, KINDS, fitted, labels, rows, targets, trees_of


def probes(forest, X):
    """Training rows, new rows, rows with missing cells, and rows on both sides of float32-rounded thresholds."""
    X = np.asarray(X, dtype=np.float64)
    ensemble = pm.read_forest(forest)
    near = []
    # an infinite threshold separates the missing values from all others
    for h in np.flatnonzero(ensemble.is_split & np.isfinite(ensemble.threshold))[:40]:
        t = ensemble.threshold[h]
        up, down = np.nextafter(np.float32(t), np.float32(np.inf)), np.nextafter(np.float32(t), np.float32(-np.inf))
        for x in (t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), float(up), float(down), (float(up) + t) / 2):
            row = X[h % len(X)].copy()
            row[ensemble.feature[h]] = x
            near.append(row)
    return np.vstack([X, rows(60, seed=5), rows(60, seed=6, missing=0.4), near])


@looped("kind", KINDS)
def test_leaves_are_scikit_learns(kind):
    """Every row, with missing values and on both sides of every threshold, ends in the leaf of ``tree.apply``."""
    forest, X = fitted(kind).forest, fitted(kind).X
    ensemble, P = pm.read_forest(forest), probes(forest, X)
    leaves = leaves_of(ensemble, as_rows(P, ensemble.n_features))
    for t, (tree, columns) in enumerate(trees_of(forest)):
        expected = tree.tree_.apply(P.astype(np.float32)[:, columns]) + ensemble.tree_start[t]
        np.testing.assert_array_equal(leaves[t], expected)


@looped("kind", CLASSIFIERS)
def test_mean_of_leaf_fractions_is_predict_proba(kind):
    """The mean over the trees of ``value`` at the routed leaves is ``predict_proba``, in the order of ``classes_``."""
    forest, X = fitted(kind).forest, fitted(kind).X
    ensemble = pm.read_forest(forest)
    mean = ensemble.value[leaves_of(ensemble, as_rows(X, ensemble.n_features))].mean(axis=0)
    np.testing.assert_allclose(mean, forest.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(ensemble.classes, forest.classes_)
    clear = np.sort(mean, axis=1)[:, -1] - np.sort(mean, axis=1)[:, -2] > 1e-9  # predict breaks ties by rounding errors
    np.testing.assert_array_equal(ensemble.classes[mean.argmax(axis=1)][clear], forest.predict(X)[clear])


def test_subclass_that_predicts_alike_is_read():
    """A subclass is accepted while it inherits ``predict``, and refused once it has its own."""

    class Named(RandomForestClassifier):
        pass

    class Other(RandomForestClassifier):
        def predict(self, X):
            return np.zeros(len(X))

    X = rows()
    y = labels(X, [0, 1])
    assert pm.read_forest(Named(2, random_state=0).fit(X, y)).n_trees == 2
    with pytest.raises(pm.errors.UnsupportedModelError, match="Other cannot be pruned"):
        pm.read_forest(Other(2, random_state=0).fit(X, y))


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=2),
        HistGradientBoostingRegressor(max_iter=2),
        AdaBoostClassifier(n_estimators=2),
        IsolationForest(n_estimators=2),
        RandomTreesEmbedding(n_estimators=2),
        LogisticRegression(),
        LinearRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_average_no_trees_are_refused(model):
    """What is not a mean of decision trees is refused by its name, saying what is possible."""
    X = rows()
    model.fit(X, labels(X, [0, 1]))
    with pytest.raises(pm.errors.UnsupportedModelError, match=f"{type(model).__name__} cannot be pruned; what can be"):
        pm.read_forest(model)


def test_survival_forests_and_other_libraries_are_refused_with_what_to_do_instead():
    """scikit-survival's classes, which need not be installed, and XGBoost's, with the name of what takes them."""
    with pytest.raises(pm.errors.UnsupportedModelError, match=r"RandomSurvivalForest cannot be pruned.*RandomForestRegressor"):
        pm.prune_forest(type("RandomSurvivalForest", (), {})(), rows(), budget=1)
    xgboost = pytest.importorskip("xgboost")
    for kind in ("XGBRFClassifier", "XGBClassifier"):
        with pytest.raises(pm.errors.UnsupportedModelError, match=f"{kind} cannot be pruned.*problem_from_model"):
            pm.read_forest(getattr(xgboost, kind)())


def test_unfitted_forests_and_bags_of_other_models_are_refused():
    """An unfitted forest is refused with the remedy; a bag is read only if it is a bag of trees."""
    for kind in ("random forest", "bag", "tree", "extra regression trees"):
        with pytest.raises(pm.errors.NotFittedForestError, match="is not fitted: call fit"):
            pm.read_forest(clone(fitted(kind).forest))
    bag = BaggingClassifier(DummyClassifier(), 2).fit(rows(), labels(rows(), [0, 1]))
    with pytest.raises(pm.errors.UnsupportedModelError, match="averages DummyClassifier models, not decision trees"):
        pm.read_forest(bag)


@pytest.mark.parametrize(
    "forest",
    [ExtraTreesRegressor(2), DecisionTreeRegressor(), BaggingRegressor(DecisionTreeRegressor(), 2), RandomForestClassifier(2)],
    ids=lambda forest: type(forest).__name__,
)
def test_several_outputs_are_refused(forest):
    """Trees with two targets are refused, also in a bag, which does not say how many it has."""
    X = rows()
    y = np.column_stack([targets(X) > 1, X[:, 1] > 0]).astype(int)
    with pytest.raises(pm.errors.UnsupportedModelError, match="predicts 2 outputs; train and prune one forest"):
        pm.read_forest(forest.fit(X, y))


def problem(kind="random forest", X=None, **options):
    case = fitted(kind)
    return pm.problem_from_forest(case.forest, case.X if X is None else X, **{"costs": 1, **options})


NAMED = "random forest, named features"


def swapped():
    return fitted(NAMED).X[list("bacde")]


def weighing(w):
    return {"sample_weight": np.array([w.get(i, w.get("else", 1.0)) for i in range(90)])}


@looped(
    ("kind", "given", "message"),
    [
        ("random forest", {"X": rows()[:, :4]}, "X has 4 columns, the forest was trained on 5 features"),
        (NAMED, lambda: {"X": swapped()}, r"X has the column 'b' in place 0, .* trained with 'a' there; select"),
        (NAMED, lambda: {"errors": pm.samples.Given(swapped(), fitted(NAMED).y)}, "errors: X has the column 'b' in place 0"),
        ("tree", {"X": np.empty((0, 5))}, "X is empty: at least one example"),
        ("tree", {"X": np.ones(5)}, r"X has shape \(5,\); give a table with one row an example"),
        ("tree", {"X": [[1, 2, 3, 4, "red"]]}, r"X has a column that is not numeric .*'red'"),
        ("tree", {"X": pd.DataFrame({c: ["x", "y"] for c in "abcde"})}, "X has a column that is not numeric"),
        ("tree", {"X": [[0, 0, 0, 0, 0], [0, 0, np.inf, 0, 0]]}, r"X\[1, 2\] is infinite"),
        ("tree", {"X": [[0, 1e39, 0, 0, 0]]}, r"X\[0, 1\] is infinite as a float32"),
        ("tree", weighing({3: -1.0}), r"sample_weight\[3\] is -1.0; weights must be finite and >= 0"),
        ("tree", weighing({4: np.nan}), r"sample_weight\[4\] is nan"),
        ("tree", weighing({5: np.inf}), r"sample_weight\[5\] is inf"),
        ("tree", weighing({"else": 0.0}), "sample_weight is 0 everywhere"),
        ("tree", {"sample_weight": [1, 2, 3]}, r"sample_weight has shape \(3,\), there are 90 examples"),
        ("tree", {"sample_weight": ["heavy"] * 90}, "sample_weight is not numeric"),
        ("tree", {"evaluation_cost": -1}, "evaluation_cost is -1, negative"),
        ("tree", {"evaluation_cost": np.nan}, "evaluation_cost is nan; give a number"),
        ("tree", {"evaluation_cost": [1, 2]}, "evaluation_cost has 2 prices, the forest was trained on 5 features"),
        ("tree", {"evaluation_cost": [0, 0, -3.5, 0, 0]}, r"evaluation_cost\[2\] is -3.5, negative"),
        ("tree", {"errors": "out-of-bag"}, r"errors is 'out-of-bag'; give an error sample \(InBag, OutOfBag, Given"),
    ],
)
def test_bad_input_is_refused(kind, given, message):
    """`problem_from_forest` refuses at the door, naming the argument, the value and the remedy."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        problem(kind, **(given() if callable(given) else given))


def test_columns_in_another_order_are_not_evaluated():
    """There a wrong order would go unnoticed."""
    with pytest.raises(pm.errors.InvalidInputError, match="X has the column 'b' in place 0"):
        pm.evaluate(fitted(NAMED).forest, swapped(), fitted(NAMED).y, costs=1)


def test_tables_sparse_matrices_and_nullable_columns_are_rows_too():
    """An array, a table, a sparse matrix and a table of nullable columns with NA are routed alike."""
    from scipy.sparse import csr_matrix

    case = fitted("random forest, missing values")
    X = case.X
    expected = problem("random forest, missing values").usage.routing.order
    table = pd.DataFrame(X)
    assert table.astype("Float64").isna().to_numpy().any()
    for same in (table, table.astype("Float64"), csr_matrix(X), X.tolist(), X.astype(np.float32)):
        np.testing.assert_array_equal(problem("random forest, missing values", X=same).usage.routing.order, expected)
