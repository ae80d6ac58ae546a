"""What models of known kinds say about few rows, without the checks that each step of scikit-learn makes again.

For one row these checks, and a call for each of a hundred trees, take nearly all of the time. The arithmetic here is that of
scikit-learn, in its order, so the answers are the same bit for bit:

    TableColumns                see `prunemodels.stages.table_preparation`; levels as numbers
    SimpleImputer               x  ->  the statistic, where x is missing; where it was missing in training, a column says so
    StandardScaler              x  ->  (x - mean) / scale
    OneHotEncoder               level  ->  a column for each, 1 for its own
    OrdinalEncoder              level  ->  its place, -1 where it is missing or not known
    LogisticRegression          expit(x w + b), or softmax(x w + b)
    Ridge                       x w + b
    HistGradientBoosting*       link^-1( the sum of the trees ), see (1)
    ExtraTrees*, RandomForest*  the mean of the trees

A model of any other type, subclasses included, or with options beside these, is asked itself. Few rows walk the trees of a
boosted model in one call,

    margin_k(x) = start_k + sum over the rounds i of the value of x's leaf in tree (i, k)                                  (1)

in doubles and in the order of the rounds. Thresholds are compared as they are, ``x <= t`` in doubles. A categorical split looks
up the code of x among those that go left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from formulations.compiled import njit
from prunemodels.models.forests.training_rows import VERSION
from prunemodels.models.libraries.sklearn_models import codes_of, hist_trees
from prunemodels.stages.table_preparation import PreparedModel, TableColumns, level_word

Rows = NDArray[Any]
"""Shape (rows, columns of the model): float32, float64, or the cells of a table for a model that begins with TableColumns."""

Step = Callable[[Rows], Rows | None]
"""None: for rows that are not read here."""

Answer = Callable[[Rows], Rows | None]
"""None: for rows that the model itself has to be asked for, as it may refuse them."""

SCALES_IN_TYPE_OF_ROWS = VERSION >= (1, 8)
"""Whether StandardScaler rounds means and scales to float32 before it applies them to float32 rows."""


def quick_answer(model: Any) -> Answer | None:
    """From rows to what the fitted `model` predicts, probabilities or numbers; None where its kind is not known here."""
    *before, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    of_table = type(model) is PreparedModel
    if not of_table and any(type(step) in _OF_TABLES for step in before):
        return None  # a user's own encoders may read words
    prepare, answer = _in_turn(before), _MODELS.get(type(last), _unknown)(last)
    if answer is None or prepare is None:
        return None
    types = (object,) if of_table else (np.float32, np.float64)
    takes_any = type(last) in BOOSTED and all(type(step) is TableColumns for step in before)

    def asked(given: Rows) -> Rows | None:
        rows = prepare(given) if given.dtype in types else None
        return answer(rows) if rows is not None and (takes_any or np.isfinite(rows).all()) else None

    return asked


def _step(step: Any) -> Step | None:
    return _in_turn([inner for _, inner in step.steps]) if type(step) is Pipeline else _STEPS.get(type(step), _unknown)(step)


def _in_turn(steps: Sequence[Any]) -> Step | None:
    found = [_step(step) for step in steps]
    known = [step for step in found if step is not None]

    def asked(rows: Rows) -> Rows | None:
        made: Rows | None = rows
        for step in known:
            made = None if made is None else step(made)
        return made

    return asked if len(known) == len(found) else None


def _unknown(model: Any) -> None:
    return None


def _imputer(imputer: Any) -> Step | None:
    fill, indicated = imputer.statistics_, imputer.indicator_.features_ if imputer.add_indicator else None
    if fill.dtype.kind != "f" or np.isnan(fill).any() or not np.isnan(imputer.missing_values):
        return None

    def asked(rows: Rows) -> Rows:
        missing = np.isnan(rows)
        filled = np.where(missing, fill.astype(rows.dtype), rows) if missing.any() else rows
        return filled if indicated is None else np.hstack([filled, missing[:, indicated]])

    return asked


def _scaler(scaler: Any) -> Step | None:
    if not (scaler.with_mean and scaler.with_std):
        return None
    mean, scale = scaler.mean_, scaler.scale_

    def asked(rows: Rows) -> Rows:
        dtype = rows.dtype if SCALES_IN_TYPE_OF_ROWS else mean.dtype
        centred = (rows - mean.astype(dtype)).astype(rows.dtype, copy=False)
        return np.asarray(centred / scale.astype(dtype), dtype=rows.dtype)

    return asked


def _logistic(model: Any) -> Step | None:
    if model.solver != "lbfgs" or getattr(model, "multi_class", "deprecated") != "deprecated":
        return None
    weight, base, two = model.coef_.T, model.intercept_, len(model.classes_) == 2

    def asked(rows: Rows) -> Rows:
        scores = rows @ weight + base
        return _two(scores[:, 0]) if two else _softmax(scores)

    return asked


def _two(margin: Rows) -> Rows:
    """The probabilities of two classes."""
    found = np.empty((len(margin), 2), dtype=margin.dtype)
    found[:, 1] = expit(margin)
    found[:, 0] = 1 - found[:, 1]
    return found


def _softmax(scores: Rows) -> Rows:
    found = np.exp(scores - scores.max(axis=1)[:, None])
    return np.asarray(found / found.sum(axis=1)[:, None])


def _ridge(model: Any) -> Step | None:
    weight, base = model.coef_.T, model.intercept_
    return lambda rows: np.asarray(rows @ weight + base)


def _boosted(model: Any) -> Step | None:
    if model.loss not in ("log_loss", "squared_error"):
        return None
    trees, numbers, codes = summed_trees(model), not is_classifier(model), codes_of(model)
    categories = {} if codes is None else codes.placed()
    if any(np.asarray(known).dtype.kind not in "fiu" for known in categories.values()):
        return None
    places = {f: _places(known) for f, known in categories.items()}

    def asked(rows: Rows) -> Rows:
        doubles = np.array(rows, dtype=np.float64, order="C")
        for f, place in places.items():
            doubles[:, f] = [place.get(code, np.nan) for code in doubles[:, f].tolist()]
        margins = trees.margins(doubles)
        if numbers:
            return margins[:, 0]
        return _two(margins[:, 0]) if margins.shape[1] == 1 else _softmax(np.asfortranarray(margins))

    return asked


def _places(categories: Iterable[Any]) -> dict[float, int]:
    """The place of each category but that of missing values, by its number."""
    return {float(code): k for k, code in enumerate(categories) if code == code}


def _table(columns: Any) -> Step:
    places = [{level: k for k, level in enumerate(levels)} for levels in columns.levels_]
    others = [len(levels) if rare else np.nan for levels, rare in zip(columns.levels_, columns.rare_, strict=True)]
    kinds = columns.kinds_

    def asked(cells: Rows) -> Rows | None:
        rows = np.zeros(cells.shape)
        for f, kind in enumerate(kinds):
            first: dict[Any, Any] = {}  # of 1, 1.0 and True the first stands for all, as in `level_words`
            for i, value in enumerate(cells[:, f].tolist()):
                if kind == "empty":
                    continue
                if value is None or value is pd.NA or value is pd.NaT or value != value:
                    rows[i, f] = np.nan
                elif kind == "category":
                    rows[i, f] = places[f].get(level_word(first.setdefault(value, value)), others[f])
                elif type(value) in (float, int):
                    rows[i, f] = value
                else:
                    return None  # a date, or a word that may be a number
        return rows

    return asked


def _one_hot(encoder: Any) -> Step:
    categories = [np.asarray(known, dtype=np.float64) for known in encoder.categories_]

    def asked(rows: Rows) -> Rows:
        same = [(rows[:, [f]] == known) | (np.isnan(rows[:, [f]]) & np.isnan(known)) for f, known in enumerate(categories)]
        return np.hstack(same).astype(np.float64)

    return asked


def _ordinal(encoder: Any) -> Step:
    places = [_places(known) for known in encoder.categories_]

    def asked(rows: Rows) -> Rows:
        found = [[place.get(code, -1) for code in rows[:, f].tolist()] for f, place in enumerate(places)]
        return np.array(found, dtype=np.float64).T

    return asked


def _by_columns(transformer: Any) -> Step | None:
    """A ColumnTransformer whose parts read some columns each; what no part reads is dropped."""
    names = list(transformer.feature_names_in_)
    parts = [(part, [names.index(c) for c in own]) for _, part, own in transformer.transformers_ if len(own) and part != "drop"]
    known = [step for part, _ in parts if (step := _step(part)) is not None]
    if len(known) < len(parts):
        return None

    def asked(rows: Rows) -> Rows | None:
        found = [made for step, (_, own) in zip(known, parts, strict=True) if (made := step(rows[:, own])) is not None]
        return np.hstack(found) if len(found) == len(known) else None

    return asked


def _forest(forest: Any) -> Answer | None:
    trees, classes = [tree.tree_ for tree in forest.estimators_], is_classifier(forest)

    def asked(rows: Rows) -> Rows | None:
        with np.errstate(over="ignore"):
            cast = np.ascontiguousarray(rows, dtype=np.float32)
        if np.isinf(cast).any():
            return None
        total = np.asarray(sum(tree.predict(cast) for tree in trees) / len(trees))
        return total if classes else total[:, 0]

    return asked


BOOSTED = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

_OF_TABLES: dict[type, Callable[[Any], Step | None]] = {
    TableColumns: _table,
    ColumnTransformer: _by_columns,
    OneHotEncoder: _one_hot,
    OrdinalEncoder: _ordinal,
}

_STEPS: dict[type, Callable[[Any], Step | None]] = {SimpleImputer: _imputer, StandardScaler: _scaler, **_OF_TABLES}

_MODELS: dict[type, Callable[[Any], Answer | None]] = {
    LogisticRegression: _logistic,
    Ridge: _ridge,
    **dict.fromkeys(BOOSTED, _boosted),
    **dict.fromkeys((ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor), _forest),
}


NODE = np.dtype(
    [("number", "f8"), ("left", "i4"), ("right", "i4"), ("feature", "i4"), ("missing_left", "?"), ("by_code", "?")], align=True
)
"""A node, whole in one line of the processor's cache: at a split the threshold, or a row of `SummedTrees.goes_left`; at a leaf,
which is its own left child, its value."""


@dataclass(frozen=True, eq=False)
class SummedTrees:
    """(1), for rows with the columns of the training rows."""

    start: NDArray[np.float64]  # shape (K,)
    root: NDArray[np.int64]  # shape (T,): of the trees, round after round, in each round one for every output
    node: NDArray[Any]  # shape (n,), of the type `NODE`: the nodes of all trees
    goes_left: NDArray[np.bool_]  # shape (categorical splits, codes)

    def margins(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(1), shape (rows, K). `rows`: C-contiguous, with NaN where a value is missing or a category is not known."""
        total = np.tile(self.start, (len(rows), 1))
        _add(rows, self.root, self.node, self.goes_left, total)
        return total


def summed_trees(model: Any) -> SummedTrees:
    """The trees of a fitted HistGradientBoosting*; rows hold its own codes of categories."""
    trees, start = hist_trees(model)
    split, node = trees.left >= 0, np.zeros(len(trees.left), dtype=NODE)
    node["number"] = np.where(split, trees.threshold, trees.leaf_value[:, 0])
    node["left"] = np.where(split, trees.left, np.arange(len(node)))
    node["right"], node["feature"], node["missing_left"] = trees.right, trees.feature, trees.missing_left
    tests = trees.categories
    codes = max((max(test.known or test.listed, default=0) + 1 for test in tests.values()), default=0)
    goes_left = np.array([~test.right(np.arange(codes, dtype=np.float64)) for test in tests.values()], dtype=bool)
    node["by_code"][[*tests]], node["number"][[*tests]] = True, np.arange(len(tests))
    return SummedTrees(start, trees.tree_start[:-1], node, goes_left.reshape(len(tests), codes))


@njit(cache=True, nogil=True)
def _add(rows, root, node, goes_left, total):  # type: ignore[no-untyped-def]
    """Add every tree's value for every row to its output.

    Eight trees are walked in turns: while memory delivers the next node of one, the others take a step.
    """
    turns = 8
    n_outputs, at = total.shape[1], np.empty(turns, dtype=np.int64)
    for i in range(rows.shape[0]):
        for first in range(0, root.shape[0], turns):
            count = min(turns, root.shape[0] - first)
            at[:count] = root[first : first + count]
            # one step down in each of these trees that is not at a leaf yet; a leaf is its own child
            moving = True
            while moving:
                moving = False
                for j in range(count):
                    h = at[j]
                    here = node[h]
                    if here.left == h:
                        continue
                    moving = True
                    x = rows[i, here.feature]
                    if np.isnan(x):
                        left = here.missing_left
                    elif here.by_code:
                        left = goes_left[np.int64(here.number), np.int64(x)]
                    else:
                        left = x <= here.number
                    at[j] = here.left if left else here.right
            # all are at leaves, whose numbers are the trees' values
            for j in range(count):
                total[i, (first + j) % n_outputs] += node[at[j]].number
