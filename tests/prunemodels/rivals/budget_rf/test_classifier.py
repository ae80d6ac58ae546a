"""BudgetRF's forests and their options."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier

from formulations.errors import InvalidInputError
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.models.forests.error_samples import InBag, OutOfBag
from prunemodels.models.forests.problems import apply_pruning, problem_from_forest
from prunemodels.models.forests.reading import ReadForest
from prunemodels.rivals.budget_rf import BudgetRFClassifier
from prunemodels.rivals.stumps import MEASURES, _impurity, _n_stumps, impurity
from solvers import pruning_path

CANCER = load_breast_cancer()
X, Y = CANCER.data, CANCER.target
PRICES = np.where(np.arange(30) < 10, 1.0, 4.0)


def learner(**parameters: Any) -> BudgetRFClassifier:
    return BudgetRFClassifier(**{"n_estimators": 6, "random_state": 0, **parameters})


def by_hand(model: BudgetRFClassifier, rows: NDArray[Any], prices: NDArray[Any], n_trees: int) -> NDArray[np.float64]:
    """What each row pays: the prices of the features on its ways through the first trees, each once."""
    used = np.zeros((len(rows), rows.shape[1]), dtype=bool)
    for estimator in model.forest_.estimators_[:n_trees]:
        tree = estimator.tree_
        passed = estimator.decision_path(rows).toarray().astype(bool) & (tree.children_left >= 0)
        for f in range(rows.shape[1]):
            used[:, f] |= (passed & (tree.feature == f)).any(axis=1)
    return used @ prices


@pytest.mark.parametrize("within", [1, 2, 3, 7])
def test_trees_are_added_until_the_budget_is_spent(within: int) -> None:
    """Algorithm 1, lines 3-7: the same trees as without a budget, as many as keep the mean validation cost within it."""
    train, valid = X[:400], X[400:]
    everything = learner(costs=PRICES, n_estimators=12).fit(train, Y[:400], X_valid=valid)
    costs = [by_hand(everything, valid, PRICES, k).mean() for k in range(1, 13)]
    budget = (costs[within - 1] + costs[within]) / 2
    assert costs[within - 1] < budget < costs[within]
    model = learner(costs=PRICES, n_estimators=12, budget=budget).fit(train, Y[:400], X_valid=valid)
    assert model.n_estimators_ == len(model.forest_.estimators_) == model.forest_.n_estimators == within
    np.testing.assert_allclose(model.stage_costs_, costs[: within + 1])  # the last is that of the tree taken back
    assert model.cost_ == pytest.approx(costs[within - 1])
    np.testing.assert_allclose(everything.stage_costs_, costs)
    assert (
        model.forest_.predict_proba(X) == np.mean([t.predict_proba(X) for t in everything.forest_.estimators_[:within]], 0)
    ).all()


def test_a_budget_met_exactly_is_met() -> None:
    """A tree that brings the cost to the budget itself is kept."""
    cost = learner(n_estimators=3).fit(X[:400], Y[:400], X_valid=X[400:]).stage_costs_
    for k in range(3):
        model = learner(n_estimators=3, budget=float(cost[k])).fit(X[:400], Y[:400], X_valid=X[400:])
        assert model.n_estimators_ == k + 1


def test_without_validation_examples_some_are_set_aside() -> None:
    """By class, as many as asked, only with a budget; `training_rows_` are those that the trees saw."""
    model = learner(budget=10, validation_fraction=0.25).fit(X, Y)
    rows = model.training_rows_
    assert len(rows) == len(X) - round(0.25 * (Y == 0).sum()) - round(0.25 * (Y == 1).sum())
    assert model.forest_.estimators_[0].tree_.weighted_n_node_samples[0] == len(rows)
    rest = np.setdiff1d(np.arange(len(X)), rows)
    assert model.cost_ == pytest.approx(model.prediction_cost(X[rest]).mean())
    assert learner().fit(X, Y).training_rows_.tolist() == list(range(len(X)))
    own = learner(budget=10, validation_fraction=None).fit(X, Y)
    assert own.cost_ == pytest.approx(own.prediction_cost(X).mean())
    InBag(X[rows], Y[rows]).measure(ReadForest.of(model.forest_))


def test_the_cost_sample_has_weights() -> None:
    """A weight of 3 counts as three rows, in the mean that the budget bounds."""
    weight = np.arange(169) % 3 + 1
    fitted = learner().fit(X[:400], Y[:400], None, X[400:], weight)
    thrice = learner().fit(X[:400], Y[:400], None, np.repeat(X[400:], weight, axis=0))
    np.testing.assert_allclose(fitted.stage_costs_, thrice.stage_costs_)
    with pytest.raises(InvalidInputError, match="X_valid is missing"):
        learner().fit(X, Y, sample_weight_valid=weight)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_the_forest_is_one_to_prune(bootstrap: bool) -> None:
    """In-bag errors from the stored counts are those of the rows drawn, so routing is that of growth; and it can be pruned."""
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    model = learner(bootstrap=bootstrap, impurity="cost_weighted_entropy").fit(X, Y, weight)
    forest = model.forest_
    assert type(forest) is RandomForestClassifier
    stored = problem_from_forest(forest, X, costs=PRICES)
    seen = problem_from_forest(forest, X, costs=PRICES, errors=InBag(X, Y, weight))  # checks the weight of every node
    np.testing.assert_allclose(stored.gain, seen.gain, atol=1e-12)
    if bootstrap:
        OutOfBag(X, Y).measure(ReadForest.of(forest))
    path = pruning_path(stored)
    cheap = apply_pruning(path.at_cost(path.cost[0] / 2), forest)
    assert evaluate(cheap, X, Y, costs=PRICES).cost <= path.cost[0] / 2
    assert forest.feature_importances_.sum() == pytest.approx(1)


def test_random_splits_are_splits_of_the_data() -> None:
    """Thresholds lie in the middle between two neighbouring values of the node; random ones are not the best ones."""
    model = learner(n_estimators=1, bootstrap=False).fit(X, Y)
    tree, rows = model.forest_.estimators_[0].tree_, X.astype(np.float32)
    path = model.forest_.estimators_[0].decision_path(rows).toarray().astype(bool)
    for h in np.flatnonzero(tree.children_left >= 0):
        x = rows[path[:, h], tree.feature[h]].astype(np.float64)
        low, high = x[x <= tree.threshold[h]].max(), x[x > tree.threshold[h]].min()
        assert tree.threshold[h] == (low + high) / 2
    best = learner(n_estimators=1, bootstrap=False, splits="all").fit(X, Y)
    assert best.forest_.estimators_[0].tree_.node_count < tree.node_count


def test_votes() -> None:
    """Majority, mean and counts, each from its definition, after every tree; `predict` takes the first of the largest."""
    data = load_iris()
    names = data.target_names[data.target]
    model = learner(alpha=3, n_estimators=5).fit(data.data, names)
    leaves = [t.tree_.value[t.apply(data.data), 0] for t in model.forest_.estimators_]
    weight = [t.tree_.weighted_n_node_samples[t.apply(data.data)][:, None] for t in model.forest_.estimators_]
    for k in range(1, 6):
        wanted = {
            "majority": np.mean([np.eye(3)[v.argmax(axis=1)] for v in leaves[:k]], axis=0),
            "mean": np.mean(leaves[:k], axis=0),
            "counts": sum(v * w for v, w in zip(leaves[:k], weight[:k], strict=True)) / sum(weight[:k]),
        }
        for vote, shares in wanted.items():
            model.set_params(vote=vote)
            np.testing.assert_allclose(list(model.staged_predict_proba(data.data))[k - 1], shares, atol=1e-12)
            if k == 5:
                np.testing.assert_allclose(model.predict_proba(data.data), shares, atol=1e-12)
                assert (model.predict(data.data) == data.target_names[shares.argmax(axis=1)]).mean() > 0.99
                with np.errstate(divide="ignore"):
                    np.testing.assert_allclose(np.exp(model.predict_log_proba(data.data)), shares, atol=1e-12)
    assert len({tuple(model.set_params(vote=v).predict_proba(data.data).ravel()) for v in wanted}) == 3
    assert all((p == q).all() for p, q in zip(model.staged_predict(data.data), model.staged_predict(data.data), strict=True))


def test_costs_are_told_by_row_and_by_stage() -> None:
    """`prediction_cost` and `staged_cost` count each feature once; with a price of evaluation, each split passed."""
    model = learner(costs=PRICES).fit(X[:400], Y[:400])
    rows = X[400:]
    np.testing.assert_allclose(model.prediction_cost(rows), by_hand(model, rows, PRICES, 6))
    np.testing.assert_allclose(model.staged_cost(rows), [by_hand(model, rows, PRICES, k).mean() for k in range(1, 7)])
    paid = learner(costs=PRICES, evaluation_cost=0.5).fit(X[:400], Y[:400])
    passed = sum(np.asarray(t.decision_path(rows).sum(axis=1)).ravel() - 1 for t in paid.forest_.estimators_)
    np.testing.assert_allclose(paid.prediction_cost(rows), by_hand(paid, rows, PRICES, 6) + 0.5 * passed)


def test_depth_and_leaves_have_limits() -> None:
    """As in scikit-learn's forests: splits on a way, rows in a leaf."""
    model = learner(max_depth=3, min_samples_leaf=9).fit(X, Y)
    for estimator in model.forest_.estimators_:
        assert estimator.get_depth() <= 3
        assert estimator.tree_.n_node_samples.min() >= 9
    assert max(t.get_depth() for t in model.forest_.estimators_) == 3


def test_as_many_random_stumps_as_the_paper_has() -> None:
    """80, 40 and 20 above 2,000, above 500, and else."""
    assert [_n_stumps(n) for n in (2001, 2000, 501, 500, 2)] == [80, 40, 40, 20, 20]


SMALL = list(itertools.product(range(5), repeat=3))
ADMISSIBLE = [("pairs", {"alpha": a}) for a in (0.0, 0.5, 1.0, 2.0)] + [("powers", {"power": p}) for p in (2, 2.5, 4)]


@pytest.mark.parametrize(("measure", "setting"), ADMISSIBLE)
def test_pairs_and_powers_are_admissible(measure: str, setting: dict[str, float]) -> None:
    """F >= 0, F = 0 for one class, and neither F nor the increment by an example falls as examples are added."""

    def f(*counts: int) -> float:
        return float(impurity(counts, measure, **setting))

    def more(counts: tuple[int, ...], k: int) -> tuple[int, ...]:
        return tuple(n + (j == k) for j, n in enumerate(counts))

    for counts in SMALL:
        assert f(*counts) >= 0
        if sum(n > 0 for n in counts) <= 1:
            assert f(*counts) == 0
        for i in range(3):
            step = f(*more(counts, i)) - f(*counts)
            assert step >= 0
            for j in range(3):  # supermodular: one more example in the set, no smaller step
                after = f(*more(more(counts, j), i)) - f(*more(counts, j))
                assert after >= step - 1e-9


@pytest.mark.slow
def test_values_by_hand() -> None:
    """Each formula on counts that can be reckoned in the head."""
    assert impurity([2, 3, 4], "pairs") == 2 * 3 + 2 * 4 + 3 * 4
    assert impurity([2, 3, 4], "pairs", alpha=1) == (1 * 2 - 1) + (1 * 3 - 1) + (2 * 3 - 1)
    assert impurity([255, 1], "pairs", alpha=1) == 0  # [254]_+ [0]_+ - 1 < 0
    assert impurity([2, 3, 4], "powers", power=3) == 9**3 - 8 - 27 - 64
    assert impurity([1, 3], "gini") == pytest.approx(1 - 1 / 16 - 9 / 16)
    assert impurity([2, 2, 4], "entropy") == pytest.approx(1.5)  # bits
    assert impurity([5, 0], "entropy") == 0


def test_a_rounding_below_zero_counts_as_none() -> None:
    """Class weights that are differences of floats may be -1e-17; no measure becomes NaN."""
    counts = np.array([3.0, 0.3 - (0.1 + 0.2)])
    assert counts[1] < 0
    for code in MEASURES.values():
        assert 0 <= _impurity(counts, code, 0.0, 2.5) < 1e-12
