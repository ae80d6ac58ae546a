"""The files that the tests of most commands read, made once: forests, boosted models, a cascade, tables, prices, matrices."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

import prunemodels as pm
from prunemodels.cascades.cascade_files import save_cascade
from prunemodels.command_line.cli import main
from tests.proofs_checks.total_unimodularity import matrix_families

PRICES = [1, 2, 1, 0.5, 1, 1, 1, 3]  # of the eight features; the first and the third share an item

CIRCLE = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])  # the smallest matrix of zeros and ones that is not totally unimodular


@dataclass(frozen=True)
class House:
    """The files, and what they hold: the forest, and the rows of valid.csv and test.csv."""

    folder: Path
    forest: Any
    X: pd.DataFrame
    y: pd.Series
    apart: pd.DataFrame
    apart_y: pd.Series

    @property
    def costs(self) -> pd.DataFrame:
        """The table of prices."""
        return pd.read_csv(self.folder / "costs.csv")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The files, which no test changes."""
    folder = tmp_path_factory.mktemp("house")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8].rename(columns=lambda c: c.replace(" ", "_"))
    train, valid, test = slice(0, 300), slice(300, 480), slice(480, 569)
    forest = RandomForestClassifier(8, max_depth=6, random_state=0).fit(X[train], y[train])
    skops.io.dump(forest, folder / "forest.skops")
    joblib.dump(forest, folder / "forest.joblib")
    small = RandomForestClassifier(3, max_depth=4, random_state=1)
    skops.io.dump(small.fit(X[train], y[train]), folder / "stranger.skops")
    skops.io.dump(RandomForestClassifier(3, random_state=0).fit(X[train].to_numpy(), y[train]), folder / "nameless.skops")
    skops.io.dump(RandomForestClassifier(), folder / "unfitted.skops")
    skops.io.dump(GradientBoostingClassifier(n_estimators=2).fit(X, y), folder / "boosted.skops")
    skops.io.dump(AdaBoostClassifier(n_estimators=2).fit(X, y), folder / "ada.skops")
    XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1).fit(X[train], y[train]).save_model(folder / "model.json")
    LGBMClassifier(n_estimators=6, max_depth=3, n_jobs=1, verbose=-1).fit(X[train], y[train]).booster_.save_model(
        folder / "model.txt"
    )
    stages = [(LogisticRegression(), [0]), (LogisticRegression(), [0, 1]), (LogisticRegression(), None)]
    options = {"lam": 1e-3, "cv": 2, "doubt": "margin", "random_state": 0}
    numbers = X[["mean_radius", "mean_texture", "mean_smoothness"]]
    cascade = pm.CascadeClassifier(stages, [1, 0.5, 1], **options).fit(numbers[train], y[train])
    save_cascade(cascade, folder / "cascade.skops")
    joblib.dump(cascade, folder / "cascade.joblib")
    for name, rows in (("train", train), ("valid", valid), ("test", test)):
        X[rows].assign(label=y[rows], w=np.arange(len(y[rows])) % 3, note="as told").to_csv(folder / f"{name}.csv", index=False)
    costs = pd.DataFrame({"feature": X.columns, "cost": PRICES, "item": ["g", None, "g", *[None] * 5]})
    costs.to_csv(folder / "costs.csv", index=False)
    path = pm.pruning_path(pm.problem_from_forest(forest, X[valid], costs=1))
    path.to_frame().to_csv(folder / "path.csv", index=False)
    skops.io.dump(pm.apply_pruning(path.at_lam(0.02), forest), folder / "pruned.skops")
    skops.io.dump(RandomForestClassifier(1, max_depth=4, random_state=0).fit(X[train], y[train]), folder / "tree.skops")
    np.save(folder / "circle.npy", CIRCLE)
    pd.DataFrame(CIRCLE, index=["u", "v", "w"], columns=["x", "y", "z"]).to_csv(folder / "named.csv")
    pd.DataFrame([[1, 0], [1, 1], [0, 1]], columns=["x", "y"]).to_csv(folder / "interval.csv", index=False, sep=";")
    np.save(folder / "r12.npy", matrix_families.r12())
    sparse.save_npz(folder / "interval.npz", sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1]])))
    _broken(folder, pd.read_csv(folder / "valid.csv"), costs)
    return House(folder, forest, X[valid], y[valid], X[test], y[test])


def _broken(folder: Path, table: pd.DataFrame, prices: pd.DataFrame) -> None:
    """Files that commands refuse."""
    (folder / "torn.skops").write_bytes((folder / "forest.skops").read_bytes()[:2000])
    (folder / "torn.joblib").write_bytes((folder / "forest.joblib").read_bytes()[:2000])
    (folder / "torn.parquet").write_bytes(b"PAR1 no more")
    (folder / "torn.csv.gz").write_bytes(b"no gzip")
    (folder / "empty.csv").write_text("")
    (folder / "headonly.csv").write_text("a,b\n")
    (folder / "data.txt").write_text("a,b\n1,2\n")
    (folder / "prices.json").write_text(json.dumps({"mean_radius": 1}))
    folder.joinpath("copy.csv").write_bytes((folder / "valid.csv").read_bytes())
    tables = {
        "lacking": table.drop(columns="mean_area"),
        "wordy": table.assign(mean_area=["large", *[1.0] * (len(table) - 1)]),
        "commas": table.assign(mean_area=["57,9", *["57.9"] * (len(table) - 1)]),
        "infinite": table.assign(mean_area=np.inf),
        "strange": table.assign(label=7),
        "other": table.assign(label=table.label + 1),
        "gappy": table.assign(label=table.label.where(table.index > 5), w=-1),
        "unlabelled": table.drop(columns="label"),
        "one": table[:1].drop(columns="w"),
        "constant": table.assign(label="yes"),
        "part": table[20:60],
        "known": table.assign(number=range(len(table))),
        "smooth": pd.DataFrame({"a": range(50), "b": np.linspace(0, 1, 50)}),
        "costs_few": prices.iloc[1:],
        "costs_negative": prices.assign(cost=-1),
        "costs_unknown": prices.assign(feature=prices.feature.replace("mean_area", "area")),
        "costs_nameless": prices.rename(columns={"cost": "price"}),
        "costs_twice": prices.assign(price=1),
        "costs_comma": prices.assign(cost=["7,27", "1.5", *[1] * 6]),
        "few": table[["mean_radius", "label"]],
    }
    for name, broken in tables.items():
        broken.to_csv(folder / f"{name}.csv", index=False)
    table.drop(columns="note").to_csv(folder / "headless.csv", index=False, header=False)
    text = (folder / "costs_twice.csv").read_text()
    (folder / "costs_twice.csv").write_text(text.replace(",price", ",cost"))
    for name in ("valid", "costs"):
        header, *rows = (folder / f"{name}.csv").read_text().splitlines()
        (folder / f"{name}_shifted.csv").write_text("\n".join([header, *(f"0,{row}" for row in rows)]))
        (folder / f"{name}_mixed.csv").write_text("\n".join([header, *(row.replace(",", ";") for row in rows)]))


@pytest.fixture
def house(files: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    """The files in a working directory of the test's own, with an empty folder ``out``."""
    for file in files.folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return House(tmp_path, files.forest, files.X, files.y, files.apart, files.apart_y)


def told(capsys: pytest.CaptureFixture[str], words: str, status: int = 0) -> dict[str, Any]:
    """What a command says as JSON, without NaN and Infinity, which are none; outputs may be replaced."""
    assert main([*shlex.split(words), "--json", "--force"]) == status, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=lambda constant: pytest.fail(constant))
    return found


def screen(capsys: pytest.CaptureFixture[str], words: str, status: int = 0) -> str:
    """What it says on a terminal, each line of which fits; nothing goes to stderr."""
    assert main([*shlex.split(words), "--force"]) == status
    found = capsys.readouterr()
    assert found.err == ""
    assert max(len(line) for line in found.out.splitlines() if not line.startswith(("next ", "to solve it"))) <= 120
    return found.out


def written() -> list[str]:
    """The files in the folder ``out``."""
    return sorted(p.name for p in Path("out").iterdir())


def close(figures: Any, expected: Any) -> None:
    """Numbers of a JSON object are those of a Python answer, field by field."""
    for name, number in figures.items():
        if isinstance(number, dict):
            close(number, getattr(expected, name))
        elif isinstance(number, float | int):
            assert number == pytest.approx(float(getattr(expected, name))), name
