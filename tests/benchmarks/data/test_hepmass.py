"""HEPMASS: small files in the form of UCI's."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.data import hepmass, load_hepmass
from formulations.errors import BrokenFileError, InvalidInputError

COLUMNS = ["# label", "f0", "f1", "f2"]


def write(folder: Path, variant: str = "1000", columns: list[str] = COLUMNS) -> np.ndarray:
    """40 rows to train, 20 to test; f0 counts them."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 2, 60), np.arange(60), rng.normal(size=(60, len(columns) - 2))])
    pd.DataFrame(table[:40], columns=columns).to_csv(folder / f"{variant}_train.csv.gz", index=False)
    pd.DataFrame(table[40:], columns=columns).to_csv(folder / f"{variant}_test.csv.gz", index=False)
    return table


def test_both_files_in_order_in_the_published_proportion(tmp_path: Path) -> None:
    """Rows keep their order, V_train before V_test, and are divided 3.5 : 1.4 : 5.6; prices are uniform."""
    table = write(tmp_path)
    data = load_hepmass(tmp_path)
    assert [len(p) for p in (data.train, data.validation, data.test)] == [20, 8, 32]
    together = np.concatenate([p.X for p in (data.train, data.validation, data.test)])
    np.testing.assert_array_equal(together, table[:, 1:].astype(np.float32))
    np.testing.assert_array_equal(data.test.y, table[28:, 0])
    assert data.feature_names == ("f0", "f1", "f2")
    assert data.costs.price.tolist() == [1, 1, 1]
    assert data.train.X.dtype == np.float32


@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize("rows", [10, 40, 45, None])
def test_blocks_do_not_show_and_rows_are_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, rows: int | None
) -> None:
    """Whatever the block, `rows` of them are read from the head, across the files."""
    table = write(tmp_path)
    monkeypatch.setattr(hepmass, "BLOCK_ROWS", block)
    data = load_hepmass(tmp_path, rows=rows)
    seen = np.concatenate([p.X[:, 0] for p in (data.train, data.validation, data.test)])
    np.testing.assert_array_equal(seen, table[:rows, 1])


def test_a_row_of_another_form_is_named_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cell and a label that is no class are named by line, the header being line 1; text is named by pandas."""
    monkeypatch.setattr(hepmass, "BLOCK_ROWS", 4)
    write(tmp_path)
    lines = gzip.decompress((tmp_path / "1000_train.csv.gz").read_bytes()).decode().splitlines()
    for bad, message in (
        ("1.0,,3,4", r"1000_train\.csv\.gz, line 10: expected a label of 0 or 1, then 3 numbers"),
        ("2.0,1,3,4", "line 10"),
        ("1.0,1,3,inf", "line 10"),
        ("1.0,one,3,4", "cannot be read after row 8 .*one"),
        ("1.0,1,3,4,5,6", "cannot be read after row 8"),
    ):
        text = "\n".join([*lines[:9], bad, *lines[9:]])
        (tmp_path / "1000_train.csv.gz").write_bytes(gzip.compress(text.encode()))
        with pytest.raises(BrokenFileError, match=message):
            load_hepmass(tmp_path)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    """The first column is the label, and both files have the same features."""
    write(tmp_path, columns=["f9", "f0", "f1", "f2"])
    with pytest.raises(BrokenFileError, match="expected '# label', then the features"):
        load_hepmass(tmp_path)
    write(tmp_path)
    pd.DataFrame([[1.0, 2, 3, 4]], columns=["# label", "f0", "f2", "f1"]).to_csv(tmp_path / "1000_test.csv.gz", index=False)
    with pytest.raises(BrokenFileError, match="as in V_train"):
        load_hepmass(tmp_path)


def test_absent_damaged_and_empty_files_are_refused(tmp_path: Path) -> None:
    """Each says which file, and where to get it."""
    with pytest.raises(BrokenFileError, match=r"1000_train\.csv\.gz or 1000_train\.csv .*UCI"):
        load_hepmass(tmp_path)
    write(tmp_path)
    whole = (tmp_path / "1000_train.csv.gz").read_bytes()
    (tmp_path / "1000_train.csv.gz").write_bytes(whole[:-30])
    with pytest.raises(BrokenFileError, match="cannot be read"):
        load_hepmass(tmp_path)
    (tmp_path / "1000_train.csv.gz").write_bytes(gzip.compress(",".join(COLUMNS).encode() + b"\n"))
    with pytest.raises(BrokenFileError, match="holds no rows"):
        load_hepmass(tmp_path)


def test_other_variants_and_numbers_of_rows_are_refused(tmp_path: Path) -> None:
    """Only the published variants, and at least one row."""
    with pytest.raises(InvalidInputError, match="variant is '500'"):
        load_hepmass(tmp_path, variant="500")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="rows is 0"):
        load_hepmass(tmp_path, rows=0)
