"""HEPMASS: small files in the form of UCI's."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.data import hepmass, load_hepmass
from formulations.errors import BrokenFileError
from prunemodels.data_files import FOLDER_VARIABLE
from tests.loops import looped

COLUMNS = ["# label", "f0", "f1", "f2"]


def write(folder: Path, columns: list[str] = COLUMNS, train: int = 40, test: int = 20) -> np.ndarray:
    """Some rows to train, some to test; f0 counts them."""
    rng, n = np.random.default_rng(0), train + test
    table = np.column_stack([rng.integers(0, 2, n), np.arange(n), rng.normal(size=(n, len(columns) - 2))])
    for name, rows in (("train", table[:train]), ("test", table[train:])):
        pd.DataFrame(rows, columns=columns).to_csv(folder / f"1000_{name}.csv.gz", index=False)
    return table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data set's, in the data folder."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "hepmass").mkdir()
    return tmp_path / "hepmass"


def test_both_files_in_order_in_the_published_proportion(folder: Path) -> None:
    """Rows keep their order, V_train before V_test, and are divided 3.5 : 1.4 : 5.6; prices are uniform."""
    table = write(folder)
    data = load_hepmass()
    assert [len(p) for p in data.parts] == [20, 8, 32]
    together = np.concatenate([p.X for p in data.parts])
    np.testing.assert_array_equal(together, table[:, 1:].astype(np.float32))
    np.testing.assert_array_equal(data.test.y, table[28:, 0])
    assert data.costs.names == ("f0", "f1", "f2")
    assert data.costs.price.tolist() == [1, 1, 1]
    assert data.train.X.dtype == np.float32


@looped("block", [1, 7, 100])
def test_blocks_do_not_show(folder: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Whatever the block, all rows are there, across the files."""
    table = write(folder)
    monkeypatch.setattr(hepmass, "BLOCK_ROWS", block)
    np.testing.assert_array_equal(np.concatenate([p.X[:, 0] for p in load_hepmass().parts]), table[:, 1])


def test_a_row_of_another_form_is_named_by_its_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cell and a label that is no class are named by line, the header being line 1; text is named by pandas."""
    monkeypatch.setattr(hepmass, "BLOCK_ROWS", 4)
    write(folder)
    lines = gzip.decompress((folder / "1000_train.csv.gz").read_bytes()).decode().splitlines()
    for bad, message in (
        ("1.0,,3,4", r"1000_train\.csv\.gz, line 10: expected a label of 0 or 1, then 3 numbers"),
        ("2.0,1,3,4", "line 10"),
        ("1.0,1,3,inf", "line 10"),
        ("1.0,one,3,4", "cannot be read after row 8 .*one"),
        ("1.0,1,3,4,5,6", "cannot be read after row 8"),
    ):
        text = "\n".join([*lines[:9], bad, *lines[9:]])
        (folder / "1000_train.csv.gz").write_bytes(gzip.compress(text.encode()))
        with pytest.raises(BrokenFileError, match=message):
            load_hepmass()


def test_other_columns_are_refused(folder: Path) -> None:
    """The first column is the label, and both files have the same features."""
    write(folder, columns=["f9", "f0", "f1", "f2"])
    with pytest.raises(BrokenFileError, match="expected '# label', then the features"):
        load_hepmass()
    write(folder)
    pd.DataFrame([[1.0, 2, 3, 4]], columns=["# label", "f0", "f2", "f1"]).to_csv(folder / "1000_test.csv.gz", index=False)
    with pytest.raises(BrokenFileError, match="as in V_train"):
        load_hepmass()


def test_absent_damaged_and_empty_files_are_refused(folder: Path) -> None:
    """Each says which file, and where to get it."""
    with pytest.raises(BrokenFileError, match=r"1000_train\.csv\.gz or 1000_train\.csv .*UCI"):
        load_hepmass()
    write(folder)
    whole = (folder / "1000_train.csv.gz").read_bytes()
    (folder / "1000_train.csv.gz").write_bytes(whole[:-30])
    with pytest.raises(BrokenFileError, match="cannot be read"):
        load_hepmass()
    (folder / "1000_train.csv.gz").write_bytes(gzip.compress(",".join(COLUMNS).encode() + b"\n"))
    with pytest.raises(BrokenFileError, match="holds no rows"):
        load_hepmass()
