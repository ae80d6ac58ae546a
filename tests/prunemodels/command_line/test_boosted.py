"""The commands on files of boosted models and of pipelines, which they take as they take forests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

import prunemodels as pm
from prunemodels.command_line.cli import main
from prunemodels.example import X_test, X_train, X_valid, costs, y_test, y_train, y_valid
from prunemodels.models.tree_model import tree_model_of
from tests.prunemodels.command_line.conftest import screen, told
from tests.prunemodels.models.columns.tables import NUMBERS, WORDS, raw_table
from tests.prunemodels.models.libraries.catboost_fixture import FILE, data

SMALL: dict[str, Any] = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}
INPUTS = "--data valid.csv --label y --costs prices.csv --quiet"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Models in files of each kind, their prices and two tables, in the working directory."""
    XGBClassifier(**SMALL).fit(X_train, y_train).save_model(tmp_path / "model.json")
    LGBMClassifier(**SMALL, verbose=-1).fit(X_train, y_train).booster_.save_model(tmp_path / "model.txt")
    pm.save_forest(HistGradientBoostingClassifier(max_iter=6, max_depth=3).fit(X_train, y_train), tmp_path / "model.skops")
    pd.Series(costs, name="cost").to_csv(tmp_path / "prices.csv", index_label="feature")
    X_valid.assign(y=y_valid, w=np.arange(len(y_valid)) % 3, note="as told").to_csv(tmp_path / "valid.csv", index=False)
    X_test.assign(y=y_test, w=1).to_csv(tmp_path / "test.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.json", "model.txt", "model.skops"])
def test_prune_writes_the_format_that_it_read(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """The figures that are printed are those of the model in the file, on both tables; the pruning is prune_boosted's."""
    out = f"cheap{Path(name).suffix}"
    r = told(capsys, f"prune {name} {INPUTS} --budget 8 --held-out test.csv --out {out}")
    cheap = pm.load_forest(folder / out)
    assert tree_model_of(cheap).ensemble.n_trees == r["trees"]
    seen, whole = (pm.evaluate(m, X_test, y_test, costs=costs) for m in (cheap, pm.load_forest(folder / name)))
    change = r["held_out"]
    assert [change[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([seen.cost, seen.error])
    assert [change[k]["mean"] for k in ("cost_before", "error_before")] == pytest.approx([whole.cost, whole.error])
    found = pm.prune_boosted(pm.load_forest(folder / name), X_valid, y_valid, costs=costs, budget=8)
    figures = [found.cost, found.loss, found.n_splits]
    assert [r["pruned"][k] for k in ("cost", "loss", "splits")] == pytest.approx(figures)
    assert r["over_budget"] == (seen.cost > 8)
    assert r["ignored"] == ["w", "note"]


@pytest.mark.slow
def test_prune_for_lambda_with_weights_and_all_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights count in cost and loss; the trade-off and its picture are written, and columns that nothing uses are gone."""
    words = f"prune model.json {INPUTS} --lam 0.02 --weights w --drop-unused --out cheap.ubj"
    shown = screen(capsys, f"{words} --path-csv path.csv --picture path.svg")
    assert "the least loss + lambda cost found" in shown
    assert "not used       columns note" in shown
    weight = np.arange(len(y_valid)) % 3
    found = pm.prune_boosted(pm.load_forest("model.json"), X_valid, y_valid, costs=costs, lam=0.02, sample_weight=weight)
    slim = pm.load_forest("cheap.ubj")
    used = list(slim.get_booster().feature_names)
    assert 0 < len(used) < 10
    assert (slim.predict(X_test[used]) == found.predict(X_test)).all()
    assert pd.read_csv("path.csv").columns.tolist() == ["lam", "cost", "loss", "splits", "stationary"]
    assert "<svg" in Path("path.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_weights_and_the_price_of_splits_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without held-out examples cost and loss are those on --data, as the pruning itself tells them."""
    words = f"prune model.json {INPUTS} --lam 0.02 --weights w --evaluation-cost 0.1 --out cheap.json"
    r, weight = told(capsys, words), np.arange(len(y_valid)) % 3
    options = {"costs": costs, "lam": 0.02, "sample_weight": weight, "evaluation_cost": 0.1}
    found = pm.prune_boosted(pm.load_forest("model.json"), X_valid, y_valid, **options)
    assert r["on_data"]["cost_after"]["mean"] == pytest.approx(found.cost)
    assert r["pruned"]["loss"] == pytest.approx(found.loss)


@pytest.mark.parametrize("name", ["model.json", "model.txt", "model.skops", "forest.skops"])
def test_evaluate_shows_what_the_function_says(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Boosted models and forests alike."""
    pm.save_forest(RandomForestClassifier(3, max_depth=3, random_state=0).fit(X_train, y_train), "forest.skops")
    words = f"evaluate {name} --data test.csv --label y --costs prices.csv"
    figures = told(capsys, words)["figures"]
    seen = pm.evaluate(pm.load_forest(name), X_test, y_test, costs=costs)
    assert [figures[k] for k in ("cost", "error", "splits")] == [pytest.approx(seen.cost), seen.error, seen.splits]
    assert figures["features"] == pytest.approx(seen.features)
    assert figures["loss"] == (None if name == "forest.skops" else pytest.approx(seen.loss))
    shown = screen(capsys, words)
    assert f"{100 * seen.error:.2f} %" in shown
    assert ("log loss" in shown) == (name != "forest.skops")


@pytest.mark.slow
def test_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It claims no proof, and ends well; its figures are those on the screen."""
    words = f"report model.json {INPUTS} --budget 8 --held-out test.csv --unit dollars --out page.html"
    assert "no search proves prunings of boosted models" in screen(capsys, words)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "It is not proven that no better pruning exists" in page
    assert "prunemodels report model.json" in page
    assert "file of the model" in page


@pytest.mark.slow
def test_a_model_of_catboost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is read from CatBoost's own file; what is written says that it is not CatBoost's."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))["two classes"]["model"]
    Path("cat.json").write_text(json.dumps(stored), encoding="utf-8")
    X, labels = data()
    pd.DataFrame(X, columns=list("abcd")).assign(y=labels["two"]).to_csv("valid.csv", index=False)
    rows = "--data valid.csv --label y --costs 1"
    assert main(["prune", "cat.json", *rows.split(), "--budget", "1", "--out", "cheap.json"]) == 2
    assert "--out: " in capsys.readouterr().err
    shown = screen(capsys, f"prune cat.json {rows} --budget 1 --out cheap.joblib")
    assert "CatBoost cannot hold pruned trees; load_forest reads them" in shown
    assert told(capsys, f"evaluate cheap.joblib --trust-pickle {rows}")["figures"]["cost"] <= 1


X, y = raw_table(300)
PRICES = {"age": 1, "city": 2, "income": 5, "job": 2, "score": 7, "debt": 3}
PIPED = "pipe.skops --data valid.csv --label label --costs prices.csv --quiet"


@pytest.fixture
def piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipeline, its prices by raw column, and two tables, in the working directory."""
    steps = make_column_transformer((SimpleImputer(), NUMBERS), (OneHotEncoder(), WORDS))
    pipe = make_pipeline(steps, RandomForestClassifier(4, max_depth=4, random_state=0)).fit(X[:150], y[:150])
    pm.save_forest(pipe, tmp_path / "pipe.skops")
    table = X.assign(label=y, note="as told")
    table[150:220].to_csv(tmp_path / "valid.csv", index=False)
    table[220:].to_csv(tmp_path / "test.csv", index=False)
    pd.DataFrame({"feature": list(PRICES), "cost": list(PRICES.values())}).to_csv(tmp_path / "prices.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_prune_writes_a_pipeline(piped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The costs that are printed are those of the pipeline that is written, on both tables."""
    r = told(capsys, f"prune {PIPED} --budget 9 --held-out test.csv --out cheap.skops")
    cheap = pm.load_forest(piped / "cheap.skops")
    assert [name for name, _ in cheap.steps] == ["columntransformer", "randomforestclassifier"]
    assert r["pruned"]["cost"] == pytest.approx(pm.evaluate(cheap, X[150:220], y[150:220], costs=PRICES).cost)
    assert r["held_out"]["cost_after"]["mean"] == pytest.approx(pm.evaluate(cheap, X[220:], y[220:], costs=PRICES).cost)
    assert r["ignored"] == ["note"]


def test_a_word_in_place_of_a_number(piped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The step that refuses it is named, and nothing is written."""
    X.assign(label=y, age="old").to_csv(piped / "valid.csv", index=False)
    assert main(["path", *PIPED.split(), "--out", "path.csv"]) == 2
    assert "the step 'columntransformer' of the pipeline refuses the rows" in capsys.readouterr().err
    assert not (piped / "path.csv").exists()
