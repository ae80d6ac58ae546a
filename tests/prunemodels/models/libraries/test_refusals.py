"""Averages of other libraries' trees, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression

import prunemodels as pm
from formulations import InvalidInputError, NotFittedForestError, UnsupportedModelError
from prunemodels.models.forests.error_samples import Given
from prunemodels.models.libraries.reading import prune_model, read_model
from prunemodels.other_libraries import problem_from_model
from tests.instances import way
from tests.loops import looped
from tests.prunemodels.models.libraries.models import L_DEEP, X2, X3, XR, Y2, Y3, YR, model_of, some_pruning

LABEL = (np.arange(240) % 5 > 2).astype(int)


def train_xgboost(objective: str) -> Any:
    data = xgboost.DMatrix(X2, Y2 + 1 if objective == "reg:gamma" else Y2)
    if "rank" in objective:
        data.set_group([240])
    return xgboost.train({"objective": objective, "max_depth": 2}, data, 2)


def with_loss(kind: Any, **options: Any) -> Any:
    """A boosted model of scikit-learn on two columns."""
    return kind(**options).fit(np.column_stack([np.arange(240) % 5, X2[:, 0]]), LABEL)


MULTI = {"n_estimators": 2, "max_depth": 2, "multi_strategy": "multi_output_tree", "tree_method": "hist"}
NO_LOSS = "a model that was trained for '.*' cannot be pruned; what can be"
OTHER = "is not a boosted model of scikit-learn, XGBoost, LightGBM or CatBoost"
HIST, GRADIENT = HistGradientBoostingRegressor, GradientBoostingClassifier
REFUSED: list[Any] = [
    # counts, hinge and ranking have no loss of bounded curvature
    *((lambda o=o: train_xgboost(o), NO_LOSS) for o in ("count:poisson", "binary:hinge", "rank:pairwise", "reg:gamma")),
    (lambda: with_loss(GRADIENT, loss="exponential", n_estimators=2), "loss='exponential'; what can be pruned: log loss"),
    (lambda: with_loss(GradientBoostingRegressor, loss="absolute_error", n_estimators=2), "loss='absolute_error'"),
    (lambda: with_loss(HIST, loss="poisson", max_iter=2), "loss='poisson'"),
    (lambda: with_loss(HIST, loss="quantile", quantile=0.5, max_iter=2), "loss='quantile'"),
    # what reads columns outside of trees of constants
    (lambda: with_loss(GRADIENT, init=LogisticRegression(), n_estimators=2), r"a LogisticRegression \(init\), which reads"),
    (lambda: xgboost.XGBRegressor(booster="gblinear", n_estimators=2).fit(XR, YR), "'gblinear': it has no trees"),
    (lambda: lightgbm.LGBMRegressor(linear_tree=True, **L_DEEP).fit(XR, YR), "tree 0 has linear models in its leaves"),
    (
        lambda: xgboost.XGBClassifier(**MULTI).fit(X3, Y3),
        "the trees have a vector in each leaf; train with multi_strategy='one_output_per_tree'",
    ),
    (lambda: xgboost.XGBRegressor(**MULTI).fit(XR, np.column_stack([YR, -YR])), "2 targets at once; train one model for each"),
    # what goes elsewhere
    *((lambda m=m: m, OTHER) for m in (RandomForestClassifier().fit(X2, Y2), LogisticRegression(), "model.json", xgboost)),
]


@looped(("make", "message"), REFUSED)
def test_what_is_not_read_is_named(make: Any, message: str) -> None:
    """Losses without bounded curvature, linear models, several targets, and models of other kinds."""
    with pytest.raises(UnsupportedModelError, match=message):
        read_model(make())


def test_unfitted_models() -> None:
    """An estimator without trees says so."""
    for kind in (xgboost.XGBClassifier, lightgbm.LGBMRegressor, GradientBoostingClassifier, HistGradientBoostingRegressor):
        with pytest.raises(NotFittedForestError, match=r"is not fitted: call fit\(X, y\) first"):
            read_model(kind())


def test_zeros_missing_at_some_splits_only() -> None:
    """LightGBM text that takes a feature's zeros for missing at one split and not at another cannot be routed by one table."""
    booster = model_of("lightgbm", "zeros are missing")[0].booster_
    lines = booster.model_to_string().split("\n")
    place = next(k for k, line in enumerate(lines) if line.startswith("decision_type="))
    # zeros are missing at 6 and 4, with the default left and right; 10 and 8 are the same for NaN
    words = lines[place].split("=")[1].split()
    features = lines[place - 3].split("=")[1].split()
    assert lines[place - 3].startswith("split_feature=")
    twice = next(f for f in features if features.count(f) > 1)
    first = features.index(twice)
    changed = list(words)
    zero_goes_left = float(lines[place - 1].split("=")[1].split()[first]) >= 0
    changed[first] = "8" if zero_goes_left else "10"  # a default that disagrees with where 0 belongs
    text = "\n".join([*lines[:place], "decision_type=" + " ".join(changed), *lines[place + 1 :]])
    with pytest.raises(UnsupportedModelError, match=f"feature {twice} has its zeros taken for missing"):
        read_model(lightgbm.Booster(model_str=text))


def test_data_is_checked() -> None:
    """Columns, numbers and infinities: refused as the library refuses them, LightGBM's infinities excepted."""
    ours = read_model(model_of("xgboost", "two classes")[0])
    doubles = read_model(model_of("lightgbm", "two classes")[0])
    marked = read_model(model_of("xgboost", "zero is missing")[0])
    for forest in (ours, doubles, marked):
        for bad, message in ((X2[:, :5], "5"), (X2[:0], "is empty"), (X2[0], "shape"), (np.full((2, 6), "a"), "not numeric")):
            with pytest.raises(InvalidInputError, match=message):
                forest.rows(bad)
    infinite = np.where(np.arange(6) == 2, np.inf, X2)
    for forest in (ours, marked):
        with pytest.raises(InvalidInputError, match="infinite"):
            forest.rows(infinite)
    assert np.isfinite(doubles.rows(infinite)).all()


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    """Importing the package imports none of xgboost, lightgbm, catboost."""
    code = "import sys, prunemodels.other_libraries as o; print({'xgboost', 'lightgbm', 'catboost'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


BINARY = [("xgboost", "forest, two classes"), ("lightgbm", "forest, two classes")]


@pytest.mark.parametrize(("library", "name"), BINARY)
@pytest.mark.parametrize("loss", ["log_loss", "zero_one"])
def test_errors_are_the_trees_mean_loss(library: str, name: str, loss: str) -> None:
    """Error of any pruning = mean over trees and rows of the loss of each tree's own margin, taken by brute force."""
    model, X, y = model_of(library, name)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    problem = problem_from_model(model, X[:50], errors=Given(X, y, weight), costs=1, tree_loss=loss)
    forest = read_model(model)
    for seed, keep in ((0, 0.0), (1, 0.7), (2, 1.0)):
        kept = some_pruning(forest.ensemble, seed, keep)
        losses = []
        for t in range(forest.ensemble.n_trees):
            value = forest.ensemble.value[:, 0] * forest.ensemble.n_trees
            root = forest.ensemble.roots[t]
            ends = [way(forest.ensemble, root, x, kept)[-1] for x in forest.rows(X).astype(float)]
            u = forest.base[0] + value[ends]
            losses.append(np.logaddexp(0, u) - y * u if loss == "log_loss" else (u > 0) != y)
        expected = np.average(np.mean(losses, axis=0), weights=weight)
        assert pm.Pruning(problem, kept).error == pytest.approx(expected, rel=1e-9)


def test_what_has_no_error_of_its_own_is_refused() -> None:
    """Boosting, one tree a class, losses that do not fit, other models' prunings: refused with the remedy."""
    boosted, X, y = model_of("xgboost", "two classes")
    with pytest.raises(UnsupportedModelError, match="its trees add up; use prune_boosted"):
        problem_from_model(boosted, X, errors=Given(X, y), costs=1)
    classes, X, y = model_of("xgboost", "forest, three classes")
    with pytest.raises(UnsupportedModelError, match="speaks for one class only; use prune_boosted"):
        problem_from_model(classes, X, errors=Given(X, y), costs=1)
    numbers = model_of("xgboost", "forest, numbers")[0]
    with pytest.raises(InvalidInputError, match="tree_loss is 'log_loss'; for identity leaves it is one of squares"):
        problem_from_model(numbers, XR, errors=Given(XR, YR), costs=1, tree_loss="log_loss")
    pruning = pm.Pruning.unpruned(problem_from_model(numbers, XR, errors=Given(XR, YR), costs=1))
    with pytest.raises(InvalidInputError, match="give the model that the problem was built from"):
        prune_model(pruning, classes)
