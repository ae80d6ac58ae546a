"""Tables of examples, and the data sets of the papers.

Real data sets are too large to ship with the package. They are read from the folder that the environment variable
``PRUNEMODELS_DATA`` names, by default ``../shared/data``. Each is a file ``NAME.csv.gz`` with a header row, whose last column is
``label``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError, MissingPackageError
from formulations.extras import package
from formulations.instance.routing import as_rows
from formulations.shown import probably_meant, row_of
from prunemodels.files.csv_tables import check_header, read_csv, reading_table
from prunemodels.number_columns import Marks, read_numbers
from prunemodels.written_numbers import without_missing_words

FOLDER_VARIABLE = "PRUNEMODELS_DATA"

TABLE_ENDINGS = (".csv", ".csv.gz", ".parquet", ".xlsx")

PRICE_COLUMNS = ("cost", "discount_cost")
"""Columns of a table of prices that hold numbers, see `prunemodels.models.costs.items_from_table`."""

PRICE_NAMES = ("item", "shared_group", "needs")
"""Columns of a table of prices that hold names."""

NO_MARKS = Marks()
"""Nothing is known of a file before it is read."""

DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""A finite number, without underscores."""

SPLITS: dict[str, tuple[int, int, int | None]] = {
    "miniboone": (35_000, 15_000, None),
    "covtype426k": (36_603, 15_688, 58_101),
}
"""Rows of the training, validation and test part (None: all that remain); the numbers of BP16 where the data have enough rows."""

PROPORTIONS = (0.54, 0.23)
"""Shares of the training and validation part in any other data set; the rest is the test part."""

SOURCES = {
    "heart_statlog": "sklearn.datasets.fetch_openml(data_id=53), or UCI 'Statlog (Heart)'",
    "miniboone": "sklearn.datasets.fetch_openml(data_id=44128), or UCI 'MiniBooNE particle identification'",
    "covtype426k": "sklearn.datasets.fetch_covtype(), or UCI 'Covertype'",
}


def data_folder() -> Path:
    """The folder that data sets are read from."""
    return Path(os.environ.get(FOLDER_VARIABLE, "../shared/data"))


def find_dataset(name_or_file: str | Path) -> Path:
    """The file of a data set: the given path, or for a bare name a file in `data_folder`."""
    given = Path(name_or_file)
    if os.path.isfile(given):
        return given
    in_folder = data_folder() / (given.name if given.suffix else f"{given.name}.csv.gz")
    if os.path.isfile(in_folder):
        return in_folder
    name = dataset_name(given)
    source = SOURCES.get(name, "the UCI Machine Learning Repository, or sklearn.datasets.fetch_openml")
    raise BrokenFileError(
        f"there is no file {given}, nor {in_folder}; get the data from {source}, save it as {name}.csv.gz with a header row "
        f"and the column 'label' last, and name its folder in the environment variable {FOLDER_VARIABLE}"
    )


def dataset_name(file: Path) -> str:
    """``miniboone`` of ``folder/miniboone.csv.gz``."""
    return file.name.split(".")[0]


def read_table(path: str | Path) -> pd.DataFrame:
    """The table of `read_and_tell`."""
    return read_and_tell(path)[0]


def read_and_tell(
    path: str | Path,
    marks: Marks = NO_MARKS,
    *,
    as_text: Collection[str] = (),
    as_names: Collection[str] = (),
    skip: Collection[str] = (),
) -> tuple[pd.DataFrame, list[str]]:
    """Read a CSV (also .csv.gz), Parquet or Excel file with named columns; of an Excel file the first sheet.

    Text of CSV and Excel files that stands for numbers becomes numbers, see `prunemodels.number_columns`, but in the columns
    `skip` and `as_names`, and as text in `as_text`; of names also NA is one, which else is an empty cell. The second answer is
    what was taken, one sentence each.
    """
    place = Path(path)
    if not place.name.endswith(TABLE_ENDINGS):
        raise InvalidInputError(
            f"{place} is no table that can be read; give a file ending in {', '.join(TABLE_ENDINGS)}: other programs save as CSV"
        )
    if not os.path.isfile(place):
        raise BrokenFileError(f"there is no file {place}")
    told: list[str] = []
    with reading_table(place):
        if place.suffix == ".parquet":
            table = _read_parquet(place)
        elif place.suffix == ".xlsx":
            table, _, told = read_numbers(_read_excel(place), str(place), marks, as_text=as_text, skip={*as_names, *skip})
        else:
            table, told = read_csv(place, marks, as_text=as_text, as_names=as_names, skip=skip)
    table.columns = table.columns.map(str)
    if not len(table):
        raise InvalidInputError(f"{place} holds no examples; give at least one row below the header")
    check_header(list(table.columns), str(place))
    return table, [f"{place}: {sentence}" for sentence in told]


def read_prices(path: str | Path, marks: Marks = NO_MARKS) -> tuple[pd.DataFrame, list[str]]:
    """Read a table of prices, its costs as the decimals that are written: as a float 1e-400 would be 0."""
    table, told = read_and_tell(path, marks, as_text=PRICE_COLUMNS, as_names=("feature",), skip=PRICE_NAMES)
    for name in PRICE_COLUMNS:
        if name in table.columns and not pd.api.types.is_numeric_dtype(table[name].dtype):
            features = table["feature"].tolist() if "feature" in table.columns else [None] * len(table)
            table[name] = [
                _decimal(cell, f"{path}, row {k}: the {name} of {feature!r}")
                for k, (cell, feature) in enumerate(zip(table[name], features, strict=True), 1)
            ]
    return table, told


def _decimal(cell: Any, what: str) -> Any:
    """The number that the text of a cell stands for; None for an empty cell. Parquet files may hold other things than text."""
    if not isinstance(cell, str):
        return None if pd.isna(cell) else cell
    text = cell.strip()
    if text and DECIMAL.fullmatch(text) is None:
        raise InvalidInputError(f"{what} is {text!r}; give a number such as 2.5, or leave the cell empty")
    return Decimal(text) if text else None


def _read_parquet(place: Path) -> pd.DataFrame:
    parquet = package("pyarrow.parquet")

    check_header(parquet.read_schema(place).names, str(place))  # pandas does not name the column that is there twice
    return pd.read_parquet(place)


def _read_excel(place: Path) -> pd.DataFrame:
    try:
        package("openpyxl")
    except MissingPackageError as error:
        raise MissingPackageError(f"{error}; or save {place} as CSV", name=error.name) from error
    table = pd.read_excel(place, engine="openpyxl", dtype=object, keep_default_na=False, na_values=[""]).infer_objects()
    first = pd.read_excel(place, engine="openpyxl", header=None, nrows=1)
    check_header([str(name) for name in first.iloc[0].fillna("")] if len(first) else [], str(place))
    table.columns = table.columns.map(str)
    return table


def take_column(table: pd.DataFrame, column: str, option: str, source: str) -> NDArray[Any]:
    """One column of a table, without empty cells; error messages name the `option` that needs it and the table's `source`."""
    if column not in table.columns:
        raise InvalidInputError(f"{option}: {source} has no column {column!r}; it has {shown(table.columns)}")
    empty = np.flatnonzero(table[column].isna())
    if empty.size:
        raise InvalidInputError(
            f"{option}: {row_of(source, empty[0])}: the column {column!r} is empty (NA, None and nan count as empty, and "
            "words such as ? among numbers); fill it or "
            "drop the row"
        )
    return table[column].to_numpy()


def take_features(table: pd.DataFrame, names: Sequence[str], source: str) -> pd.DataFrame:
    """The named columns, in that order, as float64; NaN where a cell is empty."""
    features = take_columns(table, names, source).copy(deep=False)
    for name, kind in features.dtypes.items():
        if not pd.api.types.is_numeric_dtype(kind):
            column, remedy = (
                features[name],
                "encode it as the training data was, or train on such tables with `prunemodels train`",
            )
            i = first_word(column)
            if i is not None:
                raise InvalidInputError(
                    f"{row_of(source, i)}: the column {name!r} holds {column.iloc[i]!r}, not numbers alone; {remedy}"
                )
            if kind not in (object, "str"):
                raise InvalidInputError(f"{source}: the column {name!r} holds {column.dtype}, not numbers; {remedy}")
            features[name] = pd.to_numeric(without_missing_words(column))
    features = features.astype(np.float64)  # also converts nullable and Arrow columns; empty cells become NaN
    with np.errstate(over="ignore"):
        infinite = np.argwhere(np.isinf(features.to_numpy(np.float32)))
    if infinite.size:
        i, j = infinite[0].tolist()
        raise InvalidInputError(
            f"{row_of(source, i)}: the column {names[j]!r} is infinite as a float32; clip it or leave it empty"
        )
    as_rows(features, len(names), source)
    return features


def first_word(column: pd.Series[Any]) -> int | None:
    """The first row whose cell is neither a number nor missing; None: there is none."""
    column = without_missing_words(column)
    wrong = np.flatnonzero((pd.to_numeric(column, errors="coerce").isna() & column.notna()).to_numpy())
    return int(wrong[0]) if wrong.size else None


def take_any_features(table: pd.DataFrame, names: Sequence[str], source: str) -> pd.DataFrame:
    """`take_features` where all columns are numeric; else the columns as they are."""
    features = take_columns(table, names, source)
    numeric = all(pd.api.types.is_numeric_dtype(kind) for kind in features.dtypes)
    return take_features(features, names, source) if numeric else features


def take_columns(table: pd.DataFrame, names: Sequence[str], source: str) -> pd.DataFrame:
    """The named columns, in that order, as they are."""
    absent = [n for n in names if n not in table.columns]
    if absent:
        columns = f"column{'s' * (len(absent) > 1)} {shown(absent)}"
        there = [str(name) for name in table.columns]
        raise InvalidInputError(
            f"{source} lacks the {columns} that the model was trained on; it has {shown(there)}{probably_meant(absent, there)}"
        )
    return table.loc[:, list(names)]


def shown(names: Sequence[str] | pd.Index[Any], most: int = 12) -> str:
    """The first `most` names of a list, for error messages."""
    return ", ".join(repr(str(n)) for n in names[:most]) + (f", ... ({len(names)} in all)" if len(names) > most else "")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled examples, and how many of them are for training, validation and test."""

    name: str
    X: pd.DataFrame
    y: NDArray[Any]
    sizes: tuple[int, int, int]

    def parts(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Rows of the three parts, shuffled with the seed; disjoint."""
        rows = np.random.default_rng(seed).permutation(len(self.y))
        train, valid, test = self.sizes
        return rows[:train], rows[train : train + valid], rows[train + valid : train + valid + test]


def load_dataset(name_or_file: str | Path, label: str | None = None, marks: Marks = NO_MARKS) -> Dataset:
    """Load a data set whose label is in the column `label`, or the last one; its parts have the sizes of `part_sizes`."""
    file = find_dataset(name_or_file)
    table, _ = read_and_tell(file, marks)
    label = str(table.columns[-1]) if label is None else label
    y = take_column(table, label, "--label", str(file))
    X = take_features(table, [c for c in table.columns if c != label], str(file))
    return Dataset(dataset_name(file), X, y, part_sizes(dataset_name(file), len(y)))


def part_sizes(name: str, n_rows: int) -> tuple[int, int, int]:
    """Rows of the training, validation and test part of a data set."""
    if name in SPLITS:
        train, valid, rest = SPLITS[name]
    else:
        train, valid, rest = round(PROPORTIONS[0] * n_rows), round(PROPORTIONS[1] * n_rows), None
    test = n_rows - train - valid if rest is None else rest
    if min(train, valid, test) < 1 or train + valid + test > n_rows:
        raise InvalidInputError(
            f"{name} has {n_rows} rows, too few for its training, validation and test part ({train}, {valid}, {test})"
        )
    return train, valid, test
