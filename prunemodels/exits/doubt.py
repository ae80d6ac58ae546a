"""How much a stage doubts its own answer: one number for each row. Rows with larger doubts go on first.

    margin:    1 - (largest probability - second largest)                              classification                     (1)
    learned:   E[ saving_s | state_s ],   saving_s = what the last stage expects to save                               (2)
               saving_s = p(favoured by the last stage) - p(favoured by stage s), p the last stage's probabilities      (3)
               saving_s = (number of stage s - number of the last stage)^2                  regression
    state_s:   margin, largest probability, or the number predicted; disagreement of the trees; change since the last stage

(1) needs nothing to be learned. (2) grows a small forest of scikit-learn's trees for each stage but the last. It sees no label:
(3) is the expected difference of the losses if the last stage is right about the probabilities, and has none of the labels'
noise. Its own training rows are judged out of bag. (2) is the only one for regression, where a prediction alone does not tell
how good it is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor

from prunemodels.exits.stages import StageOutput, StageTable

DoubtName = Literal["margin", "learned"]
Floats = NDArray[np.float64]

N_TREES = 20
"""Trees of a learned doubt; of these, more than 7 have not seen a given row."""

LARGEST_SAMPLE = 4_000
"""Largest number of rows that each of these trees draws."""


class Doubt(Protocol):
    """Computes the doubts of the rows that reached a stage."""

    def __call__(self, s: int, now: StageOutput, before: StageOutput | None) -> Floats:
        """Doubts, shape (rows,). `before`: the output of stage s - 1 for the same rows; None for the first stage."""
        ...


@dataclass(frozen=True)
class MarginDoubt:
    """The margin, (1)."""

    def __call__(self, s: int, now: StageOutput, before: StageOutput | None) -> Floats:
        """See `Doubt`."""
        return 1.0 - _margin(now.value)


@dataclass(frozen=True, eq=False)
class LearnedDoubt:
    """(2): a fitted forest for each stage but the last."""

    forests: tuple[RandomForestRegressor, ...]

    def __call__(self, s: int, now: StageOutput, before: StageOutput | None) -> Floats:
        """See `Doubt`."""
        return np.asarray(self.forests[s].predict(state(now, before)))


def learn_doubt(name: DoubtName, table: StageTable, weights: Floats, rng: np.random.RandomState) -> tuple[Doubt, Floats]:
    """A doubt, and its out-of-bag values for the rows that it is learned from, shape (S - 1, N).

    Parameters
    ----------
    weights
        shape (N,): of the rows.
    """
    if name == "margin":
        doubt = MarginDoubt()
        return doubt, _stacked([doubt(s, *pair) for s, pair in enumerate(_pairs(table))], table.n_rows)
    forests, doubts = [], []
    for s, pair in enumerate(_pairs(table)):
        forest = RandomForestRegressor(
            N_TREES,
            min_samples_leaf=max(5, table.n_rows // 200),
            max_samples=min(table.n_rows // 2 or 1, LARGEST_SAMPLE),
            oob_score=_take_all,
            random_state=rng.randint(np.iinfo(np.int32).max),
        )
        rows = state(*pair)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            forest.fit(rows, expected_saving(table, s), sample_weight=weights)
        forests.append(forest)
        doubts.append(_out_of_bag(forest, rows))
        del forest.oob_prediction_  # one number for each row, which predictions do not need
    return LearnedDoubt(tuple(forests)), _stacked(doubts, table.n_rows)


def _out_of_bag(forest: RandomForestRegressor, rows: Floats) -> Floats:
    """Each row's prediction by the trees that have not seen it; by all trees if all of them have seen it."""
    times = np.zeros(len(rows), dtype=np.int64)
    for drawn in forest.estimators_samples_:
        times[np.unique(drawn)] += 1
    seen = np.flatnonzero(times == len(forest.estimators_samples_))
    doubts: Floats = forest.oob_prediction_.copy()
    if seen.size:
        doubts[seen] = forest.predict(rows[seen])
    return doubts


def _stacked(doubts: list[Floats], n_rows: int) -> Floats:
    """Doubts of every stage but the last, shape (S - 1, N), also where there is one stage."""
    return np.array(doubts, dtype=np.float64).reshape(-1, n_rows)


def expected_saving(table: StageTable, s: int) -> Floats:
    """(3) for every row, shape (N,), >= 0."""
    value, last = table.value[s], table.value[-1]
    if value.shape[1] == 1:
        return np.asarray((value[:, 0] - last[:, 0]) ** 2)
    favoured = np.take_along_axis(last, value.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.asarray(last.max(axis=1) - favoured)


def _take_all(truth: Floats, predicted: Floats) -> float:
    """A score that is never used: scikit-learn computes out-of-bag predictions only along with one."""
    return 0.0


def _pairs(table: StageTable) -> list[tuple[StageOutput, StageOutput | None]]:
    """The output of each stage but the last, with the output of the stage before it."""
    outputs = [StageOutput(value, spread) for value, spread in zip(table.value, table.spread, strict=True)]
    return [(outputs[s], outputs[s - 1] if s else None) for s in range(table.n_stages - 1)]


def state(now: StageOutput, before: StageOutput | None) -> Floats:
    """state_s: what is known once a stage has predicted, shape (rows, 4)."""
    value = now.value
    change: Any = np.zeros(len(value)) if before is None else np.abs(value - before.value).sum(axis=1) / value.shape[1]
    sure = [value[:, 0], np.zeros(len(value))] if value.shape[1] == 1 else [_margin(value), value.max(axis=1)]
    return np.column_stack([*sure, now.spread, change])


def _margin(value: Floats) -> Floats:
    """Largest less second largest."""
    two = np.partition(value, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])
