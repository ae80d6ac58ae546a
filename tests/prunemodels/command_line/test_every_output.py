"""Every command on what every other command wrote, from a table with words and gaps: it works, or says by name what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from prunemodels import evaluate, load_cascade, load_forest
from prunemodels.command_line.cli import main

MODELS = ("forest", "boosted", "pruned", "cheap boosted")
CASCADES = ("exits", "exits of the pruned", "cascade")
SAVED = {name: f"{name.replace(' ', '_')}.skops" for name in MODELS + CASCADES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of colours, numbers and gaps, its prices, and all that commands make of it."""
    place = tmp_path_factory.mktemp("outputs")
    rng, n = np.random.default_rng(0), 360
    table = pd.DataFrame({"w": rng.choice(["red", "blue", "green"], n), "a": rng.normal(size=n), "b": rng.normal(size=n)})
    table["y"] = np.where((table["a"] > 0) ^ ((table["w"] == "red") & (table["b"] > 0.2)), "ill", "well")
    table.loc[rng.random(n) < 0.1, "b"] = np.nan
    table.to_csv(place / "all.csv", index=False)
    pd.DataFrame({"feature": ["w", "a", "b"], "cost": [1, 10, 100]}).to_csv(place / "prices.csv", index=False)
    priced = ["--data", "apart.csv", "--label", "y", "--costs", "prices.csv", "--budget", "20"]
    commands = [
        ["train", "--data", "all.csv", "--label", "y", "--apart-csv", "apart.csv", "--out", SAVED["forest"]],
        ["train", "--data", "all.csv", "--label", "y", "--model", "boosted", "--out", SAVED["boosted"]],
        ["prune", SAVED["forest"], *priced, "--out", SAVED["pruned"]],
        ["prune", SAVED["boosted"], *priced, "--out", SAVED["cheap boosted"]],
        ["exits", SAVED["forest"], *priced, "--out", SAVED["exits"]],
        ["exits", SAVED["pruned"], *priced, "--out", SAVED["exits of the pruned"]],
        ["cascade", "--data", "all.csv", *priced[2:], "--out", SAVED["cascade"]],
        ["path", SAVED["forest"], *priced[:6], "--out", "path.csv"],
        ["export", SAVED["forest"], *priced[:6], "--lam", "0.05", "--out", "program.mps"],
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        for words in commands:
            assert main([*words, "--quiet"]) == 0, words
    return place


PAGE = ["--out", "page.html", "--force"]
PRICED = ["--data", "apart.csv", "--label", "y", "--costs", "prices.csv"]
TRIED = {
    **{f"evaluate {name}": ["evaluate", SAVED[name], *PRICED] for name in MODELS},
    **{f"prune {name}": ["prune", SAVED[name], *PRICED, "--budget", "15", "--out", "again.skops", "--force"] for name in MODELS},
    **{
        f"report {name}": [
            "report",
            SAVED[name],
            *PRICED,
            "--budget",
            "15",
            "--held-out",
            "all.csv",
            "--out",
            "page.html",
            "--force",
        ]
        for name in MODELS
    },
    **{f"path {name}": ["path", SAVED[name], *PRICED, "--out", "again.csv", "--force"] for name in ("forest", "pruned")},
    **{f"report {name}": ["report", SAVED[name], *PAGE] for name in CASCADES},
    **{
        f"report {name} on rows": [
            "report",
            SAVED[name],
            "--held-out",
            "apart.csv",
            "--label",
            "y",
            "--out",
            "page.html",
            "--force",
        ]
        for name in CASCADES
    },
    **{f"check {name}": ["check", "exits", SAVED[name]] for name in CASCADES},
    **{
        f"predict {name}": ["predict", SAVED[name], "--data", "all.csv", "--out", "again.csv", "--force"]
        for name in MODELS + CASCADES
    },
    "check path": ["check", "path", SAVED["forest"], *PRICED, "--table", "path.csv"],
    "compare": ["compare", SAVED["forest"], *PRICED, "--lam", "0.05", "--solvers", "min_cut,price_sharing"],
    "check tu": ["check", "tu", "program.mps"],
    "check integrality": ["check", "integrality", "program.mps"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_a_command_takes_what_another_one_wrote(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 0, and a page names the columns of the user's table, of which "w" was never a number."""
    monkeypatch.chdir(folder)
    assert main(TRIED[name]) == 0
    if name.startswith("report"):
        page = (folder / "page.html").read_text(encoding="utf-8")
        assert "IndexError" not in page
        assert "x0" not in page.replace("0x0", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS + CASCADES)
def test_predict_says_what_calling_gives(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers, probabilities, costs and stages in the file are those of the object in memory."""
    monkeypatch.chdir(folder)
    rows = pd.read_csv("all.csv")
    X = rows[["w", "a", "b"]]
    assert main(["predict", SAVED[name], "--data", "all.csv", "--keep", "y", "--out", "said.csv", "--force", "--quiet"]) == 0
    said = pd.read_csv("said.csv")
    model: Any = load_cascade(SAVED[name]) if name in CASCADES else load_forest(SAVED[name])
    assert said.y.tolist() == rows.y.tolist()
    assert said.answer.tolist() == model.predict(X).tolist()
    assert said[["probability of ill", "probability of well"]].to_numpy() == pytest.approx(model.predict_proba(X), rel=1e-14)
    if name in CASCADES:
        assert said.cost.to_numpy() == pytest.approx(model.prediction_cost(X), rel=1e-14)
        assert said.stage.tolist() == model.stop_stages(X).tolist()
    prices = {"w": 1, "a": 10, "b": 100}
    items = [re.findall(r"(?:^|: |, )([wab])\b", text if isinstance(text, str) else "") for text in said.bought]
    if "cost" in said.columns:
        assert said.cost.tolist() == [sum(prices[item] for item in some) for some in items]
    assert said.cost.mean() == pytest.approx(evaluate(model, X, rows.y).cost) if "cost" in said.columns else name in MODELS


@pytest.mark.slow
@pytest.mark.parametrize("name", CASCADES)
@pytest.mark.parametrize("command", ["prune", "path"])
def test_what_a_cascade_is_not_for_says_so(
    command: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cascade is no forest: what does read it is named."""
    monkeypatch.chdir(folder)
    options = ["--budget", "15", "--out", "no.skops"] if command == "prune" else ["--out", "no.csv"]
    assert main([command, SAVED[name], *PRICED, *options]) == 2
    assert f"{SAVED[name]} holds a cascade, not a forest" in capsys.readouterr().err
