"""Experiments on data that we may not ship, proven on generated files of the same form: the files are all that is missing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.data import load_cifar10
from benchmarks.papers import brf15_table1, data, nws15_table1, other_data
from benchmarks.papers.__main__ import main
from benchmarks.papers.data import LOADING
from benchmarks.papers.experiment import Scope
from benchmarks.papers.methods import PRUNINGS
from prunemodels.data_files import FOLDER_VARIABLE

TWO_CLASSES = {*PRUNINGS, "BudgetRF", "GreedyMiser", "CEGB", "CSTC", "ASTC"}


def write_hepmass(folder: Path, train: int = 300, test: int = 150) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part, n in (("train", train), ("test", test)):
        y = rng.integers(0, 2, n)
        table = pd.DataFrame({"# label": y.astype(float), "f0": y + rng.normal(size=n), "f1": rng.normal(size=n)})
        table.to_csv(folder / f"1000_{part}.csv.gz", index=False)


def write_yahoo(folder: Path) -> None:
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part in ("train", "valid", "test"):
        relevance = rng.integers(0, 5, 240)
        lines = [
            f"{r} qid:{i // 8} 2:{r / 5 + rng.uniform(0.1, 0.5):.3f} 7:{rng.uniform(0.1, 1):.3f}" for i, r in enumerate(relevance)
        ]
        (folder / f"set1.{part}.txt").write_text("\n".join(lines) + "\n")
    (folder / "feature_costs.txt").write_text("5\n100\n")


def write_scene15(folder: Path) -> None:
    """130 images of each of 15 classes, two descriptors with 15 margins each: the one of the image's class is the greatest."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    y = np.repeat(np.arange(15), 130)
    names = [f"{d}_{k}" for d in ("gist", "hog") for k in range(15)]
    margins = np.tile(np.eye(15)[y], 2) + rng.normal(scale=0.4, size=(len(y), 30))
    pd.DataFrame(margins, columns=names).assign(label=y).to_csv(folder / "scene15.csv", index=False)
    groups = [f"{name},{name.split('_')[0]},{0.5 if name.startswith('gist') else 2}" for name in names]
    (folder / "scene15_groups.csv").write_text("feature,descriptor,cost\n" + "\n".join(groups) + "\n")


def write_cifar10(folder: Path, images: int = 60) -> None:
    """The binary version: the first five classes are brighter."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for name in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"):
        labels = rng.integers(0, 10, images)
        pixels = rng.integers(0, 128, (images, 3072)) + np.where(labels < 5, 100, 0)[:, None]
        np.column_stack([labels, pixels]).astype(np.uint8).tofile(folder / f"{name}.bin")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder, empty; small dictionaries for images."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    small = partial(load_cifar10, n_centroids=4, n_patches=400)
    monkeypatch.setattr(data, "load_cifar10", small)
    monkeypatch.setattr(other_data, "LOADERS", {**other_data.LOADERS, "cifar10": small})
    for cache in (data.parts, other_data.loaded, other_data._forest):
        cache.cache_clear()
    return tmp_path


@pytest.mark.slow
def test_other_data_are_run_where_they_are(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is in the data folder is run with its own prices; what is absent is told in one line, and the status is 1."""
    write_hepmass(folder / "hepmass")
    write_yahoo(folder / "yahoo")
    assert main(["other_data", "--data", "hepmass_1000", "yahoo", "scene15", "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr()
    assert told.err.count("scene15, seed 0, loading: BrokenFileError: there is no file scene15.csv") == 1
    assert "\n1 units failed" in told.err
    curves = pd.read_csv(tmp_path / "out" / "other_data" / "curves.csv")
    for _, at in curves.groupby("data"):
        assert set(at["method"]) == TWO_CLASSES
    assert curves.loc[curves["data"] == "yahoo", "cost"].max() > 2  # real prices: 5 and 100
    assert (tmp_path / "out" / "other_data" / "yahoo.png").is_file()


@pytest.mark.slow
def test_scene15_and_cifar10_are_run_with_all_methods(folder: Path, tmp_path: Path) -> None:
    """Fifteen classes have all methods but CSTC and ASTC; the prices of descriptors are paid once."""
    write_scene15(folder / "scene15")
    write_cifar10(folder / "cifar10")
    assert main(["other_data", "--data", "scene15", "cifar10", "--rows", "200", "--out", str(tmp_path / "out")]) == 0
    curves = pd.read_csv(tmp_path / "out" / "other_data" / "curves_rows200.csv")
    assert set(curves.loc[curves["data"] == "cifar10", "method"]) == TWO_CLASSES
    scene = curves[curves["data"] == "scene15"]
    assert set(scene["method"]) == TWO_CLASSES - {"CSTC", "ASTC"}
    assert scene["cost"].max() <= 2.5 + 1e-9  # gist and hog, once each


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nws15_table1", "brf15_table1"])
def test_both_tables_have_cifar10(name: str, folder: Path, tmp_path: Path) -> None:
    """From the publisher's files to the paper's lines beside ours."""
    write_cifar10(folder / "cifar10")
    assert main([name, "--data", "cifar10", "--repeats", "1", "--out", str(tmp_path / "out")]) == 0
    table = pd.read_csv(tmp_path / "out" / name / "table1.csv")
    assert set(table["data"]) == {"CIFAR-10"}
    assert table.astype(str).apply(lambda row: row.str.contains("NWS15|BRF15")).any(axis=None)


@pytest.mark.parametrize("experiment", [nws15_table1, brf15_table1])
def test_absent_cifar10_is_one_unit(experiment: object, folder: Path) -> None:
    """However many repeats; the other data sets keep all theirs."""
    units = experiment.units(Scope(("cifar10", "miniboone"), 3))  # type: ignore[attr-defined]
    assert [u.method for u in units if u.data == "cifar10"] == [LOADING]
    assert {u.seed for u in units if u.data == "miniboone"} == {0, 1, 2}
    with pytest.raises(Exception, match="data_batch_1"):
        experiment.run(units[0])  # type: ignore[attr-defined]


def test_hepmass_grows_on_everything_in_the_full_version(folder: Path) -> None:
    """CEGB17 trained on 3.5 million events: the full version's units have no limit, the short ones 100,000."""
    write_hepmass(folder / "hepmass", 8, 4)
    full, short = (other_data.units(Scope(("hepmass_1000",), 1, full=f)) for f in (True, False))
    assert {u.setting["training"] for u in full} == {None}
    assert {u.setting["training"] for u in short} == {100_000}
    assert {u.method for u in full} == TWO_CLASSES


@pytest.mark.slow
def test_splits_cost_in_figure_2a(folder: Path, tmp_path: Path) -> None:
    """Yahoo's files, where every split costs 1/4: after one round of shallow trees a prediction pays at most a whole."""
    write_yahoo(folder / "yahoo")
    assert main(["cegb17_figure2a", "--out", str(tmp_path / "out")]) == 0
    curves = pd.read_csv(tmp_path / "out" / "cegb17_figure2a" / "curves.csv")
    assert set(curves["method"]) == {"GreedyMiser", "CEGB, shallow trees", "CEGB"}
    assert (curves["cost"] % 5 > 0).any()  # features cost 5 and 100


def test_figure_2a_without_its_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says which files are missing."""
    assert main(["cegb17_figure2a", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("BrokenFileError: there is no file set1.train.txt") == 1
