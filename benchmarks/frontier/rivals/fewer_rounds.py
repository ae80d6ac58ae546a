"""LightGBM on all columns, and the first rounds of its models: leaves and learning rate are searched on the first seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier.candidate import Candidate, FunctionMethod, Value
from benchmarks.frontier.choice import winners
from benchmarks.frontier.ladder import climb
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.engines import Setting, lightgbm_engine, trees_of, two_columns
from benchmarks.frontier.rivals.retrained import LEAVES
from benchmarks.frontier.rivals.staged import checkpoints, prefixes
from prunemodels.models.costs import staged_costs

RATES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
"""Rungs of the learning rate. Half the rate takes twice the rounds, so 0.05 is the least; 1 is the full step."""


def fit(problem: Problem, leaves: int, rate: float) -> list[Candidate]:
    """The candidates of one model: its first rounds."""
    columns = range(problem.n_features)
    model = lightgbm_engine(problem, columns, Setting(leaves, rate, 3000))
    outputs = problem.n_classes if problem.n_classes > 2 else 1
    ensemble = trees_of(model, columns, problem.n_features)
    assert ensemble is not None
    stage = np.arange(ensemble.n_trees) // outputs
    wanted = set(checkpoints(model.rounds))

    def stages(X: NDArray[np.float32]) -> Iterator[NDArray[np.float64]]:
        raw: NDArray[np.float64] | float = 0.0
        predictions, done = np.empty(0), 0
        for k in range(1, model.rounds + 1):
            if k in wanted:
                new = model.booster.predict(X, start_iteration=done, num_iteration=k - done, raw_score=True, num_threads=1)
                raw, done = raw + np.asarray(new), k
                predictions = _predictions(problem, raw)
            yield predictions

    ends: dict[str, str] = {}
    if rate in (RATES[0], RATES[-1]):
        ends["rate"] = "a whole step" if rate == RATES[-1] else "half of it takes twice the time for nothing to be seen"
    if leaves == LEAVES[0]:
        ends["leaves"] = "a tree has two leaves at least"
    exhausted = "the validation loss rose" if model.stopped_early else ""
    return prefixes(
        problem,
        {"leaves": leaves, "rate": rate},
        stages,
        lambda X: staged_costs(ensemble, X, problem.costs, stage=stage)[: model.rounds],
        model.rounds,
        model.fit_s,
        ends,
        exhausted=exhausted,
    )


def _predictions(problem: Problem, raw: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import expit, softmax

    if problem.task == "regression":
        return raw
    return two_columns(expit(raw)) if raw.ndim == 1 else np.asarray(softmax(raw, axis=1))


def fewer_rounds(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """Search leaves at the rate 0.1, then rates with the best leaves, on the first seed; take the chosen ones on the others."""
    if scouted:
        for leaves, rate in sorted({(int(s["leaves"]), float(s["rate"])) for s in scouted}):
            yield from fit(problem, leaves, rate)
        return
    start = range(1, 5) if problem.is_small else range(4, 8)
    found = climb(lambda rung: fit(problem, LEAVES[rung], RATES[1]), start, 0, len(LEAVES) - 1, problem.budgets)
    yield from found
    for leaves in sorted({int(w.params["leaves"]) for w in winners(found, problem.budgets[-2:])}):
        known = {1: [c for c in found if c.params["leaves"] == leaves]}
        yield from climb(partial(_at_rate, problem, leaves, known), range(3), 0, len(RATES) - 1, problem.budgets)


def _at_rate(problem: Problem, leaves: int, known: Mapping[int, list[Candidate]], rung: int) -> list[Candidate]:
    return known[rung] if rung in known else fit(problem, leaves, RATES[rung])


METHODS = [FunctionMethod("LightGBM, fewer rounds", fewer_rounds)]
