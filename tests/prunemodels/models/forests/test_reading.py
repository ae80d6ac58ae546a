"""Reading scikit-learn forests."""

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
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import prunemodels as pm
from formulations.instance.routing import as_rows, leaves_of
from tests.loops import looped
from tests.prunemodels.forest_kinds import CLASSIFIERS, KINDS, REGRESSORS, fitted, labels, rows, targets, trees_of


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


@pytest.mark.parametrize("kind", REGRESSORS)
def test_mean_of_leaf_means_is_predict(kind):
    """The mean over the trees of ``value`` at the routed leaves is ``predict``."""
    forest, X = fitted(kind).forest, fitted(kind).X
    ensemble = pm.read_forest(forest)
    mean = ensemble.value[leaves_of(ensemble, as_rows(X, ensemble.n_features)), 0].mean(axis=0)
    np.testing.assert_allclose(mean, forest.predict(X), rtol=1e-12)
    assert ensemble.task == "regression"
    assert ensemble.classes is None


def test_stump_by_hand():
    """A stump on the second column is one split and two leaves, with the threshold half way."""
    tree = DecisionTreeClassifier().fit([[5, 0.0], [5, 1.0], [5, 1.0]], ["no", "yes", "yes"])
    ensemble = pm.read_forest(tree)
    assert ensemble.left.tolist() == [1, -1, -1]
    assert ensemble.right.tolist() == [2, -1, -1]
    assert ensemble.feature.tolist() == [1, -1, -1]
    assert ensemble.threshold[0] == 0.5
    np.testing.assert_allclose(ensemble.value, [[1 / 3, 2 / 3], [1, 0], [0, 1]])
    assert ensemble.classes.tolist() == ["no", "yes"]


def test_bag_columns_are_the_forests():
    """A bag's tree numbers its columns anew; the ensemble has the forest's numbers."""
    bag = fitted("bag, some columns").forest
    ensemble = pm.read_forest(bag)
    for t, columns in enumerate(bag.estimators_features_):
        nodes = slice(ensemble.tree_start[t], ensemble.tree_start[t + 1])
        used = ensemble.feature[nodes]
        own = bag.estimators_[t].tree_.feature
        np.testing.assert_array_equal(used[own >= 0], columns[own[own >= 0]])


def test_feature_names_are_kept():
    """Names of a table's columns arrive in the ensemble; an array has none."""
    assert pm.read_forest(fitted("random forest, named features").forest).feature_names == tuple("abcde")
    assert pm.read_forest(fitted("random forest").forest).feature_names is None


def test_single_leaf_trees():
    """Trees without any split are read as one leaf each."""
    forest = RandomForestClassifier(3, random_state=0).fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    ensemble = pm.read_forest(forest)
    assert (ensemble.n_trees, ensemble.n_nodes, ensemble.n_splits) == (3, 3, 0)


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
    with pytest.raises(
        pm.errors.UnsupportedModelError, match=f"{type(model).__name__} cannot be pruned; what can be: RandomForest"
    ):
        pm.read_forest(model)


def test_boosting_is_told_why():
    """Boosted trees are refused with the reason."""
    with pytest.raises(pm.errors.UnsupportedModelError, match="boosted trees add up"):
        pm.read_forest(GradientBoostingClassifier())


@pytest.mark.parametrize("kind", ["XGBRFClassifier", "XGBClassifier"])
def test_other_libraries_have_a_way_of_their_own(kind):
    """XGBoost's and LightGBM's models are refused with the name of what takes them."""
    xgboost = pytest.importorskip("xgboost")
    with pytest.raises(
        pm.errors.UnsupportedModelError, match=f"{kind} cannot be pruned.*see problem_from_model .* and prune_boosted"
    ):
        pm.read_forest(getattr(xgboost, kind)())


@pytest.mark.parametrize("thing", [None, 3, "forest.joblib", RandomForestClassifier])
def test_what_is_no_model_is_refused(thing):
    """Anything else gets the package's own error, never an AttributeError."""
    with pytest.raises(pm.errors.UnsupportedModelError, match="cannot be pruned"):
        pm.read_forest(thing)


def test_bags_of_other_models_are_refused():
    """A bag is read only if it is a bag of trees."""
    X = rows()
    bag = BaggingClassifier(DummyClassifier(), 2).fit(X, labels(X, [0, 1]))
    with pytest.raises(pm.errors.UnsupportedModelError, match="averages DummyClassifier models, not decision trees"):
        pm.read_forest(bag)


@pytest.mark.parametrize("kind", ["random forest", "bag", "tree", "extra regression trees"])
def test_unfitted_forests_are_refused(kind):
    """An unfitted forest is refused with the remedy."""
    with pytest.raises(pm.errors.NotFittedForestError, match="is not fitted: call fit"):
        pm.read_forest(clone(fitted(kind).forest))


@pytest.mark.parametrize(
    "forest",
    [ExtraTreesRegressor(2), DecisionTreeRegressor(), BaggingRegressor(DecisionTreeRegressor(), 2), RandomForestClassifier(2)],
    ids=lambda forest: type(forest).__name__,
)
def test_several_outputs_are_refused(forest):
    """Where one output is needed, trees with two targets are refused, also in a bag, which does not say how many it has."""
    X = rows()
    y = np.column_stack([targets(X) > 1, X[:, 1] > 0]).astype(int)
    with pytest.raises(pm.errors.UnsupportedModelError, match=r"predicts 2 outputs, .* but not what was called; train one"):
        pm.read_forest(forest.fit(X, y))


def problem(kind="random forest", X=None, **options):
    case = fitted(kind)
    return pm.problem_from_forest(case.forest, case.X if X is None else X, **{"costs": 1, **options})


class TestBadInput:
    """`problem_from_forest` refuses at the door, naming the argument, the value and the remedy."""

    def test_number_of_columns(self):
        """A cost sample with another number of columns."""
        with pytest.raises(pm.errors.InvalidInputError, match="X has 4 columns, the forest was trained on 5 features"):
            problem(X=rows()[:, :4])

    def test_column_order(self):
        """A table whose columns stand in another order."""
        X = fitted("random forest, named features").X
        with pytest.raises(
            pm.errors.InvalidInputError, match=r"X has the column 'b' in place 0, .* trained with 'a' there; select"
        ):
            problem("random forest, named features", X=X[list("bacde")])

    def test_column_order_of_labelled_data(self):
        """The same for labelled data and for evaluation: there a wrong order would go unnoticed."""
        case = fitted("random forest, named features")
        swapped = case.X[list("bacde")]
        with pytest.raises(pm.errors.InvalidInputError, match="errors: X has the column 'b' in place 0"):
            problem("random forest, named features", errors=pm.samples.Given(swapped, case.y))
        with pytest.raises(pm.errors.InvalidInputError, match="X has the column 'b' in place 0"):
            pm.evaluate(case.forest, swapped, case.y, costs=1)

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (np.empty((0, 5)), "X is empty: at least one example"),
            (np.ones(5), r"X has shape \(5,\); give a table with one row an example"),
            ([[1, 2, 3, 4, "red"]], r"X has a column that is not numeric .*'red'"),
            ([[0, 0, 0, 0, 0], [0, 0, np.inf, 0, 0]], r"X\[1, 2\] is infinite"),
            ([[0, 1e39, 0, 0, 0]], r"X\[0, 1\] is infinite as a float32"),
            (pd.DataFrame({c: ["x", "y"] for c in "abcde"}), "X has a column that is not numeric"),
        ],
    )
    def test_cells(self, X, message):
        """An empty or flat sample, words, infinities, and numbers beyond float32."""
        with pytest.raises(pm.errors.InvalidInputError, match=message):
            problem(X=X)

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            ({3: -1.0}, r"sample_weight\[3\] is -1.0; weights must be finite and >= 0"),
            ({4: np.nan}, r"sample_weight\[4\] is nan"),
            ({5: np.inf}, r"sample_weight\[5\] is inf"),
            (dict.fromkeys(range(90), 0.0), "sample_weight is 0 everywhere"),
        ],
    )
    def test_weights(self, weight, message):
        """Weights of the cost sample that are negative, not finite, or all zero."""
        w = np.ones(90)
        w[list(weight)] = list(weight.values())
        with pytest.raises(pm.errors.InvalidInputError, match=message):
            problem(sample_weight=w)

    def test_weights_of_another_length(self):
        """Weights of another length, and weights that are words."""
        with pytest.raises(pm.errors.InvalidInputError, match=r"sample_weight has shape \(3,\), there are 90 examples"):
            problem(sample_weight=[1, 2, 3])
        with pytest.raises(pm.errors.InvalidInputError, match="sample_weight is not numeric"):
            problem(sample_weight=["heavy"] * 90)

    @pytest.mark.parametrize(
        ("price", "message"),
        [
            (-1, "evaluation_cost is -1, negative"),
            (np.nan, "evaluation_cost is nan; give a number"),
            ([1, 2], "evaluation_cost has 2 prices, the forest was trained on 5 features"),
            ([0, 0, -3.5, 0, 0], r"evaluation_cost\[2\] is -3.5, negative"),
        ],
    )
    def test_evaluation_prices(self, price, message):
        """Prices of evaluation that are negative, not finite, or not one a feature."""
        with pytest.raises(pm.errors.InvalidInputError, match=message):
            problem(evaluation_cost=price)

    def test_errors_argument(self):
        """A misspelt error sample."""
        with pytest.raises(
            pm.errors.InvalidInputError,
            match=r"errors is 'out-of-bag'; give an error sample \(InBag, OutOfBag, Given",
        ):
            problem(errors="out-of-bag")


def test_tables_sparse_matrices_and_nullable_columns_are_rows_too():
    """An array, a table, a sparse matrix and a table of nullable columns with NA are routed alike."""
    from scipy.sparse import csr_matrix

    case = fitted("random forest, missing values")
    X = case.X
    expected = problem("random forest, missing values").routing.order
    table = pd.DataFrame(X)
    assert table.astype("Float64").isna().to_numpy().any()
    for same in (table, table.astype("Float64"), csr_matrix(X), X.tolist(), X.astype(np.float32)):
        np.testing.assert_array_equal(problem("random forest, missing values", X=same).routing.order, expected)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (IsolationForest(n_estimators=2), "a score is the depth at which a row is alone, pruning changes that depth"),
    ],
)
def test_the_refusal_says_why(model, reason):
    """Forests without an error that is a mean over trees are refused with the reason."""
    with pytest.raises(pm.errors.UnsupportedModelError, match=reason):
        pm.read_forest(model)
