"""Candidates from the rounds or trees of one fitted model, and from the prunings of one forest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier.candidate import Candidate, Value, candidate, measured
from benchmarks.frontier.problem import Problem
from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from prunemodels.evaluation.path import evaluate_path
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.forests.reading import read_forest

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
    """Candidates from the first 1, 2, ... stages.

    Parameters
    ----------
    stages
        from examples to probabilities or numbers after each stage.
    costs
        from examples to the mean cost after each stage.
    exhausted
        the reason if no further stages are possible; without one, the last stage is an edge.
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
    """A pruned forest as a candidate."""
    start = time.process_time()
    pruned = apply_pruning(pruning, forest)
    ensemble = read_forest(pruned)
    paid = [float(example_costs(ensemble, part.X, problem.costs).mean()) for part in (problem.valid, problem.test)]
    seconds = time.process_time() - start
    predict = pruned.predict if problem.task == "regression" else pruned.predict_proba
    return measured(problem, params, lambda X: np.asarray(predict(X)), (paid[0], paid[1]), fit_s + seconds, ends)
