"""Our estimators and results go where a forest goes: they are read as their pruned forest, and saved as it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier

import prunemodels as pm
from prunemodels.example import X_test, X_train, X_valid, costs, forest, y_test, y_train, y_valid


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    """One of each that prunes a forest."""
    few = RandomForestClassifier(4, max_depth=3, random_state=0)
    single = pm.BudgetPrunedForestClassifier(few, costs, budget=12, random_state=0)
    many = pm.BudgetPrunedForestClassifierCV(few, costs, budgets=[3, 12], cv=2, choose="one_se", random_state=0)
    return {
        "estimator": single.fit(X_train, y_train),
        "cross-validated": many.fit(X_train, y_train),
        "result": pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=6),
    }


def pruned_forest(model: Any) -> Any:
    return model.estimator if isinstance(model, pm.PrunedForest) else model.estimator_


KINDS = ("estimator", "cross-validated", "result")


@pytest.mark.parametrize("kind", KINDS)
def test_functions_of_forests_take_them(kind: str, fitted: dict[str, Any]) -> None:
    """Costs, errors, sizes and single-precision copies are those of the pruned forest."""
    model, pruned = fitted[kind], pruned_forest(fitted[kind])
    for function in (
        lambda m: pm.evaluate(m, X_test, y_test, costs=costs),
        lambda m: pm.evaluation.held_out_error(m, X_test, y_test),
        lambda m: pm.evaluation.held_out_cost(m, X_test, costs=costs),
        lambda m: replace(pm.deployment.forest_size(m), skops_bytes=0, joblib_bytes=0),  # some bytes vary from run to run
    ):
        assert vars(function(model)) == vars(function(pruned))
    single = pm.deployment.float32_thresholds(model)
    assert (single.predict_proba(X_test) == pruned.predict_proba(X_test)).all()
    bought = pm.OnDemandPredictor(model, costs, pm.on_demand.from_table(X_test)).run(X_test.index)
    assert bought.predictions.tolist() == pruned.predict(X_test).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_onnx(kind: str, fitted: dict[str, Any]) -> None:
    """They are converted, and the comparison takes them too."""
    pytest.importorskip("skl2onnx")
    model = fitted[kind]
    assert pm.deployment.compare_onnx(pm.deployment.to_onnx(model), model, X_test).agrees


@pytest.mark.parametrize("kind", KINDS)
def test_report(kind: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    """A report needs nothing but the estimator and held-out examples."""
    page = pm.write_report(tmp_path / "report.html", fitted[kind], X_test, y_test, title="Tumours").read_text()
    assert "Tumours" in page
    assert "All checks hold" in page or "optimal" in page


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["skops", "joblib"])
def test_files(kind: str, ending: str, fitted: dict[str, Any], tmp_path: Path) -> None:
    """What is saved and read again is the pruned forest: no rows of the cost sample are in the file."""
    file = tmp_path / f"model.{ending}"
    pm.save_forest(fitted[kind], file)
    again = pm.load_forest(file, trust_pickle=True)
    assert type(again) is RandomForestClassifier
    assert (again.predict_proba(X_test) == pruned_forest(fitted[kind]).predict_proba(X_test)).all()


def test_what_is_not_fitted_is_refused_by_name(tmp_path: Path) -> None:
    """Every door says which estimator, and to fit it."""
    model = pm.BudgetPrunedForestClassifier(budget=3)
    for use in (
        lambda: pm.save_forest(model, tmp_path / "model.skops"),
        lambda: pm.deployment.float32_thresholds(model),
        lambda: pm.write_report(tmp_path / "report.html", model, X_test, y_test),
    ):
        with pytest.raises(pm.errors.NotFittedForestError, match="the BudgetPrunedForestClassifier is not fitted: call fit"):
            use()
    assert not list(tmp_path.iterdir())


def test_what_users_call_on_forests(fitted: dict[str, Any]) -> None:
    """Leaves, paths and trees are the pruned forest's own; a bag, which has no `apply`, has none here either."""
    model = fitted["estimator"]
    pruned = model.estimator_
    np.testing.assert_array_equal(model.apply(X_test), pruned.apply(X_test))
    assert (model.decision_path(X_test)[0] != pruned.decision_path(X_test)[0]).nnz == 0
    assert model.estimators_ is pruned.estimators_
    assert not hasattr(pm.BudgetPrunedForestClassifier(BaggingClassifier()), "apply")
    assert pm.read_forest(model.unpruned_estimator_).n_splits > pm.read_forest(pruned).n_splits > 0
