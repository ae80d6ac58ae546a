"""`prunemodels exits`, `cascade` and `check exits`: what they write, say and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.command_line import exit_commands
from prunemodels.command_line.cli import main
from prunemodels.exits.cascade_files import load_cascade

BUDGET = 1.5


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exits")
    data, y = make_classification(450, 4, n_informative=3, n_redundant=0, flip_y=0.05, random_state=3)
    X = pd.DataFrame(data.round(3), columns=list("abcd"))
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X[:150], y[:150])
    skops.io.dump(forest, folder / "forest.skops")
    for name, rows in (("train", slice(0, 150)), ("valid", slice(150, 300)), ("test", slice(300, 450))):
        X[rows].assign(label=y[rows]).to_csv(folder / f"{name}.csv", index=False)
    pd.DataFrame({"feature": X.columns, "cost": [1, 0.5, 1, 2]}).to_csv(folder / "costs.csv", index=False)
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exits(*more: str) -> list[str]:
    """A valid command line, and more words."""
    words = ["exits", "forest.skops", "--data", "valid.csv", "--label", "label", "--costs", "costs.csv", "--stages", "4"]
    return [*words, "--budget", str(BUDGET), "--out", "out.skops", "--quiet", *more]


def test_exits_writes_a_cascade_and_says_what_it_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cascade within the budget is saved; its held-out cost, error, stops and other budgets are told, and drawn."""
    assert main(exits("--held-out", "test.csv", "--picture", "who.png", "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    cascade = load_cascade("out.skops")
    test = pd.read_csv("test.csv")
    X, y = test.drop(columns="label"), test["label"].to_numpy()
    forest = skops.io.load("forest.skops", trusted=["sklearn.tree._tree.Tree"])
    before = pm.evaluate(forest, X, y, costs=pd.read_csv("costs.csv"))
    after = pm.evaluate(cascade, X, y)
    seen = told["held_out"]
    assert told["learned_cost"] <= BUDGET
    assert (seen["cost_before"], seen["error_before"]) == (pytest.approx(before.cost), pytest.approx(before.error))
    assert (seen["cost"][0], seen["error"][0]) == (pytest.approx(after.cost), pytest.approx(after.error))
    assert seen["cost"][1] < seen["cost"][0] < seen["cost"][2]
    wrong = (cascade.predict(X) != y).astype(float) - (forest.predict(X) != y)
    assert seen["change"][0] == pytest.approx(wrong.mean())
    assert seen["change"][1] <= wrong.mean() <= seen["change"][2]
    stages, counts = np.unique(cascade.stop_stages(X), return_counts=True)
    assert [s["stage"] for s in seen["stops"]] == stages.tolist()
    np.testing.assert_allclose([s["share"] for s in seen["stops"]], counts / len(y))
    for row in seen["budgets"]:
        other = pm.evaluate(cascade.at_cost(row["budget"]), X, y)
        assert (row["cost"], row["error"]) == (pytest.approx(other.cost), pytest.approx(other.error))
    assert (folder / "who.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert told["written"] == ["out.skops", "who.png"]


def test_the_screen_has_the_same_figures(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --json one screen names the model, the policy, the held-out change, the stages and the budgets."""
    assert main(exits("--held-out", "test.csv")) == 0
    shown = capsys.readouterr().out
    for part in ("RandomForestClassifier, 4 trees", "optimal policies", "budget 1.5: cost", "held out       test.csv, 150"):
        assert part in shown
    for part in ("paired change", "stops at", "most of them have bought", "held-out error", "out.skops"):
        assert part in shown


def test_check_exits_proves_the_policies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The saved certificate is checked with status 0; a path whose certificate was tampered with has status 1."""
    assert main(exits()) == 0
    assert main(["check", "exits", "out.skops"]) == 0
    assert "holds" in capsys.readouterr().out
    cascade = load_cascade("out.skops")
    cascade.exit_path_.closures.problem.gain[...] = cascade.exit_path_.closures.problem.gain[::-1].copy()
    skops.io.dump(cascade, "forged.skops")
    assert main(["check", "exits", "forged.skops"]) == 1
    assert "refuted" in capsys.readouterr().out


def test_cascade_finds_its_own_sets(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A table is enough: the cascade is fitted within the budget, at the prices of the table, saved and measured."""
    small = RandomForestClassifier(3, max_depth=3, random_state=0)
    monkeypatch.setattr(exit_commands.BudgetCascadeClassifier, "_model", lambda self: small)
    words = ["cascade", "--data", "train.csv", "--label", "label", "--costs", "costs.csv", "--stages", "3", "--quiet"]
    assert main([*words, "--budget", "2", "--held-out", "test.csv", "--out", "c.skops", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    cascade = load_cascade("c.skops")
    test = pd.read_csv("test.csv")
    after = pm.evaluate(cascade, test.drop(columns="label"), test["label"], costs=pd.read_csv("costs.csv"))
    assert told["learned_cost"] <= 2
    assert told["held_out"]["cost"][0] == pytest.approx(after.cost)
    assert told["stages"] <= 3
    assert told["model"].startswith("BudgetCascadeClassifier of")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--held-out", "valid.csv"], "--held-out names the same file as --data"),
        (["--stages", "1"], "--stages is 1; give 2 or more"),
        (["--out", "out.pkl"], r"--out: out.pkl has the ending '.pkl'"),
        (["--label", "a,b"], "--label"),
    ],
)
def test_refusals_name_the_option(folder: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What does not fit is refused with status 2 by the name of its option, and nothing is written."""
    assert main(exits(*words)) == 2
    assert message in capsys.readouterr().err
    assert not list(folder.glob("out.*"))


def test_exits_need_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without labels there is nothing to learn from."""
    words = ["exits", "forest.skops", "--data", "valid.csv", "--costs", "1", "--out", "out.skops"]
    assert main(words) == 2
    assert "--label is missing: exits are learned from labelled examples" in capsys.readouterr().err
