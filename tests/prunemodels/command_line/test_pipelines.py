"""The commands on a pipeline in a file, with tables of raw columns, words among them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import prunemodels as pm
from prunemodels.command_line.cli import main
from tests.prunemodels.command_line.conftest import told
from tests.prunemodels.models.columns.tables import NUMBERS, WORDS, raw_table

X, y = raw_table(300)
PRICES = {"age": 1, "city": 2, "income": 5, "job": 2, "score": 7, "debt": 3}
PIPED = "pipe.skops --data valid.csv --label label --costs prices.csv --quiet"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
def test_prune_writes_a_pipeline(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The costs that are printed are those of the pipeline that is written, on both tables."""
    r = told(capsys, f"prune {PIPED} --budget 9 --held-out test.csv --out cheap.skops")
    cheap = pm.load_forest(folder / "cheap.skops")
    assert [name for name, _ in cheap.steps] == ["columntransformer", "randomforestclassifier"]
    assert r["pruned"]["cost"] == pytest.approx(pm.evaluate(cheap, X[150:220], y[150:220], costs=PRICES).cost)
    assert r["held_out"]["cost_after"]["mean"] == pytest.approx(pm.evaluate(cheap, X[220:], y[220:], costs=PRICES).cost)
    assert r["ignored"] == ["note"]


def test_a_word_in_place_of_a_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The step that refuses it is named, and nothing is written."""
    X.assign(label=y, age="old").to_csv(folder / "valid.csv", index=False)
    assert main(["path", *PIPED.split(), "--out", "path.csv"]) == 2
    assert "the step 'columntransformer' of the pipeline refuses the rows" in capsys.readouterr().err
    assert not (folder / "path.csv").exists()
