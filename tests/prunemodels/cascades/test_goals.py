"""What cascades optimise besides the error: costs of mistakes, log loss, and a cap on what any row pays; and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import CostItems
from formulations.errors import InvalidInputError
from prunemodels.cascades.cascade_files import load_cascade, save_cascade
from prunemodels.on_demand.request import from_table
from tests.prunemodels.cascades.test_cascades import NAMES, QUICK, TABLE, XR, YR, X, Y

STAGES = [(None, []), (DecisionTreeClassifier(max_depth=3), ["c0"]), (LogisticRegression(), None)]
DEAR = {("yes", "no"): 10}
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
MATRIX = np.array([[0, 1], [10, 0]])


def budget_cascade(**options: Any) -> pm.BudgetCascadeClassifier:
    return pm.BudgetCascadeClassifier(LINEAR, n_stages=5, **{**QUICK, **options})


def mean_cost(said: NDArray[Any]) -> float:
    return float(np.mean([10.0 if y == "yes" and s == "no" else float(y != s) for y, s in zip(Y, said, strict=True)]))


def test_what_is_stated_of_mistakes_is_what_calling_the_cascade_gives() -> None:
    model = pm.CascadeClassifier(STAGES, lam=0.01, mistakes=DEAR, **QUICK).fit(TABLE, Y)
    own = model.own_rows_
    said = model.predict(TABLE)
    assert model.error_ == pytest.approx(
        np.mean([MATRIX[int(y == "yes"), int(s == "yes")] for y, s in zip(Y[own], said[own], strict=True)])
    )
    np.testing.assert_array_equal(said == "yes", 10 * model.predict_proba(TABLE)[:, 1] > model.predict_proba(TABLE)[:, 0])
    assert model.exit_path_.by.measure == "mean misclassification cost"
    assert pm.cascades.evaluate_exit_path(model, TABLE, Y).mean_loss(model.policy_) == pytest.approx(mean_cost(said))


def test_dear_mistakes_are_avoided() -> None:
    plain, careful = (budget_cascade(budget=2, **more).fit(TABLE, Y) for more in ({}, {"mistakes": DEAR}))
    missed = [int(((m.predict(TABLE) == "no") & (Y == "yes")).sum()) for m in (plain, careful)]
    assert missed[1] < missed[0]
    assert mean_cost(careful.predict(TABLE)) < mean_cost(plain.predict(TABLE))


def test_mistakes_of_one_each_are_the_error() -> None:
    plain, ones = (budget_cascade(budget=2, **more).fit(TABLE, Y) for more in ({}, {"mistakes": 1 - np.eye(2)}))
    np.testing.assert_array_equal(ones.predict(TABLE), plain.predict(TABLE))
    assert (ones.cost_, ones.error_, ones.held_out_error_) == pytest.approx((plain.cost_, plain.error_, plain.held_out_error_))


def test_the_log_loss_is_stated_as_it_is_called() -> None:
    model = pm.CascadeClassifier(STAGES, lam=0.01, loss="log_loss", **QUICK).fit(TABLE, Y)
    own = model.own_rows_
    p = model.predict_proba(TABLE.iloc[own])[np.arange(own.size), (Y[own] == "yes").astype(int)]
    assert model.error_ == pytest.approx(-np.log(np.maximum(p, 1e-4)).mean())


def test_a_cascade_of_dear_mistakes_is_read_from_a_file_as_it_was(tmp_path: Any) -> None:
    model = budget_cascade(mistakes=DEAR).fit(TABLE, Y)
    save_cascade(model, tmp_path / "dear.skops")
    again = load_cascade(tmp_path / "dear.skops")
    np.testing.assert_array_equal(again.predict(TABLE), model.predict(TABLE))
    assert again.policy_.by == model.policy_.by


def test_a_walk_says_the_class_of_least_expected_cost() -> None:
    model = budget_cascade(mistakes=DEAR, budget=2).fit(TABLE, Y)
    walked = pm.OnDemandPredictor(model, acquire=from_table(TABLE)).run(TABLE.index)
    np.testing.assert_array_equal(walked.predictions, model.predict(TABLE))


@pytest.mark.parametrize("cap", [1, 2, 3.5])
@pytest.mark.parametrize("goal", [{}, {"budget": 1.5}, {"lam": 0.001}], ids=["alone", "budget", "lam"])
def test_no_row_ever_pays_more_than_the_cap(cap: float, goal: dict[str, Any]) -> None:
    model = budget_cascade(max_cost=cap, **goal).fit(TABLE, Y)
    assert model.prediction_cost(pd.DataFrame(np.random.default_rng(0).normal(0, 9, (400, 6)), columns=NAMES)).max() <= cap
    assert all(path.cost[0] <= cap for path in model.exit_paths_)
    if "budget" in goal:
        assert model.cost_ <= goal["budget"] * (1 + 1e-12)


def test_an_item_dearer_than_the_cap_hides_no_other() -> None:
    """c5 copies the labels and costs 100: in sets with c5 nothing else matters, but none may buy it; c0 says what is left."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(300, 6))
    y = (noise[:, 0] + 0.3 * noise[:, 1] > 0).astype(int)
    noise[:, 5] = y
    model = pm.BudgetCascadeClassifier(LINEAR, [1, 1, 1, 1, 1, 100], max_cost=2, cv=2, n_levels=4, random_state=0).fit(noise, y)
    assert {items for items, _ in model.item_sets_ if len(items) == 2} == {("x0", "x1")}
    assert model.score(noise, y) > 0.95


def test_items_paid_once_for_all_rows_do_not_count_towards_the_cap() -> None:
    items = CostItems.from_items({"a": 1, "licence": 50}, [["a", "licence"]] * 2 + [["a"]] * 4, once=["licence"])
    model = pm.CascadeClassifier([(None, []), (LINEAR, None)], items, max_cost=1, lam=0, **QUICK).fit(X, Y)
    assert model.prediction_cost(X).max() == 1


def test_named_stages_above_the_cap_are_left_out() -> None:
    stages = [(LINEAR, ["c0"]), (LINEAR, ["c0", "c1"]), (LINEAR, None)]
    model = pm.CascadeClassifier(stages, max_cost=2, **QUICK).fit(TABLE, Y)
    assert model.stages_.n_stages == 2
    assert model.prediction_cost(TABLE).max() <= 2


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (budget_cascade(max_cost=0.5, costs=[1, 2, 3, 4, 5, 6]), "max_cost is 0.5, and the cheapest feature costs 1"),
        (budget_cascade(max_cost=-1), "max_cost"),
        (
            pm.CascadeClassifier([(LINEAR, ["c0", "c1"]), (LINEAR, None)], max_cost=1),
            "max_cost is 1, and the first stage costs 2",
        ),
        (budget_cascade(mistakes={("yes", "maybe"): 2}), "'maybe', which is none of the classes"),
        (budget_cascade(loss="auc"), "loss is 'auc'"),
    ],
)
def test_bad_goals_are_refused_before_training(model: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogisticRegression, "fit", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(InvalidInputError, match=says):
        model.fit(TABLE, Y)


def test_numbers_have_no_mistakes() -> None:
    with pytest.raises(InvalidInputError, match="mistakes are for classes"):
        pm.BudgetCascadeRegressor(mistakes=DEAR).fit(XR, YR)


@pytest.mark.parametrize("seed", [2, 5, 6])
def test_numbers_under_a_cap_are_predicted_from_the_best_two_columns(seed: int) -> None:
    """Under a cap orders of purchases end in different sets; a bad end is judged by the best one, not by itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    y = X @ [1, 2, 0, 0] + 0.5 * rng.normal(size=200)
    model = pm.BudgetCascadeRegressor(LinearRegression(), 1, max_cost=2, cv=2, n_levels=8, random_state=0).fit(X, y)
    assert model.stages_.features[model.policy_.last_stage].tolist() == [0, 1]
    assert model.error_ < 0.35


def test_fitted_stages_take_no_cap() -> None:
    fitted = pm.CascadeClassifier(STAGES, **QUICK).fit(TABLE, Y).stages_
    with pytest.raises(InvalidInputError, match="max_cost is for stages that the cascade fits"):
        pm.CascadeClassifier(fitted, max_cost=1).fit(TABLE, Y)


def test_a_pipeline_is_trained_with_the_weights_of_the_rows() -> None:
    """A row of weight 2 counts as two rows, in a pipeline as in an estimator that takes weights itself."""
    weight = np.where(np.arange(len(Y)) % 3 == 0, 2.0, 1.0)
    given = {"X_valid": TABLE, "y_valid": Y}
    linear = make_pipeline("passthrough", LogisticRegression())
    stages = [(None, []), (linear, ["c0"]), (linear, None)]
    weighted = pm.CascadeClassifier(stages, **QUICK).fit(TABLE, Y, sample_weight=weight, **given)
    rows = np.repeat(np.arange(len(Y)), weight.astype(int))
    twice = pm.CascadeClassifier(stages, **QUICK).fit(TABLE.iloc[rows], Y[rows], **given)
    np.testing.assert_allclose(weighted.predict_proba(TABLE), twice.predict_proba(TABLE), atol=1e-6)


def test_weights_reach_a_pipeline_with_metadata_routing_too() -> None:
    weight = np.where(np.arange(len(Y)) % 3 == 0, 2.0, 1.0)
    plain = pm.CascadeClassifier([*STAGES[:1], (LINEAR, None)], **QUICK).fit(TABLE, Y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = pm.CascadeClassifier([*STAGES[:1], (LINEAR, None)], **QUICK).fit(TABLE, Y, sample_weight=weight)
    np.testing.assert_array_equal(routed.predict_proba(TABLE), plain.predict_proba(TABLE))


def test_unweighted_figures_stand_beside_the_weighted_ones() -> None:
    weight = np.where(Y == "yes", 5.0, 1.0)
    model = budget_cascade(budget=1.5).fit(TABLE, Y, sample_weight=weight)
    own = model.own_rows_
    paid, wrong = model.prediction_cost(TABLE)[own], model.predict(TABLE)[own] != Y[own]
    assert model.cost_ == pytest.approx(np.average(paid, weights=weight[own]))
    assert model.unweighted_cost_ == pytest.approx(paid.mean())
    assert model.unweighted_error_ == pytest.approx(wrong.mean())
    assert model.feature_names_in_.tolist() == NAMES


def test_bars_say_what_is_being_done(capsys: pytest.CaptureFixture[str]) -> None:
    """By default on a terminal alone, which this is not."""
    budget_cascade(budget=2).fit(TABLE, Y)
    assert capsys.readouterr().err == ""
    budget_cascade(budget=2, verbose=1).fit(TABLE, Y)
    said = capsys.readouterr().err
    assert all(what in said for what in ("dropping items", "fitting models", "learning when to stop"))
