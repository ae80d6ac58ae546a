"""Instances with their rows parted among workers of this process, and workers that are lost on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from formulations import PruningProblem
from solvers.price_sharing.cluster import LocalWorkers, ShardedProblem, array_parts, shard_recipes
from solvers.price_sharing.cluster.workers import ArrayRows, Recipe, WorkerLostError


def parts_of(problem: PruningProblem, n_parts: int) -> list[ArrayRows]:
    """The rows of an instance in parts, those without weight included."""
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else np.asarray(problem.X)
    weights = np.zeros(len(X))
    weights[problem.usage.rows] = problem.usage.weights
    parts = array_parts(X[problem.usage.rows], min(n_parts, problem.usage.n_rows), problem.usage.weights)
    if len(problem.usage.rows) == len(X):
        return parts
    # a row that counts for nothing in front of each part
    nothing = np.flatnonzero(weights == 0)[:1]
    return [ArrayRows(np.vstack([X[nothing], p.X]), np.append(0.0, p.weights)) for p in parts]  # type: ignore[arg-type]


def recipes_of(problem: PruningProblem, n_parts: int, threads: int = 1) -> list[Recipe]:
    return shard_recipes(problem.ensemble, problem.costs, parts_of(problem, n_parts), threads=threads)


def joined(problem: PruningProblem, workers: Any) -> ShardedProblem:
    return ShardedProblem.build(
        problem.ensemble, problem.errors, workers, problem.costs, evaluation_cost=list(problem.usage.evaluation)
    )


def parted(problem: PruningProblem, n_parts: int) -> ShardedProblem:
    """The instance on so many workers, or one a row."""
    return joined(problem, LocalWorkers(recipes_of(problem, n_parts)))


class Unreliable(LocalWorkers):
    """Loses worker i, with its object, when call number c is waited for; `when` holds pairs (c, i)."""

    def __init__(self, recipes: Sequence[Recipe], when: set[tuple[int, int]], restarts: int = 3) -> None:
        self.when, self.calls = when, [0] * len(recipes)
        self.asked: list[tuple[int, str]] = []
        super().__init__(recipes, restarts)

    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        call = super().submit(i, method, args)

        def answer() -> Any:
            self.calls[i] += 1
            self.asked.append((i, method))
            if (self.calls[i], i) in self.when:
                self.objects[i] = None
                raise WorkerLostError(f"worker {i} was told to die")
            return call()

        return answer
