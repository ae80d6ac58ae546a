"""Candidates from prunings of a forest: for each budget the affordable row of least error on the validation part."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.frontier.candidate import Candidate, Value, measured
from benchmarks.frontier.problem import Problem
from formulations.answers.nested_prunings import NestedPrunings
from formulations.answers.pruning import Pruning
from prunemodels.evaluation.path import evaluate_path
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.forests.reading import read_forest


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
