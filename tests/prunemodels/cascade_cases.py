"""Small cascades of every kind, fitted once, with the rows that they were not learned from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import prunemodels as pm
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import evaluate_exit_path

Kind = Literal["prunings", "three classes", "numbers", "sets", "sets of numbers"]
KINDS: tuple[Kind, ...] = ("prunings", "three classes", "numbers", "sets", "sets of numbers")
NAMES = tuple("abcdefgh")
ITEMS = pm.CostItems.from_items(
    {"blood": 2.5, "b": 0.75, "c": 1, "d": 0.5, "e": 1.5, "f": 3, "g": 0.25, "licence": 4},
    [[], ["b", "blood"], ["c", "blood"], ["d"], ["e"], ["f", "licence"], ["g"], ["g"]],
    once=["licence"],
)


@dataclass(frozen=True)
class Case:
    """A fitted cascade, its path, and labelled rows that neither has seen."""

    cascade: Cascade
    path: pm.cascades.ExitPath
    X: pd.DataFrame
    y: np.ndarray
    learned_rows: pd.DataFrame  # the rows that it was learned from, and their labels
    learned_labels: np.ndarray


@cache
def case(kind: Kind) -> Case:
    """One of each kind."""
    numbers = kind in ("numbers", "sets of numbers")
    if numbers:
        data, y = make_regression(420, 8, n_informative=5, noise=20, random_state=1)
    else:
        n_classes = 3 if kind == "three classes" else 2
        data, y = make_classification(420, 8, n_informative=5, n_classes=n_classes, flip_y=0.05, random_state=1)
        y = np.array(["ill", "well", "unsure"])[y]
    X = pd.DataFrame(data.round(3), columns=list(NAMES))
    train, valid, test = slice(0, 150), slice(150, 300), slice(300, 420)
    if kind.startswith("sets"):
        grown: Any = (HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier)(
            max_iter=8, max_depth=3, min_samples_leaf=5, early_stopping=False
        )
        stages = [(None, []), (grown, ["a", "b"]), (grown, ["a", "b", "c", "d"]), (grown, None)]
        kinds = pm.CascadeRegressor if numbers else pm.CascadeClassifier
        how: Any = {"stack": False, "doubt": "auto"} if numbers else {"stack": True, "doubt": "margin"}
        cascade = kinds(stages, ITEMS, lam=1e-3, cv=2, **how, random_state=0)
        cascade.fit(X[:300], y[:300])
        path = cascade.exit_path_
    else:
        options: Any = {"random_state": 0}
        options |= {"n_stages": 3} if numbers else {"doubt": "margin", "n_levels": 12, "n_stages": 5}
        forest = (
            RandomForestRegressor(6, max_depth=4, random_state=1)
            if numbers
            else RandomForestClassifier(5, max_depth=4, random_state=0)
        )
        problem = pm.problem_from_forest(forest.fit(X[train], y[train]), X[valid], costs=ITEMS, evaluation_cost=0.01)
        cascade = pm.exit_path(pm.pruning_path(problem), X[valid], y[valid], **options).at_row(0)
        path = cascade.exit_path_
    learned = slice(0, 300) if kind.startswith("sets") else valid
    return Case(cascade, path, X[test], y[test], X[learned], y[learned])


@cache
def middle(kind: Kind) -> int:
    """The row of a case's path by which its rows stop at the most stages."""
    known = case(kind)
    seen = evaluate_exit_path(known.cascade, known.X)
    return max(range(len(known.path)), key=lambda k: np.unique(seen.stages(k)).size)
