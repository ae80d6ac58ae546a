"""Candidates from the first rounds or trees of one fitted model, at numbers of rounds that grow by a quarter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier.candidate import Candidate, Value, candidate
from benchmarks.frontier.problem import Problem

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
