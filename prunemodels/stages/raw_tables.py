"""A user's table as it is: words, categories, times and missing values beside numbers.

A table of numbers alone is cast as scikit-learn's trees do, see `prunemodels.models.labelled_samples`. One with any other column
is never cast: stages read its columns with the types that it has. The cascade keeps the names of these types. Rows to predict,
from a file or from suppliers, may hold the same values in other types, and get those of the training rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from formulations.errors import InvalidInputError
from formulations.shown import cell
from prunemodels.models.labelled_samples import Sample, check_distinct_columns, training_sample, weights_of
from prunemodels.models.user_columns import pandas_of
from prunemodels.stages.params import PARAMS
from prunemodels.stages.stages import PricedStages
from prunemodels.stages.table_preparation import all_read, as_floats, kind_of, level_words
from prunemodels.written_numbers import without_missing_words

NONE = ", None"
"""Behind the type of a column of objects whose missing cells are all None: encoders tell None from NaN."""


def cascade_sample(cascade: Any, X: Any, y: Any, sample_weight: Any) -> Sample:
    """The training sample of a cascade. Sets its ``n_features_in_`` and ``feature_names_in_``; ``numeric_``: whether the rows are
    cast to numbers; and ``column_types_``, of a table that is not.
    """
    table: Any = X if isinstance(X, np.ndarray) else pandas_of(X)
    cascade.numeric_, cascade.column_types_ = is_numeric(table), None
    if cascade.numeric_:
        return training_sample(cascade, X, y, sample_weight)
    check_distinct_columns(table)
    _check_finite(table)
    validate_data(cascade, table, skip_check_array=True)
    cascade.column_types_ = [_type_of(column) for _, column in table.items()]
    y = _check_y(y, multi_output=False, y_numeric=not is_classifier(cascade), estimator=cascade)
    if is_classifier(cascade):
        check_classification_targets(y)
    check_consistent_length(table, y)
    return Sample(table, y, weights_of(sample_weight, table))


def is_numeric(X: Any) -> bool:
    """Whether models of numbers read these rows: no column is of words, categories or times. Truth values are 0 and 1."""
    if not isinstance(X, pd.DataFrame):
        return True
    return all(_is_truth(column) or kind_of(column, name) == "number" for name, column in X.items())


def _is_truth(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_bool_dtype(column.dtype) and not isinstance(column.dtype, pd.CategoricalDtype)


def raw_rows(cascade: Any, X: Any) -> pd.DataFrame:
    """Rows for a cascade whose training rows were not cast, as a table with the types of the training rows."""
    table = pandas_of(X)
    if not isinstance(table, pd.DataFrame):
        raise InvalidInputError(
            f"X is a {type(X).__name__}, the cascade was trained on a table; give one with the columns "
            f"{cascade.feature_names_in_.tolist()[:6]} ..."
        )
    validate_data(cascade, table, reset=False, skip_check_array=True)
    found = with_types(table, cascade.column_types_)
    floats = found.iloc[:, [f for f, kind in enumerate(found.dtypes) if isinstance(kind, np.dtype) and kind.kind == "f"]]
    if np.isinf(floats.to_numpy()).any():
        _check_finite(floats)
    return found


def reads_raw_columns(cascade: Any) -> bool:
    """Whether the rows of a fitted cascade may hold more than numbers: it was trained on such a table, or along a pipeline."""
    stages = cascade.stages_
    return cascade.column_types_ is not None or (isinstance(stages, PricedStages) and stages.reads_raw_columns)


def identifiers(table: pd.DataFrame) -> list[str]:
    """The columns that look like identifiers, which say nothing about new rows: words or whole numbers, whatever their range, of
    which nearly each row has its own. Of few rows measurements may differ, too, see `_told_apart`.
    """
    found = []
    for name, column in table.items():
        kind, present = kind_of(column, name), column.dropna()
        if len(present) < PARAMS.fewest_to_judge or present.nunique() <= PARAMS.own_share * len(present):
            continue
        numbers = as_floats(pd.Series(pd.to_numeric(present))) if kind == "number" else None
        if kind == "category" or (numbers is not None and bool((numbers == np.rint(numbers)).all()) and _told_apart(numbers)):
            found.append(str(name))
    return found


def _told_apart(numbers: NDArray[np.float64]) -> bool:
    """Whether whole numbers differ as identifiers do, and not as measurements do of which there are few.

    Of n numbers whose middle half is w wide, about n^2 / 8w pairs of that half are equal by chance. So few numbers that all
    differ are identifiers where several pairs were to be expected, or where they lie so far apart that no measurement is so fine.
    """
    n, width = len(numbers), float(np.subtract(*np.quantile(numbers, [0.75, 0.25])))
    if n >= PARAMS.many_to_judge:
        return True
    if len(np.unique(numbers)) < n or width == 0:
        return False
    sparse = width >= PARAMS.sparse * n and np.gcd.reduce(np.abs(numbers).astype(np.int64)) == 1
    return bool(sparse or n * n / (8 * width) >= PARAMS.expected_pairs)


def group_columns(table: pd.DataFrame) -> list[str]:
    """The columns that may say which rows belong together, as a patient's number on visits does: words or whole numbers that
    repeat a few times each, and whose rows are nearly equal in most of the other columns of numbers.
    """
    numbers = {name: as_floats(column) for name, column in table.items() if kind_of(column, name) == "number"}
    found = []
    for name, column in table.items():
        kind, different = kind_of(column, name), column.nunique()
        whole = kind == "number" and bool((numbers[name] == np.rint(numbers[name])).all())
        if different < PARAMS.fewest_to_judge or not (whole or kind == "category"):
            continue
        if not PARAMS.least_groups * len(column) <= different <= PARAMS.most_groups * len(column):
            continue
        others = pd.DataFrame({other: values for other, values in numbers.items() if other != name})
        within = others - others.groupby(column.to_numpy()).transform("mean")
        spread = (within.var() / others.var()).dropna()
        if spread.size and float(spread.median()) < PARAMS.nearly_equal:
            found.append(str(name))
    return found


def codes(table: pd.DataFrame) -> list[tuple[str, float, int]]:
    """Columns of numbers that seem to hold a code for missing values, with the code and its number of rows.

    It is the least or the greatest number, comes at least twice, is written as codes are (0, -1, 99, -999), and lies farther from
    all others than the middle half of them is wide.
    """
    found = []
    for name, column in table.items():
        if kind_of(column, name) != "number" or len(column.dropna()) < PARAMS.fewest_to_judge:
            continue
        numbers = as_floats(column.dropna())
        for code, sign in ((numbers.min(), 1.0), (numbers.max(), -1.0)):
            others, rows = numbers[numbers != code], int((numbers == code).sum())
            if rows < 2 or len(np.unique(others)) < PARAMS.fewest_to_judge or not re.fullmatch("0|-1|-?9{2,}", f"{code:.0f}"):
                continue
            low, high = np.quantile(others, [0.25, 0.75])
            if sign * ((others * sign).min() * sign - code) > high - low:
                found.append((str(name), float(code), rows))
    return found


def with_types(table: pd.DataFrame, types: Sequence[str], columns: Collection[int] | None = None) -> pd.DataFrame:
    """The table with columns of given types.

    `columns`: the places of the columns to convert; None: all.
    """
    found, dtypes = table.copy(deep=False), table.dtypes.tolist()
    for f in range(len(types)) if columns is None else columns:
        if dtypes[f].kind != "O" and _name_of(dtypes[f]) == types[f]:
            continue
        column = table.iloc[:, f]
        if _type_of(column) != types[f]:
            found.isetitem(f, _converted(column, types[f]).array)
    return found


def _type_of(column: pd.Series[Any]) -> str:
    if column.dtype != object:
        return _name_of(column.dtype)
    missing = column[column.isna()]
    return f"object{NONE}" if len(missing) and all(value is None for value in missing) else "object"


def _name_of(dtype: Any) -> str:
    return "category" if isinstance(dtype, pd.CategoricalDtype) else str(dtype)


def _converted(column: pd.Series[Any], kind: str) -> pd.Series[Any]:
    dtype: Any = kind  # the stubs of pandas list its names
    if kind.startswith("object"):
        column = column.astype(object)
        return column.where(column.notna(), None) if kind.endswith(NONE) else column
    if kind in ("str", "string"):
        return pd.Series(level_words(column), index=column.index, dtype=object).astype(dtype)
    if kind in ("bool", "boolean"):
        return column.infer_objects()
    if kind.startswith("datetime64"):
        times: Any = all_read(column, _parsed(column, kind), kind)
        return (times if "," in kind else times.dt.tz_convert(None)).astype(dtype)  # type: ignore[no-any-return]
    if kind.startswith(("category", "timedelta64", "period")):
        return column.astype(dtype)
    column = without_missing_words(column)
    numbers = all_read(column, _parsed(column, kind), kind)
    gaps = kind.startswith(("int", "uint")) and bool(numbers.isna().any())  # these types have no missing value
    return numbers if gaps or column.dtype != object else numbers.astype(dtype)


def misfits(column: pd.Series[Any], kind: str) -> dict[int, str]:
    """Why some cells of a column cannot get the type that it had in training, by their place; infinite numbers cannot either."""
    read = _parsed(column, kind)
    if read is None:
        return {}
    infinite = np.isinf(as_floats(read)) if pd.api.types.is_numeric_dtype(read.dtype) else np.zeros(len(read), dtype=bool)
    wrong = np.flatnonzero((read.isna() & column.notna()).to_numpy() | infinite)
    return {i: f"is {cell(column.iloc[i])}, in training the column held {kind}" for i in wrong.tolist()}


def _parsed(column: pd.Series[Any], kind: str) -> Any:
    """The cells as times or numbers, missing where they are none; None for types that take any cell."""
    if kind.startswith("datetime64"):
        return pd.to_datetime(column, utc=True, errors="coerce")
    takes_any = kind.startswith(("object", "str", "bool", "category", "timedelta64", "period"))
    return None if takes_any else pd.to_numeric(column, errors="coerce")


def _check_finite(table: pd.DataFrame) -> None:
    for name, column in table.items():
        if kind_of(column, name) == "number":
            infinite = np.flatnonzero(np.isinf(as_floats(column)))
            if infinite.size:
                raise InvalidInputError(
                    f"the column {name!r} is infinite in the row {cell(table.index[infinite[0]])}; clip it, or leave "
                    "the cell empty"
                )
