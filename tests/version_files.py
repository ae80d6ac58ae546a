"""Forests that one version of scikit-learn saves and another loads; `make test-versions` runs both halves.

python -m tests.version_files save FOLDER     with each version: forests, and what they predict
python -m tests.version_files load FOLDER     with each version: load all, compare, prune
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm

FORESTS = {
    "random_forest": RandomForestClassifier(5, max_depth=5, random_state=0),
    "weighted": RandomForestClassifier(5, max_depth=5, class_weight="balanced", random_state=0),
    "extra_trees": ExtraTreesClassifier(5, max_depth=5, random_state=0),
    "bag": BaggingClassifier(DecisionTreeClassifier(max_depth=4), 4, max_features=0.7, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "regression": RandomForestRegressor(5, max_depth=5, random_state=0),
    "extra_regression": ExtraTreesRegressor(5, max_depth=5, random_state=0),
}


def answers(forest: Any, X: Any) -> Any:
    """Probabilities, or values."""
    return forest.predict_proba(X) if hasattr(forest, "predict_proba") else forest.predict(X)


def pruned_answers(forest: Any, X: Any) -> Any:
    """The same, of the forest pruned to half its cost."""
    problem = pm.problem_from_forest(forest, X[:200], costs=1)
    path = pm.pruning_path(problem)
    return answers(pm.apply_pruning(path.at_cost(path.cost[0] / 2), forest), X)


def save(folder: Path) -> None:
    """Fit and save all forests with the installed version."""
    place = folder / sklearn.__version__
    place.mkdir(parents=True, exist_ok=True)
    for name, forest in FORESTS.items():
        X, y = load_diabetes(return_X_y=True) if "regression" in name else load_breast_cancer(return_X_y=True)
        fitted = forest.fit(X[:300], y[:300])
        for ending in ("joblib", "skops"):
            pm.save_forest(fitted, place / f"{name}.{ending}")
        np.savez(place / f"{name}.npz", X=X, answers=answers(fitted, X), pruned=pruned_answers(fitted, X))
    print(f"scikit-learn {sklearn.__version__} saved {2 * len(FORESTS)} files")


def load(folder: Path) -> None:
    """Load all forests with the installed version: predictions and prunings are those of the version that saved them."""
    for place in sorted(folder.iterdir()):
        files = sorted(f for f in place.iterdir() if f.suffix != ".npz")
        assert files
        for file in files:
            known = np.load(file.with_suffix(".npz"))
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # what load_forest accepts, it accepts without a warning
                forest = pm.load_forest(file, trust_pickle=True)
            assert np.array_equal(answers(forest, known["X"]), known["answers"]), file
            assert np.array_equal(pruned_answers(forest, known["X"]), known["pruned"]), file
            if file.suffix == ".joblib":  # loaded without us, as services do
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", InconsistentVersionWarning)
                    forest = joblib.load(file)
                assert np.array_equal(pruned_answers(forest, known["X"]), known["pruned"]), file
        print(f"scikit-learn {sklearn.__version__} loaded and pruned {len(files)} files of {place.name}")


if __name__ == "__main__":
    {"save": save, "load": load}[sys.argv[1]](Path(sys.argv[2]))
