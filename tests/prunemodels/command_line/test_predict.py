"""The commands ``predict`` and ``next``, and the service."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import Booster
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from prunemodels.cascades import budget_cascade
from prunemodels.cascades.cascade_files import load_cascade
from prunemodels.command_line.cli import main
from prunemodels.command_line.process import SETTINGS, Watch, doing
from prunemodels.evaluation.answers import known_values
from prunemodels.models.costs import items_from_table
from prunemodels.models.tree_model import tree_model_of
from prunemodels.stages.table_preparation import prepared
from tests.prunemodels.command_line.conftest import House, told

ROWS = "--data test.csv --out out/a.csv"


@pytest.mark.parametrize("file", ["forest.skops", "forest.joblib", "pruned.skops", "nameless.skops", "model.json", "model.txt"])
def test_answers_of_models_are_those_of_calling_them(house: House, capsys: pytest.CaptureFixture[str], file: str) -> None:
    """Class, probabilities and mean cost are those of the model's own ``predict``, ``predict_proba``, and `evaluate`."""
    trust = "--trust-pickle" * file.endswith("joblib")
    told(capsys, f"predict {file} {ROWS} {trust} --costs costs.csv --ignore w,note,label")
    model, X, seen = pm.load_forest(file, trust_pickle=True), house.apart, pd.read_csv("out/a.csv")
    X = X.to_numpy() if file == "nameless.skops" else X
    assert seen.row.tolist() == list(range(1, len(X) + 1))
    if file.endswith("txt"):
        second = Booster(model_file=file).predict(X)
        probability = np.column_stack([1 - second, second])
    else:
        probability = model.predict_proba(X)
        np.testing.assert_array_equal(seen.answer, model.predict(X))
    np.testing.assert_allclose(seen[["probability of 0", "probability of 1"]], probability, rtol=1e-6)
    figures = pm.evaluate(model, X, house.apart_y, costs=items_from_table(house.costs, list(house.apart.columns)))
    assert seen.cost.mean() == pytest.approx(figures.cost)
    assert np.mean(seen.answer != house.apart_y.to_numpy()) == pytest.approx(figures.error)


def test_features_are_listed_in_the_order_in_which_trees_ask(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    """The root of the first tree comes first, and all that a row's ways test is there once; without prices nothing is paid."""
    figures = told(capsys, f"predict tree.skops {ROWS}")
    seen, tree = pd.read_csv("out/a.csv"), pm.load_forest("tree.skops").estimators_[0].tree_
    names, rows = list(house.apart.columns), house.apart.to_numpy(np.float32)
    for text, row in zip(seen.bought, rows, strict=True):
        node, asked = 0, list[str]()
        while tree.children_left[node] >= 0:
            asked += [names[tree.feature[node]]] if names[tree.feature[node]] not in asked else []
            node = (tree.children_left if row[tree.feature[node]] <= tree.threshold[node] else tree.children_right)[node]
        assert text.split(", ") == asked
    assert "cost" not in seen.columns
    assert figures["mean_cost"] is None


@pytest.mark.parametrize("file", ["cascade.skops", "cascade.joblib"])
def test_answers_of_cascades_are_those_of_calling_them(house: House, capsys: pytest.CaptureFixture[str], file: str) -> None:
    """Class, probabilities, cost and stage, of the policy in the file and of another one within a budget."""
    X = house.apart[["mean_radius", "mean_texture", "mean_smoothness"]]
    saved = load_cascade(file, trust_pickle=True)
    for budget, cascade in (("", saved), ("--budget 1.6", saved.at_cost(1.6))):
        figures = told(capsys, f"predict {file} {ROWS} --trust-pickle {budget}")
        seen = pd.read_csv("out/a.csv")
        np.testing.assert_array_equal(seen.answer, cascade.predict(X))
        np.testing.assert_allclose(seen[["probability of 0", "probability of 1"]], cascade.predict_proba(X), rtol=1e-12)
        np.testing.assert_allclose(seen.cost, cascade.prediction_cost(X))
        np.testing.assert_array_equal(seen.stage, cascade.stop_stages(X))
        assert figures["mean_cost"] == pytest.approx(cascade.prediction_cost(X).mean())
        prices = {"mean_radius": 1, "mean_texture": 0.5, "mean_smoothness": 1}
        for text, cost, stage in zip(seen.bought, seen.cost, seen.stage, strict=True):
            steps = [step.split(": ") for step in text.split("; ")]
            assert max(int(step.removeprefix("stage ")) for step, _ in steps) <= stage
            assert sum(prices[name] for _, names in steps for name in names.split(", ")) == pytest.approx(cost)


def _trained(folder: Path) -> Any:
    """A table of words, dates and numbers, and a model that was trained on it."""
    rng, n = np.random.default_rng(1), 120
    table = pd.DataFrame({"smoker": rng.choice(["yes", "no"], n), "age": rng.integers(20, 90, n)})
    table["seen"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")).strftime("%Y-%m-%d")
    table["town"] = ["Ulm", "Bonn", *["Kiel"] * (n - 2)]
    y = np.where((table.smoker == "yes") ^ (table.age > 70), "ill", "well")
    model = prepared(HistGradientBoostingClassifier(max_iter=5, early_stopping=False), "boosted").fit(table, y)
    pm.save_forest(model, folder / "m.skops")
    return table, model


def test_what_training_did_not_know_is_refused_by_name_or_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Words, numbers and dates that are none, with rows and what may be meant; rare words of training are known. Counted as
    missing, the answers are those of a table with empty cells. Nothing is written where something is refused.
    """
    monkeypatch.chdir(tmp_path)
    table, model = _trained(tmp_path)
    table.to_csv("same.csv", index=False)
    told(capsys, "predict m.skops --data same.csv --keep town --out a.csv")
    seen = pd.read_csv("a.csv")
    np.testing.assert_array_equal(seen.answer, model.predict(table))
    assert seen.town.tolist() == table.town.tolist()
    new = table.astype(object)
    new.loc[2, "smoker"], new.loc[[3, 4], "smoker"], new.loc[5, "age"], new.loc[6, "seen"] = "YES ", "ex", "old", "May"
    new.to_csv("new.csv", index=False)
    assert main(["predict", "m.skops", "--data", "new.csv", "--out", "b.csv"]) == 2
    said = capsys.readouterr().err
    assert "'smoker' is 'ex' in 2 rows, 'YES ' in 1 row, first in row 3 (training had 'no', 'yes'; 'YES ' may be 'yes')" in said
    assert "'age' is 'old' in 1 row, first in row 6 (training had numbers)" in said
    assert "'seen' is 'May' in 1 row, first in row 7 (training had dates)" in said
    assert "--unknown-as-missing" in said
    assert not Path("b.csv").exists()
    figures = told(capsys, "predict m.skops --data new.csv --unknown-as-missing --out b.csv")
    assert figures["unknown"] == {"smoker": {"ex": 2, "YES ": 1}, "age": {"old": 1}, "seen": {"May": 1}}
    gaps = table.astype({"age": float})
    gaps.loc[[2, 3, 4], "smoker"], gaps.loc[5, "age"], gaps.loc[6, "seen"] = None, np.nan, None
    probability = model.predict_proba(gaps)
    np.testing.assert_allclose(pd.read_csv("b.csv")[["probability of ill", "probability of well"]], probability)
    table.rename(columns={"smoker": "Smoker", "age": " AGE"}).to_csv("spelled.csv", index=False)
    assert main(["predict", "m.skops", "--data", "spelled.csv", "--out", "c.csv"]) == 2
    said = capsys.readouterr().err
    assert "spelled.csv lacks the columns 'smoker', 'age'" in said
    assert "perhaps it says 'Smoker' for 'smoker'" in said


def test_numbers_are_answered_and_free_text_is_no_list_of_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A regression has numbers and no probabilities; a column of more rare words than a list holds takes any word."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(2), 1200
    table = pd.DataFrame({"note": [f"n{k}" for k in range(n)], "age": rng.normal(size=n)})
    model = prepared(RandomForestRegressor(3, max_depth=3, random_state=0), "forest").fit(table, table.age * 2)
    assert known_values(tree_model_of(model), ["note", "age"])["note"].words is None
    pm.save_forest(model, "m.skops")
    other = table.assign(note="never seen")
    other.to_csv("t.csv", index=False)
    figures = told(capsys, "predict m.skops --data t.csv --out a.csv")
    np.testing.assert_allclose(pd.read_csv("a.csv").answer, model.predict(other))
    assert figures["answers"]["mean"] == pytest.approx(model.predict(other).mean())
    assert list(pd.read_csv("a.csv").columns) == ["row", "answer", "bought"]


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
    monkeypatch.setattr("prunemodels.command_line.process.SETTINGS", _Quick())
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


ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")

SERVICE = """
import json
import prunemodels as pm
from formulations.compiled import KERNELS
from prunemodels.example import X_test, costs, forest, y_test
result = pm.OnDemandPredictor(forest, costs, pm.on_demand.from_table(X_test), early_stopping=True).run(X_test.index)
assert (result.predictions == forest.predict(X_test)).all()
pm.OnDemandPredictor(forest, costs, pm.on_demand.from_table(X_test)).run(X_test.index)
pm.evaluate(forest, X_test, y_test, costs=costs)
print(json.dumps(sorted(k.py_func.__name__ for k in KERNELS if k.stats.cache_misses)))
"""


def containerfile() -> tuple[list[str], dict[str, str]]:
    """The RUN commands of the page's Containerfile, and what its ENV sets."""
    lines = (ROOT / "docs" / "serving.md").read_text().splitlines()
    runs = [line.removeprefix("RUN ") for line in lines if line.startswith("RUN ")]
    (environment,) = [line for line in lines if line.startswith("ENV ")]
    return runs, dict(re.findall(r"(\w+)=(\S+)", environment))


@pytest.mark.slow
def test_a_service_compiles_nothing_after_the_containerfiles_commands(tmp_path: Path) -> None:
    """After the image's commands a package that was never used serves from a folder that it may only read."""
    runs, environment = containerfile()
    assert runs[0].startswith("pip install ")
    assert runs[1:] == ["prunemodels warm-up", "prunemodels warm-up"]
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    compiled = tmp_path / environment.pop("NUMBA_CACHE_DIR").strip("/")
    names = os.environ | environment | {"NUMBA_CACHE_DIR": str(compiled), "PYTHONPATH": str(tmp_path)}

    def python(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=names, capture_output=True, text=True, check=False, timeout=900
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    first, second = (json.loads(python("-m", *command.split(), "--json")) for command in runs[1:])
    assert "prunemodels.on_demand.steps.advance" in first["compiled"]
    assert first["folder"] == str(compiled)
    assert second["compiled"] == []
    assert second["found"] > 0
    assert json.loads(python("-c", SERVICE)) == []
