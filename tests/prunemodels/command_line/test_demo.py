"""The demo measures what it says, and reproduces BP16's setting on MiniBooNE."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.command_line import demo
from prunemodels.command_line.cli import main
from prunemodels.data_files import FOLDER_VARIABLE, data_folder


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(data_folder().resolve()))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_a_newcomer_sees_half_the_features_give_the_same_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Without arguments: a table of eleven forests on one screen, five files, and at half the cost about the unpruned error."""
    assert main(["demo", "--quiet"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert len(told.out.splitlines()) <= 24
    assert sorted(p.name for p in Path("demo-output").iterdir()) == sorted(demo.FILES)
    table = pd.read_csv("demo-output/table.csv").set_index("budget")
    assert len(table) == 11
    assert table.loc["50 %", "cost"] < 0.6 * table.loc["unpruned", "cost"]
    assert table.loc["50 %", "held_out_error"] <= table.loc["unpruned", "held_out_error"] + 0.02
    assert table["in_bag_error"].is_monotonic_increasing


@pytest.mark.slow
def test_the_figures_are_those_of_the_saved_forest(capsys: pytest.CaptureFixture[str]) -> None:
    """The row that was saved is what the saved forest costs and errs on the held-out part, measured anew."""
    assert main(["demo", "--trees", "5", "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    forest = skops.io.load("demo-output/pruned.skops", trusted=["sklearn.tree._tree.Tree"])
    data = demo.breast_cancer()
    train, valid, test = data.parts(0)
    assert [len(train), len(valid), len(test)] == told["sizes"] == [341, 114, 114]
    row = next(m for m in told["measured"] if m["budget"] == told["saved"])
    again = pm.evaluate(forest, data.X.iloc[test], data.y[test], costs=1)
    assert (row["cost"], row["held_out_error"], row["splits"]) == (again.cost, again.error, again.splits)
    on_valid = pm.evaluate(forest, data.X.iloc[valid], data.y[valid], costs=1)
    grown = RandomForestClassifier(5, criterion="entropy", max_features=None, random_state=0).fit(
        data.X.iloc[train], data.y[train]
    )
    assert on_valid.cost <= pm.evaluate(grown, data.X.iloc[valid], data.y[valid], costs=1).cost / 2


@pytest.mark.slow
def test_heart_at_its_prices(capsys: pytest.CaptureFixture[str]) -> None:
    """`--data heart` prunes to dollars: each budget is nearly spent on average, which the path's prunings alone would not do."""
    if not (data_folder() / "heart_statlog.csv.gz").is_file():
        pytest.skip(f"no heart_statlog.csv.gz in {data_folder()}; name its folder in {FOLDER_VARIABLE}")
    assert main(["demo", "--data", "heart", "--seeds", "2", "--trees", "8", "--quiet"]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "cost, dollars" in told.out
    table = pd.read_csv("demo-output/table.csv").groupby("budget").cost.mean()
    for budget in ("200", "150", "100"):
        assert table[budget] == pytest.approx(float(budget), rel=0.25)
    assert main(["demo", "--data", "heart", "--label", "x", "--out", "other"]) == 2
    assert "--label x: the data of heart are labelled" in capsys.readouterr().err
