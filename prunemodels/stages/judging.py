"""What predictions are judged by: the error, the costs of mistakes, the log loss, or the squared error.

A stage says probabilities p of K classes, or a number v. With C[true, predicted], the costs of mistakes, and the true class y,

    class predicted         k(p)  =  argmin over k of  sum_t p_t C[t, k];    argmax p where each mistake costs 1             (1)
    what is lost            C[y, k(p)];      -log p_y  for the log loss;      (v - y)^2  for numbers                          (2)
    what a reference that says q (or the number v') expects to be lost
                            sum_t q_t C[t, k(p)];      -sum_t q_t log p_t;      (v - v')^2                                    (3)
    margin, how sure p is   (second least - least of the sums in (1)) / max C;      1 - entropy(p) / log K                    (4)

Models are compared by a loss that tells more than (2) of few rows (`fitting_loss`): the log loss, after each class t was made
more likely by what its mistakes cost, c_t = the mean of C[t, k] over k != t, so that it dwells on the rows where (1) is open:

    -c_y log( c_y p_y / sum_t c_t p_t )        for the costs of mistakes;    -log p_y  with c = 1                             (5)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.ensemble import Task
from formulations.instance.tree_loss import USUAL_LOSS, TreeLoss, misclassification_loss
from prunemodels.stages.params import PARAMS

Floats = NDArray[np.float64]

Mistakes = Mapping[tuple[Any, Any], float] | ArrayLike
"""Costs by (true class, predicted class), of which those that are not named are 1; or a matrix in the order of the classes."""

LossWord = Literal["error", "log_loss"]

WRONG = TreeLoss("zero_one")
"""Each mistake costs 1; numbers lose their squared error."""


def judged_by(task: Task, classes: NDArray[Any] | None, mistakes: Mistakes | None, loss: LossWord) -> TreeLoss:
    """The loss that options name; refuses those that do not go together.

    `classes`: the labels, sorted; None for regression.
    """
    if loss not in ("error", "log_loss"):
        raise InvalidInputError(f"loss is {loss!r}; give 'error' or 'log_loss'")
    if task == "regression" and (mistakes is not None or loss != "error"):
        given = "mistakes are" if mistakes is not None else f"loss={loss!r} is"
        raise InvalidInputError(f"{given} for classes, and this cascade predicts numbers, whose error is squared; leave it out")
    if mistakes is None:
        return TreeLoss("log_loss") if loss == "log_loss" else USUAL_LOSS[task]
    if loss == "log_loss":
        raise InvalidInputError("mistakes are given and loss is 'log_loss', which counts no mistakes; give one of them")
    assert classes is not None
    return misclassification_loss(cost_matrix(mistakes, classes), classes)


def cost_matrix(mistakes: Mistakes, classes: NDArray[Any]) -> Any:
    """Costs of mistakes as a matrix, a row for each true class; a pair that is not named costs 1, and the right class nothing.

    Classes can be named by what they are, or by what `str` makes of them.
    """
    if not isinstance(mistakes, Mapping):
        return mistakes
    known = classes.tolist()
    place = {str(label): k for k, label in enumerate(known)} | {label: k for k, label in enumerate(known)}
    costs = 1.0 - np.eye(len(known))
    for pair, cost in mistakes.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InvalidInputError(f"mistakes has the key {pair!r}; give pairs (true class, predicted class)")
        for name in pair:
            if name not in place:
                raise InvalidInputError(f"mistakes name {name!r}, which is none of the classes {known}; name these")
        costs[place[pair[0]], place[pair[1]]] = float(exact(cost, f"mistakes: the cost of {pair[0]!r} called {pair[1]!r}"))
    return costs


def predicted_classes(value: Floats, by: TreeLoss = WRONG) -> NDArray[np.int64]:
    """(1), shape (..., N). `value`: shape (..., N, K)."""
    return np.asarray(_expected_costs(value, by).argmin(axis=-1) if by.costs else value.argmax(axis=-1))


def lost(value: Floats, truth: NDArray[Any], by: TreeLoss = WRONG) -> Floats:
    """(2) of every row, shape (..., N).

    `value`: shape (..., N, K). `truth`: shape (N,): class numbers, -1 for a label that no model knows, or targets where K = 1.
    """
    if value.shape[-1] == 1:
        return np.asarray((value[..., 0] - truth) ** 2)
    if by.name == "log_loss":
        known = np.broadcast_to(np.maximum(truth, 0)[:, None], (*value.shape[:-1], 1))
        return _logs_lost(np.where(truth < 0, 0.0, np.take_along_axis(value, known, axis=-1)[..., 0]))
    favoured = predicted_classes(value, by)
    if not by.costs:
        return np.asarray(favoured != truth, dtype=np.float64)
    return np.asarray(np.where(truth < 0, by.matrix.max(axis=0)[favoured], by.matrix[truth, favoured]))


def expected(value: Floats, reference: Floats, by: TreeLoss = WRONG) -> Floats:
    """(3) of every row, shape (..., N). `value`: shape (..., N, K). `reference`: shape (N, K)."""
    if value.shape[-1] == 1:
        return np.asarray((value[..., 0] - reference[:, 0]) ** 2)
    if by.name == "log_loss":
        return np.asarray((reference * _logs_lost(value)).sum(axis=-1))
    favoured = predicted_classes(value, by)
    costs = _expected_costs(reference, by) if by.costs else 1.0 - reference
    return np.asarray(np.take_along_axis(np.broadcast_to(costs, value.shape), favoured[..., None], axis=-1)[..., 0])


def margin(value: Floats, by: TreeLoss = WRONG) -> Floats:
    """(4) of every row, from 0 to 1 but for rounding; shape (N,). `value`: shape (N, K) with K >= 2."""
    if by.name == "log_loss":
        return np.asarray(1.0 - (value * _logs_lost(value)).sum(axis=1) / np.log(value.shape[1]))
    scores = -_expected_costs(value, by) / by.largest if by.costs else value
    two = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def fitting_loss(value: Floats, truth: NDArray[Any], by: TreeLoss = WRONG) -> Floats:
    """(5), or the squared error, of every row; see `StageParams.smallest_probability`. `value`: shape (N, K)."""
    if value.shape[1] == 1:
        return lost(value, truth)
    weight = np.ones(value.shape[1])
    if by.costs:
        weight = by.matrix.sum(axis=1) / (len(weight) - 1)
        value = value * weight
        value = value / np.maximum(value.sum(axis=1, keepdims=True), PARAMS.smallest_probability)
    of_true_class = np.take_along_axis(value, truth[:, None].astype(np.int64), axis=1)[:, 0]
    return np.asarray(weight[truth.astype(np.int64)] * -np.log(np.maximum(of_true_class, PARAMS.smallest_probability)))


def is_better(new: Floats, old: Floats, truth: NDArray[Any], weights: Floats, by: TreeLoss = WRONG) -> bool:
    """Whether the new model's log loss, or squared error, is lower by more than a standard error, and (2) is not larger.

    `new`, `old`: shape (N, K): each model's output for the rows. `truth`: shape (N,): class numbers, or targets. `weights`: shape
    (N,), > 0: of the rows.
    """
    gain = fitting_loss(old, truth) - fitting_loss(new, truth)
    less = lost(old, truth, by) - lost(new, truth, by)
    return is_beyond_chance(gain, weights) and float(less @ weights) >= 0


def is_beyond_chance(gain: Floats, weights: Floats, errors_apart: float = 1.0) -> bool:
    """Whether the weighted mean of the rows' gains exceeds some standard errors."""
    share = weights / weights.sum()
    mean = float(gain @ share)
    return mean > errors_apart * float(np.sqrt((gain - mean) ** 2 @ share**2))


def _expected_costs(value: Floats, by: TreeLoss) -> Floats:
    """sum_t p_t C[t, k] for each k, shape (..., N, K); added term by term, so that a row does not depend on the others."""
    return np.asarray(sum(value[..., t, None] * row for t, row in enumerate(by.matrix)))


def _logs_lost(p: Floats) -> Floats:
    return np.asarray(-np.log(np.maximum(p, PARAMS.smallest_probability)))
