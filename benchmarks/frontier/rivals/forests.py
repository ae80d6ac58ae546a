"""Random forests as a user grows them, their first trees as cheaper models, and BudgetRF (Nan and others 2015) as BP16 runs it.

BudgetRF splits by impurity per price, and stops early at every threshold: one forest gives the results of all thresholds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from benchmarks.frontier.candidate import Candidate, Method, Scouted, Value, prefixes, searched, sequence_candidates
from benchmarks.frontier.problem import Problem
from prunemodels.models.costs import staged_costs
from prunemodels.models.forests.reading import read_forest
from prunemodels.rivals.budget_rf import BudgetRFClassifier
from prunemodels.rivals.stumps import Impurity

TREES = 40
LEAF_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)  # rungs of the least number of rows in a leaf


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


def over_leaves(
    problem: Problem, scouted: Scouted, fit: Callable[[int, Mapping[str, str]], list[Candidate]]
) -> Iterator[Candidate]:
    """The candidates of forests with leaves of at least 1, 2, 4, ... rows; `fit` is also given their natural ends."""

    def at(rung: int) -> list[Candidate]:
        return fit(LEAF_SIZES[rung], {"min_samples_leaf": "one row is the fewest"} if rung == 0 else {})

    rungs = (LEAF_SIZES.index(int(params["min_samples_leaf"])) for params in scouted or ())
    return searched(at, rungs, range(5 if problem.is_small else 3), range(len(LEAF_SIZES)), problem.budgets)


def fewer_trees(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """The first trees of such forests."""

    def fit(least: int, ends: Mapping[str, str]) -> list[Candidate]:
        forest, seconds = grown(problem, least)
        ensemble = read_forest(forest)
        return prefixes(
            problem,
            {"min_samples_leaf": least},
            partial(votes, forest),
            partial(staged_costs, ensemble, costs=problem.costs),
            TREES,
            seconds,
            ends,
            exhausted="as many as the other forests have",
            counter="trees",
        )

    return over_leaves(problem, scouted, fit)


IMPURITIES: tuple[Impurity, ...] = ("pairs", "cost_weighted_entropy")


def budget_rf(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """Try both impurities on the first seed, and the chosen ones on the others."""
    plain = problem.imputed
    trees = 40 if problem.is_small else 16
    used = {str(s["impurity"]) for s in scouted} if scouted else set(IMPURITIES)
    for impurity in (known for known in IMPURITIES if known in used):
        start = time.process_time()
        learner = BudgetRFClassifier(
            costs=plain.costs, n_estimators=trees, impurity=impurity, reuse_is_free=True, random_state=plain.seed
        ).fit(plain.train.X, plain.train.y)
        seconds, forest = time.process_time() - start, learner.forest_
        grown = pm.problem_from_forest(forest, plain.valid.X, costs=plain.costs)
        stopped = pm.rivals.early_stopping_path(grown, forest, criterion="entropy")
        params: dict[str, Value] = {"impurity": impurity, "trees": trees}
        ends = {"trees": "as many as were grown"}
        yield from sequence_candidates(plain, forest, stopped, params, seconds, "threshold", ends)
        ensemble = read_forest(forest)
        yield from prefixes(
            plain,
            {"impurity": impurity, "threshold": 0.0},
            partial(votes, forest),
            partial(staged_costs, ensemble, costs=plain.costs),
            trees,
            seconds,
            {"threshold": "trees grown fully"},
            exhausted="as many as were grown",
            counter="trees",
        )


METHODS = [
    Method("random forest, fewer trees", fewer_trees),
    Method("BudgetRF", budget_rf, refusal=lambda problem: "it knows classes only" if problem.task == "regression" else None),
]
