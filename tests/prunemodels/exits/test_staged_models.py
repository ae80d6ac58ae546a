"""Rounds of boosted models as stages say and cost what the models' own staged methods say and cost."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression

import prunemodels as pm
from formulations import CostItems
from formulations.errors import InvalidInputError, NotFittedForestError, UnsupportedModelError
from prunemodels.exits.staged_models import staged_model
from prunemodels.exits.stages import Stages
from prunemodels.models.costs import example_costs, staged_costs
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor
from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor

XC, YC = make_classification(240, 6, n_informative=4, n_classes=3, random_state=0)
XR, YR = make_regression(240, 6, n_informative=4, noise=10.0, random_state=0)
YR = YR / YR.std()
ITEMS = CostItems.from_items(
    {"a": 1, "b": 0.5, "c": 2, "licence": 5}, [["a"], ["a", "b"], ["c"], ["c", "licence"], ["b"], []], once=["licence"]
)
PRICED: dict[str, Any] = {"costs": ITEMS, "evaluation_cost": 0.01, "lam": 0.0005, "n_estimators": 7}
SMALL: dict[str, Any] = {"num_leaves": 6, "min_child_samples": 5}

MODELS: dict[str, Any] = {
    "CEGB": CEGBClassifier(engine="own", **SMALL, **PRICED),
    "CEGB by LightGBM": CEGBClassifier(**SMALL, **{**PRICED, "costs": [1, 0.5, 2, 0, 1, 3]}),
    "CEGB of numbers": CEGBRegressor(engine="own", **SMALL, **PRICED),
    "GreedyMiser": GreedyMiserClassifier(**PRICED),
    "GreedyMiser, squared": GreedyMiserClassifier(loss="squared_error", **PRICED),
    "GreedyMiser of numbers": GreedyMiserRegressor(**PRICED),
    "boosting": GradientBoostingClassifier(n_estimators=7, random_state=0),
    "boosting from 0": GradientBoostingClassifier(n_estimators=7, init="zero", random_state=0),
    "boosting of numbers": GradientBoostingRegressor(n_estimators=7, random_state=0),
    "boosting of numbers by a loss that is not pruned": GradientBoostingRegressor(n_estimators=7, loss="huber", random_state=0),
}


@cache
def fitted(kind: str, n_classes: int) -> Any:
    """The model of that kind."""
    model = MODELS[kind]
    y = YR if "numbers" in kind else np.array(["no", "yes", "maybe"])[np.minimum(YC, n_classes - 1)]
    return type(model)(**model.get_params()).fit(XR if "numbers" in kind else XC, y)


def rows_of(kind: str) -> Any:
    return XR if "numbers" in kind else XC


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_a_stage_says_what_the_model_says_after_its_rounds(kind: str, n_classes: int) -> None:
    """Probabilities, or numbers, after 1, 3 and all rounds."""
    model, X = fitted(kind, n_classes), rows_of(kind)
    rounds = [1, 3, 7]
    stages = staged_model(model, rounds)
    assert isinstance(stages, Stages)
    if stages.classes is None:
        said = [p.copy()[:, None] for p in model.staged_predict(X)]
    else:
        said = [p.copy() for p in model.staged_predict_proba(X)]
        np.testing.assert_array_equal(stages.classes, model.classes_)
    for s, k in enumerate(rounds):
        np.testing.assert_allclose(stages.output(s, X).value, said[k - 1], atol=1e-9)


@pytest.mark.parametrize("kind", [k for k in MODELS if "boosting" not in k])
def test_a_stage_costs_what_the_model_costs_after_its_rounds(kind: str) -> None:
    """At the model's own prices, what is paid once included; rows pay what the whole model asks of them."""
    model, X = fitted(kind, 3), rows_of(kind)
    stages = staged_model(model, [0, 1, 3, 7])
    paid = stages.costs(X)
    np.testing.assert_allclose(paid.mean(axis=1)[1:] + stages.once[1:], model.staged_cost(X)[[0, 2, 6]])
    np.testing.assert_allclose(paid[-1], model.prediction_cost(X))
    assert (paid[0] == 0).all()
    assert stages.once[0] == 0


@pytest.mark.parametrize("kind", ["boosting", "boosting of numbers"])
def test_boosting_of_scikit_learn_costs_what_its_trees_cost(kind: str) -> None:
    """Prices are 1 a feature unless given; round 0 is a constant that costs nothing and that the model starts from."""
    model, X = fitted(kind, 3), rows_of(kind)
    stages = staged_model(model, [0, 2, 7], costs=ITEMS, evaluation_cost=0.5)
    assert (stages.costs(X)[0] == 0).all()
    stage = np.repeat(np.arange(7), model.estimators_.shape[1])
    whole = staged_costs(stages.ensemble, X, ITEMS, evaluation_cost=0.5, stage=stage)
    np.testing.assert_allclose(stages.costs(X).mean(axis=1)[1:] + stages.once[1:], whole[[1, 6]])
    np.testing.assert_allclose(staged_model(model, [7]).costs(X)[0], example_costs(stages.ensemble, X, 1))
    assert np.ptp(stages.output(0, X).value, axis=0).max() == 0
    if stages.classes is not None:
        shares = np.unique(np.asarray(model.classes_)[YC], return_counts=True)[1] / len(YC)
        assert sorted(stages.output(0, X).value[0]) == pytest.approx(sorted(shares))


def test_an_exponential_loss_has_half_the_log_odds() -> None:
    """scikit-learn's probabilities for it are those of twice the margin."""
    y = YC > 0
    model = GradientBoostingClassifier(n_estimators=5, loss="exponential", random_state=0).fit(XC, y)
    np.testing.assert_allclose(staged_model(model, [5]).output(0, XC).value, model.predict_proba(XC), atol=1e-12)


@pytest.mark.parametrize("kind", ["CEGB", "GreedyMiser, squared", "boosting"])
def test_a_cascade_of_rounds(kind: str) -> None:
    """A cascade takes such stages, buys no more than the model, and where all go on says what the model says."""
    model = fitted(kind, 3)
    y = np.asarray(model.classes_)[YC % 3] if kind == "boosting" else np.array(["no", "yes", "maybe"])[YC]
    stages = staged_model(model, [1, 2, 4, 7], costs=ITEMS)
    budget = float((stages.costs(XC).mean(axis=1) + stages.once)[:2].mean())
    cascade = pm.CascadeClassifier(stages, budget=budget, stack=False, doubt="margin", random_state=0, n_levels=4).fit(XC, y)
    assert cascade.exit_path_.closures.certificate is not None
    assert (cascade.prediction_cost(XC) <= stages.costs(XC)[-1] + 1e-12).all()
    assert cascade.prediction_cost(XC).mean() <= cascade.cost_ <= budget
    stop = cascade.stop_stages(XC)
    said = [p.copy() for p in model.staged_predict_proba(XC)]
    expected = np.array([said[(1, 2, 4, 7)[s] - 1][i] for i, s in enumerate(stop)])
    np.testing.assert_allclose(cascade.predict_proba(XC), expected, atol=1e-9)
    assert cascade.n_features_in_ == 6


def test_other_models_are_refused_by_name() -> None:
    """Forests, other boosting, unfitted models, and boosting that starts from a model of its own."""
    for model in (RandomForestClassifier(), HistGradientBoostingClassifier(), "model"):
        with pytest.raises(UnsupportedModelError, match=f"{type(model).__name__} has no rounds that can be stages"):
            staged_model(model, [1])
    for unfitted in (CEGBClassifier(), GreedyMiserRegressor(), GradientBoostingClassifier()):
        with pytest.raises(NotFittedForestError, match=f"the {type(unfitted).__name__} is not fitted"):
            staged_model(unfitted, [1])
    odd = GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()).fit(XC, YC)
    with pytest.raises(
        UnsupportedModelError, match=r"starts from the predictions of a LogisticRegression .* train with init=None"
    ):
        staged_model(odd, [1])


@pytest.mark.parametrize("rounds", [[], [3, 1], [1, 1], [-1, 2], [1, 8]])
def test_rounds_that_cannot_be_are_refused(rounds: list[int]) -> None:
    """They rise from 0 to what the model has."""
    with pytest.raises(InvalidInputError, match=r"rounds is \[.*\]; give rising numbers from 0 to 7"):
        staged_model(fitted("GreedyMiser", 2), rounds)
