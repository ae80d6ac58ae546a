"""``prunemodels report`` end to end: the page, the summary, and refusals that leave nothing behind."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.command_line import report
from prunemodels.command_line.cli import main
from tests.prunemodels.report_page.cases import Page


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A forest, a forest pruned from it, prices, and three tables."""
    folder = tmp_path_factory.mktemp("report")
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:, :7].rename(columns=lambda c: c.replace(" ", "_")), data.target
    forest = RandomForestClassifier(6, max_depth=5, random_state=0).fit(X[:250], y[:250])
    table = X.assign(label=y, w=np.arange(len(y)) % 3)
    table[250:400].to_csv(folder / "valid.csv", index=False)
    table[400:].to_csv(folder / "test.csv", index=False)
    pd.DataFrame({"feature": X.columns, "cost": [1, 2, 1, 0.5, 1, 1, 3]}).to_csv(folder / "costs.csv", index=False)
    problem = pm.problem_from_forest(forest, X[250:400], costs=[1, 2, 1, 0.5, 1, 1, 3])
    skops.io.dump(forest, folder / "forest.skops")
    skops.io.dump(pm.apply_pruning(pm.pruning_path(problem).at_cost(6), forest), folder / "cheap.skops")
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files in a working directory of the test's own, with an empty folder ``out``."""
    for file in files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(*more: str, **changed: str | None) -> list[str]:
    options = {"data": "valid.csv", "label": "label", "costs": "costs.csv", "held-out": "test.csv", "out": "out/r.html"}
    options |= {name.replace("_", "-"): value for name, value in changed.items()}
    return ["report", "forest.skops", *(w for k, v in options.items() if v is not None for w in (f"--{k}", v)), "--quiet", *more]


def page() -> Page:
    return Page(Path("out/r.html").read_text(encoding="utf-8"))


def test_a_budget_becomes_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is sound, names the budget, tells the command and the fingerprints of the files; the summary tells the gist."""
    assert main(words("--budget", "4", "--time-limit", "1", "--title", "My <forest>", "--unit", "euros")) == 0
    told = capsys.readouterr().out
    assert "proof          the optimisation on the samples is verified: all checks hold" in told
    assert "written        out/r.html" in told
    seen = page()
    assert not seen.problems
    text = seen.text()
    assert "My <forest>" in text
    assert "more than the 4 euros allowed" in text
    assert "euros instead of" in text
    digest = hashlib.sha256((folder / "valid.csv").read_bytes()).hexdigest()[:16]
    assert f"valid.csv, SHA-256 {digest}" in text
    assert "file of the forest" in text
    assert "file of --held-out" in text
    assert str(folder) not in Path("out/r.html").read_text()


@pytest.mark.parametrize("goal", [["--lam", "0.01"], ["--pruned", "cheap.skops"]])
def test_other_goals(folder: Path, capsys: pytest.CaptureFixture[str], goal: list[str]) -> None:
    """A lambda, and a forest that somebody pruned: its figures are those of that forest."""
    assert main(words(*goal, "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["verified"] is True
    test = pd.read_csv("test.csv")
    forest = skops.io.load("forest.skops", trusted=["sklearn.tree._tree.Tree"])
    prices = [1, 2, 1, 0.5, 1, 1, 3]
    X, y = test.iloc[:, :7], test["label"]
    known = pm.evaluate(forest, X, y, costs=prices)
    assert tuple(told["held_out"][k]["mean"] for k in ("cost_before", "error_before")) == pytest.approx((known.cost, known.error))
    if goal[0] == "--pruned":
        cheap = pm.evaluate(skops.io.load("cheap.skops", trusted=["sklearn.tree._tree.Tree"]), X, y, costs=prices)
        assert tuple(told["held_out"][k]["mean"] for k in ("cost_after", "error_after")) == pytest.approx(
            (cheap.cost, cheap.error)
        )
    assert told["held_out"]["n"] == len(test)


def test_a_refuted_check_is_the_exit_status() -> None:
    """1 where a check is refuted, 3 where one is undecided; the text says which."""
    refuted, undecided = (report.report_summary({}, [], verified, Path("r.html")) for verified in (False, None))
    assert (refuted.exit_status, undecided.exit_status) == (1, 3)
    assert ("REFUTED" in refuted.text(0.0), "undecided" in undecided.text(0.0)) == (True, True)


def test_a_file_given_with_an_equals_sign_loses_its_folder_too(folder: Path) -> None:
    """``--held-out=/some/where/test.csv`` is told as ``--held-out=test.csv``."""
    assert main(words("--lam", "0.01", f"--held-out={folder / 'test.csv'}", held_out=None)) == 0
    assert "--held-out=test.csv" in page().text("code")


def test_mistakes_have_costs_and_the_positive_class_a_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missed case of class 0 costs ten: the page names the class, and errors are costs, equal to those of the library."""
    assert main(words("--lam", "0.01", "--mistakes", "0:1=10", "--positive", "0", "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    table = pd.read_csv(folder / "test.csv")
    forest = pm.load_forest(folder / "forest.skops")
    y, said = table["label"], forest.predict(table[list(forest.feature_names_in_)])
    assert told["held_out"]["error_before"]["mean"] == pytest.approx(
        np.where((y == 0) & (said == 1), 10, (y == 1) & (said == 0)).mean()
    )
    missed = int(((y == 0) & (said == 1)).sum())
    text = page().text()
    assert f"before, {missed}." in text
    assert "mean misclassification cost" in text
    assert "Of 100 examples that are" in text
