"""How much a stage doubts its own answer: one number for each row. Rows with larger doubts go on first.

    margin:    1 - margin of `prunemodels.stages.judging`                              classification                     (1)
    learned:   E[ saving_s | state_s ],   saving_s = what the last stage expects to save                               (2)
               saving_s = what p expects of stage s - what it expects of the last stage, p the last stage's output      (3)
    state_s:   margin, largest probability, or the number predicted; disagreement of the trees; change since the last stage

(1) needs nothing to be learned. (2) is a ridge regression on piecewise linear functions of the state, for each stage but the
last. It sees no label: (3) is the expected difference of the losses if the last stage is right about the probabilities, and has
none of the labels' noise. It has some thirty coefficients, so the rows that it is learned from are doubted like new ones, and
what is stated on them is what calling the fitted object gives. (2) is the only doubt for regression, where a prediction alone
does not tell how good it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from formulations.instance.tree_loss import TreeLoss
from prunemodels.stages.judging import WRONG, expected, margin
from prunemodels.stages.params import PARAMS
from prunemodels.stages.stages import StageOutput, StageTable

DoubtName = Literal["margin", "learned"]
Floats = NDArray[np.float64]


Doubt = Callable[[int, StageOutput, StageOutput | None], Floats]
"""From a stage, its output and that of the stage before (None for the first stage) to the doubts of these rows, shape (rows,)."""


@dataclass(frozen=True)
class MarginDoubt:
    """The margin, (1)."""

    by: TreeLoss = WRONG  # what predictions are judged by

    def __call__(self, s: int, now: StageOutput, before: StageOutput | None) -> Floats:
        """See `Doubt`."""
        return 1.0 - margin(now.value, self.by)


@dataclass(frozen=True, eq=False)
class LearnedDoubt:
    """(2) for each stage but the last: ``base + hinges(state) @ slope``."""

    knots: Floats  # shape (S - 1, knots, 4): of the four numbers of the state
    slope: Floats  # shape (S - 1, 4 (knots + 1))
    base: Floats  # shape (S - 1,)
    by: TreeLoss = WRONG  # what predictions are judged by

    def __call__(self, s: int, now: StageOutput, before: StageOutput | None) -> Floats:
        """See `Doubt`."""
        terms = _hinges(state(now, before, self.by), self.knots[s])
        terms *= self.slope[s]
        terms[:, 0] += self.base[s]
        return np.add.accumulate(terms, axis=1, out=terms)[:, -1].copy()  # in order: a row's doubt depends on no other row


def learn_doubt(name: DoubtName, table: StageTable, weights: Floats, by: TreeLoss = WRONG) -> Doubt:
    """A doubt.

    `table`: the outputs from which it is learned. `weights`: shape (N,): of the rows. `by`: what predictions are
    judged by.
    """
    if name == "margin":
        return MarginDoubt(by)
    fitted = [_fitted(state(*pair, by), expected_saving(table, s, by), weights) for s, pair in enumerate(_pairs(table))]
    empty = np.zeros((0, PARAMS.knots, 4)), np.zeros((0, 4 * (PARAMS.knots + 1))), np.zeros(0)
    knots, slope, base = (np.array(part) for part in zip(*fitted, strict=True)) if fitted else empty
    return LearnedDoubt(knots, slope, base, by)


def doubts_of(doubt: Doubt, table: StageTable) -> Floats:
    """Doubts of the rows of a table at every stage but the last, shape (S - 1, N)."""
    found = [doubt(s, *pair) for s, pair in enumerate(_pairs(table))]
    return np.array(found, dtype=np.float64).reshape(-1, table.n_rows)


def aligned(doubt: Floats, fold: NDArray[np.int64]) -> Floats:
    """Doubts by stages of other folds, on the scale of the stages that predict: each becomes the one of equal rank there.

    Models of different folds are sure in different ways; a stage that reads nothing doubts all rows of a fold alike. A threshold
    is meant for the stages that predict, and should send on the same share of any fold.

    `doubt`: shape (S - 1, N). `fold`: shape (N,): 0 for rows doubted by the stages that predict.
    """
    found = doubt.copy()
    own = np.flatnonzero(fold == 0)
    for other in np.unique(fold[fold != 0]).tolist() if own.size else []:
        rows = np.flatnonzero(fold == other)
        place = np.floor((np.arange(rows.size) + 0.5) * own.size / rows.size).astype(np.int64)
        for s in range(len(doubt)):
            found[s, rows[np.argsort(doubt[s, rows], kind="stable")]] = np.sort(doubt[s, own])[place]
    return found


def _hinges(rows: Floats, knots: Floats) -> Floats:
    """The numbers of a state, and by how much they exceed each knot: shape (rows, 4 (knots + 1))."""
    terms = np.empty((len(rows), 1 + len(knots), rows.shape[1]))
    terms[:, 0] = rows
    np.maximum(rows[:, None] - knots, 0.0, out=terms[:, 1:])
    return terms.reshape(len(rows), -1)


def _fitted(rows: Floats, saving: Floats, weights: Floats) -> tuple[Floats, Floats, float]:
    """Knots, slope and base of (2) for one stage."""
    knots = np.quantile(rows, np.arange(1, PARAMS.knots + 1) / (PARAMS.knots + 1), axis=0)
    terms, share = _hinges(rows, knots), weights / weights.sum()
    centre, mean = share @ terms, float(share @ saving)
    unit = np.sqrt(share @ (terms - centre) ** 2)
    # what varies by rounding alone tells nothing: in its units, the rounding of new rows would be large
    unit[unit <= PARAMS.noise * max(float(np.ptp(rows[:, 0])), float(rows[:, 1].max()))] = np.inf
    columns = (terms - centre) / unit
    square = (columns * share[:, None]).T @ columns + PARAMS.doubt_ridge / len(rows) * np.eye(columns.shape[1])
    slope = np.linalg.solve(square, (columns * share[:, None]).T @ (saving - mean)) / unit
    return knots, slope, mean - float(slope @ centre)


def expected_saving(table: StageTable, s: int, by: TreeLoss = WRONG) -> Floats:
    """(3) for every row, shape (N,), >= 0."""
    last = table.value[-1]
    return expected(table.value[s], last, by) - expected(last, last, by)


def _pairs(table: StageTable) -> list[tuple[StageOutput, StageOutput | None]]:
    """The output of each stage but the last, with the output of the stage before it."""
    outputs = [StageOutput(value, spread) for value, spread in zip(table.value, table.spread, strict=True)]
    return [(outputs[s], outputs[s - 1] if s else None) for s in range(table.n_stages - 1)]


def state(now: StageOutput, before: StageOutput | None, by: TreeLoss = WRONG) -> Floats:
    """state_s: what is known once a stage has predicted, shape (rows, 4)."""
    value, found = now.value, np.zeros((len(now.value), 4))
    if value.shape[1] == 1:
        found[:, 0] = value[:, 0]
    else:
        found[:, 0], found[:, 1] = margin(value, by), value.max(axis=1)
    found[:, 2] = now.spread
    if before is not None:
        found[:, 3] = np.abs(value - before.value).sum(axis=1) / value.shape[1]
    return found
