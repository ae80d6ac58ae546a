"""Leaf values refitted after pruning: the equations by hand, the library's own fits, and export."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from scipy.optimize import check_grad
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge

from formulations import InvalidInputError
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.models.boosting.boosted import prune_boosted
from prunemodels.models.boosting.refitting import Leaves, corrections, refitted
from prunemodels.models.libraries.model_forest import pruned_ends
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.losses import loss_of
from prunemodels.other_libraries import boosted_path

X2, Y2 = make_classification(600, 8, n_informative=5, flip_y=0.05, random_state=0)
X3, Y3 = make_classification(600, 8, n_informative=6, n_classes=3, random_state=1)
XR, YR = make_regression(600, 8, noise=10.0, random_state=2)
YR = YR / YR.std()
X_FEW: dict[str, Any] = {"n_estimators": 10, "max_depth": 3, "n_jobs": 1}
L_FEW: dict[str, Any] = {"n_estimators": 10, "num_leaves": 8, "verbose": -1, "n_jobs": 1}
MODELS = {
    "xgboost, two": (xgboost.XGBClassifier(**X_FEW), X2, Y2),
    "xgboost, three": (xgboost.XGBClassifier(**X_FEW), X3, Y3),
    "xgboost, numbers": (xgboost.XGBRegressor(**X_FEW), XR, YR),
    "lightgbm, two": (lightgbm.LGBMClassifier(**L_FEW), X2, Y2),
    "lightgbm, three": (lightgbm.LGBMClassifier(**L_FEW), X3, Y3),
    "lightgbm, rest": (lightgbm.LGBMClassifier(objective="multiclassova", **L_FEW), X3, Y3),
    "lightgbm, numbers": (lightgbm.LGBMRegressor(**L_FEW), XR, YR),
}


def test_by_hand_one_stump() -> None:
    """Leaves -3 and 3 on two rows each, targets 1 below the one and 2 above the other: delta = 2 (-1) / (2 + k), 2 (2) / (2 + k).

    sum of squares + k delta^2 has, for a leaf of n rows with residual r, its minimum at n r / (n + k).
    """
    X = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    model = xgboost.XGBRegressor(n_estimators=1, max_depth=1, learning_rate=1, reg_lambda=0, base_score=0.0, n_jobs=1)
    forest = read_model(model.fit(X, 3 * X[:, 0]))
    y = np.array([-4.0, -4.0, 5.0, 5.0])
    leaves = Leaves.of(forest, forest.ensemble.is_split, forest.rows(X))
    for k in (1.0, 2.0, 6.0):
        delta = corrections(leaves, loss_of(forest, y, 4), forest.margins(forest.rows(X)), np.ones(4), k, np.zeros(2))
        assert delta == pytest.approx([-2 / (2 + k), 4 / (2 + k)], rel=1e-6)


def indicators(forest: Any, kept: Any, X: Any) -> Any:
    """Z as a dense matrix, from the routes of single rows."""
    ends = pruned_ends(forest.ensemble, kept)
    e, rows = forest.ensemble, forest.rows(X)
    Z = np.zeros((len(rows), e.n_nodes))
    for i, x in enumerate(rows):
        for root in e.roots:
            h = int(root)
            while e.left[h] >= 0:
                h = int(e.left[h] if x[e.feature[h]] <= e.threshold[h] else e.right[h])
            Z[i, ends[h]] += 1
    return Z[:, Z.any(axis=0)]


@pytest.mark.parametrize("k", [1.0, 30.0])
def test_squares_are_scikit_learns_ridge(k: float) -> None:
    """For squares the refitted margins are those of Ridge on the leaf indicators and the residuals."""
    forest = read_model(xgboost.XGBRegressor(**X_FEW).fit(XR[:300], YR[:300]))
    rows, weight = forest.rows(XR[:300]), np.random.default_rng(0).integers(0, 3, 300).astype(float)
    kept = forest.ensemble.is_split
    ((_, found),) = refitted(forest, kept, rows, loss_of(forest, YR[:300], 300), weight, [k])
    Z, F = indicators(forest, kept, XR[:300]), forest.margins(rows)[:, 0]
    ridge = Ridge(alpha=k, fit_intercept=False).fit(Z, YR[:300] - F, sample_weight=weight / weight.mean())
    assert found.margins(rows)[:, 0] == pytest.approx(F + ridge.predict(Z), abs=2e-4)


def test_log_loss_without_a_start_is_scikit_learns_logistic_regression() -> None:
    """With all values 0 the refit is a penalised logistic regression on the leaf indicators: h = 1/4, so C = 4 / k."""
    forest = read_model(xgboost.XGBClassifier(base_score=0.5, **X_FEW).fit(X2[:300], Y2[:300]))
    empty, k = forest.with_values(np.zeros_like(forest.ensemble.value)), 8.0
    rows, kept = forest.rows(X2[:300]), forest.ensemble.is_split
    ((_, found),) = refitted(empty, kept, rows, loss_of(forest, Y2[:300], 300), np.ones(300), [k])
    Z = indicators(forest, kept, X2[:300])
    logistic = LogisticRegression(C=4 / k, fit_intercept=False, tol=1e-8, max_iter=10_000).fit(Z, Y2[:300])
    assert found.margins(rows)[:, 0] == pytest.approx(logistic.decision_function(Z), abs=0.01)


@pytest.mark.parametrize("name", MODELS)
def test_same_splits_same_cost_less_loss(name: str) -> None:
    """The refit keeps splits and cost, never raises the loss of the pruning's rows, and the exported model shows both."""
    model, X, y = MODELS[name]
    model.fit(X[:300], y[:300])
    pruned = prune_boosted(model, X[300:450], y[300:450], costs=1, budget=4, time_limit=0.0)
    fitted = pruned.refit(X[:300], y[:300])
    assert np.array_equal(fitted.kept, pruned.kept)
    assert fitted.cost == pruned.cost == pytest.approx(fitted.usage.cost(fitted.kept), rel=1e-12)
    assert fitted.loss <= pruned.loss
    assert fitted is pruned or not fitted.stationary
    seen = evaluate(fitted.to_model(), X[300:450], y[300:450], costs=1)
    assert (seen.loss, seen.cost) == (pytest.approx(fitted.loss, rel=1e-5), pytest.approx(pruned.cost, rel=1e-12))
    assert np.allclose(fitted.predict(X), fitted.to_model().predict(X), rtol=1e-4, atol=1e-6)
    before = evaluate(pruned.to_model(), X[300:450], y[300:450], costs=1)
    assert before.loss == pytest.approx(pruned.loss, rel=1e-5)


def test_no_refit_where_it_does_not_help() -> None:
    """Refitted to wrong labels, nothing changes: the pruning itself is among what is chosen from."""
    model = xgboost.XGBClassifier(**X_FEW).fit(X2[:300], Y2[:300])
    pruned = prune_boosted(model, X2[300:], Y2[300:], costs=1, budget=4, time_limit=0.0)
    assert pruned.refit(X2[:300], 1 - Y2[:300]) is pruned


def test_the_gradient_is_that_of_the_objective() -> None:
    """Slopes gathered over leaves are the differences of the summed loss, softmax among them."""
    forest = read_model(xgboost.XGBClassifier(**{**X_FEW, "n_estimators": 2}).fit(X3[:100], Y3[:100]))
    rows, loss = forest.rows(X3[:100]), loss_of(forest, Y3[:100], 100)
    leaves, F = Leaves.of(forest, forest.ensemble.is_split, rows), forest.margins(rows)
    delta = np.random.default_rng(0).normal(size=leaves.n_leaves)
    off = check_grad(
        lambda d: loss.values(F + leaves.add(d)).sum(), lambda d: leaves.gather(loss.slopes(F + leaves.add(d))), delta
    )
    assert off < 1e-4


def test_a_path_is_refitted_as_a_whole() -> None:
    """Every pruning of the refitted path loses at most what it lost before, and `at_cost` the least of the refitted ones."""
    model = xgboost.XGBClassifier(**X_FEW).fit(X2[:300], Y2[:300])
    path = boosted_path(model, X2[300:], Y2[300:], costs=1, lams=3, time_limit=0.0)
    fitted = path.refit(X2[:300], Y2[:300], most=5)
    assert all(after.loss <= before.loss for before, after in zip(path.found, fitted.found, strict=True))
    assert all(a.cost < b.cost and a.loss > b.loss for a, b in pairwise(fitted.front))
    for budget in (1.0, 3.0, 6.0):
        within = [p.loss for p in (*fitted.found, *path.front) if p.cost <= budget]
        assert fitted.at_cost(budget).loss <= min(within)
    assert fitted.unpruned.loss <= path.unpruned.loss


def test_bad_arguments_are_refused() -> None:
    """Strengths that are not above 0, unknown labels, other columns, and prunings without labels."""
    model = xgboost.XGBClassifier(**X_FEW).fit(X2[:300], Y2[:300])
    pruned = prune_boosted(model, X2[300:], Y2[300:], costs=1, budget=4, time_limit=0.0)
    with pytest.raises(InvalidInputError, match=r"strengths\[1\] is 0; give finite numbers above 0"):
        pruned.refit(X2, Y2, strengths=[1, 0])
    with pytest.raises(InvalidInputError, match=r"y\[0\] is the label 5"):
        pruned.refit(X2, np.where(np.arange(600) == 0, 5, Y2))
    with pytest.raises(InvalidInputError, match="sample_weight"):
        pruned.refit(X2, Y2, sample_weight=-np.ones(600))
    bare = type(pruned)(pruned.forest, pruned.usage, pruned.kept, 0.0, pruned.loss, pruned.cost, False)
    with pytest.raises(InvalidInputError, match="does not hold the labels"):
        bare.refit(X2, Y2)
