"""Cascades of stages that the user names, what is said of held-out rows, and their files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import CostItems
from prunemodels.cascades.cascade_files import holds_cascade, load_cascade, save_cascade
from prunemodels.cascades.learning import cross_fit, solve_exits
from prunemodels.cascades.spending import between_optima
from prunemodels.files.forests import FOREST_ENDINGS, load_forest, save_forest
from prunemodels.stages.doubt import MarginDoubt
from prunemodels.stages.set_stages import BlendedStage, SetStages
from prunemodels.stages.stages import table_of
from tests.prunemodels.cascade_cases import KINDS, Case, Kind, case
from tests.prunemodels.cascades.tables import SpyClassifier, SpyRegressor, random_table, sample_of

X, Y = make_classification(200, 6, n_informative=4, n_classes=2, random_state=0)
Y = np.array(["no", "yes"])[Y]
NAMES = [f"c{f}" for f in range(6)]
TABLE = pd.DataFrame(X, columns=NAMES)
XR, YR = make_regression(200, 6, n_informative=4, noise=5.0, random_state=0)
YR = YR / YR.std()
QUICK: dict[str, Any] = {"doubt": "margin", "n_levels": 4, "cv": 2, "random_state": 0}
ITEMS = CostItems.from_items(
    {"free": 0, "blood": 3, "age": 0.5, "scan": 10, "licence": 2},
    [["free"], ["blood", "age"], ["blood"], ["age"], ["scan"], ["scan", "licence"]],
    once=["licence"],
)


def tree(depth: int = 3) -> Any:
    return DecisionTreeClassifier(max_depth=depth)


def test_who_stops_where_pays_for_what_was_bought_by_then() -> None:
    """Features by place: stage 0 reads nothing, 1 a column for 1, 2 two more for 2 and 3; the row's stage says what is said."""
    stages = [(None, []), (tree(2), [0]), (tree(), [1, 3])]
    model = pm.CascadeClassifier(stages, costs=[1, 2, 9, 3, 9, 9], lam=0.01, stack=False, **QUICK).fit(X, Y)
    stop = model.stop_stages(X)
    assert set(stop.tolist()) <= {0, 1, 2}
    np.testing.assert_array_equal(model.prediction_cost(X), np.array([0, 1, 6])[stop])
    said = model.predict_proba(X)
    shares = np.array([(label == Y).mean() for label in model.classes_])
    columns = {1: [0], 2: [1, 3]}
    for s in set(stop.tolist()):
        at = stop == s
        expected = (
            np.tile(shares, (at.sum(), 1))
            if s == 0
            else model.stages_.models[s].predict_proba(X[at].astype(np.float32)[:, columns[s]])
        )
        np.testing.assert_allclose(said[at], expected)
    np.testing.assert_array_equal(model.predict(X), model.classes_[said.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(model.predict_log_proba(X[:0:-1]), np.log(model.predict_proba(X[:0:-1])))


def test_items_allow_all_columns_that_they_and_earlier_ones_pay_for() -> None:
    """Blood alone allows column 2; the age then allows 1 and 3 too, the blood being bought; a column without a price is free."""
    stages = [(tree(), "free"), (tree(), ["blood"]), (tree(), ["age"]), (tree(), ["scan", "licence"])]
    model = pm.CascadeClassifier(stages, costs=ITEMS, lam=0.0, **QUICK).fit(X, Y)
    assert [f.tolist() for f in model.stages_.features] == [[0], [0, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]
    assert model.stages_.prices().tolist() == [0, 3, 3.5, 13.5]
    assert model.stages_.once.tolist() == [0, 0, 0, 2]


@pytest.mark.slow
def test_goals_choose_policies_of_one_path() -> None:
    """A budget is kept exactly and may be a fraction; lam, and both rules, take rows of the path; copies are not fitted again."""
    stages = [(None, []), (tree(2), [0]), (tree(), None)]
    model = pm.CascadeClassifier(stages, lam=0.0, **QUICK).fit(X, Y)
    path = model.exit_path_
    assert model.row_ == path.row_at_lam(0.0) == 0
    dearest = path.closures.exact_cost[0]
    assert isinstance(dearest, Fraction)
    exactly = pm.CascadeClassifier(stages, budget=dearest, **QUICK).fit(X, Y)
    assert exactly.cost_ == pytest.approx(float(dearest), rel=1e-12)
    assert model.at_cost(dearest).cost_ == exactly.cost_
    kept, copied = pm.CascadeClassifier(stages, budget=1.7, **QUICK).fit(X, Y), model.at_cost(1.7)
    assert copied.cost_ == kept.cost_ <= 1.7
    assert copied.stages_ is model.stages_
    np.testing.assert_array_equal(copied.predict(X), kept.predict(X))
    assert model.row_ == 0  # the copy changed nothing
    assert model.at_lam(1e9).cost_ == 0.0
    for rule in ("one_se", "knee"):
        ruled = pm.CascadeClassifier(stages, choose=rule, **QUICK).fit(X, Y)
        assert ruled.row_ == ruled.exit_path_.row_by(rule)


def test_a_stage_that_has_not_seen_a_class_says_zero_of_it() -> None:
    """Probabilities stand in the cascade's columns, whatever classes a model knows."""
    known = tree().fit(X, Y)
    value = table_of(
        SetStages((known,), (np.arange(6),), CostItems.plain([1] * 6), np.array(["a third", *known.classes_])), X
    ).value
    np.testing.assert_array_equal(value[0], np.column_stack([np.zeros(200), known.predict_proba(X)]))


N = 90
ROWS = np.column_stack([np.arange(N, dtype=float), np.random.default_rng(0).normal(size=(N, 2))])
LABELS = np.where(ROWS[:, 1] + ROWS[:, 2] > 0, "yes", "no")
HONEST: dict[str, Any] = {"n_levels": 4, "cv": 3, "random_state": 0}
PRICES = [0, 1, 2]  # the row numbers are free, so that every stage reads them


def cascades(spy: Any, kind: str) -> list[Any]:
    options = {**HONEST, **({"doubt": "margin"} if kind == "Classifier" else {})}
    named = getattr(pm, f"Cascade{kind}")([(spy, [0, 1]), (spy, None)], PRICES, lam=0.01, **options)
    return [named, getattr(pm, f"BudgetCascade{kind}")(spy, PRICES, lam=0.01, **options)]


@pytest.mark.parametrize("which", [0, 1])
def test_validation_rows_train_nothing(which: int) -> None:
    """With X_valid, all of X trains and none of X_valid; models are asked about X_valid alone."""
    model, valid = cascades(SpyClassifier(max_depth=3), "Classifier")[which], np.arange(60, N)
    SpyClassifier.asked.clear()
    model.fit(ROWS[:60], LABELS[:60], X_valid=ROWS[60:], y_valid=LABELS[60:])
    for trained, asked in SpyClassifier.asked:
        assert trained == frozenset(range(60))
        assert asked <= set(valid.tolist())


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_no_model_speaks_of_rows_that_it_was_trained_on(kind: str, which: int) -> None:
    """While a cascade is fitted, every prediction that sets and policies are learned from is of rows unseen; each has one. The
    stages that predict have seen none of the own rows, on which cost and error are stated.
    """
    spy: Any = SpyClassifier(max_depth=3) if kind == "Classifier" else SpyRegressor(max_depth=3)
    model = cascades(spy, kind)[which]
    type(spy).asked.clear()
    model.fit(ROWS, LABELS if kind == "Classifier" else ROWS[:, 1] * ROWS[:, 2])
    spoken_of: set[int] = set()
    for trained, asked in type(spy).asked:
        assert not trained & asked
        spoken_of |= asked
    assert spoken_of == set(range(N))
    assert model.exit_path_.sample.own.sum() == model.own_rows_.size == N // 3
    for fitted in model.stages_.models:
        assert fitted.trained_on_ == frozenset(range(N)) - frozenset(model.own_rows_.tolist())


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_held_out_figures_do_not_use_the_label_of_the_row_that_they_judge(seed: int) -> None:
    """Where one row's label is changed, no policy that judges this row stops it elsewhere: its cost stays."""
    table, truth, weights = random_table(seed, 40)

    def held_out(y: np.ndarray) -> Any:
        sample = sample_of(table, y, weights, MarginDoubt())
        learned = solve_exits(sample_of(table, truth, weights, MarginDoubt()), MarginDoubt(), None, n_levels=4)
        folds = cross_fit(sample, learned, n_levels=4, rng=np.random.RandomState(0))
        (spending,) = folds.held_out(lambda found, rows: between_optima(found, rows, float(table.cost.mean())))
        return np.array([spending.cost, *(seen.cost for seen in folds.at_lam(0.0, 0.05, 0.2))])

    plain = held_out(truth)
    for i in range(0, 40, 7):
        other = truth.copy()
        other[i] = (truth[i] + 1) % table.value.shape[2]
        np.testing.assert_array_equal(held_out(other)[:, i], plain[:, i])


@pytest.mark.slow
@pytest.mark.parametrize("ending", FOREST_ENDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_cascade_round_trips(tmp_path: Path, kind: Kind, ending: str) -> None:
    """Read back from either format it predicts bit for bit the same, costs the same, and has the whole path still."""
    known = case(kind)
    save_cascade(known.cascade, tmp_path / f"c{ending}")
    again = load_cascade(tmp_path / f"c{ending}", trust_pickle=True)
    assert type(again) is type(known.cascade)
    _check_equal(again, known.cascade, known)
    _check_equal(again.at_lam(1e-2), known.cascade.at_lam(1e-2), known)
    assert np.array_equal(again.exit_path_.to_frame(), known.path.to_frame())
    assert [p.name for p in tmp_path.iterdir()] == [f"c{ending}"]


def _check_equal(one: Any, other: Any, known: Case) -> None:
    assert np.array_equal(one.predict(known.X), other.predict(known.X))
    assert np.array_equal(one.prediction_cost(known.X), other.prediction_cost(known.X))
    if hasattr(other, "predict_proba"):
        assert np.array_equal(one.predict_proba(known.X), other.predict_proba(known.X))


class Strange(ClassifierMixin, BaseEstimator):
    """A model that skops does not know."""

    def fit(self, X: Any, y: Any) -> Strange:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_types_that_nobody_vouched_for_are_refused(tmp_path: Path) -> None:
    """A stage of an unknown class is refused by name with the remedy, and read where the caller names it."""
    known = case("sets")
    cascade = pm.CascadeClassifier([(None, []), (Strange(), None)], cv=2, random_state=0).fit(known.X, known.y)
    save_cascade(cascade, tmp_path / "c.skops")
    with pytest.raises(
        pm.errors.BrokenFileError, match=r"no cascade of scikit-learn's models needs: .*Strange.*load_cascade\(path"
    ):
        load_cascade(tmp_path / "c.skops")
    again = load_cascade(tmp_path / "c.skops", trusted=[f"{Strange.__module__}.Strange"])
    assert np.array_equal(again.predict(known.X), cascade.predict(known.X))


def test_stages_that_blend_models_survive_their_file(tmp_path: Path) -> None:
    """A stage that predicts the mean of two models is of a class that the file may hold."""
    blend = BlendedStage((tree(2).fit(X, Y), LogisticRegression().fit(X, Y)))
    stages = SetStages((blend,), (np.arange(6),), CostItems.plain([1] * 6), np.unique(Y))
    cascade = pm.CascadeClassifier(stages, random_state=0).fit(X, Y)
    save_cascade(cascade, tmp_path / "c.skops")
    assert np.array_equal(load_cascade(tmp_path / "c.skops").predict_proba(X), cascade.predict_proba(X))


def test_files_of_something_else_are_refused(tmp_path: Path) -> None:
    """A forest's file is no cascade, a cascade's no forest; `holds_cascade` tells them apart; each message says what to do."""
    known = case("prunings")
    forest = RandomForestClassifier(2).fit(known.X, known.y)
    for name, model in (("f", forest), ("c", known.cascade)):
        for ending in (".skops", ".joblib"):
            save_forest(model, tmp_path / f"{name}{ending}")
            assert holds_cascade(tmp_path / f"{name}{ending}", trust_pickle=True) == (name == "c")
    (tmp_path / "half.skops").write_bytes((tmp_path / "c.skops").read_bytes()[:3000])
    assert not holds_cascade(tmp_path / "half.skops")
    for read, name, words in (
        (load_cascade, "half.skops", r"half\.skops is not a skops file"),
        (load_cascade, "f.skops", "holds a RandomForestClassifier, not a fitted cascade"),
        (load_forest, "c.skops", "holds a cascade, not a forest; read it with .*load_cascade.*prunemodels report"),
        (holds_cascade, "c.joblib", r"c\.joblib is a joblib file"),
        (holds_cascade, "absent.skops", "give the path of a fitted forest or cascade"),
        (
            lambda place: save_cascade(pm.CascadeClassifier([]), place),
            "no.skops",
            "is a CascadeClassifier; give a fitted cascade",
        ),
    ):
        with pytest.raises(pm.errors.PruneModelsError, match=words):
            read(tmp_path / name)
    assert not (tmp_path / "no.skops").exists()


@pytest.mark.slow_cases("ensemble")
@pytest.mark.parametrize("change", ["boosted tree", "ensemble"])
def test_forged_trees_are_refused(tmp_path: Path, change: str) -> None:
    """A file whose trees point outside their arrays is refused before compiled code follows them and crashes the process."""
    known = case("sets" if change == "boosted tree" else "numbers")
    save_cascade(known.cascade, tmp_path / "sound.joblib")
    forged = load_cascade(tmp_path / "sound.joblib", trust_pickle=True)
    if change == "boosted tree":
        forged.stages_.models[-1]._predictors[0][0].nodes["left"][0] = 10**6
    else:
        forged.stages_.ensemble.left[0] = 10**6
    save_forest(forged, tmp_path / "c.skops")
    with pytest.raises(pm.errors.BrokenFileError, match=r"c\.skops (has arrays that do not fit|holds a cascade that cannot)"):
        load_cascade(tmp_path / "c.skops")


def test_a_saved_cascade_is_not_overwritten_unasked(tmp_path):
    """And says which version of the package wrote it."""
    known = case("sets")
    place = tmp_path / "c.skops"
    save_cascade(known.cascade, place)
    with pytest.raises(pm.errors.InvalidInputError, match=r"c\.skops', which exists; name another"):
        save_cascade(known.cascade, place)
    save_cascade(known.cascade, place, force=True)
    assert load_cascade(place).package_version_ == pm.__version__


@pytest.mark.parametrize("kind", ["sets", "prunings"])
def test_purchases_add_up_to_the_cost(kind):
    """The shares that buy, times the prices, are the mean cost by the policy and by the last stage, but for evaluation."""
    known = case(kind)
    bought = known.cascade.purchases(known.X)
    once = ~bought.index.isin(["licence"])
    evaluation = 0.0 if kind == "sets" else 0.5
    assert bought["bought"].le(bought["by_last_stage"]).all()
    paid = float((bought["bought"] * bought["price"])[once].sum())
    assert paid == pytest.approx(known.cascade.prediction_cost(known.X).mean(), abs=1e-9 + evaluation)
    dear = known.cascade.stages_.costs(known.X)[-1].mean()
    assert float((bought["by_last_stage"] * bought["price"])[once].sum()) == pytest.approx(dear, abs=1e-9 + evaluation)


def test_stages_keep_the_numbers_by_which_they_were_named():
    """At every policy, whoever reaches a stage, and below a cap: stage s is the pair s of the list."""
    known = case("sets")
    named = [[], [0, 1], [0, 1, 2, 3], list(range(8))]
    reached = set()
    for k in range(len(known.path)):
        model = known.cascade.at_row(k)
        assert [f.tolist() for f in model.stages_.features] == named
        stage = model.stop_stages(known.X)
        reached.add(tuple(np.unique(stage)))
        assert np.array_equal(model.prediction_cost(known.X), model.stages_.prices()[stage])
    assert len(reached) > 1
    model = pm.CascadeClassifier([(None, []), (tree(2), [0]), (tree(), None)], max_cost=1, **QUICK).fit(X, Y)
    assert [f.tolist() for f in model.stages_.features] == [[], [0]]
    possible = known.cascade.at_row(0).purchases()
    assert possible["stage"].to_dict() == {"blood": 1, "b": 1, "c": 2, "d": 2, "e": 3, "f": 3, "g": 3, "licence": 3}


def test_what_is_not_fitted_says_so() -> None:
    """Every question about a fitted cascade is refused by scikit-learn's error, which says to call `fit`."""
    cascade, X = pm.BudgetCascadeClassifier(), np.zeros((3, 2))
    for ask in (cascade.purchases, lambda: cascade.purchases(X), lambda: pm.cascades.evaluate_exit_path(cascade, X)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()
