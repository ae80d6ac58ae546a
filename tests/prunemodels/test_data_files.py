"""Tables are read as written, and real data are found, or the way to get them is told."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.errors import BrokenFileError, InvalidInputError, MissingPackageError
from prunemodels.data_files import FOLDER_VARIABLE, data_folder, find_dataset, load_dataset, part_sizes, read_prices, read_table
from prunemodels.datasets.heart import HEART_ON_OPENML, HEART_PRICES, fetch_heart
from prunemodels.files import csv_tables
from prunemodels.models.costs import items_from_table
from prunemodels.tables import problem_from_table
from prunemodels.tables.table import open_source

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


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("1e-400", r"costs: the price of 'a' is Decimal\('1E-400'\); give 0 or a number that a float can hold"),
        ("1e400", r"costs: the price of 'a' is Decimal\('1E\+400'\); give 0 or a number that a float can hold"),
        ("-1e-400", r"costs: the price of 'a' is Decimal\('-1E-400'\)"),
        ("1e999999999", r"costs: the price of 'a' is Decimal\('1E\+999999999'\)"),
        ("1_0", r"costs.csv, row 1: the cost of 'a' is '1_0'; give a number such as 2.5"),
        ("inf", r"costs.csv, row 1: the cost of 'a' is 'inf'; give a number"),
        ("\u0663", r"costs.csv, row 1: the cost of 'a' is '\u0663'; give a number"),
        ("nan", r"costs: 'a' has no cost"),
    ],
)
def test_prices_in_tables_are_read_as_they_are_written(cell: str, message: str, tmp_path: Path) -> None:
    """A float would make 0 of 1e-400; what is no decimal number is named with its row."""
    file = tmp_path / "costs.csv"
    file.write_text(f"feature,cost\na,{cell}\nb,7.270\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message):
        items_from_table(read_prices(file)[0], ["a", "b"])


def test_features_may_be_called_anything(tmp_path: Path) -> None:
    """NA and None were empty cells, and a table of numbers alone made 1 of 01; only a cell without a name is refused."""
    file = tmp_path / "costs.csv"
    for names in (["NA", "None", "nan"], ["01", "1", "1.0", "1e5"], [" a", "a", "#", "a b"]):
        file.write_text("".join(["feature,cost\n", *(f"{name},{k}\n" for k, name in enumerate(names))]))
        assert items_from_table(read_prices(file)[0], names).prices == tuple(range(len(names)))
    file.write_text("feature,cost\n,1\nb,2\n")
    with pytest.raises(InvalidInputError, match="costs has a price for '', and there is no such feature; there are a, b"):
        items_from_table(read_prices(file)[0], ["a", "b"])
    with pytest.raises(InvalidInputError, match="costs: row 1 of the table names no feature"):
        items_from_table(pd.read_csv(file), ["a", "b"])


def test_a_defect_while_a_table_is_read_stays_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was reported as a damaged table, which sends the user to look for what is not there."""
    file = tmp_path / "table.csv"
    file.write_text("a,label\n1,0\n")
    forest = RandomForestClassifier(1, random_state=0).fit(pd.DataFrame({"a": [0.0, 1.0]}), [0, 1])
    with monkeypatch.context() as patched:
        patched.delattr(csv_tables, "QUOTE")  # a name that is not there, in the midst of the rows
        for read in (read_table, lambda place: problem_from_table(forest, place, costs=1)):
            with pytest.raises(NameError, match="QUOTE"):
                read(file)
    monkeypatch.setattr(csv_tables, "is_number", lambda: True)  # takes no argument
    for read in (read_table, open_source):
        with pytest.raises(TypeError, match="positional argument"):
            read(file)


def test_a_damaged_table_is_named_whoever_finds_it(tmp_path: Path) -> None:
    """What gzip and pyarrow say; bytes that are no UTF-8 are read as Windows-1252."""
    for name, content in (("t.csv.gz", b"\x1f\x8b\x08\x00broken"), ("t.parquet", b"PAR1")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BrokenFileError, match=rf"{name} cannot be read as a table"):
            read_table(tmp_path / name)


def test_excel_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sheet is the table; without openpyxl the message names the extra, and the way out."""
    place = tmp_path / "t.xlsx"
    place.write_bytes(b"PK")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(MissingPackageError, match=r"prunemodels\[excel\].*; or save .*t\.xlsx as CSV"):
            read_table(place)
    pytest.importorskip("openpyxl")
    table = pd.DataFrame({"a": [1.5, None], "label": ["ja", "nein"]})
    table.to_excel(place, index=False)
    pd.testing.assert_frame_equal(read_table(place), table, check_dtype=False)


def test_the_prices_are_turneys() -> None:
    """All 13 tests cost 323.97 dollars together, discounts included."""
    costs = pd.read_csv(io.StringIO(HEART_PRICES))
    items = items_from_table(costs, costs["feature"].tolist())
    assert float(items.price.sum()) == pytest.approx(323.97)
    own = Path(data_folder()) / "costs" / "heart.csv"
    if own.is_file():
        given = pd.read_csv(own)
        assert given[["feature", "cost", "discount_cost"]].equals(
            costs[["feature", "cost"]].assign(discount_cost=costs["discount_cost"].fillna(costs["cost"]))
        )


def test_what_openml_gives_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Columns by their places, whose names differ there; without a network the message names both sources."""
    monkeypatch.setenv("PRUNEMODELS_DATA", str(tmp_path))
    asked: dict[str, Any] = {}

    def fetch(**options: Any) -> SimpleNamespace:
        asked.update(options)
        rows = pd.DataFrame(np.arange(26).reshape(2, 13), columns=[f"column {k}" for k in range(13)])
        return SimpleNamespace(data=rows, target=pd.Series(["present", "absent"], dtype="category"))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    X, y, costs = fetch_heart()
    assert asked == {"data_id": HEART_ON_OPENML, "as_frame": True}
    assert list(X.columns) == list(costs["feature"])
    assert X["thal"].tolist() == [12.0, 25.0]
    assert y.tolist() == ["ill", "well"]

    def offline(**options: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    with pytest.raises(pm.errors.BrokenFileError, match=r"OpenML cannot be reached \(OSError: no network\).*heart_statlog"):
        fetch_heart()


@pytest.mark.slow
@pytest.mark.skipif(not (data_folder() / "heart_statlog.csv.gz").is_file(), reason="Heart's table is not there")
def test_the_folders_table_is_read() -> None:
    """270 patients, 120 of them ill; the README's call meets its budget and spends most of it."""
    from sklearn.ensemble import RandomForestClassifier

    X, y, costs = fetch_heart()
    assert X.shape == (270, 13)
    assert (y == "ill").sum() == 120
    forest = RandomForestClassifier(20, random_state=0).fit(X[:135], y[:135])
    result = pm.prune_forest(forest, X[135:], y[135:], costs=costs, budget=150, time_limit=3)
    assert 75 < result.cost <= 150


def test_memory_that_no_machine_has_is_a_damaged_file() -> None:
    """Arrow asks for what a damaged file says that it needs; too little memory for a sound file is something else."""
    assert csv_tables.is_damage(MemoryError("malloc of size 3530823867085881408 failed"))
    assert not csv_tables.is_damage(MemoryError("malloc of size 68719476736 failed"))
