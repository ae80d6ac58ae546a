"""Stages that are separate models, each on the features of a set of items; the sets grow.

    item m is bought by stage s   iff   some stage t <= s reads a feature that needs m                                   (1)

So purchases are nested by definition. All rows pay the same for a stage.

A user's model may begin with a ColumnTransformer, which names the columns that each of its transformers reads. A stage reads a
subset of all columns, so

    columns of a transformer  =  those that it names, and the stage reads                                                 (2)

A transformer without columns by (2) is left out. Selectors, such as `make_column_selector`, choose among the stage's columns
themselves, and stay as they are. If nothing is left, the stage reads nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Task
from prunemodels.stages.few_rows import Answer, quick_answer
from prunemodels.stages.params import PARAMS
from prunemodels.stages.stages import StageOutput


@dataclass(frozen=True, eq=False)
class Constant:
    """A stage that reads nothing: the class shares, or the mean, of the training rows."""

    value: NDArray[np.float64]  # shape (K,)


@dataclass(frozen=True, eq=False)
class BlendedStage:
    """A stage that predicts the mean of several models' probabilities, or numbers."""

    models: tuple[Any, ...]  # fitted on the same columns


@dataclass(frozen=True, eq=False)
class SetStages:
    """Separate models as `Stages`, with purchases by (1)."""

    models: tuple[Any, ...]  # fitted scikit-learn estimators, `BlendedStage` of several, or `Constant`
    features: tuple[NDArray[np.int64], ...]  # int64 arrays: the columns that each reads
    items: CostItems  # prices of all columns
    classes: NDArray[Any] | None  # the labels, for classification; a model that knows fewer gives the others the probability 0

    def __repr__(self) -> str:
        return f"SetStages({self.n_stages} stages, {self.items.n_features} features)"

    @property
    def n_stages(self) -> int:
        """See `Stages`."""
        return len(self.models)

    @property
    def task(self) -> Task:
        """See `Stages`."""
        return "regression" if self.classes is None else "classification"

    def bought(self) -> NDArray[np.bool_]:
        """(1): bool, shape (S, M)."""
        needed = np.zeros((self.n_stages, self.items.n_items), dtype=bool)
        for s, columns in enumerate(self.features):
            needed[s, [m for f in columns.tolist() for m in self.items.needs[f]]] = True
        return np.asarray(np.logical_or.accumulate(needed, axis=0))

    @property
    def once(self) -> NDArray[np.float64]:
        """See `Stages`."""
        return self._sums(np.where(self.items.paid_once, self.items.price, 0.0))

    @property
    def split_prices(self) -> tuple[Fraction, ...]:
        """See `PricedStages`."""
        return (Fraction(0),) * self.items.n_features

    @property
    def n_columns(self) -> int:
        """See `PricedStages`."""
        return self.items.n_features

    @property
    def reads_raw_columns(self) -> bool:
        """See `PricedStages`."""
        return False

    @property
    def described(self) -> str:
        """See `PricedStages`."""
        return f"models of their own on {(n := self.items.n_features)} feature{'s' * (n != 1)} at most"

    @property
    def sources(self) -> Sequence[Sequence[int]]:
        """See `PricedStages`."""
        return [(f,) for f in range(self.n_columns)]

    def at_unit_prices(self) -> SetStages:
        """See `PricedStages`."""
        return replace(self, items=CostItems.plain([1] * self.items.n_features))

    def first_bought(self, X: Any) -> NDArray[np.int64]:
        """See `PricedStages`."""
        bought = np.array([chain.bought() for chain in self.regions])  # shape (regions, S, M)
        first = np.where(bought.any(axis=1) & (self.items.price > 0), bought.argmax(axis=1), self.n_stages)
        return first[self.region(X)].T

    def n_splits(self, last: int) -> int:
        """See `PricedStages`."""
        return 0

    @property
    def column_names(self) -> NDArray[Any] | None:
        """Names of all columns as the models remember them, ``x{f}`` where none does; None if no model was trained with names."""
        found: NDArray[Any] = np.array([f"x{f}" for f in range(self.items.n_features)], dtype=object)
        remembered = False
        for model, columns in zip(self.models, self.features, strict=True):
            for part in model.models if isinstance(model, BlendedStage) else (model,):
                if hasattr(part, "feature_names_in_"):
                    found[columns], remembered = part.feature_names_in_, True
        return found if remembered else None

    def prices(self) -> NDArray[np.float64]:
        """What a row has paid by each stage, shape (S,); where regions differ, for what all of them buy together."""
        return self._sums(row_prices(self.items))

    def _sums(self, price: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is bought by each stage costs together, rounded once: a stage that adds nothing costs no last digit more."""
        return np.array([math.fsum(price[has]) for has in self.bought()])

    def of(self, place: NDArray[np.int64]) -> SetStages:
        """Some of the stages, in the given order: what they buy is counted anew."""
        models, features = (tuple(some[k] for k in place) for some in (self.models, self.features))
        return replace(self, models=models, features=features)

    @property
    def regions(self) -> tuple[SetStages, ...]:
        """The chain of every region; this one alone where rows do not part, see `prunemodels.cascades.chains`."""
        first = next((model for model in self.models if hasattr(model, "region")), None)
        return (self,) if first is None else tuple(self._in_region(r) for r in range(len(first.models)))

    def _in_region(self, r: int) -> SetStages:
        pairs = zip(self.models, self.features, strict=True)
        own = [(m.models[r], f[m.columns[r]]) if hasattr(m, "region") else (m, f) for m, f in pairs]
        return SetStages(tuple(m for m, _ in own), tuple(f for _, f in own), self.items, self.classes)

    @property
    def fork(self) -> int:
        """The stage after which rows part; the last one where they do not."""
        return next((s - 1 for s, model in enumerate(self.models) if hasattr(model, "region")), self.n_stages - 1)

    def region(self, X: Any) -> NDArray[np.int64]:
        """The region of each row, shape (N,)."""
        for model, columns in zip(self.models, self.features, strict=True):
            if hasattr(model, "region"):
                return np.asarray(model.region(columns_of(X, columns)))
        return np.zeros(X.shape[0], dtype=np.int64)

    def costs(self, X: Any) -> NDArray[np.float64]:
        """See `Stages`."""
        return np.array([chain.prices() for chain in self.regions])[self.region(X)].T

    def output(self, s: int, X: Any) -> StageOutput:
        """See `Stages`."""
        value = self._of_few(s, X) if 0 < X.shape[0] <= PARAMS.few_asked else None
        if value is None:
            value = predictions_of(self.models[s], columns_of(X, self.features[s]), self.classes)
        return StageOutput(value, np.zeros(len(value)))

    def _of_few(self, s: int, X: Any) -> NDArray[np.float64] | None:
        """`predictions_of` few rows, see `prunemodels.stages.few_rows`; None where the model itself has to be asked."""
        if s not in self._prepared:
            self._prepared[s] = _answer(self.models[s], self.classes)
        answer, table = self._prepared[s], isinstance(X, pd.DataFrame)
        if answer is None or table != self._named:
            return None
        rows = X.to_numpy() if table else X
        return answer(rows[:, self.features[s]]) if isinstance(rows, np.ndarray) else None

    @cached_property
    def _prepared(self) -> dict[int, Answer | None]:
        return {}

    @cached_property
    def _named(self) -> bool:
        return self.column_names is not None

    def __getstate__(self) -> dict[str, Any]:
        """The fields: what is prepared for few rows is made again, and in no file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def row_prices(items: CostItems) -> NDArray[np.float64]:
    """What a row pays for each item: nothing for what is paid once for all rows; shape (M,)."""
    return np.where(items.paid_once, 0.0, items.price)


def predictions_of(model: Any, X: Any, classes: NDArray[Any] | None) -> NDArray[np.float64]:
    """Probabilities of all classes, or the predicted numbers, shape (rows, K)."""
    if isinstance(model, Constant):
        return np.tile(model.value, (X.shape[0], 1))
    if isinstance(model, BlendedStage):
        return np.asarray(np.mean([predictions_of(part, X, classes) for part in model.models], axis=0))
    return _of_all(classes, model, model.predict(X) if classes is None else model.predict_proba(X))


def _answer(model: Any, classes: NDArray[Any] | None) -> Answer | None:
    """`predictions_of` for few rows; None where a model is of no kind that is known there."""
    if isinstance(model, Constant):
        return lambda rows: np.tile(model.value, (len(rows), 1))
    if isinstance(model, BlendedStage):
        return _mean_of([_answer(part, classes) for part in model.models])
    answer = quick_answer(model)
    return None if answer is None else partial(_said, model, answer, classes)


def _said(model: Any, answer: Answer, classes: NDArray[Any] | None, rows: NDArray[Any]) -> NDArray[np.float64] | None:
    found = answer(rows)
    return None if found is None else _of_all(classes, model, found)


def _mean_of(answers: Sequence[Answer | None]) -> Answer | None:
    known = [answer for answer in answers if answer is not None]

    def asked(rows: NDArray[Any]) -> NDArray[np.float64] | None:
        found = [value for answer in known if (value := answer(rows)) is not None]
        return np.asarray(np.mean(found, axis=0)) if len(found) == len(known) else None

    return asked if len(known) == len(answers) else None


def _of_all(classes: NDArray[Any] | None, model: Any, said: NDArray[Any]) -> NDArray[np.float64]:
    """What a model said as doubles, shape (rows, K): numbers, or probabilities of all classes, 0 of those it does not know."""
    found = np.asarray(said, dtype=np.float64)
    if classes is None:
        return found.reshape(-1, 1)
    if len(model.classes_) == len(classes) == found.shape[1]:
        return found
    value = np.zeros((len(found), len(classes)))
    value[:, np.searchsorted(classes, model.classes_)] = found
    return value


def columns_of(X: Any, columns: NDArray[np.int64]) -> Any:
    """Some columns of a table, an array or a sparse matrix."""
    return X.iloc[:, columns] if isinstance(X, pd.DataFrame) else X[:, columns]


def check_probabilities(model: Any, s: int) -> None:
    """Refuse a classifier without probabilities."""
    if not hasattr(model, "predict_proba"):
        raise InvalidInputError(
            f"stage {s} is a {type(model).__name__} without predict_proba, so nobody can tell when it doubts; wrap it in "
            "sklearn.calibration.CalibratedClassifierCV"
        )


INNER = ("estimator", "regressor")
"""Where estimators such as CalibratedClassifierCV and TransformedTargetRegressor have the one that reads the rows."""


def check_named_columns(estimator: Any, names: Sequence[Any] | None, what: str) -> None:
    """Refuse a ColumnTransformer that names columns that the table does not have.

    `names`: of the table's columns; None: it has none. `what`: what messages call the estimator.
    """
    known = set() if names is None else set(names)
    for transformer in _first_transformers(estimator):
        for name, _, columns in transformer.transformers:
            given = [columns] if isinstance(columns, str) else [] if callable(columns) or isinstance(columns, slice) else columns
            absent = [c for c in given if isinstance(c, str) and c not in known]
            if absent:
                there = "has no names of columns" if names is None else f"has the columns {[str(n) for n in names][:8]} ..."
                raise InvalidInputError(f"{what} names the column {absent[0]!r} in its transformer {name!r}; the table {there}")


def on_columns(estimator: Any, X: Any, columns: NDArray[np.int64]) -> Any:
    """A clone of an estimator for some columns of a table, by (2); None if nothing is left for it to read.

    `X`: rows with all columns. `columns`: ascending: the places of those that the stage reads.
    """
    found = clone(estimator)
    for transformer in _first_transformers(found):
        left = []
        for name, inner, given in transformer.transformers:
            own = given if callable(given) else _those_of(given, X, columns)
            seen = own(X.iloc[:, columns]) if callable(own) else own
            if isinstance(seen, (str, int)) or len(seen):
                left.append((name, inner, own))
        if not left and transformer.remainder == "drop":
            return None
        transformer.set_params(transformers=left)
    return found


def _first_transformers(estimator: Any) -> Iterator[ColumnTransformer]:
    """The ColumnTransformers that read the rows of the table itself."""
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        yield from _first_transformers(steps[0]) if steps else ()
    elif isinstance(estimator, ColumnTransformer):
        yield estimator
    else:
        for name in INNER:
            inner = getattr(estimator, name, None)
            if hasattr(inner, "fit"):
                yield from _first_transformers(inner)


def _those_of(given: Any, X: Any, columns: NDArray[np.int64]) -> Any:
    """The columns that a transformer names and the stage reads, in the transformer's form; places count within the stage."""
    if isinstance(given, (str, int, np.integer)):
        place = X.columns.get_loc(given) if isinstance(given, str) else int(given) % X.shape[1]
        at = np.flatnonzero(columns == place)
        return [] if not at.size else given if isinstance(given, str) else int(at[0])
    if isinstance(given, slice):
        labels = isinstance(given.start, str) or isinstance(given.stop, str)
        given = (
            X.columns[X.columns.slice_indexer(given.start, given.stop, given.step)].tolist()
            if labels
            else np.arange(X.shape[1])[given]
        )
    given = list(given)
    if given and all(isinstance(c, (bool, np.bool_)) for c in given):
        given = np.flatnonzero(given).tolist()
    if given and isinstance(given[0], str):
        there = set(X.columns[columns]) if isinstance(X, pd.DataFrame) else set()
        return [c for c in given if c in there]
    place_of = {int(f): k for k, f in enumerate(columns)}
    return [place_of[c] for c in (int(c) % X.shape[1] for c in given) if c in place_of]
