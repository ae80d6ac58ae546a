"""What can be refused before training and searching is refused before: these fail loudly here, and the refusal comes first."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.cascades import budget_cascade
from prunemodels.command_line import exits, inputs, prunings, report
from prunemodels.command_line.cli import main
from prunemodels.stages.table_preparation import prepared
from tests.prunemodels.command_line.conftest import House, told

LEARN = "--data train.csv --label label --ignore w,note"
CASCADE = f"cascade {LEARN} --costs costs.csv --out out/c.skops"
EXITS = "exits forest.skops --data valid.csv --label label --ignore w,note --costs costs.csv --out out/e.skops"
TRAIN = f"train {LEARN} --out out/f.skops"
PRUNE = "prune forest.skops --data valid.csv --label label --costs costs.csv --out out/p.skops"
BOOSTED = "prune model.json --data valid.csv --label label --costs costs.csv --out out/p.json --budget 3"
PAGE = "report forest.skops --data valid.csv --label label --costs costs.csv --held-out test.csv --budget 4 --out out/r.html"

EARLY = {
    "an output exists": [
        (words.replace("out/", "taken_"), "--out: taken_.* exists")
        for words in (CASCADE, EXITS, TRAIN, f"{PRUNE} --budget 4", PAGE)
    ],
    "held-out rows have no label": [
        (f"{words} --held-out unlabelled.csv", "has no column 'label'") for words in (CASCADE, EXITS, TRAIN, f"{PRUNE} --lam 0.1")
    ],
    "held-out rows lack a column": [
        (f"{words} --held-out lacking.csv", "--held-out: lacking.csv lacks the column 'mean_area'")
        for words in (CASCADE, EXITS, TRAIN, f"{PRUNE} --budget 4", BOOSTED)
    ],
    "held-out rows have another label": [
        (f"{words} --held-out strange.csv", "--label label: .*7")
        for words in (CASCADE, EXITS, TRAIN, f"{PRUNE} --budget 4", BOOSTED)
    ],
    "held-out rows have a word": [
        (f"{words} --held-out wordy.csv", "--held-out: wordy.csv, row 1: the column 'mean_area' .*'large'")
        for words in (CASCADE, EXITS, TRAIN, f"{PRUNE} --budget 4", BOOSTED)
    ],
    "held-out rows were trained on": [
        (f"{CASCADE} --held-out train.csv", "--held-out names the same file as --data"),
        (f"{EXITS} --held-out part.csv", "all of its 40 examples are in valid.csv, too"),
        (f"{PRUNE} --budget 4 --held-out part.csv", "all of its 40 examples are in valid.csv, too"),
    ],
    "a class is none": [
        (f"{words} --held-out test.csv --positive ill", "--positive: .*'ill'.* none of the classes")
        for words in (CASCADE, EXITS, TRAIN, f"{PRUNE} --budget 4", BOOSTED, PAGE.replace("--held-out test.csv ", ""))
    ],
    "prices lack columns": [
        (f"{words.replace('costs.csv', 'costs_few.csv')} --budget 4", "there is no price for 'mean_radius'")
        for words in (CASCADE, EXITS, PRUNE)
    ],
    "a budget buys nothing": [(f"{CASCADE} --budget 0.1 9", "budget is 0.1, and the cheapest feature costs 0.5")],
    "limits are none": [(f"{PRUNE} --limit nothing=1", "there is no 'nothing' to limit")],
    "a pruned forest is of another one": [(PAGE.replace("--budget 4", "--pruned stranger.skops"), "--pruned: ")],
}


@pytest.mark.parametrize("kind", EARLY)
def test_refusals_come_before_the_work(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """Status 2 and the reason, with no path, no search, and no model trained."""

    def work(*_: Any, **__: Any) -> None:
        pytest.fail("the work began")

    for name in ("c.skops", "e.skops", "f.skops", "p.skops", "r.html"):
        (house.folder / f"taken_{name}").touch()
    monkeypatch.setattr(inputs, "pruning_path", work)
    for module in (prunings, report):  # both are imported now: neither keeps the trap as its own
        monkeypatch.setattr(module, "search_boosted", work)
    monkeypatch.setattr(exits, "exit_path", work)
    monkeypatch.setattr(RandomForestClassifier, "fit", work)
    monkeypatch.setattr(pm.BudgetCascadeClassifier, "_search", work)
    monkeypatch.setattr(pm.BudgetCascadeClassifier, "_ranked", work)
    for good in (CASCADE, EXITS, TRAIN, f"{PRUNE} --budget 4", BOOSTED, PAGE):  # the traps are where the work begins
        with pytest.raises(pytest.fail.Exception, match="the work began"):
            main(shlex.split(good))
    capsys.readouterr()
    for line, message in EARLY[kind]:
        assert main(shlex.split(line)) == 2, line
        said = capsys.readouterr().err
        assert re.search(message, said), (line, said)


@pytest.mark.parametrize("command", ["train", "cascade"])
def test_how_columns_were_read_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Number, words, date or yes/no, how many cells are missing, what was taken for numbers, and what is no feature."""
    n = 40
    table = pd.DataFrame({"id": range(n), "age": [f"{20 + k}" for k in range(n)], "weight": [f"{60 + k},5 kg" for k in range(n)]})
    table["seen"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(range(n), unit="D")).strftime("%Y-%m-%d")
    table["smoker"], table["town"] = ["yes", "no"] * (n // 2), ["Ulm", "Bonn", "Kiel", "Jena"] * (n // 4)
    table.loc[3:6, "town"] = None
    table["y"] = ["ill", "well"] * (n // 2)
    table.to_csv("t.csv", sep=";", index=False)
    small = RandomForestClassifier(2, max_depth=2, random_state=0)
    if command == "cascade":
        monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (prepared(small, "forest"),))
    more = "--costs 1 --stages 2" if command == "cascade" else "--trees 2"
    words = f"{command} --data t.csv --label y --ignore id {more} --out m.skops"
    found = {column["column"]: column for column in told(capsys, words)["columns"]}
    assert {name: column["read_as"] for name, column in found.items()} == {
        "id": "number",
        "age": "number",
        "weight": "number",
        "seen": "date",
        "smoker": "yes/no",
        "town": "words",
        "y": "words",
    }
    assert [found[name]["role"] for name in ("id", "y", "age")] == ["ignored", "label", "feature"]
    assert found["town"]["missing"] == 4
    assert found["weight"]["taken"] == ["decimal comma", "kg left out"]
    assert found["weight"]["values"] == "60.5 to 99.5"
    assert main([*words.split(), "--force"]) == 0
    shown = capsys.readouterr().out
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert rows["town"].split()[1:3] == ["words", "4"]
    assert rows["weight"].endswith("decimal comma, kg left out")
    wide = pd.concat([table, pd.DataFrame({f"gene{k}": [0.5, 1.5] * (n // 2) for k in range(60)})], axis=1)
    wide.to_csv("wide.csv", index=False)
    if command == "train":
        assert main(["train", "--data", "wide.csv", "--label", "y", "--trees", "2", "--out", "w.skops"]) == 0
        shown = capsys.readouterr().out
        assert "61 columns" in shown or "62 columns" in shown or "63 columns" in shown
        assert len(shown.splitlines()) < 45
