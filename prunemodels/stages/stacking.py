"""Stages that also use the outputs of earlier stages: stacked generalization along a cascade (Wolpert, Neural Networks 5, 1992).

A row that reaches stage s has paid for the stages 0..s, so combining their outputs costs nothing more. Let l_{t,i} be the
logarithms of stage t's probabilities for row i, or the number that it predicts.

    value_{s,i}  =  softmax( sum over t <= s of  a_{s,t} l_{t,i}  +  b_s )            classification                      (1)
    value_{s,i}  =           sum over t <= s of  a_{s,t} l_{t,i}  +  b_s              regression                           (2)

    (a_s, b_s) minimises   sum_i w_i loss_i / mean(w)  +  ridge / 2 * | (a_s, b_s) - (own output) |^2                       (3)

loss_i is the log loss, or the squared error divided by twice the variance of the labels. "Own output" has a_{s,s} = 1 and all
other entries 0, so with few rows the result stays near the stage's own output. A stage is stacked only if, on rows that were not
used in (3), this lowers the loss by more than a standard error and does not raise the error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from formulations.instance.tree_loss import TreeLoss
from prunemodels.models.labelled_samples import folds_of
from prunemodels.stages.judging import WRONG, is_better
from prunemodels.stages.params import PARAMS
from prunemodels.stages.stages import StageOutput, StageTable

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stack:
    """(1) or (2)."""

    weight: Floats  # shape (S, S): a_{s,t}, 0 for t > s
    base: Floats  # shape (S, K): b_s
    stacked: NDArray[np.bool_]  # shape (S,): the stages whose output is (1) or (2); the others keep their own output

    def output(self, s: int, own: StageOutput, inputs: Floats) -> StageOutput:
        """The output of stage s, combined with those of the stages before.

        `own`: the output of stage s alone. `inputs`: shape (s + 1, rows, K): `stack_inputs` of the stages 0..s.
        """
        if not self.stacked[s]:
            return own
        return StageOutput(_combined(self.weight[s, : s + 1], self.base[s], inputs), own.spread)

    def table(self, table: StageTable) -> StageTable:
        """The table with combined outputs in place of the stages' own."""
        inputs, value = stack_inputs(table.value), table.value.copy()
        for s in np.flatnonzero(self.stacked).tolist():
            value[s] = _combined(self.weight[s, : s + 1], self.base[s], inputs[: s + 1])
        return replace(table, value=value)


def stack_inputs(value: Floats) -> Floats:
    """The l of (1) and (2): logarithms of probabilities, or the number."""
    return value if value.shape[-1] == 1 else np.log(np.maximum(value, PARAMS.smallest_probability))


def learn_stack(
    table: StageTable,
    truth: NDArray[Any],
    weights: Floats,
    rng: np.random.RandomState,
    by: TreeLoss = WRONG,
    groups: NDArray[np.int64] | None = None,
) -> tuple[Stack, StageTable]:
    """A stack, and a table of combined outputs, in which each row's output comes from a stack that was learned without this row.

    `table`: the stages' own outputs for rows that they were not trained on. `truth`: shape (N,): class numbers, or targets.
    `weights`: shape (N,), > 0: of the rows. `by`: what is lost must not rise. `groups`: shape (N,): rows of one group are learned
    from together, or not at all.
    """
    inputs, value = stack_inputs(table.value), table.value.copy()
    S, n, K = inputs.shape
    weight, base, stacked = np.eye(S), np.zeros((S, K)), np.zeros(S, dtype=bool)
    parts = folds_of(n, PARAMS.stack_folds, groups, rng.randint(np.iinfo(np.int32).max))
    for s in range(1, S):
        combined = np.empty((n, K))
        for train, held_out in parts:
            fitted = _fitted(inputs[: s + 1, train], truth[train], weights[train])
            combined[held_out] = _combined(*fitted, inputs[: s + 1, held_out])
        if is_better(combined, table.value[s], truth, weights, by):
            value[s], stacked[s] = combined, True
            weight[s, : s + 1], base[s] = _fitted(inputs[: s + 1], truth, weights)
    return Stack(weight, base, stacked), replace(table, value=value)


def calibrated(value: Floats, truth: NDArray[Any], weights: Floats) -> Floats:
    """(1) or (2) for one stage by itself, fitted to these rows; shape (rows, K)."""
    inputs = stack_inputs(value)[None]
    return _combined(*_fitted(inputs, truth, weights), inputs)


def _combined(weight: Floats, base: Floats, inputs: Floats) -> Floats:
    """(1) or (2), shape (rows, K); added term by term, so that a row's value does not depend on the other rows."""
    total = np.tile(base, (inputs.shape[1], 1))
    for a, term in zip(weight, inputs, strict=True):
        total += a * term
    return np.asarray(total if base.size == 1 else softmax(total, axis=1))


def _fitted(inputs: Floats, truth: NDArray[Any], weights: Floats) -> tuple[Floats, Floats]:
    """(3) for the last of some stages: a_s and b_s."""
    m, _, K = inputs.shape
    own = np.zeros(m + K)
    own[m - 1] = 1.0
    share = weights / weights.mean()
    found = _least_squares(inputs, truth, share, own) if K == 1 else _most_likely(inputs, truth, share, own)
    return found[:m], found[m:]


def _least_squares(inputs: Floats, truth: NDArray[Any], share: Floats, own: Floats) -> Floats:
    """(3) for (2): ridge regression towards the own output, with labels and inputs in units of the labels' standard deviation."""
    centre = float(np.average(truth, weights=share))
    unit = float(np.sqrt(np.average((truth - centre) ** 2, weights=share))) or 1.0
    columns = np.column_stack([*((v[:, 0] - centre) / unit for v in inputs), np.ones(len(truth))])
    residual = (truth - centre) / unit - columns @ own
    weighted = columns * share[:, None]
    change = np.linalg.solve(weighted.T @ columns + PARAMS.stack_ridge * np.eye(len(own)), weighted.T @ residual)
    found = own + change
    return np.append(found[:-1], centre * (1.0 - found[:-1].sum()) + unit * found[-1])


def _most_likely(inputs: Floats, truth: NDArray[Any], share: Floats, own: Floats) -> Floats:
    """(3) for (1), by Newton steps, since it is strictly convex. b_s is treated as weights of K more inputs, the unit vectors."""
    _, n, K = inputs.shape
    terms = np.concatenate([inputs, np.repeat(np.eye(K)[:, None], n, axis=1)])
    rows = np.arange(n)

    def logs(parameters: Floats) -> Floats:
        return np.asarray(log_softmax(np.tensordot(parameters, terms, 1), axis=1))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        log_p, change = logs(parameters), parameters - own
        residual = np.exp(log_p)
        residual[rows, truth] -= 1.0
        slope = np.tensordot(terms, residual * share[:, None], 2) + PARAMS.stack_ridge * change
        return (PARAMS.stack_ridge / 2 * float(change @ change) - float(share @ log_p[rows, truth])) / n, slope / n

    def curvature(parameters: Floats) -> Floats:
        p = np.exp(logs(parameters))
        spread = (terms - (terms * p).sum(axis=2)[:, :, None]) * np.sqrt(p * share[:, None])
        flat = spread.reshape(len(terms), -1)
        return np.asarray((flat @ flat.T + PARAMS.stack_ridge * np.eye(len(own))) / n)

    return np.asarray(minimize(loss, own, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-7}).x)
