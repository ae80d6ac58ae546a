"""Exit policies as candidates, and boosted trees as stages: the validation part ends their growth, as for the rivals."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

import prunemodels as pm
from benchmarks.frontier.candidate import Candidate, Value, candidate, rounded
from benchmarks.frontier.problem import Part, Problem
from benchmarks.frontier.rivals.engines import ENGINES, Setting
from formulations.errors import InvalidInputError
from prunemodels.exits.cascade import Cascade


class BoostedStage(BaseEstimator):  # type: ignore[misc]
    """One of `ENGINES` as a scikit-learn estimator of some columns of a problem, named x0, x1, ...

    Parameters
    ----------
    engine
        its name.
    leaves
        number of leaves of each tree.
    problem
        its training part is learned from, and its validation part ends the growth.
    """

    def __init__(self, engine: str, leaves: int, problem: Problem) -> None:
        self.engine = engine
        self.leaves = leaves
        self.problem = problem

    @property
    def _estimator_type(self) -> str:
        return "regressor" if self.problem.task == "regression" else "classifier"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = self._estimator_type
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.engine, self.leaves, self.problem)

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> Self:
        """Boost on the columns of X."""
        self.columns_, self.classes_ = [int(str(name)[1:]) for name in X.columns], np.arange(self.problem.n_classes)
        rate = 0.2 if self.problem.n_classes > 3 else 0.1
        given = replace(self.problem, train=Part(self._rows(X), np.asarray(y)))
        self.model_ = ENGINES[self.engine](given, self.columns_, Setting(self.leaves, rate))
        return self

    def _rows(self, X: pd.DataFrame) -> NDArray[np.float32]:
        """All columns of the problem, with 0 in those that X lacks."""
        rows = np.zeros((len(X), self.problem.n_features), dtype=np.float32)
        rows[:, self.columns_] = X.to_numpy(dtype=np.float32)
        return rows

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """The model's predictions."""
        return self.model_.predict(self._rows(X))

    predict = predict_proba


def exit_candidates(
    problem: Problem,
    source: pm.exits.ExitPath | Cascade,
    params: Mapping[str, Value],
    fit_s: float,
    ends: Mapping[str, str],
    columns: Sequence[str] | None = None,
) -> Iterator[Candidate]:
    """The fitted objects that spend the problem's budgets; they were learned from the validation part."""
    valid, test = (_frame(part, columns) for part in (problem.valid, problem.test))
    for budget in problem.budgets:
        try:
            model = source.at_cost(budget)
        except InvalidInputError:  # cheaper than the first stage
            continue
        predict = model.predict if problem.task == "regression" else model.predict_proba
        start = time.process_time()
        predicted = predict(valid), predict(test)
        seconds = (time.process_time() - start) / (len(valid) + len(test)) * 1000
        once = float(model.stages_.once[model.policy_.last_stage])
        paid = float(model.prediction_cost(test).mean()) + once
        more, why = {**params, "budget": budget}, {**ends, "budget": "the benchmark's own"}
        found = candidate(problem, more, *predicted, (model.cost_, paid), fit_s, seconds, why)
        yield replace(found, valid_error=rounded(model.held_out_error_))


def _frame(part: Part, columns: Sequence[str] | None) -> Any:
    return part.X if columns is None else pd.DataFrame(part.X, columns=columns)
