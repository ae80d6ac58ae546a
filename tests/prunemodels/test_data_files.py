"""Tables are read as written, and real data are found, or the way to get them is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from prunemodels.data_files import FOLDER_VARIABLE, data_folder, find_dataset, load_dataset, part_sizes, read_table, take_features

TABLE = pd.DataFrame({"a": [0.1, np.nan, 3.0], "b": [1, 2, 3], "class": ["x", "y", "x"]})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_formats_agree(tmp_path: Path, name: str) -> None:
    """CSV, gzipped CSV and Parquet give the same table, missing cells included."""
    if name.endswith("parquet"):
        TABLE.to_parquet(tmp_path / name, index=False)
    else:
        TABLE.to_csv(tmp_path / name, index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), TABLE, check_dtype=False)


def test_the_last_column_is_the_label_unless_another_is_named(tmp_path: Path) -> None:
    """Features keep their order; a named label may stand anywhere."""
    table = pd.DataFrame({"a": range(50), "kind": 0, "label": 1})
    table.to_csv(tmp_path / "t.csv", index=False)
    data = load_dataset(tmp_path / "t.csv")
    assert (list(data.X.columns), set(data.y)) == (["a", "kind"], {1})
    data = load_dataset(tmp_path / "t.csv", "kind")
    assert (list(data.X.columns), set(data.y)) == (["a", "label"], {0})
    with pytest.raises(pm.errors.InvalidInputError, match=r"no column 'colour'; it has 'a', 'kind', 'label'"):
        load_dataset(tmp_path / "t.csv", "colour")


def test_parts_are_the_papers(tmp_path: Path) -> None:
    """MiniBooNE and Covertype are cut as stated, anything else 54 / 23 / 23; too few rows are refused."""
    assert part_sizes("miniboone", 72_998) == (35_000, 15_000, 22_998)
    assert part_sizes("covtype426k", 426_598) == (36_603, 15_688, 58_101)
    assert part_sizes("other", 1000) == (540, 230, 230)
    for name, rows in [("miniboone", 50_000), ("covtype426k", 100_000), ("other", 2)]:
        with pytest.raises(pm.errors.InvalidInputError, match=f"{name} has {rows} rows, too few"):
            part_sizes(name, rows)


def test_parts_are_disjoint_and_follow_the_seed(tmp_path: Path) -> None:
    """Parts cut ``default_rng(seed).permutation`` in order, without overlap."""
    pd.DataFrame({"a": range(100), "label": 1}).to_csv(tmp_path / "t.csv", index=False)
    parts = load_dataset(tmp_path / "t.csv").parts(3)
    assert [len(p) for p in parts] == [54, 23, 23]
    np.testing.assert_array_equal(np.concatenate(parts), np.random.default_rng(3).permutation(100))


def test_absent_data_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names both places that were tried, the source, and the variable."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(pm.errors.BrokenFileError, match=r"miniboone\.csv\.gz; .*data_id=44128.*PRUNEMODELS_DATA"):
        find_dataset("miniboone")
    with pytest.raises(pm.errors.BrokenFileError, match=r"fetch_covtype"):
        find_dataset("covtype426k.csv.gz")
    (tmp_path / "own.csv.gz").touch()
    assert find_dataset("own") == tmp_path / "own.csv.gz"
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert data_folder() == Path("../shared/data")


def test_nullable_columns_become_numbers(tmp_path: Path) -> None:
    """Parquet's nullable integers and booleans are read as numbers, an empty cell as NaN."""
    table = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], dtype="boolean")})
    table.to_parquet(tmp_path / "t.parquet")
    features = take_features(read_table(tmp_path / "t.parquet"), ["b", "a"], "t.parquet")
    np.testing.assert_array_equal(features, [[1, 1], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("name", "rows", "features", "classes"),
    [("sonar", 208, 60, 2), ("heart_cleveland", 303, 13, 2), ("ann_thyroid", 7200, 21, 3)],
)
def test_real_data(name: str, rows: int, features: int, classes: int) -> None:
    """The UCI tables have their known shapes; the label column is no feature."""
    if not (data_folder() / f"{name}.csv.gz").is_file():
        pytest.skip(f"no {name}.csv.gz in {data_folder()}; name its folder in {FOLDER_VARIABLE}")
    data = load_dataset(name)
    assert (data.X.shape, len(np.unique(data.y))) == ((rows, features), classes)
