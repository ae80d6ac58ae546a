"""What cannot be pruned is refused by name, with the tree and the node."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import treelite
import xgboost
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression

from formulations import InvalidInputError, NotFittedForestError, UnsupportedModelError
from prunemodels.models.libraries.reading import read_model
from tests.prunemodels.models.libraries.models import L_DEEP, X2, XR, Y2, YR, lightgbm_models, xgboost_models

TABLE = pd.DataFrame({"kind": pd.Categorical(np.array(list("abcde"))[np.arange(240) % 5]), "x": X2[:, 0]})
LABEL = (np.arange(240) % 5 > 2).astype(int)


def train_xgboost(objective: str) -> Any:
    data = xgboost.DMatrix(X2, Y2 + 1 if objective == "reg:gamma" else Y2)
    if "rank" in objective:
        data.set_group([240])
    return xgboost.train({"objective": objective, "max_depth": 2}, data, 2)


@pytest.mark.parametrize("objective", ["count:poisson", "binary:hinge", "rank:pairwise", "reg:gamma"])
def test_xgboost_objectives_without_bounded_curvature(objective: str) -> None:
    """Counts, hinge and ranking have no such loss: the link is named."""
    booster = train_xgboost(objective)
    with pytest.raises(UnsupportedModelError, match=r"model with the postprocessor .* cannot be pruned; what can be"):
        read_model(booster)


def test_linear_models() -> None:
    """Linear boosters and linear leaves have no trees of constants."""
    with pytest.raises(UnsupportedModelError, match="'gblinear': it has no trees"):
        read_model(xgboost.XGBRegressor(booster="gblinear", n_estimators=2).fit(XR, YR))
    with pytest.raises(UnsupportedModelError, match="tree 0 has linear models in its leaves"):
        read_model(lightgbm.LGBMRegressor(linear_tree=True, **L_DEEP).fit(XR, YR))


def test_several_targets() -> None:
    """One model for each target is the remedy."""
    model = xgboost.XGBRegressor(n_estimators=2, max_depth=2, multi_strategy="multi_output_tree", tree_method="hist")
    with pytest.raises(UnsupportedModelError, match="2 targets at once; train one model for each"):
        read_model(model.fit(XR, np.column_stack([YR, -YR])))


def test_other_models_and_unfitted_ones() -> None:
    """scikit-learn's go elsewhere, and an estimator without trees says so."""
    for model in (RandomForestClassifier().fit(X2, Y2), LogisticRegression(), "model.json", treelite):
        with pytest.raises(UnsupportedModelError, match=r"is not a boosted model of scikit-learn, XGBoost, LightGBM or Cat"):
            read_model(model)
    for unfitted in (xgboost.XGBClassifier(), lightgbm.LGBMRegressor()):
        with pytest.raises(NotFittedForestError, match="is not fitted"):
            read_model(unfitted)


def test_zeros_missing_at_some_splits_only() -> None:
    """LightGBM text that takes a feature's zeros for missing at one split and not at another cannot be routed by one table."""
    booster = lightgbm_models()["zeros are missing"][0].booster_
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
    ours = read_model(xgboost_models()["two classes"][0])
    doubles = read_model(lightgbm_models()["two classes"][0])
    marked = read_model(xgboost_models()["zero is missing"][0])
    for forest in (ours, doubles, marked):
        for bad, message in (
            (X2[:, :5], "5"),
            (X2[:0], "is empty"),
            (X2[0], "shape"),
            (np.full((2, 6), "a"), "not numeric"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                forest.rows(bad)
    infinite = np.where(np.arange(6) == 2, np.inf, X2)
    for forest in (ours, marked):
        with pytest.raises(InvalidInputError, match="infinite"):
            forest.rows(infinite)
    assert np.isfinite(doubles.rows(infinite)).all()


def test_missing_treelite_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without treelite the message says how to install it."""
    monkeypatch.setitem(sys.modules, "treelite", None)
    with pytest.raises(ImportError, match=r'pip install "prunemodels\[boosting\]"'):
        read_model(xgboost_models()["two classes"][0])


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    """Importing the package imports none of treelite, xgboost, lightgbm."""
    code = "import sys, prunemodels.other_libraries as o; print({'treelite', 'xgboost', 'lightgbm'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


ENGINES = "import ortools.graph.python.max_flow, highspy"
USE = """
import numpy as np
from prunemodels.models.boosting.boosted import prune_boosted
from solvers import min_cut
X = np.random.default_rng(0).normal(size=(80, 3)); y = (X[:, 0] > 0).astype(int)
for model in (xgboost.XGBClassifier(n_estimators=3, max_depth=2), lightgbm.LGBMClassifier(n_estimators=3, verbose=-1)):
    assert prune_boosted(model.fit(X, y), X, y, costs=1, lam=0.01, solver=min_cut).cost <= 3
solver = highspy.Highs()
solver.setOptionValue("output_flag", False)
x = solver.addVariable(lb=2.0)
solver.minimize(x)
assert solver.getSolution().col_value[0] == 2.0
"""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            GradientBoostingClassifier(loss="exponential", n_estimators=2),
            "loss='exponential'; what can be pruned: log loss, squared",
        ),
        (GradientBoostingRegressor(loss="absolute_error", n_estimators=2), "loss='absolute_error'"),
        (HistGradientBoostingRegressor(loss="poisson", max_iter=2), "loss='poisson'"),
        (HistGradientBoostingRegressor(loss="quantile", quantile=0.5, max_iter=2), "loss='quantile'"),
        (GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2), r"a LogisticRegression \(init\), which reads"),
    ],
)
def test_scikit_learn_s_boosted_models(model: Any, message: str) -> None:
    """Losses without bounded curvature, and starts that read columns, are named."""
    model.fit(np.column_stack([np.arange(240) % 5, X2[:, 0]]), LABEL)
    with pytest.raises(UnsupportedModelError, match=message):
        read_model(model)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, HistGradientBoostingRegressor])
def test_scikit_learn_s_unfitted_boosted_models(kind: Any) -> None:
    """An estimator without trees says so."""
    with pytest.raises(NotFittedForestError, match=r"is not fitted: call fit\(X, y\) first"):
        read_model(kind())
