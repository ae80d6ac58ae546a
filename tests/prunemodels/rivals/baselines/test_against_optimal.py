"""What all baselines have in common."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import prunemodels as pm
from formulations import PruningProblem
from formulations.answers.nested_prunings import PruningSequence
from prunemodels.evaluation.path import evaluate_path
from prunemodels.rivals.baselines import (
    cost_complexity_path,
    early_stopping_path,
    greedy_feature_path,
    individual_path,
    sub_forest_path,
)
from tests.instances import random_problem
from tests.prunemodels.forest_kinds import fitted


def by_depth(problem: PruningProblem) -> PruningSequence:
    """Early stopping by a made-up impurity, the deeper the less."""
    return early_stopping_path(problem, criterion=1 / (1 + problem.ensemble.depth))


PATHS: dict[str, Callable[[PruningProblem], PruningSequence]] = {
    "cost complexity": cost_complexity_path,
    "early stopping": by_depth,
    "greedy, by feature": greedy_feature_path,
    "greedy, by item": lambda problem: greedy_feature_path(problem, by="item"),
    "individual": individual_path,
    "random sub-forest": lambda problem: sub_forest_path(problem, random_state=0),
    "cheapest sub-forest": lambda problem: sub_forest_path(problem, order="cheapest"),
}


def hull_error(path: pm.PruningPath, cost: Fraction) -> Fraction:
    """The error of the lower hull of the optimal prunings at a cost."""
    points = list(zip(path.exact_cost, path.exact_error, strict=True))
    if cost >= points[0][0]:
        return points[0][1]
    dear, cheap = next((a, b) for a, b in pairwise(points) if b[0] <= cost <= a[0])
    return cheap[1] + (dear[1] - cheap[1]) * (cost - cheap[0]) / (dear[0] - cheap[0])


@pytest.mark.parametrize("name", PATHS)
def test_the_optimal_path_is_never_worse_at_the_same_cost(name: str) -> None:
    """At the cost of every row of every baseline, the optimal path's hull has no more of the trees' error, as fractions."""
    for seed in range(80):
        problem = random_problem(seed)
        optimal, rows = pm.pruning_path(problem), PATHS[name](problem)
        for cost, error in zip(rows.exact_cost, rows.exact_error, strict=True):
            assert hull_error(optimal, cost) <= error, f"seed {seed}"


@pytest.mark.parametrize("name", PATHS)
def test_paths_end_in_what_is_free_or_in_single_leaves(name: str) -> None:
    """The last row keeps no split that would cost anything, parameters are distinct, the first row keeps the most."""
    for seed in range(40):
        path = PATHS[name](random_problem(seed))
        assert path[-1].cost == 0 if name == "individual" else path[-1].n_splits == 0
        assert len(np.unique(path.parameter)) == len(path)
        assert (np.diff(path.n_splits) < 0).all() or name in ("early stopping", "individual", "cost complexity")


@pytest.mark.parametrize("name", PATHS)
def test_evaluation_takes_every_baseline(name: str) -> None:
    """Held-out cost and error of a row are those of the pruned forest, where all its trees vote."""
    f = fitted("random forest, 3 string labels")
    path = PATHS[name](pm.problem_from_forest(f.forest, f.X, costs=[1, 2, 3, 4, 5]))
    seen = evaluate_path(path, f.X, f.y)
    for k in range(0, len(path), 1 + len(path) // 5):
        one = pm.evaluate(pm.apply_pruning(path[k], f.forest), f.X, f.y, costs=[1, 2, 3, 4, 5])
        assert seen.cost[k] == pytest.approx(one.cost)
        assert seen.error[k] == one.error or not path.single_leaves_vote
