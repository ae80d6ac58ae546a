"""A cascade without the columns that no row can buy any more answers alike, at every door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prunemodels as pm
from prunemodels.cascades.cascade import Cascade
from prunemodels.on_demand import from_table
from tests.prunemodels.cascade_cases import KINDS, case


def assert_alike(cascade: Cascade, X: pd.DataFrame, y: np.ndarray, folder: Path) -> Cascade:
    """What is predicted, paid, bought, stated and asked for is the same on fewer columns; returns the cascade that reads them."""
    slim = pm.drop_unused(cascade)
    columns = [*slim.feature_names_in_]
    few = X[columns]
    assert slim.n_features_in_ == len(columns)
    pm.save_cascade(slim, folder / "slim.skops", force=True)
    for model in (slim, pm.load_cascade(folder / "slim.skops")):
        doors = ("predict", "stop_stages", "prediction_cost", "predict_proba")
        for door in doors if hasattr(cascade, "predict_proba") else doors[:3]:
            assert np.array_equal(getattr(model, door)(few), getattr(cascade, door)(X)), door
        seen, whole = (pm.cascades.evaluate_exit_path(m, rows, y) for m, rows in ((model, few), (cascade, X)))
        assert seen.mean_cost(model.policy_) == whole.mean_cost(cascade.policy_)
        assert seen.mean_loss(model.policy_) == whole.mean_loss(cascade.policy_)
    assert pm.evaluate(slim, few, y).cost == pm.evaluate(cascade, X, y).cost
    for name in ("cost_", "error_", "held_out_cost_", "held_out_error_", "unweighted_cost_", "unweighted_error_"):
        assert getattr(slim, name) == getattr(cascade, name), name
    pd.testing.assert_frame_equal(slim.purchases(), cascade.purchases(), check_index_type=False)
    bought, before = slim.purchases(few), cascade.purchases(X)
    same = before.loc[bought.index, ["price", "bought"]]
    pd.testing.assert_frame_equal(bought[["price", "bought"]], same, check_index_type=False)
    assert not before.drop(index=bought.index)["bought"].any()
    walks = [pm.OnDemandPredictor(m, acquire=from_table(t)).run(t.index) for m, t in ((slim, few), (cascade, X))]
    for name in ("predictions", "stage", "cost", "bought"):
        assert list(getattr(walks[0], name)) == list(getattr(walks[1], name)), name
    assert pm.checks.check_closure_path(slim.exit_path_.closures).holds
    assert pm.drop_unused(slim).n_features_in_ == len(columns)
    return slim


@pytest.mark.slow_cases("prunings")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_cascade(kind: Any, tmp_path: Path) -> None:
    """At a policy within a third of the way from the cheapest to the dearest, on a row of the path and between two."""
    known = case(kind)
    for share in (0.1, 0.3):
        cascade = known.cascade.at_cost(float(np.quantile(known.path.cost[[0, -1]], share)))
        assert_alike(cascade, known.X, known.y, tmp_path)
    n_stages = known.path.stages.n_stages
    cheap = known.cascade.at_row(next(k for k in range(len(known.path)) if known.path.policy(k).last_stage < n_stages - 1))
    assert_alike(cheap, known.X, known.y, tmp_path)
    assert pm.drop_unused(known.cascade.at_row(len(known.path) - 1)).n_features_in_ < known.X.shape[1]


def people(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Words, and numbers of which each says less than the one before."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    X.insert(1, "word", rng.choice(["x", "y", "z"], n))
    score = 3 * X["a"] + 2 * (X["word"] == "x") + X["b"] + X["c"] / 3
    return X, np.where(score + rng.normal(size=n) > 0.5, "yes", "no")


def test_sets_that_were_found_on_words(tmp_path: Path) -> None:
    """A table of words keeps the types of its columns, and another chain what it has within the columns."""
    X, y = people(400)
    model = pm.BudgetCascadeClassifier(
        make_pipeline(
            ColumnTransformer([("n", StandardScaler(), list("abcd")), ("w", OneHotEncoder(), ["word"])]), LogisticRegression()
        ),
        costs=1, budget=1, n_stages=4, cv=2, random_state=0,
    ).fit(X[:250], y[:250])  # fmt: skip
    slim = assert_alike(model, X[250:], y[250:], tmp_path)
    assert len(slim.column_types_) == slim.n_features_in_ < X.shape[1]
    assert 1 <= len(slim.exit_paths_) <= len(model.exit_paths_)


def test_a_pipeline_asks_for_fewer_raw_columns(tmp_path: Path) -> None:
    """Exits along a pipeline's trees: constants stand in the place of raw columns, and the prices are those of the others."""
    X, y = people(500)
    encode = ColumnTransformer([("w", OneHotEncoder(), ["word"])], remainder="passthrough")
    pipeline = make_pipeline(encode, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(X[:200], y[:200])
    prices = {"a": 1, "word": 2, "b": 4, "c": 8, "d": 16}
    path = pm.pruning_path(pm.problem_from_forest(pipeline, X[200:350], costs=prices))
    exits = pm.exit_path(path, X[200:350], y[200:350], n_stages=5, n_levels=8, random_state=0)
    slim = assert_alike(exits.at_cost(2), X[350:], y[350:], tmp_path)
    assert [*slim.stages_.items.names] == [name for name in prices if name in slim.feature_names_in_]
