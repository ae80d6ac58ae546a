"""Budgets of instances whose weights are real numbers: no pruning within them may err less than an answer that says OPTIMAL."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import PruningProblem
from formulations.answers.solution import Status
from solvers.brute_force import all_prunings


def xor(seed: int) -> PruningProblem:
    """A tree of depth 2 on an exclusive or, prices 10 and 1, uniform weights."""
    rng = np.random.default_rng(seed)
    X = rng.random((40, 2)).round(2)
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.4)).astype(int)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    return pm.problem_from_forest(tree, X, costs=[10, 1], sample_weight=rng.random(40))


def test_no_cheaper_tree_errs_less_than_the_optimum() -> None:
    """At a budget of 10.1 the optimum errs 0.225; a list of prunings that read children of groups found only the bare root."""
    found = pm.solve(xor(1), budget=10.1)
    assert found.status is Status.OPTIMAL
    assert found.error == 0.225


def test_budgets_of_real_weights_are_right() -> None:
    """Of 40 trees at seven budgets each: within the budget, and as good as the best of all prunings."""
    for seed in range(40):
        problem = xor(seed)
        prunings = [pm.Pruning(problem, kept) for kept in all_prunings(problem).kept]
        for budget in (0.3, 0.7, 1.0, 5.0, 9.9, 10.1, 10.9):
            found = pm.solve(problem, budget=budget)
            assert found.pruning.cost <= budget
            best = min(p.error for p in prunings if p.cost <= budget)
            assert abs(found.error - best) <= 1e-12, (seed, budget)
