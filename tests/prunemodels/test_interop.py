"""Tools that people use on forests take a pruned one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import prunemodels as pm
from tests.prunemodels.forest_kinds import fitted, random_pruning, rows

SHAP_KINDS = [
    "random forest",
    "random forest, 3 string labels",
    "random forest, best first",
    "extra trees",
    "tree",
    "regression forest",
    "extra regression trees",
    "regression tree",
]


def pruned(kind, keep="some"):
    case = fitted(kind)
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    return pm.apply_pruning(pm.Pruning.all_roots(problem) if keep == "none" else random_pruning(problem), case.forest)


def answer(forest, X):
    return forest.predict_proba(X) if hasattr(forest, "predict_proba") else forest.predict(X)[:, None]


def import_quietly(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


@pytest.mark.parametrize("kind", SHAP_KINDS)
def test_shap_values_add_up(kind):
    """SHAP's tree explainer explains a pruned forest: base value and contributions add up to the prediction."""
    shap = import_quietly("shap")
    forest, X = pruned(kind), rows(20, seed=3)
    explainer = shap.TreeExplainer(forest)
    values = np.asarray(explainer.shap_values(X)).reshape(len(X), X.shape[1], -1)
    np.testing.assert_allclose(np.ravel(explainer.expected_value) + values.sum(axis=1), answer(forest, X), atol=1e-6)
