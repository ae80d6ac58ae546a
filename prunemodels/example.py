"""The small forest of the examples in the docstrings: ``from prunemodels.example import forest, problem``.

It is that of `prunemodels.datasets.load_tumours`, in which concave parts cost 5 and everything else 1. The names:

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

from formulations.answers.pruning_path import PruningPath
from prunemodels.datasets.heart import load_tumours
from prunemodels.models.forests.problems import problem_from_forest
from solvers.path.pruning_path import pruning_path

forest, X_train, y_train, X_valid, y_valid, X_test, y_test, costs = load_tumours()
problem = problem_from_forest(forest, X_valid, costs=costs)


@functools.cache
def _path() -> PruningPath:
    return pruning_path(problem)


def __getattr__(name: str) -> Any:
    """The path, whose kernels take a moment to load."""
    if name == "path":
        return _path()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
