"""Random forests as a user grows them, and their first trees as cheaper models."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks.frontier.candidate import Candidate, FunctionMethod, Value
from benchmarks.frontier.ladder import climb
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.staged import prefixes
from prunemodels.models.costs import staged_costs
from prunemodels.models.forests.reading import read_forest

TREES = 40
LEAF_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Rungs of the least number of rows in a leaf."""


@lru_cache(maxsize=8)
def grown(problem: Problem, least: int, trees: int = TREES) -> tuple[Any, float]:
    """A forest that tries all features at each split, and its CPU seconds."""
    start = time.process_time()
    kind = RandomForestRegressor if problem.task == "regression" else RandomForestClassifier
    own = {} if problem.task == "regression" else {"criterion": "entropy"}
    forest = kind(trees, max_features=None, min_samples_leaf=least, random_state=problem.seed, **own)
    return forest.fit(problem.train.X, problem.train.y), time.process_time() - start


def votes(forest: Any, X: NDArray[np.float32]) -> Iterator[NDArray[np.float64]]:
    """The predictions of the first 1, 2, ... trees."""
    total: Any = 0.0
    for k, tree in enumerate(forest.estimators_, 1):
        predictions = tree.predict_proba(X) if hasattr(tree, "predict_proba") else tree.predict(X)
        total = total + np.asarray(predictions, dtype=np.float64)
        yield total / k


def fewer_trees(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None) -> Iterator[Candidate]:
    """The first trees of forests with leaves of at least 1, 2, 4, ... rows."""

    def fit(rung: int) -> list[Candidate]:
        forest, seconds = grown(problem, LEAF_SIZES[rung])
        ensemble = read_forest(forest)
        ends = {"min_samples_leaf": "one row is the fewest"} if rung == 0 else {}
        return prefixes(
            problem,
            {"min_samples_leaf": LEAF_SIZES[rung]},
            lambda X: votes(forest, X),
            lambda X: staged_costs(ensemble, X, problem.costs),
            TREES,
            seconds,
            ends,
            exhausted="as many as the other forests have",
            counter="trees",
        )

    if scouted:
        for rung in sorted({LEAF_SIZES.index(int(params["min_samples_leaf"])) for params in scouted}):
            yield from fit(rung)
    else:
        yield from climb(fit, start_rungs(problem), 0, len(LEAF_SIZES) - 1, problem.budgets)


def start_rungs(problem: Problem) -> list[int]:
    """The first rungs: leaves of 1, 2, 4 rows, and on small data up to 16."""
    return [0, 1, 2, 3, 4] if problem.is_small else [0, 1, 2]


METHODS = [FunctionMethod("random forest, fewer trees", fewer_trees)]
