"""What a command proposes to type next runs as it stands; and what it says while it works."""

from __future__ import annotations

import argparse
import re
import shlex
import time
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier

from prunemodels.cascades import budget_cascade
from prunemodels.command_line.cli import main
from prunemodels.command_line.progress import SETTINGS, Watch, doing
from tests.prunemodels.command_line.conftest import House

PRUNE = "prune forest.skops --data valid.csv --label label --costs costs.csv --budget 4"
LEARN = "--data train.csv --label label --ignore w,note"
EXITS = "exits forest.skops --data valid.csv --label label --ignore w,note --costs costs.csv --stages 3 --budget 4"
COMMANDS = {
    "prune": (f"{PRUNE} --out p.skops", "predict"),
    "prune, held out": (f"{PRUNE} --held-out test.csv --out p.skops", "report"),
    "prune, joblib": (f"{PRUNE.replace('.skops', '.joblib')} --trust-pickle --held-out test.csv --out p.joblib", "report"),
    "prune, weights": (f"{PRUNE} --weights w --held-out=test.csv --out p.skops", "report"),
    "prune within limits": (
        f"{PRUNE.replace('--budget 4', '--limit splits=20')} --limit 6 --held-out test.csv --out p.skops",
        "report",
    ),
    "prune boosted": (
        "prune model.json --data valid.csv --label label --costs costs.csv --budget 3 --held-out test.csv --out p.json",
        "report",
    ),
    "path": ("path forest.skops --data valid.csv --label label --costs costs.csv --out p.csv", "prune"),
    "exits": (f"{EXITS} --out e.skops", "report"),
    "exits, held out": (f"{EXITS} --held-out test.csv --out e.joblib", "report"),
    "train": (f"train {LEARN} --trees 3 --out f.skops", "train"),
    "train, apart": (f"train {LEARN} --trees 3 --apart-csv apart.csv --out f.skops", "prune"),
    "train, held out": (f"train {LEARN} --trees 3 --held-out test.csv --out f.joblib", "prune"),
    "cascade": (f"cascade {LEARN} --costs costs.csv --stages 2 --held-out test.csv --out c.skops", "report"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_next_line_runs(house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """It is a complete command, of the kind that is to be expected, and ends with status 0; with --trust-pickle where needed."""
    small = RandomForestClassifier(2, max_depth=2, random_state=0)
    monkeypatch.setattr(budget_cascade, "stage_models", lambda *_, **__: (small,))
    words, kind = COMMANDS[name]
    assert main([*shlex.split(words), "--quiet"]) == 0
    said = re.search(r"^next +(prunemodels .*)$", capsys.readouterr().out, re.MULTILINE)
    assert said is not None
    typed = shlex.split(said[1])
    assert typed[1] == kind
    assert main(typed[1:]) == 0, (said[1], capsys.readouterr().err)
    assert ("--trust-pickle" in typed) == (".joblib" in said[1])


def test_a_pipe_has_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each says the command, what is being done, and for how long; inner steps come first; nothing is said where nobody asked."""
    assert SETTINGS.seconds_in_pipes == 10
    monkeypatch.setattr("prunemodels.command_line.progress.SETTINGS", _Quick())
    where: Any
    for where, least in (("pipe", 3), (None, 0)):
        with Watch("cascade", where) as watch:
            args = argparse.Namespace(watch=watch)
            with doing(args, "fitting models"), doing(args, "learning when to stop"):
                time.sleep(0.5)
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) >= least
        assert all(re.fullmatch(r"prunemodels cascade: learning when to stop, \d+ s", line) for line in lines)
    assert watch.line.startswith("prunemodels cascade: finishing, ")
    assert Watch("cascade", None).line.startswith("prunemodels cascade: starting, ")


class _Quick:
    """The same, a hundred times as fast."""

    seconds_in_pipes = 0.1
    seconds_on_terminals = 0.05
