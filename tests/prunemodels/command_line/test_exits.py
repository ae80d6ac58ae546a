"""`prunemodels exits`, `cascade` and `check exits`: what they write, say and refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import prunemodels as pm
from prunemodels.cascades import budget_cascade
from prunemodels.cascades.cascade_files import load_cascade
from prunemodels.command_line import exits
from prunemodels.command_line.cli import main
from prunemodels.stages.raw_tables import identifiers
from prunemodels.stages.table_preparation import prepared
from tests.prunemodels.command_line.conftest import House, screen, told, written

EXITS = "exits forest.skops --data valid.csv --label label --ignore w,note --costs costs.csv --stages 4 --quiet"
BUDGET = 4


@pytest.mark.slow
def test_exits_writes_a_cascade_and_says_what_it_does(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The cascade within the budget is saved; its held-out cost, error and stops are told, and drawn."""
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
    assert Path("out/who.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert written() == ["e.skops", "who.png"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["exits", "prune"])
def test_an_error_is_promised(command: str, house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """`--max-error` keeps rows apart that test it, and says so."""
    words = EXITS if command == "exits" else EXITS.replace("exits", "prune", 1).replace("--stages 4 ", "")
    words += " --max-error 0.4 --out out/e.skops"
    r = told(capsys, words)
    assert r["promise"]["n"] == len(house.X) * (0.25 if command == "exits" else 0.5)
    assert r["promise"]["mean"] < r["promise"]["upper_bound"] <= r["promise"]["at_most"] == 0.4
    assert "With confidence 95 % new examples have an error of at most 40.00 %" in " ".join(screen(capsys, words).split())


@pytest.mark.slow
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


@pytest.mark.slow
def test_columns_of_identifiers_are_named(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words and numbers of which each row has its own give a hint; ages and dates do not."""
    small = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, early_stopping=False)
    monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (prepared(small, "boosted"),))
    table, k = pd.read_csv("train.csv").drop(columns=["w", "note"]), np.arange(300)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(k % 90, unit="D")
    table.assign(number=500 + k, name=[f"n{i}" for i in k], age=k % 60, joined=days.strftime("%Y-%m-%d")).to_csv("people.csv")
    words = "cascade --data people.csv --label label --ignore 'Unnamed: 0' --costs 1 --stages 2 --out out/c.skops"
    hints = told(capsys, words)["hints"]
    assert [hint.split("'")[1] for hint in hints if "looks like an identifier" in hint] == ["number", "name"]


def test_identifiers_are_found_whatever_their_range(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole numbers of which nearly each row has its own are named, far apart, a sample, or with some that come twice; pressures
    with decimals and ages are not. Where a price is missing, the advice begins with --ignore.
    """
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 260
    table = pd.DataFrame({"sample": rng.permutation(400)[:n], "far": rng.choice(np.arange(67, 72941), n, replace=False)})
    table["twice"] = np.where(np.arange(n) < 20, 1000, 1000 + np.arange(n))
    table = table.assign(age=rng.integers(20, 90, n), pressure=rng.normal(120, 10, n).round(2))
    assert identifiers(table) == ["sample", "far", "twice"]
    table.assign(y=rng.integers(0, 2, n)).to_csv("t.csv", index=False)
    for missing, words in (
        ("far", "'far', which has another value in nearly each row and looks like an identifier; leave it out with --ignore"),
        ("age", "'age'; leave it out with --ignore age, or write a price, 0 if it is free"),
    ):
        prices = pd.DataFrame({"feature": [name for name in table.columns if name != missing], "cost": 1})
        prices.to_csv("p.csv", index=False)
        assert main(["cascade", "--data", "t.csv", "--label", "y", "--costs", "p.csv", "--out", "c.skops"]) == 2
        assert f"--costs p.csv: there is no price for {words}" in capsys.readouterr().err


def test_several_budgets_come_from_one_training(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`exits` and `cascade` train once; each file has the policy of its budget, and one table has them all."""
    small = RandomForestClassifier(3, max_depth=3, random_state=0)
    monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (small,))
    learned = "cascade --data train.csv --label label --ignore w,note --costs costs.csv --stages 3 --quiet"
    trained, real = list[Any](), exits.exit_path
    monkeypatch.setattr(exits, "exit_path", lambda *given, **options: trained.append(0) or real(*given, **options))
    X, y = house.apart, house.apart_y.to_numpy()
    for words in (EXITS, learned):
        seen = told(capsys, f"{words} --budget 2 6 --held-out test.csv --out out/e.skops")
        assert [Path(one["file"]).name for one in seen["budgets"]] == ["e-2.skops", "e-6.skops"]
        for one in seen["budgets"]:
            cascade = load_cascade(one["file"])
            change = one["held_out"]
            assert change["cost_after"]["mean"] == pytest.approx(cascade.prediction_cost(X).mean())
            assert change["error_after"]["mean"] == pytest.approx(np.mean(cascade.predict(X) != y))
            assert one["learned_cost"] <= one["budget"]
            assert cascade.budget == one["budget"]
        text = screen(capsys, f"{words} --budget 2 6 --out out/e.skops")
        assert [line.split()[0] for line in text.splitlines() if line.startswith(("2 ", "6 "))] == ["2", "6"]
    assert len(trained) == 2
    assert [
        one["budget"]
        for one in told(capsys, EXITS.replace("exits ", "exits --budget 2 --budget 6 ") + " --out out/f.skops")["budgets"]
    ] == [2, 6]


def test_measurements_of_few_rows_are_no_identifiers() -> None:
    """Whole numbers of 20 to 60 rows: cholesterol and heart rates are none, whether they repeat or not; numbers of patients are,
    dense or far apart; amounts in hundreds are none.
    """
    for n in (20, 30, 45, 60):
        wrong, right = 0, 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            some = pd.DataFrame({"cholesterol": rng.normal(246, 52, n).round(), "rate": rng.normal(150, 23, n).round()})
            some["platelets"] = 1000 * rng.integers(150, 400, n)
            wrong += len(identifiers(some))
            right += len(identifiers(pd.DataFrame({"row": np.arange(n), "patient": rng.choice(900_000, n, replace=False)})))
        assert wrong <= 1, n
        assert right >= 79, n


def test_a_cascade_of_dear_mistakes_is_written_and_judged_by_them(
    house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of classes are no keys of a file; the mean cost of mistakes is stated, in JSON as on the terminal."""
    small = RandomForestClassifier(3, max_depth=3, random_state=0)
    monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (small,))
    first, second = np.unique(house.apart_y).tolist()[:2]
    words = "cascade --data train.csv --label label --ignore w,note --costs costs.csv --stages 3 --quiet"
    words += f" --mistakes {first}:{second}=10 --max-cost 3 --held-out test.csv --out out/c.skops"
    r = told(capsys, words)
    cascade, said = load_cascade("out/c.skops"), house.apart_y.to_numpy()
    wrong = np.where((said == first) & (cascade.predict(house.apart) == second), 10.0, cascade.predict(house.apart) != said)
    assert r["measure"] == "mean misclassification cost"
    assert r["held_out"]["error_after"]["mean"] == pytest.approx(wrong.mean())
    assert cascade.prediction_cost(house.apart).max() <= 3
    assert "no example above 3" in screen(capsys, words + " --force")
