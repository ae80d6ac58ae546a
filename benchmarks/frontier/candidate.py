"""Models that a method offers, as numbers: their costs and errors on validation and on test examples; and grids that are widened.

Validation chooses by one rule: among the candidates whose cost on the validation part is at most the budget, the one of least
validation error; of equal ones that of lower validation loss, then the cheaper one. The test part is not used.

``error`` is the share of wrong classes, or the mean squared error; ``loss`` is the log loss with probabilities of at least
`LEAST_PROBABILITY`, or again the mean squared error. Seconds are CPU seconds of one thread, so other load hardly matters.

Rungs of a hyperparameter are added as long as validation chooses the last one at some budget (`climb`). The rounds or trees of
one fitted model are candidates, too (`prefixes`), and so are the prunings of one forest (`sequence_candidates`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier.problem import Problem
from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from prunemodels.evaluation.path import evaluate_path
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.forests.reading import read_forest

LEAST_PROBABILITY = 1e-6
DIGITS = 6  # numbers are rounded to this many digits as soon as they are measured, so that all tables use the same ones
Value = str | int | float
Predict = Callable[[NDArray[np.float32]], NDArray[np.float64]]
"""From examples to probabilities, shape (N, n_classes), or numbers, shape (N,)."""


@dataclass(frozen=True)
class Candidate:
    """One model, with the seconds to train it, and to predict 1,000 rows.

    Hyperparameters that are numbers have grids, with edges. `ends` has, by hyperparameter, the reason why this value is no edge
    even if it is the last of its grid: no value lies beyond.
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
    """A method that is compared: all models that it offers, whether this project invented it, and why it refuses a problem."""

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


Fit = Callable[[int], list[Candidate]]  # from a rung to the candidates there


def climb(fit: Fit, start: Sequence[int], lowest: int, highest: int, budgets: Sequence[float]) -> list[Candidate]:
    """Candidates of all rungs tried: first those of `start`, consecutive and rising, none outside of `lowest` to `highest`."""
    found = {rung: fit(rung) for rung in start}
    while True:
        everything = [c for some in found.values() for c in some]
        used = [rung for rung, some in found.items() if any(w is c for w in winners(everything, budgets) for c in some)]
        low, high = min(found), max(found)
        if high in used and high < highest:
            found[high + 1] = fit(high + 1)
        elif low in used and low > lowest:
            found[low - 1] = fit(low - 1)
        else:
            return everything


def searched(
    fit: Fit, scouted: Iterable[int], start: Sequence[int], grid: Sequence[int], budgets: Sequence[float]
) -> Iterator[Candidate]:
    """The candidates of the rungs that were scouted, each once; if there are none, of a climb within the grid of rungs."""
    if rungs := sorted(set(scouted)):
        return (c for rung in rungs for c in fit(rung))
    return iter(climb(fit, start, grid[0], grid[-1], budgets))


def climb_each(
    fit: Callable[[Mapping[str, int]], list[Candidate]],
    start: Mapping[str, int],
    highest: Mapping[str, int],
    budgets: Sequence[float],
) -> list[Candidate]:
    """Candidates of all settings of several hyperparameters, climbed one after the other.

    Each is climbed from the neighbours of its first rung, while the others stay where they are, and then stays at the rung
    whose candidates validation chooses at most budgets. Names are climbed in the order of `start`; their first rung is 0.
    """
    here, known = dict(start), dict[tuple[int, ...], list[Candidate]]()

    def remembered(rungs: Mapping[str, int]) -> list[Candidate]:
        key = tuple(rungs.values())
        if key not in known:
            known[key] = fit(rungs)
        return known[key]

    for name in start:
        around = [rung for rung in range(here[name] - 1, here[name] + 2) if 0 <= rung <= highest[name]]
        climb(lambda rung, at=here, name=name: remembered({**at, name: rung}), around, 0, highest[name], budgets)
        everything = [c for some in known.values() for c in some]
        best = [chosen(everything, budget) for budget in budgets]
        wins = {key: sum(any(c is w for c in some) for w in best) for key, some in known.items()}
        here = dict(zip(start, max(wins, key=lambda key: wins[key]), strict=True))
    return [c for some in known.values() for c in some]


Stages = Callable[[NDArray[np.float32]], Iterable[NDArray[np.float64]]]
Costs = Callable[[NDArray[np.float32]], NDArray[np.float64]]


def checkpoints(rounds: int) -> list[int]:
    """1, 2, 3, 4, 5, 7, 9, ..., rounds."""
    found = {rounds}
    step = 1.0
    while step < rounds:
        found.add(int(step))
        step = max(step + 1, step * 1.25)
    return sorted(found)


def prefixes(
    problem: Problem,
    params: Mapping[str, Value],
    stages: Stages,
    costs: Costs,
    rounds: int,
    fit_s: float,
    ends: Mapping[str, str],
    *,
    exhausted: str = "",
    counter: str = "rounds",
) -> list[Candidate]:
    """Candidates from the first 1, 2, ... stages: predictions and mean costs after each of them. `exhausted` is the reason if no
    further stages are possible; without one, the last stage is an edge.
    """
    wanted, start = checkpoints(rounds), time.process_time()
    valid, test = ([p for k, p in enumerate(stages(part.X), 1) if k in wanted] for part in (problem.valid, problem.test))
    seconds = (time.process_time() - start) / (len(problem.valid.X) + len(problem.test.X)) * 1000
    paid = [costs(part.X) for part in (problem.valid, problem.test)]
    found = []
    for i, k in enumerate(wanted):
        more = dict(ends)
        if k == 1:
            more[counter] = "one is the fewest"
        elif k == rounds and exhausted:
            more[counter] = exhausted
        cost = float(paid[0][k - 1]), float(paid[1][k - 1])
        share = k / rounds
        found.append(candidate(problem, {**params, counter: k}, valid[i], test[i], cost, fit_s * share, seconds * share, more))
    return found


def sequence_candidates(
    problem: Problem,
    forest: Any,
    path: NestedPrunings,
    params: Mapping[str, Value],
    fit_s: float,
    parameter: str,
    ends: Mapping[str, str] | None = None,
) -> Iterator[Candidate]:
    """The rows of a path that validation may choose at the problem's budgets."""
    seen = evaluate_path(path, problem.valid.X, problem.valid.y)
    rows: set[int] = set()
    for budget in problem.budgets:
        within = np.flatnonzero(seen.cost <= budget)
        if within.size:
            least = within[seen.error[within] == seen.error[within].min()]
            rows |= {int(least[0]), int(least[-1])}
    for row in sorted(rows):
        more = {**params, parameter: float(f"{path.parameter[row]:.4g}")}
        row_ends = {**(ends or {}), parameter: "the path has every value"}
        yield pruning_candidate(problem, forest, path[row], more, fit_s, row_ends)


def pruning_candidate(
    problem: Problem, forest: Any, pruning: Pruning, params: Mapping[str, Value], fit_s: float, ends: Mapping[str, str]
) -> Candidate:
    start = time.process_time()
    pruned = apply_pruning(pruning, forest)
    ensemble = read_forest(pruned)
    paid = [float(example_costs(ensemble, part.X, problem.costs).mean()) for part in (problem.valid, problem.test)]
    seconds = time.process_time() - start
    predict = pruned.predict if problem.task == "regression" else pruned.predict_proba
    return measured(problem, params, lambda X: np.asarray(predict(X)), (paid[0], paid[1]), fit_s + seconds, ends)
