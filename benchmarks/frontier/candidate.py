"""Models that a method offers, as numbers: what they cost and how they err, on validation and on test examples.

``error`` is the share of wrong classes, or the mean squared error; ``loss`` is the log loss with probabilities of at least
`LEAST_PROBABILITY`, or again the mean squared error. Seconds are of the processor, one thread, so other load hardly matters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier.problem import Problem

LEAST_PROBABILITY = 1e-6

DIGITS = 6
"""Numbers are rounded to so many digits as soon as they are measured, so that all tables are made of the same ones."""

Value = str | int | float
Predict = Callable[[NDArray[np.float32]], NDArray[np.float64]]
"""Examples -> probabilities, shape (N, n_classes), or numbers, shape (N,)."""


@dataclass(frozen=True)
class Candidate:
    """One model.

    Parameters
    ----------
    params
        hyperparameters by name; numbers are grids that have edges.
    ends
        names of hyperparameters -> why this value, if it is the last of its grid, is no edge: nothing lies beyond.
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


class Method(Protocol):
    """What is compared."""

    @property
    def name(self) -> str:
        """In plain words, as tables and legends call it."""
        ...

    @property
    def ours(self) -> bool:
        """Whether it is this project's invention."""
        ...

    def refusal(self, problem: Problem) -> str | None:
        """Why it cannot take this problem; None: it can."""
        ...

    def __call__(self, problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
        """All models that the method offers.

        `scouted` holds the settings that validation chose at some budget on the first seed, where grids are widened until none
        of them is an edge; on the other seeds a method need not try others. None: this is the first seed.
        """
        ...


@dataclass(frozen=True)
class FunctionMethod:
    """A method made of a function."""

    name: str
    run: Callable[[Problem, Sequence[Mapping[str, Value]] | None], Iterator[Candidate]]
    ours: bool = False
    refuses: Callable[[Problem], str | None] = lambda problem: None

    def refusal(self, problem: Problem) -> str | None:
        """See `Method`."""
        return self.refuses(problem)

    def __call__(self, problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
        """See `Method`."""
        return self.run(problem, scouted)


def rounded(value: float) -> float:
    """To `DIGITS` digits."""
    return float(f"{value:.{DIGITS}g}")


def error_and_loss(problem: Problem, y: NDArray[Any], said: NDArray[np.float64]) -> tuple[float, float]:
    """(error, loss) of probabilities or numbers."""
    if problem.task == "regression":
        squared = float(np.mean((said - y) ** 2))
        return squared, squared
    true = np.clip(said[np.arange(len(y)), y], LEAST_PROBABILITY, 1.0)
    return float(np.mean(said.argmax(axis=1) != y)), float(-np.log(true).mean())


def measured(
    problem: Problem,
    params: Mapping[str, Value],
    predict: Predict,
    cost: float | tuple[float, float],
    fit_s: float,
    ends: Mapping[str, str] | None = None,
) -> Candidate:
    """A candidate from what predicts; `cost` is the mean cost on the validation and on the test part, or one for both."""
    start = time.process_time()
    said = [predict(part.X) for part in (problem.valid, problem.test)]
    seconds = (time.process_time() - start) / (len(problem.valid.X) + len(problem.test.X)) * 1000
    return candidate(problem, params, said[0], said[1], cost, fit_s, seconds, ends)


def nothing_bought(problem: Problem) -> Candidate:
    """What any method may say for nothing: the shares of the classes, or the mean."""

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
    for name, part, said, paid in (("valid", problem.valid, valid, costs[0]), ("test", problem.test, test, costs[1])):
        error, loss = error_and_loss(problem, part.y, said)
        numbers |= {f"{name}_cost": rounded(paid), f"{name}_error": rounded(error), f"{name}_loss": rounded(loss)}
    return Candidate(params=dict(params), ends=dict(ends or {}), **numbers)
