"""``prunemodels report`` on a saved cascade: the page, the summary, and refusals that leave nothing behind."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression

import prunemodels as pm
from prunemodels.command_line.cli import main
from prunemodels.exits.cascade_files import load_cascade, save_cascade
from tests.prunemodels.report_page.cascade_cases import cells
from tests.prunemodels.report_page.cases import Page
from tests.prunemodels.report_page.checks import check_alone, check_markup


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cascades with and without names of columns, one for numbers, one as joblib, and tables of examples kept apart."""
    folder = tmp_path_factory.mktemp("cascades")
    data, y = make_classification(400, 4, n_informative=3, n_redundant=0, flip_y=0.05, random_state=3)
    X = pd.DataFrame(data.round(3), columns=list("abcd"))
    stages = [(LogisticRegression(), [0]), (LogisticRegression(), [0, 1]), (LogisticRegression(), None)]
    options = {"lam": 1e-3, "cv": 2, "doubt": "margin", "random_state": 0}
    model = pm.CascadeClassifier(stages, [1, 0.5, 1, 2], **options).fit(X[:300], y[:300])
    save_cascade(model, folder / "named.skops")
    joblib.dump(model, folder / "named.joblib")
    save_cascade(pm.CascadeClassifier(stages, [1, 0.5, 1, 2], **options).fit(data[:300], y[:300]), folder / "places.skops")
    X[300:].assign(label=y[300:], w=np.arange(100) % 3).to_csv(folder / "test.csv", index=False)
    X.loc[300:, ["d", "c", "b", "a"]].assign(more=1.0, label=y[300:]).to_csv(folder / "mixed.csv", index=False)
    X.loc[300:, ["a", "c"]].assign(label=y[300:]).to_csv(folder / "few.csv", index=False)
    data, y = make_regression(400, 4, noise=20, random_state=1)
    rows = [(LinearRegression(), [0]), (LinearRegression(), None)]
    numbers = pm.CascadeRegressor(rows, 1, lam=1, cv=2, random_state=0).fit(data[:300], y[:300])
    save_cascade(numbers, folder / "numbers.skops")
    pd.DataFrame(data[300:], columns=list("abcd")).assign(label=y[300:]).to_csv(folder / "numbers.csv", index=False)
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files in a working directory of the test's own, with an empty folder ``out``."""
    for file in files.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


OUT = ["--out", "out/r.html", "--quiet"]
APART = ["--held-out", "test.csv", "--label", "label"]


def page() -> str:
    return Path("out/r.html").read_text(encoding="utf-8")


def known(file: str, *, drop: tuple[str, ...] = ("label", "w")) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_csv(file)
    return table.drop(columns=[c for c in drop if c in table]), table["label"].to_numpy()


def test_a_cascade_becomes_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page is sound and names its files; the summary has the figures of `evaluate`, before those of the last stage."""
    assert main(["report", "named.skops", *APART, *OUT, "--title", "My <cascade>", "--unit", "euros", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    cascade = load_cascade("named.skops")
    X, y = known("test.csv")
    after = pm.evaluate(cascade, X, y)
    seen = pm.exits.evaluate_exit_path(cascade, X, y)
    assert tuple(told["held_out"][k]["mean"] for k in ("cost_after", "error_after")) == pytest.approx((after.cost, after.error))
    assert told["held_out"]["cost_before"]["mean"] == pytest.approx(4.5)
    assert told["held_out"]["error_before"]["mean"] == pytest.approx(seen.loss[-1].mean())
    assert (told["held_out"]["n"], told["verified"], told["written"]) == (100, True, ["out/r.html"])
    check_markup(page())
    check_alone(page())
    text = Page(page()).text()
    for shown in ("My <cascade>", "euros instead of", "file of the cascade", "named.skops, SHA-256", "test.csv, SHA-256"):
        assert shown in text
    assert shlex.split(Page(page()).text("code"))[:3] == ["prunemodels", "report", "named.skops"]


def test_without_examples_the_figures_are_those_of_fitting(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cascade's file is enough; the screen says that the figures are cross-fitted."""
    assert main(["report", "named.skops", *OUT]) == 0
    shown = capsys.readouterr().out
    cascade = load_cascade("named.skops")
    assert shown.startswith("cross-fitted   cost 4.5 -> ")
    assert "300 examples" in shown
    assert "all checks hold" in shown
    assert "No held-out examples were given" in page()
    assert main(["report", "named.skops", *OUT, "--force", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["cross_fitted"]["cost_after"], told["cross_fitted"]["error_after"]) == (
        cascade.held_out_cost_,
        cascade.held_out_error_,
    )
    assert told["cross_fitted"]["n"] == 300


def test_a_refuted_check_is_the_exit_status(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Gains that somebody changed in the file do not go with its proof."""
    cascade = load_cascade("named.skops")
    cascade.exit_path_.closures.problem.gain[...] = cascade.exit_path_.closures.problem.gain[::-1].copy()
    save_cascade(cascade, "forged.skops")
    assert main(["report", "forged.skops", *OUT]) == 1
    assert "REFUTED" in capsys.readouterr().out
    assert "do not rely on this policy" in page()


@pytest.mark.parametrize("goal", [["--budget", "1.25"], ["--lam", "10"]])
def test_another_policy_is_shown(folder: Path, capsys: pytest.CaptureFixture[str], goal: list[str]) -> None:
    """A budget or a lambda chooses another policy of the same stages."""
    assert main(["report", "named.skops", *APART, *OUT, *goal, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    cascade = load_cascade("named.skops")
    other = cascade.at_cost(1.25) if goal[0] == "--budget" else cascade.at_lam(10)
    after = pm.evaluate(other, *known("test.csv"))
    assert tuple(told["held_out"][k]["mean"] for k in ("cost_after", "error_after")) == pytest.approx((after.cost, after.error))
    assert after.cost != pm.evaluate(cascade, *known("test.csv")).cost


def test_a_joblib_file_needs_trust(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the word it is refused with the remedy; with it the page is that of the skops file."""
    assert main(["report", "named.joblib", *APART, *OUT]) == 2
    assert "FOREST|CASCADE: named.joblib is a joblib file" in capsys.readouterr().err
    assert not list(Path("out").iterdir())
    assert main(["report", "named.joblib", "--trust-pickle", *APART, *OUT]) == 0
    one = cells(page(), "stages-table")
    assert main(["report", "named.skops", *APART, *OUT, "--force"]) == 0
    assert cells(page(), "stages-table") == one
