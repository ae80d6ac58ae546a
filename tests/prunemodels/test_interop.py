"""Tools that people use on forests take a pruned one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import prunemodels as pm
from tests.loops import looped
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

ONNX_KINDS = [*SHAP_KINDS, "bag", "random forest, missing values", "regression forest, missing values"]


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


@pytest.mark.parametrize("keep", ["some", "none"])
@looped("kind", ONNX_KINDS)
def test_onnx_predicts_the_same(kind, keep):
    """A pruned forest, converted to ONNX and run by onnxruntime, predicts what scikit-learn predicts."""
    skl2onnx, runtime = import_quietly("skl2onnx"), import_quietly("onnxruntime")
    forest, X = pruned(kind, keep), rows(40, seed=3).astype(np.float32)
    options = {id(forest): {"zipmap": False}} if hasattr(forest, "classes_") else None
    model = skl2onnx.to_onnx(forest, X[:1], options=options)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    outputs = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(outputs[-1].reshape(len(X), -1), answer(forest, X), atol=1e-5)
