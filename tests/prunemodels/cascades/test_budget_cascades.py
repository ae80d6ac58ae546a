"""Cascades that find their own sets of items, in one chain or parted by regions; a search that is stopped goes on."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import prunemodels as pm
from formulations.checkpoints import FileLock
from proofs_checks import check_closure_path
from prunemodels.cascades import budget_cascade, chains, fitting
from prunemodels.cascades.elimination import ItemSet
from prunemodels.cascades.evaluation import stops_of
from prunemodels.cascades.forest_exits import cascade_of
from prunemodels.cascades.params import CascadeParams
from prunemodels.models.labelled_samples import Sample
from prunemodels.stages.table_preparation import is_slow
from tests.prunemodels.cascades.tables import ITEMS

X, Y = make_classification(240, 5, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=1)
Y = np.array(["no", "yes", "maybe"])[Y]
XR, YR = make_regression(200, 4, n_informative=2, noise=5.0, random_state=0)
YR = YR / YR.std()
QUICK: dict[str, Any] = {"doubt": "margin", "n_levels": 4, "cv": 2, "random_state": 0}


def tree(depth: int = 3) -> Any:
    return DecisionTreeClassifier(max_depth=depth)


def fitted(**options: Any) -> Any:
    """On the rows above, with whatever options."""
    return pm.BudgetCascadeClassifier(**{"estimator": tree(), "costs": ITEMS["plain"], **QUICK, **options}).fit(X, Y)


@pytest.mark.parametrize("prices", ITEMS)
def test_sets_are_nested_and_of_whole_items(prices: str) -> None:
    """Each stage reads all that its items allow, more than the one before, and pays for them all; a budget is kept. The first
    stage is what is free; an item that no column needs is in no set.
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
    np.testing.assert_array_equal(model.prediction_cost(X), model.stages_.prices()[model.stop_stages(X)])
    exits, k = model.exit_path_, model.row_
    assert (model.held_out_cost_, model.held_out_error_) == (exits.held_out_cost[k], exits.held_out_error[k])
    budget = float(exits.cost[[-1, 0]] @ [0.6, 0.4])
    assert model.at_cost(budget).cost_ <= budget


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


@pytest.mark.slow
def test_the_same_seed_gives_the_same_cascade() -> None:
    """And a clone, and a pickled one; the estimator that was given stays unfitted, its seed unset."""
    estimator = tree()
    one, two = (fitted(estimator=estimator, budget=2.0, doubt="auto", n_stages=4) for _ in range(2))
    for other in (two, clone(one).fit(X, Y), pickle.loads(pickle.dumps(one))):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        assert one.item_sets_ == other.item_sets_
    assert estimator.random_state is None
    assert not hasattr(estimator, "tree_")


@pytest.mark.slow
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


@pytest.fixture
def examples():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:250, :8], y[:250]


def _cascade(place, **more):
    settings = {"costs": [1, 2, 1, 3, 1, 1, 2, 1], "budget": 3, "random_state": 0, "checkpoint": place, **more}
    return pm.BudgetCascadeClassifier(DecisionTreeClassifier(min_samples_leaf=10, random_state=0), **settings)


@pytest.mark.slow
@pytest.mark.parametrize("default", [False, True])
def test_a_stopped_search_goes_on_where_it_was_and_ends_as_an_unbroken_one(examples, tmp_path, monkeypatch, default):
    """Ctrl-C at any model of the elimination, the growing sets or the kinds: nothing that was found is found again. What is lost
    is the work of one step; the sets, and so the model, are those of a fit that was not stopped.
    """
    fits, original, place = [], fitting.fit_stage, tmp_path / "found"
    kinds = tuple(DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 3, 6))
    if default:  # kinds of models are ranked and compared, as of a default cascade
        monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: kinds)
        monkeypatch.setattr(budget_cascade, "search_models", lambda *_, **__: kinds[:2])

    def fit(where: Path | None, stop: int | None = None) -> Any:
        fits.clear()

        def counted(*given: Any) -> Any:
            if len(fits) == stop:
                raise KeyboardInterrupt
            fits.append(1)
            return original(*given)

        monkeypatch.setattr(fitting, "fit_stage", counted)
        cascade = _cascade(where)
        return (cascade.set_params(estimator=None) if default else cascade).fit(*examples)

    whole = fit(None)
    count = len(fits)
    for stop in (count // 3, count // 3):
        with pytest.raises(KeyboardInterrupt):
            fit(place, stop)
    resumed = fit(place)
    assert len(fits) < count / 2
    assert resumed.item_sets_ == whole.item_sets_
    assert (resumed.predict_proba(examples[0]) == whole.predict_proba(examples[0])).all()
    fit(place)
    assert not fits


@pytest.mark.slow
def test_a_checkpoint_of_other_examples_or_settings_is_refused(examples, tmp_path):
    """The fingerprint covers examples, labels and the estimator; a second run is refused; other prices are found anew."""
    X, y = examples
    place = tmp_path / "found"
    _cascade(place).fit(X, y)
    others = [
        lambda: _cascade(place).fit(X + 1, y),
        lambda: _cascade(place).fit(X, 1 - y),
        lambda: _cascade(place, random_state=1).fit(X, y),
        lambda: _cascade(place).set_params(estimator__min_samples_leaf=11).fit(X, y),
        lambda: _cascade(place).fit(X, y, sample_weight=np.linspace(1, 2, len(y))),
    ]
    for other in others:
        with pytest.raises(pm.errors.InvalidInputError, match="belongs to another instance, or to other options"):
            other()
    with FileLock(place), pytest.raises(pm.errors.BrokenFileError, match=r"another run, process \d+, is writing .*found"):
        _cascade(place).fit(X, y)
    dearer = _cascade(place, costs=2).fit(X, y)
    assert dearer.item_sets_ == _cascade(None, costs=2).fit(X, y).item_sets_
    (tmp_path / "file").write_text("{")
    with pytest.raises(pm.errors.BrokenFileError, match="cannot make the folder"):
        _cascade(tmp_path / "file").fit(X, y)


PRICES = [0.125, 0.125, 1, 1, 1, 1]
NAMES = list("abcdef")


def quadrants(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The signs of a and b say which one of the columns c to f decides, and how many rows are positive there."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 6)).round(3)
    quadrant = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
    decisive = X[np.arange(n), 2 + quadrant]
    return pd.DataFrame(X, columns=NAMES), (decisive > np.array([-0.6, -0.2, 0.2, 0.6])[quadrant]).astype(int)


@cache
def with_regions(kind: str) -> Any:
    """With as few rows and stages as regions can have; trained and judged on given rows."""
    X, y = quadrants(4000, 0)
    with pytest.MonkeyPatch.context() as patch:
        for module in (budget_cascade, chains):
            patch.setattr(module, "PARAMS", CascadeParams(fewest_rows_to_part=1000, meeting=6))
        if kind == "classes":
            tree: Any = DecisionTreeClassifier(max_depth=7, min_samples_leaf=30)
            model = pm.BudgetCascadeClassifier(tree, PRICES, lam=0.0, doubt="margin", n_levels=8, random_state=0)
        else:
            tree = DecisionTreeRegressor(max_depth=7, min_samples_leaf=5)
            model = pm.BudgetCascadeRegressor(tree, PRICES, lam=0.0, n_levels=8, random_state=0)
        return model.fit(X[:2500], y[:2500], X_valid=X[2500:], y_valid=y[2500:])


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_purchases_of_a_region_are_those_that_help_there(kind: str) -> None:
    """Each quadrant needs a, b and one column more, for 1.25 in all; for the same error a chain must buy all six, for 4.25."""
    model = with_regions(kind)
    *chains, parted = model.exit_paths_
    X, y = quadrants(2000, 1)

    def error(path: Any, budget: float) -> float:
        return float(np.mean((cascade_of(path).at_cost(budget).predict(X) - y) ** 2))

    assert error(parted, 1.25) < 0.03
    assert all(error(chain, 1.25) > 0.05 for chain in chains)
    assert all(error(chain, 4.25) < 0.03 for chain in chains)
    assert model.at_cost(1.25).exit_path_ is parted
    bought = [chain.bought()[chain.prices() == 1.25][0] for chain in parted.stages.regions]
    assert {int(np.flatnonzero(b[2:])[0]) for b in bought} == {0, 1, 2, 3}


@pytest.mark.parametrize(("cap", "prices"), [(1.25, PRICES), (2, [1, 1, 1, 1, 1, 1])])
def test_regions_keep_a_cap(cap: float, prices: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 1.25: a, b and one column more, which differs by quadrant. At most two purchases: rows part after the first. For
    two purchases the column that decides is the third where a < 0, else the fourth: no chain errs less than one row in eight.
    """
    for module in (budget_cascade, chains):
        monkeypatch.setattr(module, "PARAMS", CascadeParams(fewest_rows_to_part_below_cap=1000))
    X, y = quadrants(6000, 0)
    if cap == 2:
        rows = X.to_numpy()
        y = (np.where(rows[:, 0] < 0, rows[:, 2] > -0.5, rows[:, 3] > 0.5)).astype(int)
    tree = DecisionTreeClassifier(max_depth=7, min_samples_leaf=30, random_state=0)
    model = pm.BudgetCascadeClassifier(tree, prices, max_cost=cap, n_levels=8, random_state=0)
    model.fit(X[:2500], y[:2500], X_valid=X[2500:4000], y_valid=y[2500:4000])
    assert model.prediction_cost(X).max() <= cap
    assert model.score(X[4000:], y[4000:]) > 0.95
    assert len(model.exit_path_.stages.regions) > 1
    assert model.exit_path_.stages.fork == (1 if cap == 2 else 2)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_it_costs_buys_and_is_kept_as_any_cascade(kind: str, tmp_path: Path) -> None:
    """What is stated is what calling gives; on demand, from its file and row by row it predicts and pays the same."""
    model, (X, y) = with_regions(kind).at_cost(1.1), quadrants(300, 2)
    own = quadrants(4000, 0)[0][2500:]
    assert len(model.stages_.regions) > 1
    assert model.cost_ == pytest.approx(model.prediction_cost(own).mean(), rel=1e-12)
    assert 1.05 < model.cost_ <= 1.1
    assert pm.checks.check_closure_path(model.exit_path_.closures).holds
    result = pm.OnDemandPredictor(model, acquire=pm.on_demand.from_table(X)).run(X.index)
    np.testing.assert_array_equal(result.predictions, model.predict(X))
    np.testing.assert_allclose(result.cost, model.prediction_cost(X))
    pm.save_cascade(model, tmp_path / "tree.skops")
    again = pm.load_cascade(tmp_path / "tree.skops")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(model.predict(X[7:8]), model.predict(X)[7:8])
    stops = stops_of(model, X, y)
    np.testing.assert_allclose(stops.items.price @ stops.bought, model.prediction_cost(X))
    pm.write_report(tmp_path / "tree.html", model, X, y)


def test_rows_part_only_where_each_region_has_rows_to_be_judged_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six validation rows leave some of the regions empty: no chain parts. One row is refused before anything is trained."""
    X, y = quadrants(1600, 0)
    for module in (budget_cascade, chains):
        monkeypatch.setattr(module, "PARAMS", CascadeParams(fewest_rows_to_part=1000, meeting=6))
    model = pm.BudgetCascadeClassifier(tree(7), PRICES, lam=0.0, doubt="margin", n_levels=4, random_state=0)
    few = model.fit(X[:1500], y[:1500], X_valid=X[1500:1506], y_valid=y[1500:1506])
    assert all(len(path.stages.regions) == 1 for path in few.exit_paths_)
    monkeypatch.setattr(budget_cascade, "judged_fold", lambda *_: pytest.fail("a model is trained"))
    with pytest.raises(pm.errors.InvalidInputError, match="n_samples=1"):
        model.fit(X[:1500], y[:1500], X_valid=X[1500:1501], y_valid=y[1500:1501])


def test_a_slow_kind_of_model_must_lower_the_loss_by_more(monkeypatch):
    """Two kinds err alike on one column, and their mean loses a few per cent less: the slow one joins if that is worth it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1))
    y = (rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    part = Sample(X[:300], y[:300], None), Sample(X[300:], y[300:], None)
    training = fitting.Training((), part[0], part[1], pm.CostItems.plain([1]), np.array([0, 1]), 0, None)
    kinds = {0: HistGradientBoostingClassifier(max_iter=31, max_leaf_nodes=3, random_state=0), 1: LogisticRegression()}
    assert [is_slow(kind) for kind in kinds.values()] == [True, False]
    teams = {}
    for worth in (-0.5, 0.0, 0.5):
        monkeypatch.setattr(budget_cascade, "PARAMS", replace(budget_cascade.PARAMS, worth=worth))
        models: dict[fitting.Known, Any] = {}
        teams[worth] = pm.BudgetCascadeClassifier()._team([part], training, kinds, np.arange(1), models)
        assert [*models] == [fitting.known(0, kinds[m], np.arange(1)) for m in teams[worth]]
    assert teams == {-0.5: [0, 1], 0.0: [1], 0.5: [1]}


def test_a_slow_kind_that_a_set_does_without_is_not_tried_on_parts_of_it(monkeypatch):
    """Of kinds 0, 1 (slow) and 2 the dearest set takes 1 and 2; so cheaper ones choose among 1 and 2 alone."""
    seen = []

    def team(self, part, training, kinds, columns, fitted):
        seen.append((columns.size, [*kinds]))
        return [1, 2] if columns.size > 1 else [2]

    monkeypatch.setattr(budget_cascade._BudgetCascade, "_team", team)
    models = (HistGradientBoostingClassifier(), HistGradientBoostingClassifier(max_iter=50), LogisticRegression())
    sets = [ItemSet(np.arange(4) < k, np.arange(k), 0.0) for k in range(5)]
    training = fitting.Training((), None, None, pm.CostItems.plain([1] * 4), None, 0, None)
    teams, _ = pm.BudgetCascadeClassifier()._teams((None, None), training, models, sets)
    assert seen == [(4, [0, 1, 2]), (3, [1, 2]), (2, [1, 2]), (1, [1, 2])]
    assert teams == [(), models[2:], models[1:], models[1:], models[1:]]


def test_no_kind_is_fitted_twice_on_columns_of_a_division(monkeypatch):
    """A stage takes the model by which its kind was chosen, if that was fitted on all training rows of the division."""
    calls, fit = [], fitting.fit_stage

    def counted(estimator, sample, *rest):
        calls.append((id(estimator), rest[-1].tobytes(), sample.place.tobytes()))
        return fit(estimator, sample, *rest)

    monkeypatch.setattr(fitting, "fit_stage", counted)
    X, y = load_breast_cancer(return_X_y=True)
    model = pm.BudgetCascadeClassifier(random_state=0, cv=2).fit(X[:200, :7], y[:200])
    kinds = {id(kind) for kind in model._models(200)}
    of_stages = [call for call in calls if call[0] in kinds]
    assert len(of_stages) == len(set(of_stages)) > 20
