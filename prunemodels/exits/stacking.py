"""Stages that also weigh what earlier stages said: stacked generalization along a cascade (Wolpert, Neural Networks 5, 1992).

By stage s a row has heard the stages 0..s and paid for all of them, so what they said together costs nothing more. With
l_{t,i} the logarithms of stage t's probabilities, or its number,

    value_{s,i}  =  softmax( sum over t <= s of  a_{s,t} l_{t,i}  +  b_s )            classification                      (1)
    value_{s,i}  =           sum over t <= s of  a_{s,t} l_{t,i}  +  b_s              regression                           (2)

    (a_s, b_s) minimises   sum_i w_i loss_i / mean(w)  +  RIDGE / 2 * | (a_s, b_s) - (own voice) |^2                       (3)

loss_i is the log loss, or the squared error over twice the variance of the labels; "own voice" is a_{s,s} = 1 and all else 0, so
few rows leave a stage as it is. A stage is stacked only where, on rows that (3) has not seen, that lowers the loss by more than a
standard error, and errs no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.model_selection import KFold

from prunemodels.exits.gain import SMALLEST, is_better
from prunemodels.exits.stages import StageOutput, StageTable

Floats = NDArray[np.float64]

RIDGE = 1.0
"""Weight of the ridge in (3), in rows."""

FOLDS = 5
"""Parts of the rows, each of which hears stages that were stacked without it."""


@dataclass(frozen=True, eq=False)
class Stack:
    """(1) or (2).

    Parameters
    ----------
    weight
        float64, shape (S, S): a_{s,t}, 0 for t > s.
    base
        float64, shape (S, K): b_s.
    stacked
        bool, shape (S,): the stages that (1) or (2) speaks for; the others speak for themselves.
    """

    weight: Floats
    base: Floats
    stacked: NDArray[np.bool_]

    def said(self, s: int, alone: StageOutput, voices: Floats) -> StageOutput:
        """What stage s says, given what it and the stages before say alone.

        Parameters
        ----------
        alone
            what stage s says.
        voices
            shape (s + 1, rows, K): `voice` of the stages 0..s.
        """
        if not self.stacked[s]:
            return alone
        return StageOutput(_combined(self.weight[s, : s + 1], self.base[s], voices), alone.spread)

    def table(self, table: StageTable) -> StageTable:
        """A table of what the stages say alone, with what they say together."""
        voices, value = voice(table.value), table.value.copy()
        for s in np.flatnonzero(self.stacked).tolist():
            value[s] = _combined(self.weight[s, : s + 1], self.base[s], voices[: s + 1])
        return StageTable(value, table.spread, table.cost, table.once)


def voice(value: Floats) -> Floats:
    """What is added up in (1) and (2): logarithms of probabilities, or the number."""
    return value if value.shape[-1] == 1 else np.log(np.maximum(value, SMALLEST))


def learn_stack(table: StageTable, truth: NDArray[Any], weights: Floats, rng: np.random.RandomState) -> tuple[Stack, StageTable]:
    """A stack, and what such stacks say of the rows that it is learned from, each row judged by one that has not seen it.

    Parameters
    ----------
    table
        what the stages say alone, of rows that they were not trained on.
    truth
        shape (N,): class numbers, or targets.
    weights
        shape (N,), > 0: of the rows.
    """
    voices, value = voice(table.value), table.value.copy()
    S, n, K = voices.shape
    weight, base, stacked = np.eye(S), np.zeros((S, K)), np.zeros(S, dtype=bool)
    folds = KFold(min(FOLDS, n), shuffle=True, random_state=rng.randint(np.iinfo(np.int32).max))
    parts = list(folds.split(np.arange(n)))
    for s in range(1, S):
        said = np.empty((n, K))
        for seen, apart in parts:
            fitted = _fitted(voices[: s + 1, seen], truth[seen], weights[seen])
            said[apart] = _combined(*fitted, voices[: s + 1, apart])
        if is_better(said, table.value[s], truth, weights):
            value[s], stacked[s] = said, True
            weight[s, : s + 1], base[s] = _fitted(voices[: s + 1], truth, weights)
    return Stack(weight, base, stacked), StageTable(value, table.spread, table.cost, table.once)


def _combined(weight: Floats, base: Floats, voices: Floats) -> Floats:
    """(1) or (2), shape (rows, K); term after term, so that a row's value does not depend on the rows beside it."""
    total = np.tile(base, (voices.shape[1], 1))
    for a, one in zip(weight, voices, strict=True):
        total += a * one
    return np.asarray(total if base.size == 1 else softmax(total, axis=1))


def _fitted(voices: Floats, truth: NDArray[Any], weights: Floats) -> tuple[Floats, Floats]:
    """(3) for the last of some stages: a_s and b_s."""
    m, _, K = voices.shape
    own = np.zeros(m + K)
    own[m - 1] = 1.0
    share = weights / weights.mean()
    found = _least_squares(voices, truth, share, own) if K == 1 else _most_likely(voices, truth, share, own)
    return found[:m], found[m:]


def _least_squares(voices: Floats, truth: NDArray[Any], share: Floats, own: Floats) -> Floats:
    """(3) of (2): ridge regression towards the own voice, labels and voices in units of the labels' deviation."""
    centre = float(np.average(truth, weights=share))
    unit = float(np.sqrt(np.average((truth - centre) ** 2, weights=share))) or 1.0
    columns = np.column_stack([*((v[:, 0] - centre) / unit for v in voices), np.ones(len(truth))])
    left = (truth - centre) / unit - columns @ own
    heavy = columns * share[:, None]
    change = np.linalg.solve(heavy.T @ columns + RIDGE * np.eye(len(own)), heavy.T @ left)
    found = own + change
    return np.append(found[:-1], centre * (1.0 - found[:-1].sum()) + unit * found[-1])


def _most_likely(voices: Floats, truth: NDArray[Any], share: Floats, own: Floats) -> Floats:
    """(3) of (1), by Newton steps: it is strictly convex. b_s is a_s for voices that say 1 of one class, 0 of the others."""
    _, n, K = voices.shape
    terms = np.concatenate([voices, np.repeat(np.eye(K)[:, None], n, axis=1)])
    rows = np.arange(n)

    def logs(parameters: Floats) -> Floats:
        return np.asarray(log_softmax(np.tensordot(parameters, terms, 1), axis=1))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        said, away = logs(parameters), parameters - own
        wrong = np.exp(said)
        wrong[rows, truth] -= 1.0
        slope = np.tensordot(terms, wrong * share[:, None], 2) + RIDGE * away
        return (RIDGE / 2 * float(away @ away) - float(share @ said[rows, truth])) / n, slope / n

    def curvature(parameters: Floats) -> Floats:
        p = np.exp(logs(parameters))
        spread = (terms - (terms * p).sum(axis=2)[:, :, None]) * np.sqrt(p * share[:, None])
        flat = spread.reshape(len(terms), -1)
        return np.asarray((flat @ flat.T + RIDGE * np.eye(len(own))) / n)

    return np.asarray(minimize(loss, own, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-7}).x)
