"""A small forest with prices and labels, for examples: ten measurements of 569 tumours, scikit-learn's breast cancer data."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier


class SmallForest(NamedTuple):
    """A fitted forest, the rows that it was grown on, two more sets of rows, and a price for each column.

    Examples
    --------
    >>> import prunemodels as pm
    >>> forest, X_train, y_train, X_valid, y_valid, X_test, y_test, costs = pm.datasets.load_tumours()
    >>> X_train.shape, X_valid.shape, X_test.shape, costs["concavity"]
    ((250, 10), (150, 10), (169, 10), 5)
    """

    forest: RandomForestClassifier
    X_train: pd.DataFrame
    y_train: Any
    X_valid: pd.DataFrame
    y_valid: Any
    X_test: pd.DataFrame
    y_test: Any
    costs: dict[str, int]


def load_tumours() -> SmallForest:
    """A forest of eight trees that says which tumours are benign, with labels and made-up prices.

    What is measured on an outline's concave parts costs 5, everything else 1. The rows and the forest are always the same.

    Returns
    -------
    SmallForest
        ``forest``, of depth 4 at most; ``X_train`` and ``y_train``, the 250 rows that it was grown on; ``X_valid`` and
        ``y_valid``, 150 rows; ``X_test`` and ``y_test``, the other 169; ``costs``, the price of each of the ten columns.

    Examples
    --------
    >>> import prunemodels as pm
    >>> data = pm.datasets.load_tumours()
    >>> pm.prune_forest(data.forest, data.X_valid, data.y_valid, costs=data.costs, budget=10).estimator
    RandomForestClassifier(max_depth=4, n_estimators=8, random_state=0)
    """
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.filter(like="mean").rename(columns=lambda name: name.removeprefix("mean "))
    costs = {name: 5 if "concav" in name else 1 for name in X.columns}
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X[:250], y[:250])
    return SmallForest(forest, X[:250], y[:250], X[250:400], y[250:400], X[400:], y[400:], costs)
