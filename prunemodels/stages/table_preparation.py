"""Models for tables of any columns, and such tables as numbers: words, categories, truth values, dates and missing values.

A column's kind is learned from the training rows:

    numbers     numeric columns, nullable ones included, and objects that are all numbers: as they are, NaN where missing
    dates       times, and words that are all ISO dates: days since 1970, NaN where missing; durations: days
    categories  everything else, truth values included: the level's place, the most frequent level first
    empty       columns that would be numbers or dates, without any value in training: 0, whatever other rows hold

A level is what `str` writes, so that 1, 1.0 and "1" are the same level. A level with fewer than five training rows is
rare. All rare levels share one place behind the others, and so do levels beyond a model's largest number. A level that was not
seen in training has the place of the rare ones, and is missing if training had none.

Each column is prepared by itself, so the same preparation suits any subset of the columns.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.shown import cell
from prunemodels.stages.params import PARAMS
from prunemodels.written_numbers import ISO_DATE, without_missing_words

Kind = Literal["boosted", "linear", "forest"]
"""The model that a table is prepared for: what does it take?"""


CATEGORY = make_column_selector(dtype_include="category")
NUMBER = make_column_selector(dtype_exclude="category")


class TableColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a table of any columns into one of float64 and of categories, whose levels are whole numbers; see the module.

    Parameters
    ----------
    most_levels
        largest number of levels of a column.

    Attributes
    ----------
    kinds_
        for each column ``"number"``, ``"date"``, ``"category"`` or ``"empty"``.
    levels_
        for each column the levels with a place of their own; none but for categories.
    rare_
        for each column whether the other levels share a place.
    rare_words_
        for each column the levels that training saw beside `levels_`; None where they are too many to be a list of words.
    made_from_
        that each column is made from itself alone, for the prices of a pipeline's raw columns.
    """

    kinds_: list[str]
    levels_: list[list[str]]
    rare_: list[bool]
    rare_words_: list[list[str] | None]
    made_from_: dict[str, list[str]]

    def __init__(self, most_levels: int = PARAMS.most_bins) -> None:
        self.most_levels = most_levels

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the columns' kinds and levels."""
        del y
        table = _as_table(validate_data(self, X, skip_check_array=True))
        self.kinds_, self.levels_, self.rare_, self.rare_words_ = [], [], [], []
        for name, column in table.items():
            kind, levels, rare, others = kind_of(column, name), list[str](), False, list[str]()
            if kind == "category":
                counts = pd.Series(level_words(column)).value_counts()
                ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
                levels = [str(level) for level, rows in ordered if rows >= PARAMS.fewest_rows_of_level]
                if len(levels) > self.most_levels or len(levels) < len(ordered):
                    levels, rare = levels[: self.most_levels - 1], True
                    others = sorted({str(level) for level, _ in ordered} - {*levels})
            self.kinds_.append("empty" if kind != "category" and column.isna().all() else kind)
            self.levels_.append(levels)
            self.rare_.append(rare)
            self.rare_words_.append(others if len(others) <= PARAMS.most_rare_words else None)
        self.made_from_ = {str(name): [str(name)] for name in table.columns}
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """The rows as float64 and categories."""
        check_is_fitted(self)
        table = _as_table(validate_data(self, X, reset=False, skip_check_array=True))
        columns = {}
        for f, (name, column) in enumerate(table.items()):
            if self.kinds_[f] == "number":
                column = without_missing_words(column)
                columns[str(name)] = as_floats(all_read(column, pd.to_numeric(column, errors="coerce"), "numbers"))
            elif self.kinds_[f] == "empty":
                columns[str(name)] = np.zeros(len(table))
            elif self.kinds_[f] == "date":
                columns[str(name)] = _days(column)
            else:
                columns[str(name)] = self._places(f, column)
        return pd.DataFrame(columns, index=table.index)

    def _places(self, f: int, column: pd.Series[Any]) -> Any:
        levels, words = self.levels_[f], level_words(column)
        places = pd.Index(levels, dtype=object).get_indexer(pd.Index(words, dtype=object))
        if self.rare_[f]:
            places = np.where((places < 0) & np.array([word is not None for word in words], dtype=bool), len(levels), places)
        return pd.Categorical.from_codes(places, categories=pd.RangeIndex(len(levels) + self.rare_[f]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


class PreparedModel(Pipeline):  # type: ignore[misc]
    """A pipeline whose `fit` hands weights on to its last step."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit all steps; see ``sklearn.pipeline.Pipeline``."""
        weights = {} if sample_weight is None else {f"{self.steps[-1][0]}__sample_weight": sample_weight}
        super().fit(X, y, **weights, **params)
        return self


@checked
def prepared(model: Any, kind: Kind) -> PreparedModel:
    """A model that takes tables of any columns: words, categories, truth values, dates and missing values.

    Parameters
    ----------
    model
        an unfitted scikit-learn estimator. `fit` takes ``sample_weight`` if it does.
    kind
        what the model takes. ``"boosted"``: missing values, and pandas' categories, as HistGradientBoosting and LightGBM do.
        ``"linear"``: numbers of one scale; gaps are filled by the median and marked by a column of their own, levels become one
        column each, of which there are at most 64. ``"forest"``: numbers; gaps are filled in the same way, and levels are
        numbered, the most frequent first.

    Returns
    -------
    PreparedModel
        an unfitted pipeline that ends with `model`. It prepares each column by itself and depends on no other column, so clones
        of it suit any subset of a table's columns.

    Notes
    -----
    Numbers stay as they are. Times, and words that are all ISO dates, become days. Everything else is a category. Levels with
    fewer than 5 training rows, and levels that training did not see, are one level together.

    Examples
    --------
    >>> import pandas as pd
    >>> import prunemodels as pm
    >>> from sklearn.linear_model import LogisticRegression
    >>> rows = pd.DataFrame({"city": ["Rome", "Oslo", None] * 20, "age": [20, 70, 40] * 20})
    >>> model = pm.cascades.prepared(LogisticRegression(), "linear").fit(rows, ["yes", "no", "yes"] * 20)
    >>> model.predict(pd.DataFrame({"city": ["Oslo", "Paris"], "age": [66, None]})).tolist()
    ['no', 'yes']
    """
    if kind == "boosted":
        steps = [TableColumns(min(PARAMS.most_bins, getattr(model, "max_bins", PARAMS.most_bins)))]
    elif kind == "linear":
        one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        steps = [
            TableColumns(PARAMS.most_one_hot),
            make_column_transformer((_filled(StandardScaler()), NUMBER), (one_hot, CATEGORY)),
        ]
    else:
        places = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
        steps = [TableColumns(), make_column_transformer((_filled(), NUMBER), (places, CATEGORY))]
    names = ["table", "columns"][: len(steps)]
    return PreparedModel([*zip(names, steps, strict=True), ("model", model)])


def _filled(*more: Any) -> Any:
    return make_pipeline(SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), *more)


@cache
def stage_models(n_rows: int, *, classifier: bool, numeric: bool) -> tuple[Any, ...]:
    """Unfitted models for a table of this size, among which a cascade chooses; for those that take long see `is_slow`.

    `numeric`: whether all columns are numbers; other tables are `prepared`.
    """
    few = n_rows < PARAMS.few_rows
    found = [_quick_trees(n_rows, classifier), _linear(PARAMS.strengths[0], classifier)]
    if n_rows < PARAMS.many_rows:
        size = PARAMS.quick_forest_trees if few else PARAMS.forest_trees
        found += [*(_linear(c, classifier) for c in PARAMS.strengths[1:]), _forest(size, classifier)]
    many = n_rows >= PARAMS.many_rows
    full = [] if few else [(300, 31, 0.1), (300, 127, 0.1)] if many else [PARAMS.full_trees]
    found += [_boosted(trees, classifier, l2_regularization=PARAMS.leaf_ridge, early_stopping=many) for trees in full]
    return tuple(_for_numbers(model, kind) if numeric else prepared(model, kind) for model, kind in found)


@cache
def search_models(n_rows: int, n_classes: int, *, numeric: bool) -> tuple[Any, ...]:
    """Unfitted models by which sets of columns are compared: quick ones, since some hundred are fitted.

    `n_classes`: 1 for regression. With many classes a forest takes the place of boosting, which grows a tree for each class.
    `numeric`: see `stage_models`.
    """
    classifier = n_classes > 1
    trees = _quick_trees(n_rows, classifier) if n_classes < PARAMS.many_classes else _forest(PARAMS.search_trees, classifier)
    found = [trees, *(_linear(c, classifier) for c in PARAMS.strengths)]
    return tuple(_for_numbers(model, kind) if numeric else prepared(model, kind) for model, kind in found)


def is_slow(model: Any) -> bool:
    """Whether one of `stage_models` takes long: trees do, but for a few of them."""
    last = model[-1] if isinstance(model, Pipeline) else model
    rounds, trees = getattr(last, "max_iter", 0), getattr(last, "n_estimators", 0)
    return hasattr(last, "max_leaf_nodes") and (rounds > PARAMS.quick_trees[0] or trees > PARAMS.quick_forest_trees)


_KINDS = {
    True: (HistGradientBoostingClassifier, ExtraTreesClassifier),
    False: (HistGradientBoostingRegressor, ExtraTreesRegressor),
}
"""Boosted trees and forests, for classification or not."""


def _quick_trees(n_rows: int, classifier: bool) -> tuple[Any, Kind]:
    few = n_rows < PARAMS.few_rows
    return _boosted(
        PARAMS.quick_small_trees if few else PARAMS.quick_trees,
        classifier,
        min_samples_leaf=min(20, max(2, n_rows // 20)),
        l2_regularization=0.0 if few else PARAMS.leaf_ridge,
        max_bins=PARAMS.quick_bins,
        early_stopping=False,
    )


def _boosted(trees: tuple[int, int, float], classifier: bool, **options: Any) -> tuple[Any, Kind]:
    """`trees`: rounds, leaves, learning rate."""
    rounds, leaves, rate = trees
    return _KINDS[classifier][0](max_iter=rounds, max_leaf_nodes=leaves, learning_rate=rate, **options), "boosted"


def _forest(n_trees: int, classifier: bool) -> tuple[Any, Kind]:
    return _KINDS[classifier][1](n_trees, min_samples_leaf=2), "forest"


def _linear(strength: float, classifier: bool) -> tuple[Any, Kind]:
    return LogisticRegression(C=strength, max_iter=500) if classifier else Ridge(1 / strength), "linear"


def _for_numbers(model: Any, kind: Kind) -> Any:
    """The model for tables of numbers, with gaps."""
    if kind == "boosted":
        return model
    scaled = [StandardScaler()] if kind == "linear" else []
    return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), *scaled, model)


def kind_of(column: pd.Series[Any], name: Any) -> str:
    """``"number"``, ``"date"`` or ``"category"``."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "category"
    if pd.api.types.is_complex_dtype(dtype):
        raise InvalidInputError(f"the column {name!r} holds complex numbers; give real ones")
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    present = column.dropna()
    held = pd.api.types.infer_dtype(present, skipna=True)
    if held in ("integer", "floating", "mixed-integer-float", "decimal", "empty"):
        return "number" if pd.api.types.is_object_dtype(dtype) else "category"
    if held in ("datetime", "datetime64", "date", "timedelta", "timedelta64", "period"):
        return "date"
    if held == "complex" or any(isinstance(value, (list, dict, set, np.ndarray)) for value in present):
        raise InvalidInputError(f"the column {name!r} holds {present.iloc[0]!r}; give a number, a word or a date in each cell")
    if held == "string" and all(ISO_DATE.fullmatch(value) for value in present):
        return "date" if len(present) else "category"
    return "category"


def _as_table(X: Any) -> pd.DataFrame:
    """Rows as a table; arrays get the names that scikit-learn gives their columns."""
    if isinstance(X, pd.DataFrame):
        return X
    rows = np.asarray(X)
    return pd.DataFrame(rows, columns=[f"x{f}" for f in range(rows.shape[1])])


def level_words(column: pd.Series[Any]) -> NDArray[Any]:
    """The level of each row as a word, None where it is missing."""
    codes, values = pd.factorize(column.astype(object))
    names = np.array([level_word(value) for value in values] + [None], dtype=object)
    return np.asarray(names[codes])


def level_word(value: Any) -> str:
    """The level of a value."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def as_floats(column: pd.Series[Any]) -> NDArray[np.float64]:
    """Numbers as float64, NaN where they are missing."""
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _days(column: pd.Series[Any]) -> NDArray[np.float64]:
    present = column.dropna()
    if pd.api.types.infer_dtype(present, skipna=True) in ("timedelta", "timedelta64"):
        return np.asarray(pd.to_timedelta(column) / pd.Timedelta(days=1), dtype=np.float64)
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    times = pd.to_datetime(column, utc=True, format="ISO8601" if len(present) and column.dtype != "M" else None, errors="coerce")
    days = (all_read(column, times, "dates") - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(days, dtype=np.float64)


def all_read(column: pd.Series[Any], read: pd.Series[Any], kind: str) -> pd.Series[Any]:
    """What was read of a column, if every cell that holds something could be read as this kind."""
    wrong = column[read.isna() & column.notna()]
    if len(wrong):
        raise InvalidInputError(
            f"the column {column.name!r} holds {cell(wrong.iloc[0])} in the row {cell(wrong.index[0])}, in training it held "
            f"{kind}; give such a value, or leave the cell empty"
        )
    return read
