"""Experiments on data that we may not ship, proven on generated files of the same form: the files are all that is missing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.data import load_cifar10
from benchmarks.papers import brf15_table1, data, nws15_table1, other_data
from benchmarks.papers.__main__ import main
from benchmarks.papers.data import LOADING
from benchmarks.papers.experiment import Scope
from benchmarks.papers.methods import PRUNINGS
from prunemodels.data_files import FOLDER_VARIABLE
from tests.benchmarks.data import test_cifar10 as cifar10
from tests.benchmarks.data import test_hepmass as hepmass
from tests.benchmarks.data import test_scene15 as scene15
from tests.benchmarks.data import test_yahoo as yahoo

TWO_CLASSES = {*PRUNINGS, "BudgetRF", "GreedyMiser", "CEGB", "CSTC", "ASTC"}


def write(name: str, folder: Path, *given: int, **sizes: int) -> None:
    """A data set in the publisher's form, as the tests of its reader write it."""
    (folder / name).mkdir()
    {"hepmass": hepmass.write, "yahoo": yahoo.write, "scene15": scene15.write, "cifar10": cifar10.write_binary}[name](
        folder / name, *given, **sizes
    )


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
    write("hepmass", folder, train=300, test=150)
    write("yahoo", folder, train=240)
    assert main(["other_data", "--data", "hepmass_1000", "yahoo", "scene15", "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr()
    assert told.err.count("scene15, seed 0, loading: BrokenFileError: there is no file scene15.csv") == 1
    assert "\n1 units failed" in told.err
    curves = pd.read_csv(tmp_path / "out" / "other_data" / "curves.csv")
    for _, at in curves.groupby("data"):
        assert set(at["method"]) == TWO_CLASSES
    assert curves.loc[curves["data"] == "yahoo", "cost"].max() > 4  # real prices: 1 to 200
    assert (tmp_path / "out" / "other_data" / "yahoo.png").is_file()


@pytest.mark.slow
def test_scene15_and_cifar10_are_run_with_all_methods(folder: Path, tmp_path: Path) -> None:
    """Fifteen classes have all methods but CSTC and ASTC; the prices of descriptors are paid once."""
    write("scene15", folder)
    write("cifar10", folder, 60)
    assert main(["other_data", "--data", "scene15", "cifar10", "--rows", "200", "--out", str(tmp_path / "out")]) == 0
    curves = pd.read_csv(tmp_path / "out" / "other_data" / "curves_rows200.csv")
    assert set(curves.loc[curves["data"] == "cifar10", "method"]) == TWO_CLASSES
    scene = curves[curves["data"] == "scene15"]
    assert set(scene["method"]) == TWO_CLASSES - {"CSTC", "ASTC"}
    assert scene["cost"].max() <= 9.282 + 0.0374 + 1e-9  # gist and lbp, once each


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nws15_table1", "brf15_table1"])
def test_both_tables_have_cifar10(name: str, folder: Path, tmp_path: Path) -> None:
    """From the publisher's files to the paper's lines beside ours."""
    write("cifar10", folder, 60)
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
    write("hepmass", folder, train=8, test=4)
    full, short = (other_data.units(Scope(("hepmass_1000",), 1, full=f)) for f in (True, False))
    assert {u.setting["training"] for u in full} == {None}
    assert {u.setting["training"] for u in short} == {100_000}
    assert {u.method for u in full} == TWO_CLASSES


@pytest.mark.slow
def test_splits_cost_in_figure_2a(folder: Path, tmp_path: Path) -> None:
    """Yahoo's files, where every split costs 1/4: after one round of shallow trees a prediction pays at most a whole."""
    write("yahoo", folder, train=240, valid=240, test=240)
    assert main(["cegb17_figure2a", "--out", str(tmp_path / "out")]) == 0
    curves = pd.read_csv(tmp_path / "out" / "cegb17_figure2a" / "curves.csv")
    assert set(curves["method"]) == {"GreedyMiser", "CEGB, shallow trees", "CEGB"}
    assert (curves["cost"] * 240 % 1 > 0.01).any()  # features of whole prices and quarters, over 240 rows


def test_figure_2a_without_its_files(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says which files are missing."""
    assert main(["cegb17_figure2a", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("BrokenFileError: there is no file set1.train.txt") == 1
