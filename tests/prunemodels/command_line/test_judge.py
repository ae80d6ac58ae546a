"""`prunemodels train` and `evaluate`: from a table as people have it to a cascade, on the command line alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import prunemodels as pm
from prunemodels.cascades import budget_cascade
from prunemodels.cascades.cascade_files import load_cascade
from prunemodels.stages.table_preparation import prepared
from tests.prunemodels.command_line.conftest import told


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Patients with words, dates, gaps and identifiers; semicolons, decimal commas and umlauts in one of the files."""
    rng, n = np.random.default_rng(3), 360
    X = pd.DataFrame({"patient": [f"P{k:04d}" for k in range(n)], "age": rng.integers(20, 90, n).astype(float)})
    X["town"] = rng.choice(["K\xf6ln", "M\xfcnster", "Berlin"], n)
    days = pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    X["admitted"] = (pd.Timestamp("2024-01-01") + pd.Series(days)).dt.strftime("%Y-%m-%d")
    X["pressure"] = rng.normal(120, 10, n).round(1)
    ill = X.pressure + 40 * (X.town == "K\xf6ln") - 0.3 * X.age > 115
    X["diagnosis"] = np.where(ill, "krank", "gesund")
    X.loc[::7, "age"], X.loc[::11, "town"] = np.nan, None
    X[:240].to_csv(tmp_path / "clinic.csv", sep=";", decimal=",", index=False, encoding="latin-1")
    X[240:].to_csv(tmp_path / "test.csv", index=False, encoding="utf-8-sig")
    (tmp_path / "prices.csv").write_text("feature;cost;needs\nage;0;\ntown;0;\nadmitted;1,5;age, town\npressure;7,27;\n")
    monkeypatch.chdir(tmp_path)
    return X


@pytest.mark.parametrize("model", ["forest", "boosted"])
def test_from_a_table_to_a_cascade(
    clinic: pd.DataFrame, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Train, evaluate, prune and exits on a table with words, dates and gaps; each figure is that of the Python call."""
    trained = f"train --data clinic.csv --label diagnosis --ignore patient --model {model} --trees 6 --apart-csv apart.csv"
    r = told(capsys, f"{trained} --out m.skops")
    saved, apart = pm.load_forest("m.skops"), pd.read_csv("apart.csv")
    assert (r["examples"], r["held_out_examples"], len(apart)) == (144, 96, 96)
    columns = ["age", "town", "admitted", "pressure"]
    assert r["held_out_error"] == pytest.approx(np.mean(saved.predict(apart[columns]) != apart.diagnosis))
    assert r["held_out_error"] < r["plain_error"] == pytest.approx(np.mean(apart.diagnosis != "gesund"), abs=0.5)
    prices = {"age": 0, "town": 0, "admitted": 1.5, "pressure": 7.27}
    rows = "--label diagnosis --costs prices.csv"
    seen = told(capsys, f"evaluate m.skops --data test.csv {rows}")
    measured = pm.evaluate(saved, clinic[columns][240:], clinic.diagnosis[240:], costs=prices)
    assert [seen["figures"][k] for k in ("cost", "error")] == pytest.approx([measured.cost, measured.error])
    pruned = told(capsys, f"prune m.skops --data apart.csv {rows} --budget 9 --held-out test.csv --out cheap.skops")
    assert 0 < pruned["pruned"]["cost"] <= 9
    again = pm.evaluate(pm.load_forest("cheap.skops"), clinic[columns][240:], clinic.diagnosis[240:], costs=prices)
    assert pruned["held_out"]["cost_after"]["mean"] == pytest.approx(again.cost)
    if model == "forest":
        told(capsys, f"exits m.skops --data apart.csv {rows} --stages 3 --held-out test.csv --out e.skops")
        assert load_cascade("e.skops").exit_path_.stages.n_stages > 1
        told(capsys, f"report m.skops --data apart.csv {rows} --lam 0.01 --held-out test.csv --out page.html")
        small = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, early_stopping=False)
        monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (prepared(small, "boosted"),))
        r = told(capsys, f"cascade --data clinic.csv --ignore patient {rows} --stages 2 --held-out test.csv --out c.skops")
        cascade, apart = load_cascade("c.skops"), clinic[240:]
        assert list(cascade.feature_names_in_) == columns
        paid, right = cascade.prediction_cost(apart[columns]).mean(), cascade.score(apart[columns], apart.diagnosis)
        page = told(capsys, "report c.skops --held-out test.csv --label diagnosis --out cascade.html")
        for seen in (r["held_out"], page["held_out"]):
            assert [seen[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([paid, 1 - right])
