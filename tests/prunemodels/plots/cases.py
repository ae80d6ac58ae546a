"""A real path, a budget on it and other small things that pictures are drawn of."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.answers.budget_solution import BudgetSolution
from formulations.instance.papers import two_trees
from prunemodels.evaluation.curve import TradeoffCurve
from prunemodels.evaluation.path import PathEvaluation
from solvers.budgets import best_breakpoint

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
HELD_OUT = X[350:], Y[350:]


@cache
def forest() -> RandomForestClassifier:
    """Five small trees."""
    return RandomForestClassifier(5, max_depth=5, random_state=0).fit(X[:200], Y[:200])


@cache
def path(price: float = 1) -> pm.PruningPath:
    """The optimal path of the forest, every feature at one price."""
    return pm.pruning_path(pm.problem_from_forest(forest(), X[200:350], costs=price))


@cache
def solution() -> BudgetSolution:
    """Of a budget inside the longest hull edge."""
    k = int(np.argmax(-np.diff(path().cost)))
    return best_breakpoint(path().problem, float(0.7 * path().cost[k] + 0.3 * path().cost[k + 1]), path=path())


def evaluation() -> PathEvaluation:
    """Three rows of the papers' trees on two examples."""
    return pm.evaluate_path(pm.pruning_path(two_trees()), [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [0, 0])


def curve(method: str, cost: list[float], error: list[float]) -> TradeoffCurve:
    """A curve of so many steps on 100 examples."""
    return TradeoffCurve(method, "step", np.arange(len(cost), dtype=float), np.array(cost), np.array(error), 100)


ONE, TWO = curve("one", [3, 1, 2], [0.1, 0.5, 0.6]), curve("two", [4, 0], [0.2, 0.4])
