"""Stages that are trained above all on the rows that reach them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from joblib import parallel_backend
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.exits import cascade, reach
from prunemodels.exits.gain import is_better
from prunemodels.exits.inputs import exit_table

NUMBER, GROUP, VALUE = 0, 1, 2


class Known(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Knows the classes of groups 0 and 1 without training, and nothing of group 2."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.classes_, self.trained_on_ = np.unique(y), len(y)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        said = np.array([[0.99, 0.01], [0.01, 0.99], [0.5, 0.5]])
        return said[np.asarray(X)[:, 0].astype(int)]


class Recorder(LogisticRegression):  # type: ignore[misc]
    """A line on the last column, which records the row numbers and weights of every training."""

    fits: ClassVar[list[dict[int, float]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        X = np.asarray(X)
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        self.trained_on_ = dict(zip(X[:, 0].astype(int).tolist(), np.asarray(weights, dtype=float).tolist(), strict=True))
        self.fits.append(self.trained_on_)
        return super().fit(X[:, -1:], y, sample_weight)  # type: ignore[no-any-return]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(super().predict_proba(np.asarray(X)[:, -1:]))


@pytest.fixture(autouse=True)
def no_records() -> Iterator[None]:
    """Each test begins with no training recorded."""
    Recorder.fits.clear()
    yield
    Recorder.fits.clear()


def groups(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Row number, group, and a value: groups 0 and 1 are of one class each, with values below and above 0.

    In group 2 the class changes where the value is 1, so a line for all rows has its threshold between 0 and 1, and errs there.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    value = np.select([group == 0, group == 1], [-2 * rng.random(n), 2 * rng.random(n)], 4 * rng.random(n) - 1)
    y = np.select([group == 0, group == 1], [0, 1], value > 1).astype(np.int64)
    return np.column_stack([np.arange(n), group, value]), y


STAGES = [(Known(), [GROUP]), (Recorder(), [NUMBER, VALUE])]
PLAIN: dict[str, Any] = {"costs": [0, 0, 1], "lam": 0.05, "doubt": "margin", "stack": False, "random_state": 0}


def of_groups(X: Any, y: Any, fit: dict[str, Any] | None = None, **options: Any) -> Any:
    """A cascade in which exactly the rows of group 2 go on: a stage for 1 saves half an error there, and none elsewhere."""
    model = pm.CascadeClassifier(STAGES, **{**PLAIN, **options}).fit(X, y, **(fit or {}))
    np.testing.assert_array_equal(model.stop_stages(X) == 1, X[:, GROUP] == 2)
    return model


def wrong(model: Any, X: Any, y: Any) -> float:
    return float(np.mean(model.predict(X) != y))


@pytest.mark.parametrize("given", [None, "weights"])
@pytest.mark.parametrize("weight", [0.0, 0.25])
def test_rows_that_stop_before_a_stage_have_the_weight_given(weight: float, given: str | None) -> None:
    """By hand: group 2 goes on, so the others' weights are multiplied, in every fold and at last; weight 0 leaves rows out."""
    X, y = groups(300)
    own = np.ones(300) if given is None else 1.0 + np.arange(300) % 3
    fit = {} if given is None else {"sample_weight": own}
    model = of_groups(X, y, fit, cv=KFold(3), stopped_weight=weight)
    assert model.reweighted_.tolist() == [False, True]
    expected = {i: own[i] * (1.0 if X[i, GROUP] == 2 else weight) for i in range(300)}
    folds = [{i for i in range(300) if i // 100 != k} for k in range(3)]
    last = [{i: expected[i] for i in part if expected[i] > 0} for part in [*folds, set(range(300))]]
    # three folds and all rows; two halves, which find out who comes; three folds and all rows
    assert len(Recorder.fits) == 4 + 2 + 4
    assert Recorder.fits[-4:] == last
    assert model.stages_.models[1].trained_on_ == last[-1]
    first, second = (set(f) for f in Recorder.fits[4:6])
    assert first | second == set(range(300))
    assert not first & second


def test_weight_zero_is_a_fit_on_the_rows_that_come() -> None:
    """The model is that of a direct fit on these rows, and errs far less than one that was trained on all alike."""
    X, y = groups(600)
    X_test, y_test = groups(2000, seed=1)
    alike, only, light = (of_groups(X, y, stopped_weight=w) for w in (None, 0, 0.1))
    come = X[:, GROUP] == 2
    direct = LogisticRegression().fit(X.astype(np.float32)[come, VALUE:], y[come])
    np.testing.assert_allclose(only.stages_.models[1].coef_, direct.coef_, rtol=1e-9)
    np.testing.assert_allclose(only.stages_.models[1].intercept_, direct.intercept_, rtol=1e-9)
    assert alike.reweighted_.tolist() == [False, False]
    assert only.reweighted_.tolist() == light.reweighted_.tolist() == [False, True]
    assert wrong(only, X_test, y_test) < 0.005 < wrong(light, X_test, y_test) < 0.015
    assert wrong(alike, X_test, y_test) > 0.04
    assert only.held_out_error_ < alike.held_out_error_ - 0.02


def test_where_training_on_fewer_rows_is_worse_the_stage_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """One rule for all rows, and few that come: the model of all rows is kept, and the cascade is that without the option."""
    rng = np.random.default_rng(3)
    group = rng.choice(3, 900, p=[0.45, 0.45, 0.1])
    X = np.column_stack([np.arange(900), group, rng.normal(size=(900, 3))])
    y = (X[:, 2:] @ [1.0, 1.0, -1.0] > 0).astype(np.int64)
    X[:, 2:] += 0.3 * rng.normal(size=(900, 3))  # of groups 0 and 1 the class is known, of group 2 it is not
    X[:, GROUP] = np.where(group == 2, 2, y)
    judged: list[bool] = []

    def noted(*args: Any) -> bool:
        judged.append(is_better(*args))
        return judged[-1]

    monkeypatch.setattr(reach, "is_better", noted)
    stages = [(Known(), [GROUP]), (DecisionTreeClassifier(min_samples_leaf=5), [2, 3, 4])]
    options = {**PLAIN, "costs": [0, 0, 1, 0, 0], "stack": True}
    alike, only = (pm.CascadeClassifier(stages, stopped_weight=w, **options).fit(X, y) for w in (None, 0.0))
    assert judged == [False]
    assert only.reweighted_.tolist() == [False, False]
    np.testing.assert_array_equal(only.predict_proba(X), alike.predict_proba(X))
    assert only.policy_.theta.tolist() == alike.policy_.theta.tolist()
    assert (only.cost_, only.held_out_cost_, only.held_out_error_) == (
        alike.cost_,
        alike.held_out_cost_,
        alike.held_out_error_,
    )


def test_less_loss_is_not_enough_where_more_rows_are_wrong() -> None:
    """By hand: losses and errors both count, and one row that gains much does not outweigh three that lose."""
    truth, ones = np.array([1, 1, 1, 1]), np.ones(4)
    old = np.array([[0.49, 0.51], [0.9, 0.1], [0.9, 0.1], [0.9, 0.1]])
    sharper = np.array([[0.49, 0.51], [0.6, 0.4], [0.6, 0.4], [0.6, 0.4]])
    trading = np.array([[0.51, 0.49], [0.6, 0.4], [0.6, 0.4], [0.6, 0.4]])
    certain = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.9, 0.1]])
    one = np.array([[0.1, 0.9], [0.93, 0.07], [0.93, 0.07], [0.93, 0.07]])  # gains 2.2 once, loses 0.36 three times
    assert is_better(sharper, old, truth, ones)
    assert not is_better(trading, old, truth, ones)
    assert not is_better(one, certain, truth, ones)
    assert is_better(one, certain, truth, np.array([9.0, 1.0, 1.0, 1.0]))
    assert not is_better(old, old, truth, ones)
    assert not is_better(old, sharper, truth, ones)


def test_without_the_option_nobody_asks_who_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """None leaves out all of it: nothing is fitted again and nothing is drawn."""
    X, y = groups(300)
    plain = of_groups(X, y)
    monkeypatch.setattr(cascade, "trained_for_reach", None)
    again = of_groups(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), plain.predict_proba(X))
    assert len(Recorder.fits) == 2 * 6  # five folds and all rows


@pytest.mark.parametrize("refit", [True, False])
def test_validation_rows_and_single_divisions(refit: bool) -> None:
    """The model has seen, of the rows that stages are trained on, those that come: all of X, or the part for training."""
    X, y = groups(400)
    come = {i for i in range(400) if X[i, GROUP] == 2}
    halves = ShuffleSplit(1, test_size=0.5, random_state=0)
    part = set(next(halves.split(X))[0].tolist())
    divided = of_groups(X, y, cv=halves, refit=refit, stopped_weight=0)
    assert divided.reweighted_.tolist() == [False, True]
    assert set(divided.stages_.models[1].trained_on_) == (come if refit else come & part)
    assert set(Recorder.fits[-2 if refit else -1]) == come & part
    X_valid, y_valid = groups(200, seed=1)
    given = of_groups(X, y, {"X_valid": X_valid, "y_valid": y_valid}, refit=refit, stopped_weight=0)
    assert given.reweighted_.tolist() == [False, True]
    assert set(given.stages_.models[1].trained_on_) == come
    assert given.exit_path_.n == 200


def test_each_stage_has_rows_of_its_own() -> None:
    """Group 2 comes to the second stage, which knows half of it, and the other half to the third; all come to the first.

    The second learns nothing from what it is trained on, so the model that it has stays.
    """
    X, y = groups(600)
    second = np.where((X[:, GROUP] == 2) & (np.arange(600) % 2 == 0), y, X[:, GROUP])
    X = np.column_stack([X[:, :2], second, X[:, VALUE]])
    stages = [(Known(), [GROUP]), (Known(), [2]), (Recorder(), [NUMBER, 3])]
    model = pm.CascadeClassifier(stages, stopped_weight=0.0, **{**PLAIN, "costs": [0, 0, 0.5, 0.5]}).fit(X, y)
    np.testing.assert_array_equal(model.stop_stages(X), np.where(X[:, GROUP] < 2, 0, np.where(second < 2, 1, 2)))
    assert model.reweighted_.tolist() == [False, False, True]
    assert model.stages_.models[1].trained_on_ == 600
    assert set(model.stages_.models[2].trained_on_) == set(np.flatnonzero(second == 2).tolist())


@pytest.mark.parametrize("doubt", ["margin", "learned"])
def test_rows_of_a_table_stop_where_the_cascade_stops_them(doubt: str) -> None:
    """Also where stages weigh what earlier ones said."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 4))
    y = (X @ np.ones(4) + rng.normal(size=900) > 0).astype(np.int64)
    model = pm.CascadeClassifier([(GaussianNB(), [f]) for f in range(4)], 1, lam=0.01, doubt=doubt, random_state=0).fit(X, y)
    assert model.policy_.stack.stacked.any()
    found = reach.stops(model.policy_, exit_table(model.stages_, X))
    assert np.unique(found).size > 1
    np.testing.assert_array_equal(found, model.stop_stages(X))


def test_the_policy_is_learned_anew_from_what_is_kept() -> None:
    """The path's figures are those of the stages that predict: on validation rows, to the last digit."""
    X, y = groups(400)
    X_valid, y_valid = groups(300, seed=1)
    model = pm.CascadeClassifier(STAGES, stopped_weight=0.2, **PLAIN).fit(X, y, X_valid=X_valid, y_valid=y_valid)
    assert model.reweighted_.any()
    assert model.exit_path_.error[model.row_] == pytest.approx(wrong(model, X_valid, y_valid), abs=1e-12)
    assert model.cost_ == pytest.approx(model.prediction_cost(X_valid).mean(), abs=1e-12)
    assert model.exit_path_.stages is model.stages_


def test_the_budget_is_kept_and_the_same_seed_gives_the_same() -> None:
    """The goal chooses twice; a clone with the same seed finds the same, in two jobs, too."""
    X, y = groups(400)
    stages = [(Known(), [GROUP]), (LogisticRegression(), [VALUE])]
    options = {"costs": [0, 0, 1], "budget": 0.4, "doubt": "margin", "random_state": 4, "stopped_weight": 0.1}
    one = pm.CascadeClassifier(stages, **options).fit(X, y)
    with parallel_backend("threading"):
        two = clone(one).set_params(n_jobs=2).fit(X, y)
    assert one.get_params()["stopped_weight"] == 0.1
    assert one.cost_ <= 0.4
    assert one.reweighted_.any()
    np.testing.assert_array_equal(one.reweighted_, two.reweighted_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.at_cost(0.1).reweighted_, one.reweighted_)


def test_too_few_rows_leave_a_stage_as_it_is() -> None:
    """At weight 0: a class of which a handful comes, or one class alone; at a weight > 0 all rows stay, and it is tried."""
    X, y = groups(400)
    come = X[:, GROUP] == 2
    several = np.cumsum(come & (y == 0)) <= 4  # four rows of class 0 come, or fewer, and all of class 1
    rows = ~come | (y == 1) | several
    X_valid, y_valid = groups(200, seed=1)
    fit = {"X_valid": X_valid, "y_valid": y_valid}
    for some, kept in ((rows, False), (~come | (y == 1), False), (np.ones(400, dtype=bool), True)):
        Recorder.fits.clear()
        only = of_groups(X[some], y[some], fit, stopped_weight=0)
        assert only.reweighted_.tolist() == [False, kept]
        assert len(Recorder.fits) == 3 + kept
    Recorder.fits.clear()
    of_groups(X[rows], y[rows], fit, stopped_weight=0.1)
    assert len(Recorder.fits) == 4


def test_a_class_of_one_row_is_no_obstacle() -> None:
    """The halves that tell who comes then have no classes in proportion; nobody is warned."""
    X, y = groups(400)
    X_valid, y_valid = groups(200, seed=1)
    X, y = np.vstack([X, [400, 0, 9.0]]), np.append(y, 2)
    stages = [(DecisionTreeClassifier(max_depth=2), [GROUP]), (LogisticRegression(), [VALUE])]
    model = pm.CascadeClassifier(stages, stopped_weight=0.1, **PLAIN).fit(X, y, X_valid=X_valid, y_valid=y_valid)
    assert model.reweighted_.tolist() == [False, True]
    assert model.predict_proba(X).shape == (401, 3)


@pytest.mark.parametrize("cv", [3, None])
def test_numbers(cv: int | None) -> None:
    """Of group 0 the number is 1, of group 1 it follows a line through 0, which a line for both groups misses."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 600)
    value = rng.normal(size=600) * np.where(group == 0, 0.1, 1.0)
    X = np.column_stack([group, value])
    y = np.where(group == 0, 1.0, 3 * value) + 0.01 * rng.normal(size=600)
    stages = [(DecisionTreeRegressor(max_depth=1), [0]), (LinearRegression(), [1])]
    rest = {} if cv else {"X_valid": X[400:], "y_valid": y[400:]}
    train = slice(None) if cv else slice(400)
    alike, only = (
        pm.CascadeRegressor(stages, [0, 1], lam=0.1, stack=False, cv=cv, stopped_weight=w, random_state=0).fit(
            X[train], y[train], **rest
        )
        for w in (None, 0.0)
    )
    come = only.stop_stages(X) == 1
    assert only.reweighted_.tolist() == [False, True]
    assert set(group[come]) == {1}
    assert only.stages_.models[1].coef_ == pytest.approx([3.0], abs=0.01)
    assert np.mean((only.predict(X) - y) ** 2) < 0.3 * np.mean((alike.predict(X) - y) ** 2)


def test_cascades_that_find_their_sets_have_the_option() -> None:
    """Two free columns and a dear one; those who are nearly sure have the opposite slope, and no longer count in full."""
    rng = np.random.default_rng(0)
    n = 1200
    sure, value = rng.random(n) < 0.5, rng.normal(size=n)
    y = np.where(sure, value < 1.3, value > 0).astype(np.int64)
    X = np.column_stack([sure, ~sure, value])
    options: dict[str, Any] = {"costs": [0, 0, 1], "lam": 0.1, "cv": 3, "doubt": "margin", "random_state": 0}
    alike, light = (pm.BudgetCascadeClassifier(LogisticRegression(), stopped_weight=w, **options).fit(X, y) for w in (None, 0.1))
    assert alike.item_sets_ == light.item_sets_
    assert alike.reweighted_.tolist() == [False, False]
    assert light.reweighted_.tolist() == [False, True]
    np.testing.assert_array_equal(light.stop_stages(X) == 1, ~sure)
    assert light.stages_.models[1].coef_[0, 2] > alike.stages_.models[1].coef_[0, 2] + 0.5
    with pytest.raises(InvalidInputError, match="stopped_weight is 2; give a number from 0 to below 1, or None"):
        pm.BudgetCascadeClassifier(LogisticRegression(), stopped_weight=2, **options).fit(X, y)
    with pytest.raises(InvalidInputError, match="stage 0 is a Pipeline, whose fit takes no sample_weight; give 0"):
        pm.BudgetCascadeClassifier(make_pipeline(StandardScaler(), LogisticRegression()), stopped_weight=0.3, **options).fit(X, y)


@pytest.mark.parametrize("weight", [1, 1.5, -0.1, float("nan"), float("inf"), "0.3", True, False, [0.3], np.True_])
def test_weights_that_are_none(weight: Any) -> None:
    """The option is named, its value, and what may stand there, before anything is fitted."""
    X, y = groups(100)
    with pytest.raises(InvalidInputError, match=r"stopped_weight is .*; give a number from 0 to below 1, or None"):
        pm.CascadeClassifier(STAGES, stopped_weight=weight, **PLAIN).fit(X, y)
    assert not Recorder.fits


def test_estimators_that_take_no_weights() -> None:
    """They are named, before anything is fitted; weight 0 leaves rows out, which every estimator can do."""
    X, y = groups(400)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    stages = [(Known(), [GROUP]), (pipeline, [VALUE])]
    with pytest.raises(InvalidInputError, match=r"stopped_weight is 0.3, and stage 1 is a Pipeline, .* give 0, .*, or None"):
        pm.CascadeClassifier(stages, stopped_weight=0.3, **PLAIN).fit(X, y)
    model = pm.CascadeClassifier(stages, stopped_weight=0, **PLAIN).fit(X, y)
    assert model.reweighted_.tolist() == [False, True]
    assert model.stages_.models[1][0].n_samples_seen_ == (X[:, GROUP] == 2).sum()


def test_stages_that_are_fitted_already() -> None:
    """Nothing is trained there; the error says what to give."""
    X, y = groups(200)
    fitted = of_groups(X, y).stages_
    with pytest.raises(InvalidInputError, match=r"stopped_weight is 0.5, but the stages are fitted already.*give \(estimator"):
        pm.CascadeClassifier(fitted, stopped_weight=0.5).fit(X, y)
