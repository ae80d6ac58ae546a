"""Stage tables at random and by hand, every monotone policy counted by plain loops, and estimators that record what they see."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from formulations import CostItems
from formulations.instance.ensemble import Task
from prunemodels.cascades.learning import ExitSample, LearnedExits, solve_exits
from prunemodels.stages.doubt import Doubt, DoubtName, doubts_of, learn_doubt
from prunemodels.stages.judging import lost
from prunemodels.stages.stages import StageOutput, StageTable

ITEMS = {
    "plain": CostItems.plain([1, 2, 0, 0.5, 7.27]),
    "groups": CostItems.grouped(["a", "a", "b", "b", "c"], {"a": 3, "b": 1.5, "c": 0}),
    "discounts": CostItems.discounted([5, 6, 2, 2, 1], [1, 2, 2, 1, 1], ["blood", "blood", None, "scan", None]),
    "once": CostItems.from_items(
        {"a": 1, "b": 2.5, "licence": 10, "unneeded": 4}, [["a"], ["b", "licence"], ["a"], ["licence"], []], ["licence"]
    ),
}
"""Prices of five columns, of every kind."""


@dataclass(frozen=True, eq=False)
class TableStages:
    """Stages that read what they say from a table; the only column of X is the row's number."""

    table: StageTable
    labels: NDArray[Any] | None

    @property
    def n_stages(self) -> int:
        return self.table.n_stages

    @property
    def task(self) -> Task:
        return "regression" if self.labels is None else "classification"

    @property
    def classes(self) -> NDArray[Any] | None:
        return self.labels

    @property
    def once(self) -> NDArray[np.float64]:
        return self.table.once

    def costs(self, X: Any) -> NDArray[np.float64]:
        return self.table.cost[:, np.asarray(X)[:, 0].astype(int)]

    def output(self, s: int, X: Any) -> StageOutput:
        rows = np.asarray(X)[:, 0].astype(int)
        return StageOutput(self.table.value[s, rows], self.table.spread[s, rows])


def random_table(seed: int, n: int | None = None, *, regression: bool = False) -> tuple[StageTable, NDArray[Any], NDArray[Any]]:
    """Table, truth and weights: ties in probabilities, purchases for nothing, items paid once in some seeds, up to 4 stages."""
    rng = np.random.default_rng(seed)
    n_stages, n_classes = int(rng.integers(1, 5)), 1 if regression else int(rng.integers(2, 4))
    n = int(rng.integers(1, 13)) if n is None else n
    if regression:
        truth: NDArray[Any] = rng.normal(size=n).round(1)
        value = truth[None, :, None] + rng.normal(size=(n_stages, n, 1)).round(1) / (1 + np.arange(n_stages))[:, None, None]
    else:
        truth = rng.integers(0, n_classes, n)
        good = np.eye(n_classes)[truth]
        shares = rng.integers(0, 9, (n_stages, n, n_classes)) + 1.0
        value = shares / shares.sum(axis=2, keepdims=True)
        share = (np.arange(n_stages) / 6)[:, None, None]
        value = (1 - share) * value + share * good
    increments = rng.choice([0, 0, 0.5, 1, 2.25], (n_stages, n))
    once = np.cumsum(rng.choice([0, 0, 0.125, 1], n_stages)) if seed % 3 == 0 else np.zeros(n_stages)
    weights = np.ones(n) if seed % 2 == 0 else rng.choice([0.5, 1.0, 2.0, 3.0], n)
    return StageTable(value, np.zeros((n_stages, n)), np.cumsum(increments, axis=0), once), truth, weights


def monotone_policies(n_decisions: int, n_levels: int) -> Iterator[NDArray[np.bool_]]:
    """Every ``go`` in which who doubts more goes on, too, and nobody goes on from where nobody of his level arrives."""
    for least in itertools.combinations_with_replacement(range(1, n_levels + 2), n_decisions):
        yield np.array([[level >= first for level in range(n_levels + 1)] for first in least], dtype=bool).reshape(
            n_decisions, n_levels + 1
        )


def margins(value: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - (largest - second largest) of every row at every stage."""
    said = np.empty(value.shape[:2])
    for s, i in np.ndindex(*said.shape):
        first, second = sorted(value[s, i].tolist(), reverse=True)[:2]
        said[s, i] = 1.0 - (first - second)
    return said


def walk(go: NDArray[np.bool_], theta: NDArray[np.float64], doubt: NDArray[np.float64]) -> list[int]:
    """Where each row stops, decision after decision."""
    stops = []
    for i in range(doubt.shape[1]):
        level, s = theta.shape[1], 0
        while s < len(go):
            level = min(level, sum(1 for j in range(theta.shape[1]) if doubt[s, i] >= theta[s, j]))
            if not go[s, level]:
                break
            s += 1
        stops.append(s)
    return stops


def tally(
    table: StageTable, truth: NDArray[Any], weights: NDArray[np.float64], go: NDArray[np.bool_], stops: list[int]
) -> tuple[float, float]:
    """Mean loss and mean cost, with what is paid once for all up to the last stage that the policy lets anybody come to."""
    lost = paid = 0.0
    for i, s in enumerate(stops):
        said = table.value[s, i].tolist()
        favoured = said.index(max(said))
        lost += weights[i] * ((said[0] - truth[i]) ** 2 if len(said) == 1 else favoured != truth[i])
        paid += weights[i] * table.cost[s, i]
    last = max([s + 1 for s in range(len(go)) if go[s].any()], default=0)
    return lost / weights.sum(), paid / weights.sum() + float(table.once[last])


def sample_of(table: StageTable, truth: NDArray[Any], weights: NDArray[np.float64], doubt: Doubt) -> ExitSample:
    """The rows of a table, judged by what is observed."""
    loss = lost(table.value, truth)
    own = np.ones(table.n_rows, dtype=bool)
    return ExitSample(doubts_of(doubt, table), table.cost, table.once, loss, loss, weights, own)


def learn_exits(
    table: StageTable, truth: NDArray[Any], weights: NDArray[np.float64], *, doubt: DoubtName, n_levels: int
) -> LearnedExits:
    """Learn doubts, then levels and all policies, from the same rows."""
    judge = learn_doubt(doubt, table, weights)
    return solve_exits(sample_of(table, truth, weights, judge), judge, None, n_levels=n_levels)


class _Spy:
    """A tree that keeps its training rows, and notes what every tree was asked about; row numbers stand in column 0."""

    asked: ClassVar[list[tuple[frozenset[int], frozenset[int]]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.trained_on_ = numbers(X)
        return super().fit(X, y, sample_weight)  # type: ignore[no-any-return, misc]


class SpyClassifier(_Spy, DecisionTreeClassifier):  # type: ignore[misc]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        self.asked.append((self.trained_on_, numbers(X)))
        return np.asarray(super().predict_proba(X))


class SpyRegressor(_Spy, DecisionTreeRegressor):  # type: ignore[misc]
    def predict(self, X: Any) -> NDArray[np.float64]:
        self.asked.append((self.trained_on_, numbers(X)))
        return np.asarray(super().predict(X))


def numbers(X: Any) -> frozenset[int]:
    """The row numbers in column 0."""
    return frozenset(np.asarray(X)[:, 0].astype(int).tolist())


class NoWeights(DecisionTreeClassifier):  # type: ignore[misc]
    """A classifier whose fit takes no weights."""

    def fit(self, X: Any, y: Any) -> Self:
        return super().fit(X, y)  # type: ignore[no-any-return]
