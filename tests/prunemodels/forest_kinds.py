"""One fitted forest of every kind that can be pruned, with the data that it was fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from formulations.answers.pruning import Pruning

N_FEATURES = 5


@dataclass(frozen=True, eq=False)
class Fitted:
    """A forest and what `fit` was given."""

    forest: Any
    X: Any
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None = None


def rows(n: int = 90, seed: int = 0, missing: float = 0.0) -> NDArray[np.float64]:
    """Multiples of 1/10: most are no float32, so thresholds fall between and onto rounded values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES)).round(1)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def labels(X: NDArray[np.float64], names: list[Any], seed: int = 1) -> NDArray[Any]:
    """Noisy, unbalanced classes."""
    rng = np.random.default_rng(seed)
    score = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + rng.normal(scale=0.7, size=len(X))
    cuts = np.quantile(score, np.linspace(0.6, 0.9, len(names) - 1))
    return np.array(names)[np.searchsorted(cuts, score)]


def targets(X: NDArray[np.float64], seed: int = 1) -> NDArray[np.float64]:
    """Positive numbers with noise, so that every regression criterion accepts them."""
    rng = np.random.default_rng(seed)
    return np.exp(0.3 * np.nan_to_num(X[:, 0]) - 0.2 * np.nan_to_num(X[:, 2]) + rng.normal(scale=0.3, size=len(X)))


def weights(n: int = 90) -> NDArray[np.float64]:
    """Real weights, some 0."""
    rng = np.random.default_rng(2)
    return rng.uniform(0.1, 3, n) * (rng.random(n) < 0.9)


def _fitted(forest: Any, answer: Callable[..., NDArray[Any]], *, missing: float = 0.0, weighted: bool = False) -> Fitted:
    X = rows(missing=missing)
    y, w = answer(X), weights() if weighted else None
    return Fitted(forest.fit(X, y, sample_weight=w) if weighted else forest.fit(X, y), X, y, w)


def _classifier(forest: Any, names: list[Any], **how: Any) -> Fitted:
    return _fitted(forest, lambda X: labels(X, names), **how)


def _regressor(forest: Any, **how: Any) -> Fitted:
    return _fitted(forest, targets, **how)


def _named() -> Fitted:
    X = pd.DataFrame(rows(), columns=list("abcde"))
    y = labels(X.to_numpy(), [False, True])
    return Fitted(RandomForestClassifier(3, max_depth=4, random_state=0).fit(X, y), X, y)


def _missing_classes() -> Fitted:
    # with metadata routing a bag hands its trees the drawn rows alone: a tree may never see a class
    with sklearn.config_context(enable_metadata_routing=True):
        forest = BaggingClassifier(DecisionTreeClassifier(), 4, max_samples=8, random_state=1)
        fitted = _classifier(forest, ["blue", "green", "red", "violet"])
    assert any(len(tree.classes_) < 4 for tree in fitted.forest.estimators_)
    return fitted


def _pasted() -> Fitted:
    forest = BaggingClassifier(DecisionTreeClassifier(), 4, max_samples=0.5, bootstrap=False, random_state=0)
    with warnings.catch_warnings():  # scikit-learn recommends bootstrap=True with weights
        warnings.filterwarnings("ignore", message=".*it is recommended to use bootstrap=True")
        return _classifier(forest, TWO, weighted=True)


TWO, THREE = [0, 1], ["high", "low", "middle"]

CLASSIFIERS: dict[str, Callable[[], Fitted]] = {
    "random forest": lambda: _classifier(RandomForestClassifier(4, random_state=0), TWO),
    "random forest, 3 string labels": lambda: _classifier(RandomForestClassifier(4, max_depth=5, random_state=0), THREE),
    "random forest, named features": _named,
    "random forest, best first": lambda: _classifier(RandomForestClassifier(4, max_leaf_nodes=9, random_state=0), THREE),
    "random forest, missing values": lambda: _classifier(RandomForestClassifier(5, random_state=0), TWO, missing=0.2),
    "random forest, weighted": lambda: _classifier(RandomForestClassifier(4, random_state=0), TWO, weighted=True),
    "random forest, half the rows": lambda: _classifier(RandomForestClassifier(4, max_samples=0.5, random_state=0), TWO),
    "random forest, entropy": lambda: _classifier(RandomForestClassifier(3, criterion="entropy", random_state=0), THREE),
    "random forest, balanced": lambda: _classifier(RandomForestClassifier(4, class_weight="balanced", random_state=0), THREE),
    "random forest, balanced subsample": lambda: _classifier(
        RandomForestClassifier(4, class_weight="balanced_subsample", random_state=0), THREE, weighted=True
    ),
    "random forest, class weights": lambda: _classifier(
        RandomForestClassifier(4, class_weight={0: 1.0, 1: 2.5}, random_state=0), TWO, weighted=True
    ),
    "random forest, weights without bootstrap": lambda: _classifier(
        RandomForestClassifier(3, bootstrap=False, class_weight="balanced_subsample", random_state=0), THREE, weighted=True
    ),
    "extra trees": lambda: _classifier(ExtraTreesClassifier(4, random_state=0), THREE),
    "extra trees, missing values": lambda: _classifier(ExtraTreesClassifier(5, random_state=0), TWO, missing=0.2),
    "extra trees, weighted": lambda: _classifier(
        ExtraTreesClassifier(4, class_weight={"high": 2, "low": 0.3, "middle": 1}, random_state=0), THREE, weighted=True
    ),
    "extra trees, bootstrap": lambda: _classifier(ExtraTreesClassifier(4, bootstrap=True, random_state=0), TWO, weighted=True),
    "bag": lambda: _classifier(BaggingClassifier(DecisionTreeClassifier(), 4, random_state=0), TWO),
    "bag, some columns": lambda: _classifier(
        BaggingClassifier(DecisionTreeClassifier(), 5, max_features=0.6, bootstrap_features=True, random_state=0), THREE
    ),
    "bag, missing classes": _missing_classes,
    "bag, weighted draws": _pasted,
    "bag, class weights": lambda: _classifier(
        BaggingClassifier(DecisionTreeClassifier(class_weight="balanced"), 4, random_state=0), THREE, weighted=True
    ),
    "bag of extra trees": lambda: _classifier(BaggingClassifier(ExtraTreeClassifier(), 4, random_state=0), TWO),
    "tree": lambda: _classifier(DecisionTreeClassifier(random_state=0, max_depth=5), THREE),
    "tree, missing values": lambda: _classifier(DecisionTreeClassifier(random_state=0), TWO, missing=0.3),
    "tree, weighted": lambda: _classifier(DecisionTreeClassifier(class_weight="balanced", random_state=0), THREE, weighted=True),
}

REGRESSORS: dict[str, Callable[[], Fitted]] = {
    "regression forest": lambda: _regressor(RandomForestRegressor(4, max_depth=5, random_state=0)),
    "regression forest, weighted": lambda: _regressor(RandomForestRegressor(4, random_state=0), weighted=True),
    "regression forest, missing values": lambda: _regressor(RandomForestRegressor(4, random_state=0), missing=0.2),
    "regression forest, best first": lambda: _regressor(RandomForestRegressor(4, max_leaf_nodes=8, random_state=0)),
    "extra regression trees": lambda: _regressor(ExtraTreesRegressor(4, max_depth=6, random_state=0), weighted=True),
    "regression bag": lambda: _regressor(
        BaggingRegressor(DecisionTreeRegressor(max_depth=5), 4, max_features=3, random_state=0), weighted=True
    ),
    "regression tree": lambda: _regressor(DecisionTreeRegressor(max_depth=5, random_state=0), weighted=True),
}

KINDS = {**CLASSIFIERS, **REGRESSORS}


@cache
def fitted(kind: str) -> Fitted:
    """The forest of that kind; tests must not change it."""
    return KINDS[kind]()


def trees_of(forest: Any) -> list[tuple[Any, NDArray[np.int64]]]:
    """Each tree's estimator and the columns that it was given."""
    if not hasattr(forest, "estimators_"):
        return [(forest, np.arange(forest.n_features_in_))]
    columns = getattr(forest, "estimators_features_", [np.arange(forest.n_features_in_)] * len(forest.estimators_))
    return list(zip(forest.estimators_, columns, strict=True))


def random_pruning(problem: Any, seed: int = 0) -> Any:
    """Keep each split whose parent is kept with probability 2/3."""
    rng = np.random.default_rng(seed)
    ensemble = problem.ensemble
    kept = np.zeros(ensemble.n_nodes, dtype=bool)
    for h in range(ensemble.n_nodes):
        above = ensemble.parent[h] < 0 or kept[ensemble.parent[h]]
        kept[h] = ensemble.left[h] >= 0 and above and rng.random() < 2 / 3
    return Pruning(problem, kept)
