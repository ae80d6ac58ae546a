"""What is said of held-out rows is said by models and policies that have not seen them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import KFold

import prunemodels as pm
from prunemodels.exits.doubt import MarginDoubt, learn_doubt
from prunemodels.exits.exit_path import learn_exit_path
from prunemodels.exits.learning import solve_exits
from prunemodels.exits.policy import decide
from prunemodels.exits.stages import StageTable
from prunemodels.exits.validation import cross_fit
from tests.prunemodels.exits.spies import SpyClassifier, SpyRegressor
from tests.prunemodels.exits.tables import TableStages, learn_exits, random_table, tally, walk

N = 90
ROWS = np.column_stack([np.arange(N, dtype=float), np.random.default_rng(0).normal(size=(N, 2))])
LABELS = np.where(ROWS[:, 1] + ROWS[:, 2] > 0, "yes", "no")
QUICK: dict[str, Any] = {"n_levels": 4, "cv": 3, "random_state": 0}
PRICES = [0, 1, 2]  # the row numbers are free, so that every stage reads them


def cascades(spy: Any, kind: str) -> list[Any]:
    options = {**QUICK, **({"doubt": "margin"} if kind == "Classifier" else {})}
    named = getattr(pm, f"Cascade{kind}")([(spy, [0, 1]), (spy, None)], PRICES, lam=0.01, **options)
    return [named, getattr(pm, f"BudgetCascade{kind}")(spy, PRICES, lam=0.01, **options)]


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_no_model_speaks_of_rows_that_it_was_trained_on(kind: str, which: int, refit: bool) -> None:
    """While a cascade is fitted, every prediction that sets and policies are learned from is of rows unseen; each has one."""
    spy: Any = SpyClassifier(max_depth=3) if kind == "Classifier" else SpyRegressor(max_depth=3)
    model = cascades(spy, kind)[which].set_params(refit=refit)
    type(spy).asked.clear()
    model.fit(ROWS, LABELS if kind == "Classifier" else ROWS[:, 1] * ROWS[:, 2])
    assert type(spy).asked
    spoken_of: set[int] = set()
    for trained, asked in type(spy).asked:
        assert not trained & asked
        spoken_of |= asked
    assert spoken_of == set(range(N))
    assert model.exit_path_.n == N
    for fitted in model.stages_.models:  # and what predicts in the end has seen all
        assert fitted.trained_on_ == frozenset(range(N))


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
def test_labels_of_rows_to_predict_are_never_read(which: int) -> None:
    """A prediction is a function of the row: it does not depend on the rows beside it, nor on their order."""
    model = cascades(SpyClassifier(max_depth=3), "Classifier")[which].fit(ROWS, LABELS)
    whole, cost = model.predict_proba(ROWS), model.prediction_cost(ROWS)
    some = np.random.default_rng(1).permutation(N)[:17]
    np.testing.assert_array_equal(model.predict_proba(ROWS[some]), whole[some])
    np.testing.assert_array_equal(model.prediction_cost(ROWS[some]), cost[some])
    np.testing.assert_array_equal(np.concatenate([model.predict_proba(ROWS[i : i + 1]) for i in range(5)]), whole[:5])


@pytest.mark.parametrize("seed", [1, 4])
def test_learned_doubts_know_no_label(seed: int) -> None:
    """They are the same whatever the truth is, and a row's own label moves neither its doubt nor that of others."""
    table, truth, weights = random_table(seed, 40, regression=True)
    others = np.roll(truth, 1)
    one, two = (
        learn_exits(table, y, weights, doubt="learned", n_levels=3, rng=np.random.RandomState(0)) for y in (truth, others)
    )
    rows = TableStages(table, None).output(0, np.arange(40.0)[:, None])
    if table.n_stages > 1:
        np.testing.assert_array_equal(one.doubt(0, rows, None), two.doubt(0, rows, None))
    said = [learn_doubt("learned", table, weights, np.random.RandomState(0))[1] for _ in range(2)]
    np.testing.assert_array_equal(*said)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_held_out_figures_do_not_use_the_label_of_the_row_that_they_judge(seed: int) -> None:
    """Where one row's label is changed, no policy that judges this row stops it elsewhere: its cost stays."""
    table, truth, weights = random_table(seed, 40)
    said = learn_doubt("margin", table, weights, np.random.RandomState(0))[1]
    lams = np.array([0.0, 0.05, 0.2])

    def judged(y: np.ndarray) -> Any:
        return cross_fit(table, y, weights, lams, said, n_levels=4, rng=np.random.RandomState(0))

    plain = judged(truth)
    for i in range(0, 40, 7):
        other = truth.copy()
        other[i] = (truth[i] + 1) % table.value.shape[2]
        np.testing.assert_array_equal(judged(other).cost[:, i], plain.cost[:, i])


def test_labels_of_pure_noise_are_not_flattered_on_held_out_rows() -> None:
    """Where doubts know nothing, the policy's own rows look better than chance allows, and held-out rows do not."""
    rng = np.random.default_rng(0)
    n = 150
    value = np.stack([np.column_stack([p, 1 - p]) for p in rng.random((3, n))])
    table = StageTable(value, np.zeros((3, n)), np.repeat(np.arange(3.0)[:, None], n, axis=1), np.zeros(3))
    truth = rng.integers(0, 2, n)
    stages = TableStages(table, np.array([0, 1]))
    path = learn_exit_path(stages, table, truth, stack=False, doubt="margin", n_levels=8, random_state=0)
    least = min(table.losses(truth)[s].mean() for s in range(3))
    assert path.error[0] < least - 0.01
    assert path.held_out_error.min() > path.error[0] + 0.02
    assert (path.held_out_cost >= 0).all()
    within = path.within(2.0)  # so one stage for all, chosen by as little looking as can be, is the answer
    assert (within.row, within.error) == (None, pytest.approx(least))
    stops = decide(within.policy, stages, np.arange(n, dtype=float)[:, None]).stage
    assert np.unique(stops).size == 1
    assert within.cost == pytest.approx(stops[0])
    decision = decide(path.policy(0), stages, np.arange(n, dtype=float)[:, None])
    assert walk(path.policy(0).go, path.learned.theta, 1 - np.abs(value[:, :, 0] - value[:, :, 1])) == decision.stage.tolist()


@pytest.mark.parametrize("seed", [2, 7])
def test_held_out_figures_add_what_folds_lose_on_rows_apart(seed: int) -> None:
    """A policy's error, and what policies of its cost err more on the fold left out than on the folds that taught them.

    So a budget inside a long edge, whose policy errs more than the mixture of the edge's ends, is not told the mixture's error.
    """
    table, truth, weights = random_table(seed, 200)
    stages = TableStages(table, np.arange(table.value.shape[2]))
    path = learn_exit_path(stages, table, truth, sample_weight=weights, stack=False, doubt="margin", n_levels=6, random_state=0)
    folds = path.cross_fitted
    order = np.argsort(folds.learned_cost)
    for budget in np.linspace(path.cost[-1], path.cost[0], 7):
        found = path.within(float(budget))
        if found.held_out_error != found.error:  # one stage for all has nothing to be flattered by
            more = np.interp(found.cost, folds.learned_cost[order], (folds.mean_loss - folds.learned_loss)[order])
            assert found.held_out_error - found.error == pytest.approx(more)
    said = learn_doubt("margin", table, weights, np.random.RandomState(0))[1]
    again = cross_fit(table, truth, weights, folds.lam, said, n_levels=6, rng=np.random.RandomState(3))
    lost, paid = np.zeros(again.lam.size), np.zeros(again.lam.size)
    split = KFold(5, shuffle=True, random_state=np.random.RandomState(3).randint(np.iinfo(np.int32).max))
    for seen, _ in split.split(truth):
        part = solve_exits(table.take(seen), truth[seen], weights[seen], MarginDoubt(), said[:, seen], n_levels=6)
        for p, lam in enumerate(again.lam):
            go = part.policy(part.path.row_at_lam(float(lam))).go
            stops = walk(go, part.theta, said[:, seen])
            loss, cost = tally(table.take(seen), truth[seen], weights[seen], go, stops)
            lost[p] += loss / 5
            paid[p] += cost / 5
    np.testing.assert_allclose(again.learned_loss, lost)
    np.testing.assert_allclose(again.learned_cost, paid)
