"""All methods by name: the rivals and what users do today, hard budgets, then the project's own, which stand here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

import prunemodels as pm
from benchmarks.frontier import hard
from benchmarks.frontier.candidate import Candidate, Method, Scouted, Value, candidate, climb, rounded, sequence_candidates
from benchmarks.frontier.problem import Part, Problem
from benchmarks.frontier.rivals import boosted, columns, forests, linear, policy_network, priced, value_network
from benchmarks.frontier.rivals.boosted import ENGINES, Setting
from benchmarks.frontier.rivals.forests import grown, over_leaves
from formulations.errors import InvalidInputError
from prunemodels.cascades.cascade import Cascade


class BoostedStage(BaseEstimator):  # type: ignore[misc]
    """One of `ENGINES` as a scikit-learn estimator of some columns of a problem, whose validation part ends the growth. Columns
    are named x0, x1, ...
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
        return self.model_.predict(self._rows(X))

    predict = predict_proba


def exit_candidates(
    problem: Problem, source: Cascade, params: Mapping[str, Value], fit_s: float, ends: Mapping[str, str], *, named: bool = False
) -> Iterator[Candidate]:
    """The fitted objects that spend the problem's budgets; they were learned from the validation part."""
    valid, test = (part.table if named else part.X for part in (problem.valid, problem.test))
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


def pruning_path(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """All optimal prunings of a random forest of 40 trees, for its trees' mean error and the costs of the validation part."""

    def fit(least: int, ends: Mapping[str, str]) -> list[Candidate]:
        forest, path, seconds = _path(problem, least)
        return list(sequence_candidates(problem, forest, path, {"min_samples_leaf": least}, seconds, "lam", ends))

    yield from over_leaves(problem, scouted, fit)


def _path(problem: Problem, least: int) -> tuple[Any, pm.PruningPath, float]:
    """A forest, its optimal path, and the seconds of both."""
    forest, seconds = grown(problem, least)
    start = time.process_time()
    path = pm.pruning_path(pm.problem_from_forest(forest, problem.valid.X, costs=problem.costs), certificate=False)
    return forest, path, seconds + time.process_time() - start


def exits_along_the_path(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """Exit policies along the optimal path of a random forest of 40 trees, learned on the validation part."""

    def fit(least: int, ends: Mapping[str, str]) -> list[Candidate]:
        _, path, seconds = _path(problem, least)
        start = time.process_time()
        exits = pm.exit_path(path, problem.valid.X, problem.valid.y, random_state=problem.seed)
        seconds += time.process_time() - start
        return list(exit_candidates(problem, exits, {"min_samples_leaf": least}, seconds, ends))

    yield from over_leaves(problem, scouted, fit)


def fitted_cascade(problem: Problem, stage: Any, params: Mapping[str, Value], ends: Mapping[str, str]) -> list[Candidate]:
    """A cascade of such models on sets of columns that it finds; sets and exits are learned on the validation part."""
    start = time.process_time()
    kind = pm.BudgetCascadeRegressor if problem.task == "regression" else pm.BudgetCascadeClassifier
    model = kind(stage, problem.costs, lam=0, random_state=problem.seed)
    with threadpool_limits(1):
        model.fit(problem.train.table, problem.train.y, X_valid=problem.valid.table, y_valid=problem.valid.y)
    seconds = time.process_time() - start
    return list(exit_candidates(problem, model, params, seconds, ends, named=True))


CASCADE_LEAVES = (3, 7, 15, 31, 63, 127, 255, 511, 1023)  # numbers of leaves of a stage's trees
ENGINE = "LightGBM"  # of the stages


def boosted_cascade(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """`BudgetCascade` with boosted trees at every stage; it finds the sets, and learns exits on the validation part."""

    def fit(rung: int) -> list[Candidate]:
        ends = {"leaves": "a tree has two leaves at least"} if rung == 0 else {}
        if not problem.is_small:
            ends = {"leaves": "chosen for a model of all columns, between neighbours that are no better"}
        stage = BoostedStage(ENGINE, CASCADE_LEAVES[rung], problem)
        return fitted_cascade(problem, stage, {"leaves": CASCADE_LEAVES[rung]}, ends)

    if scouted:
        for leaves in sorted({int(params["leaves"]) for params in scouted}):
            yield from fit(CASCADE_LEAVES.index(leaves))
    elif problem.is_small:
        yield from climb(fit, [CASCADE_LEAVES.index(7)], 0, len(CASCADE_LEAVES) - 1, problem.budgets)
    else:
        yield from fit(_leaves_for_all_columns(problem))


def _leaves_for_all_columns(problem: Problem) -> int:
    """The rung of `CASCADE_LEAVES` from which on more leaves no longer lower the validation loss of a model of all columns."""
    rate = 0.2 if problem.n_classes > 3 else 0.1

    def loss(rung: int) -> float:
        model = ENGINES[ENGINE](problem, range(problem.n_features), Setting(CASCADE_LEAVES[rung], rate))
        return columns.loss_of(problem, problem.valid, model.predict(problem.valid.X))

    def found() -> int:
        rung = CASCADE_LEAVES.index(31)
        least = loss(rung)
        while rung + 1 < len(CASCADE_LEAVES) and (above := loss(rung + 1)) < least:
            rung, least = rung + 1, above
        return rung

    return int(problem.memory.recall(f"cascade-leaves-{ENGINE}", found)["value"])


OURS = [
    Method("optimal pruning path", pruning_path, ours=True),
    Method("exits along the optimal path", exits_along_the_path, ours=True),
    # as it comes: it chooses models, sets and orders itself; one object for all budgets
    Method("cascade", lambda problem, _: iter(fitted_cascade(problem, None, {}, {})), ours=True),
    Method("cascade of LightGBM models", boosted_cascade, ours=True),
]

_ROOMS = (columns, boosted, forests, linear, priced, value_network, policy_network, hard)
METHODS: dict[str, Method] = {method.name: method for methods in (*(m.METHODS for m in _ROOMS), OURS) for method in methods}


def method_named(name: str) -> Method:
    if name not in METHODS:
        raise InvalidInputError(f"there is no method {name!r}; give one of {', '.join(repr(n) for n in METHODS)}")
    return METHODS[name]
