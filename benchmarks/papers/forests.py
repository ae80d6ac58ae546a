"""The forests that the papers prune, by kind, and their instances.

entropy, gini         scikit-learn's random forest, all features at each split unless `max_features` says otherwise (BP16)
extra_trees           scikit-learn's extremely randomised trees, entropy
budget_rf_pairs       BRF15's trees with the Pairs impurity, alpha = 0 (NWS15, BP16 Figure 6)
budget_rf_entropy     the same with entropy
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

import prunemodels as pm
from benchmarks.papers.data import Parts, parts
from formulations.errors import InvalidInputError

Kind = Literal["budget_rf_pairs", "budget_rf_entropy", "entropy", "gini", "extra_trees"]
MaxFeatures = Literal["sqrt"] | float | int | None


def grow_forest(kind: Kind, X: Any, y: Any, *, trees: int, seed: int, max_features: MaxFeatures = None) -> Any:
    """Grow one; a scikit-learn forest, whatever the kind."""
    if kind in ("entropy", "gini"):
        forest = RandomForestClassifier(trees, criterion=kind, max_features=max_features, random_state=seed)
        return forest.fit(X, y)
    if kind == "extra_trees":
        return ExtraTreesClassifier(trees, criterion="entropy", max_features=max_features, bootstrap=True, random_state=seed).fit(
            X, y
        )
    if kind not in get_args(Kind):
        raise InvalidInputError(f"kind is {kind!r}; give one of {', '.join(get_args(Kind))}")
    from prunemodels.rivals.budget_rf import BudgetRFClassifier

    impurity: Literal["pairs", "entropy"] = "pairs" if kind == "budget_rf_pairs" else "entropy"
    learner = BudgetRFClassifier(n_estimators=trees, impurity=impurity, max_features=max_features, random_state=seed)
    return learner.fit(X, y).forest_


@dataclass(frozen=True, eq=False)
class Grown:
    """A forest with its data and its instance: in-bag errors, costs on the validation part."""

    forest: Any
    parts: Parts
    problem: pm.PruningProblem


@lru_cache(maxsize=1)
def grown(
    data: str,
    seed: int,
    rows: int | None = None,
    *,
    kind: Kind = "entropy",
    trees: int = 40,
    max_features: MaxFeatures = None,
) -> Grown:
    """BP16's forest on a data set's parts, at uniform prices; the last one is remembered, so units in a row can share it."""
    p = parts(data, seed, rows)
    forest = grow_forest(kind, p.X_train, p.y_train, trees=trees, seed=seed, max_features=max_features)
    return Grown(forest, p, pm.problem_from_forest(forest, p.X_valid, costs=1))
