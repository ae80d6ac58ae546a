"""What a user has in the columns of a table as the numbers that a library's trees compare: the one place that knows it.

Libraries number the categories of a column 0, 1, 2, ... in an order that the model keeps; trees compare these codes. Who has a
table, a file, or one value from a supplier has the categories themselves. So

    columns with the types of a table     are read as the library reads them: categories become codes          (1)
    arrays of numbers                     hold what the library takes them for: codes, or the categories       (2)
    values without types                  are categories where the model names some, and numbers elsewhere     (3)

In (3) the number 70 and the word "70" are the same category, unless the model knows both. Missing values are NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.extras import package
from formulations.shown import cell


def pandas_of(X: Any) -> Any:
    """Tables of polars and Arrow as tables of pandas, and columns of Arrow's types with pandas' own; everything else as it is."""
    table = X.to_pandas() if hasattr(X, "to_pandas") else X
    if not isinstance(table, pd.DataFrame):
        return table
    of_arrow = [f for f, kind in enumerate(table.dtypes) if isinstance(kind, pd.ArrowDtype)]
    table = table.copy(deep=False) if of_arrow else table
    for f in of_arrow:
        table.isetitem(f, package("pyarrow").array(table.iloc[:, f]).to_pandas().array)
    return table


Codes = tuple[NDArray[np.float64], dict[int, str]]
"""Numbers for the values of a column, NaN for missing ones, and what is wrong about single values, by their places."""


@dataclass(frozen=True, eq=False)
class UserColumns:
    """How the columns of a model's table become numbers."""

    # for each column whose categories the model names, by its place, these in the order of their codes. None: the model has
    # categories and does not say of which columns, see `in_order`.
    categories: Mapping[int, Sequence[Any]] | None
    # LightGBM keeps the categories of a table without their columns: in a table the first column of the type "category" has the
    # first ones, and so on. None: another library.
    in_order: Sequence[Sequence[Any]] | None = None
    # whether other columns of the type "category" stand for the codes that the table itself has, as libraries take them which
    # were trained on codes; False: they are refused, since the model was trained on numbers there
    own_codes: bool = False
    refuses: bool = False  # whether a category that the training did not know is refused; False: it counts as missing
    arrays: bool = True  # whether arrays hold codes; False: they hold the categories, as tables do
    by_text: bool = True  # whether the number 70 may stand for the category "70"

    def numbers(self, X: Any, n_columns: int, name: str) -> Any:
        """(1) or (2): a table as float64, shape (N, n_columns); what has no such columns as it is."""
        if len(np.shape(X)) != 2 or np.shape(X)[1] != n_columns:
            return X
        given, X = X, pandas_of(X)
        if not isinstance(X, pd.DataFrame):
            if self.arrays:
                return X
            X = pd.DataFrame(np.asarray(X))
        typed = _typed(X)
        if typed and self.own_codes and not isinstance(given, pd.DataFrame):
            raise UnsupportedModelError(
                f"the model keeps codes of categories and not their names, and a {type(given).__name__} numbers them in its own "
                "way; give a table of pandas, or codes"
            )
        # numbers and codes from here on; the first cell that has neither is refused
        lists = self._of_table(typed, name)
        if not lists and not typed:
            return X
        columns = []
        for f in range(n_columns):
            column = X.iloc[:, f]
            if f in lists:
                values, wrong = _codes_of(column, lists[f], self.refuses, self.by_text and f not in typed)
            elif f in typed and self.own_codes:
                values, wrong = _own_codes(column)
            elif f in typed:
                raise InvalidInputError(
                    f"{name} has categories in the column {column.name!r}, the model was trained on numbers there; give it the "
                    "type that it had in training"
                )
            else:
                values, wrong = _numbers(column)
            for i, why in wrong.items():
                raise InvalidInputError(
                    f"{name} has {cell(column.iloc[i])} in the column {column.name!r}, row {cell(X.index[i])}: {why}"
                )
            columns.append(values)
        return np.column_stack(columns)

    def judges(self, f: int, values: Any) -> bool:
        """Whether values of a column are categories, which `column` turns into codes; else they are numbers already."""
        return f in self.placed() or (self.own_codes and isinstance(getattr(values, "dtype", None), pd.CategoricalDtype))

    def column(self, f: int, values: Any) -> Codes:
        """(3): values of a column of categories as numbers."""
        found = self.placed().get(f)
        if found is None:
            return _own_codes(values)
        return _codes_of(pd.Series(np.asarray(values, dtype=object)), found, self.refuses, self.by_text)

    def placed(self) -> Mapping[int, Sequence[Any]]:
        """The categories by column; refused where the model does not say of which columns they are."""
        if self.categories is None:
            assert self.in_order is not None
            shown = "; ".join(", ".join(map(repr, categories[:3])) for categories in self.in_order)
            raise UnsupportedModelError(
                f"the model keeps categories ({shown}) and not their columns, and several columns may be meant; show it a table "
                "with the columns' types as in training: read_model(model, like=X_train)"
            )
        return self.categories

    def like(self, table: pd.DataFrame) -> UserColumns:
        """The same, where a table with the types of the training table says which columns have categories."""
        typed = _typed(table)
        if self.in_order is None or len(typed) != len(self.in_order):
            return self
        return replace(self, categories=dict(zip(typed, self.in_order, strict=True)))

    def _of_table(self, typed: list[int], name: str) -> Mapping[int, Sequence[Any]]:
        """The categories of the columns of a table, of which some are of the type "category"."""
        if self.in_order is None:
            return self.placed()
        if len(typed) == len(self.in_order):
            return dict(zip(typed, self.in_order, strict=True))
        found = self.placed()
        if not set(typed) <= set(found):
            raise InvalidInputError(
                f"{name} has {len(typed)} columns of categories, the model was trained on {len(self.in_order)}; give the columns "
                "the types that they had in training"
            )
        return found


def _typed(table: pd.DataFrame) -> list[int]:
    """The places of the columns of the type "category"."""
    return [f for f, dtype in enumerate(table.dtypes) if isinstance(dtype, pd.CategoricalDtype)]


def _codes_of(column: pd.Series[Any], categories: Sequence[Any], refuses: bool, by_text: bool) -> Codes:
    """The places of a column's values among the categories."""
    values = column.astype(object)
    missing = values.isna().to_numpy()
    number, found = pd.factorize(values, use_na_sentinel=True)
    place = {category: k for k, category in enumerate(categories) if not pd.isna(category)}
    if by_text:
        texts = [_text(category) for category in place]
        by_words = dict(zip(texts, place.values(), strict=True)) if len(set(texts)) == len(texts) else {}
        of_each = [place.get(value, by_words.get(_text(value), -1)) for value in found]
    else:
        of_each = [place.get(value, -1) for value in found]
    codes = np.array([*of_each, -1], dtype=np.float64)[number]
    unknown = (codes < 0) & ~missing
    codes[codes < 0] = np.nan
    if not refuses:
        return codes, {}
    known = ", ".join(map(repr, categories[:8])) + (", ..." if len(categories) > 8 else "")
    return codes, {int(i): f"the model knows {known}" for i in np.flatnonzero(unknown)}


def _text(value: Any) -> str:
    """A value as a user writes it: 70 for 70.0, which is what a column of whole numbers with gaps holds."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _own_codes(column: pd.Series[Any]) -> Codes:
    codes = np.array(column.cat.codes, dtype=np.float64)
    codes[codes < 0] = np.nan
    return codes, {}


def _numbers(column: pd.Series[Any]) -> Codes:
    """A column of numbers, one by one where some are none."""
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan), {}
    except (TypeError, ValueError):
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.isnan(values) & ~column.isna().to_numpy()
        return values, {int(i): "it is no number; encode it as in training" for i in np.flatnonzero(wrong)}
