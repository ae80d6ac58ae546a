"""The small forest of the examples in the docstrings: ``from prunemodels.example import forest, problem``.

Ten measurements of 569 tumours (scikit-learn's breast cancer data), a forest of eight trees, and made-up prices: what is measured
on an outline's concave parts costs 5, everything else 1. The names:

    X_train, y_train    the 250 rows that the forest was grown on
    X_valid, y_valid    150 rows, on which examples pay
    X_test, y_test      the remaining 169 rows, which played no part
    costs               the price of each feature
    forest              a fitted `RandomForestClassifier`
    problem             `prunemodels.problem_from_forest(forest, X_valid, costs=costs)`
    path                `prunemodels.pruning_path(problem)`, made when it is first asked for
"""

from __future__ import annotations

import functools
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from formulations.answers.pruning_path import PruningPath
from prunemodels.models.forests.problems import problem_from_forest
from solvers.path.pruning_path import pruning_path

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.filter(like="mean").rename(columns=lambda name: name.removeprefix("mean "))
X_train, X_valid, X_test = X[:250], X[250:400], X[400:]
y_train, y_valid, y_test = y[:250], y[250:400], y[400:]
costs = {name: 5 if "concav" in name else 1 for name in X.columns}
forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X_train, y_train)
problem = problem_from_forest(forest, X_valid, costs=costs)


@functools.cache
def _path() -> PruningPath:
    return pruning_path(problem)


def __getattr__(name: str) -> Any:
    """The path, whose kernels take a moment to load."""
    if name == "path":
        return _path()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
