"""Models that a method offers, as numbers: their costs and errors on validation and on test examples.

Validation chooses by one rule: among the candidates whose cost on the validation part is at most the budget, the one of least
validation error; of equal ones that of lower validation loss, then the cheaper one. The test part is not used.

``error`` is the share of wrong classes, or the mean squared error; ``loss`` is the log loss with probabilities of at least
`LEAST_PROBABILITY`, or again the mean squared error. Seconds are CPU seconds of one thread, so other load hardly matters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier.problem import Problem

LEAST_PROBABILITY = 1e-6

DIGITS = 6
"""Numbers are rounded to this many digits as soon as they are measured, so that all tables use the same ones."""

Value = str | int | float
Predict = Callable[[NDArray[np.float32]], NDArray[np.float64]]
"""From examples to probabilities, shape (N, n_classes), or numbers, shape (N,)."""


@dataclass(frozen=True)
class Candidate:
    """One model.

    Parameters
    ----------
    params
        hyperparameters by name; those that are numbers have grids, with edges.
    ends
        by hyperparameter, the reason why this value is no edge even if it is the last of its grid: no value lies beyond.
    fit_s, predict_s
        seconds to train, and to predict 1,000 rows.
    """

    params: Mapping[str, Value]
    valid_cost: float
    valid_error: float
    valid_loss: float
    test_cost: float
    test_error: float
    test_loss: float
    fit_s: float
    predict_s: float
    ends: Mapping[str, str] = field(default_factory=dict)


Scouted = Sequence[Mapping[str, Value]] | None
"""The settings that validation chose at some budget on the first seed, on which grids are widened until no chosen value is an
edge. On the other seeds a method need not try others. None: this is the first seed."""


@dataclass(frozen=True)
class Method:
    """A method that is compared.

    Parameters
    ----------
    name
        in tables, in plain words.
    run
        yields all models that the method offers.
    ours
        whether this project invented it.
    refusal
        the reason why it cannot take a problem; None if it can.
    """

    name: str
    run: Callable[[Problem, Scouted], Iterator[Candidate]]
    ours: bool = False
    refusal: Callable[[Problem], str | None] = lambda problem: None


def rounded(value: float) -> float:
    """The value with `DIGITS` digits."""
    return float(f"{value:.{DIGITS}g}")


def error_and_loss(problem: Problem, y: NDArray[Any], predictions: NDArray[np.float64]) -> tuple[float, float]:
    """(error, loss) of predictions: probabilities or numbers."""
    if problem.task == "regression":
        squared = float(np.mean((predictions - y) ** 2))
        return squared, squared
    of_true_class = np.clip(predictions[np.arange(len(y)), y], LEAST_PROBABILITY, 1.0)
    return float(np.mean(predictions.argmax(axis=1) != y)), float(-np.log(of_true_class).mean())


def measured(
    problem: Problem,
    params: Mapping[str, Value],
    predict: Predict,
    cost: float | tuple[float, float],
    fit_s: float,
    ends: Mapping[str, str] | None = None,
) -> Candidate:
    """A candidate from a function that predicts; `cost` is the mean cost on the validation and the test part, or one for both."""
    start = time.process_time()
    valid, test = (predict(part.X) for part in (problem.valid, problem.test))
    seconds = (time.process_time() - start) / (len(problem.valid.X) + len(problem.test.X)) * 1000
    return candidate(problem, params, valid, test, cost, fit_s, seconds, ends)


def nothing_bought(problem: Problem) -> Candidate:
    """The candidate that every method has for nothing: it predicts the shares of the classes, or the mean."""

    def predict(X: NDArray[np.float32]) -> NDArray[np.float64]:
        if problem.task == "regression":
            return np.full(len(X), float(problem.train.y.mean()))
        return np.tile(np.bincount(problem.train.y, minlength=problem.n_classes) / len(problem.train.y), (len(X), 1))

    return measured(problem, {}, predict, 0.0, 0.0)


def candidate(
    problem: Problem,
    params: Mapping[str, Value],
    valid: NDArray[np.float64],
    test: NDArray[np.float64],
    cost: float | tuple[float, float],
    fit_s: float,
    predict_s: float,
    ends: Mapping[str, str] | None = None,
) -> Candidate:
    """A candidate from predictions of the validation and the test part."""
    costs = cost if isinstance(cost, tuple) else (cost, cost)
    numbers: dict[str, float] = {"fit_s": rounded(fit_s), "predict_s": rounded(predict_s)}
    for name, part, predictions, paid in (("valid", problem.valid, valid, costs[0]), ("test", problem.test, test, costs[1])):
        error, loss = error_and_loss(problem, part.y, predictions)
        numbers |= {f"{name}_cost": rounded(paid), f"{name}_error": rounded(error), f"{name}_loss": rounded(loss)}
    return Candidate(params=dict(params), ends=dict(ends or {}), **numbers)


def chosen(candidates: Sequence[Candidate], budget: float) -> Candidate | None:
    """The candidate for a budget; None if none is cheap enough."""
    within = [c for c in candidates if c.valid_cost <= budget]
    return min(within, key=lambda c: (c.valid_error, c.valid_loss, c.valid_cost)) if within else None


def winners(candidates: Sequence[Candidate], budgets: Sequence[float]) -> list[Candidate]:
    """The candidates that are chosen at some budget, each once, in the order of the budgets."""
    found: list[Candidate] = []
    for budget in budgets:
        best = chosen(candidates, budget)
        if best is not None and not any(best is other for other in found):
            found.append(best)
    return found
