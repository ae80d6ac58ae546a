"""`prunemodels exits`, `cascade` and `check exits`: what they write, say and refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import prunemodels as pm
from prunemodels.command_line.cli import main
from prunemodels.exits import budget_cascade
from prunemodels.exits.cascade_files import load_cascade
from prunemodels.exits.table_preparation import prepared
from tests.prunemodels.command_line.conftest import House, told, written

EXITS = "exits forest.skops --data valid.csv --label label --ignore w,note --costs costs.csv --stages 4 --quiet"
BUDGET = 4


def test_exits_writes_a_cascade_and_says_what_it_does(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The cascade within the budget is saved; its held-out cost, error, stops and other budgets are told, and drawn."""
    r = told(capsys, f"{EXITS} --budget {BUDGET} --held-out test.csv --picture out/who.png --out out/e.skops")
    cascade, X, y = load_cascade("out/e.skops"), house.apart, house.apart_y.to_numpy()
    before, after = pm.evaluate(house.forest, X, y, costs=house.costs), pm.evaluate(cascade, X, y)
    seen = r["held_out"]
    assert r["learned_cost"] <= BUDGET
    assert [seen[k]["mean"] for k in ("cost_before", "error_before")] == pytest.approx([before.cost, before.error])
    assert [seen[k]["mean"] for k in ("cost_after", "error_after")] == pytest.approx([after.cost, after.error])
    wrong = (cascade.predict(X) != y).astype(float) - (house.forest.predict(X) != y)
    assert seen["increase"]["mean"] == pytest.approx(wrong.mean())
    stages, counts = np.unique(cascade.stop_stages(X), return_counts=True)
    assert [s["stage"] for s in r["stops"]] == stages.tolist()
    np.testing.assert_allclose([s["share"] for s in r["stops"]], counts / len(y))
    for row in r["budgets"]:
        other = pm.evaluate(cascade.at_cost(row["budget"]), X, y)
        assert (row["cost"], row["error"]) == (pytest.approx(other.cost), pytest.approx(other.error))
    assert Path("out/who.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert written() == ["e.skops", "who.png"]


def test_cascade_finds_its_own_sets(house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A table is enough: the cascade is fitted within the budget, at the prices of the table, saved and measured."""
    small = RandomForestClassifier(3, max_depth=3, random_state=0)
    monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (small,))
    words = "cascade --data train.csv --label label --ignore w,note --costs costs.csv --stages 3 --quiet"
    r = told(capsys, f"{words} --budget 2 --held-out test.csv --out out/c.skops")
    after = pm.evaluate(load_cascade("out/c.skops"), house.apart, house.apart_y, costs=house.costs)
    assert r["learned_cost"] <= 2
    assert r["held_out"]["cost_after"]["mean"] == pytest.approx(after.cost)
    assert r["stages"] <= 3
    assert r["model"].startswith("BudgetCascadeClassifier of")


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files with words, dates and gaps, whose boosters are small."""
    rng, n = np.random.default_rng(1), 160
    X = pd.DataFrame({"city": rng.choice(["Rome", "Oslo"], n), "age": rng.integers(20, 80, n).astype(float)})
    X["joined"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")).strftime("%Y-%m-%d")
    X["answer"] = np.where((X["city"] == "Rome") ^ (X["age"] > 60), "yes", "no")
    X.loc[::9, ["city", "age"]] = None
    for name, rows in (("people", slice(0, 110)), ("others", slice(110, n))):
        X[rows].to_csv(tmp_path / f"{name}.csv", index=False)
    pd.DataFrame({"feature": ["city", "age", "joined"], "cost": [1, 2, 5]}).to_csv(tmp_path / "prices.csv", index=False)
    small = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, early_stopping=False)
    monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (prepared(small, "boosted"),))
    monkeypatch.chdir(tmp_path)
    return tmp_path


PEOPLE = "cascade --data people.csv --label answer --costs prices.csv --stages 3 --out people.skops --quiet"


def test_a_cascade_of_words_and_its_page(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table with words, dates and gaps is learned from at the prices of its columns; the page takes such a table, too."""
    r = told(capsys, f"{PEOPLE} --budget 4 --held-out others.csv")
    cascade, others = load_cascade("people.skops"), pd.read_csv("others.csv")
    assert r["held_out"]["cost_after"]["mean"] == pytest.approx(cascade.prediction_cost(others.drop(columns="answer")).mean())
    assert r["held_out"]["error_after"]["mean"] == pytest.approx(
        1 - cascade.score(others.drop(columns="answer"), others["answer"])
    )
    assert not any("identifier" in hint for hint in r["hints"])
    page = told(capsys, "report people.skops --held-out others.csv --label answer --out page.html")
    assert page["held_out"]["cost_after"]["mean"] == pytest.approx(r["held_out"]["cost_after"]["mean"])


@pytest.mark.parametrize(
    ("change", "prices", "words", "said"),
    [
        ({}, {"city": 1, "age": 2, "joined": 5, "town": 1}, "", ["--costs prices.csv", "'town'", "there are city, age, joined"]),
        ({}, {"city": 1, "age": 2}, "", ["--costs prices.csv", "no price for 'joined'", "write 0 for a free feature"]),
        ({"answer": "yes"}, {}, "", ["--label answer", "have 'yes'", "give examples with different labels"]),
        ({}, {}, "--regression", ["--label answer", "holds 'yes'", "drop --regression"]),
        ({"age": np.inf}, {}, "", ["--data", "'age' is infinite", "clip it"]),
    ],
)
def test_tables_that_are_refused_before_training(
    people: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, change: Any, prices: Any, words: str, said: list[str]
) -> None:
    """The message names the option, the column and the remedy, and no model is fitted."""
    pd.read_csv("people.csv").assign(**change).to_csv("people.csv", index=False)
    if prices:
        pd.DataFrame({"feature": list(prices), "cost": list(prices.values())}).to_csv("prices.csv", index=False)
    monkeypatch.setattr(pm.BudgetCascadeClassifier, "_chains", lambda *_: pytest.fail("models were fitted"))
    assert main([*PEOPLE.split(), *words.split()]) != 0
    message = capsys.readouterr().err
    for part in said:
        assert part in message


def test_columns_of_identifiers_are_named(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Words and numbers of which each row has its own give a hint; ages and dates do not."""
    table = pd.read_csv("people.csv").assign(number=range(500, 610), name=[f"n{k}" for k in range(110)])
    table.to_csv("people.csv", index=False)
    hints = told(capsys, f"{PEOPLE} --costs 1")["hints"]
    assert [hint.split("'")[1] for hint in hints if "looks like an identifier" in hint] == ["number", "name"]
