"""Forests with several outputs: errors are means over the outputs, and pruned forests keep them all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import prunemodels as pm
from prunemodels.evaluation.path import evaluate_path
from tests.prunemodels.forest_kinds import labels, rows, targets

X = rows()
NUMBERS = np.stack([targets(X, 1), 5 * targets(X, 2), targets(X, 3)], axis=1)
LABELS = np.stack([labels(X, [0, 1, 2], 1), labels(X, [5, 7], 2)], axis=1)

FORESTS: dict[str, tuple[Any, NDArray[Any]]] = {
    "regression": (RandomForestRegressor(4, max_depth=4, random_state=0), NUMBERS),
    "absolute error": (ExtraTreesRegressor(3, max_depth=3, criterion="absolute_error", random_state=0), NUMBERS),
    "poisson": (RandomForestRegressor(3, max_depth=3, criterion="poisson", random_state=0), NUMBERS),
    "extra trees": (ExtraTreesRegressor(4, max_depth=4, bootstrap=True, random_state=0), NUMBERS),
    "bag": (BaggingRegressor(DecisionTreeRegressor(max_depth=3), 4, max_features=3, random_state=0), NUMBERS),
    "classification": (RandomForestClassifier(4, max_depth=4, random_state=0), LABELS),
    "tree": (DecisionTreeClassifier(max_depth=4, random_state=0), LABELS),
}


def fitted(kind: str) -> tuple[Any, NDArray[Any]]:
    forest, y = FORESTS[kind]
    return forest.fit(X[:60], y[:60]), y


def own_error(model: Any, kind: str, y: NDArray[Any], rows: NDArray[Any]) -> float:
    """The mean over rows and outputs of the loss of what a model predicts."""
    predicted = np.asarray(model.predict(rows))
    if y is LABELS or y.dtype.kind == "i":
        return float((predicted != y).mean())
    if kind == "absolute error":
        return float(np.abs(predicted - y).mean())
    if kind == "poisson":
        return float((2 * (y * np.log(y / predicted) - y + predicted)).mean())
    return float(((predicted - y) ** 2).mean())


def test_two_outputs_by_hand() -> None:
    """A stump. Output 0: a, a, b | b, b, b; output 1: c, d, d | d, d, d.

    The root says b and d: it errs on 2 + 1 of 12. The left child says a and d: 1 + 1. The right child: 0.
    """
    rows = np.array([[0.0]] * 3 + [[1.0]] * 3)
    y = np.array([["a", "c"], ["a", "d"], ["b", "d"], ["b", "d"], ["b", "d"], ["b", "d"]])
    tree = DecisionTreeClassifier(max_depth=1).fit(rows, y)
    for errors in (pm.samples.InBag(), pm.samples.InBag(rows, y), pm.samples.Given(rows, y)):
        problem = pm.problem_from_forest(tree, rows, costs=1, errors=errors)
        assert problem.errors.components[0].e.tolist() == [3, 2, 0]
        assert problem.errors.components[0].weight.tolist() == [12]
        assert problem.integers.exact
    assert repr(problem.ensemble) == "Ensemble(1 trees, 1 splits, 1 features, classification of 2 outputs)"


@pytest.mark.parametrize("kind", FORESTS)
def test_errors_of_single_trees(kind: str) -> None:
    """The unpruned forest's error on given rows is the mean over its trees; stored errors are those of the rows drawn."""
    forest, y = fitted(kind)
    given = pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(X[60:], y[60:]))
    trees = getattr(forest, "estimators_", [forest])
    columns = getattr(forest, "estimators_features_", [slice(None)] * len(trees))
    each = [own_error(t, kind, y[60:], X[60:][:, c]) for t, c in zip(trees, columns, strict=True)]
    if kind == "classification":  # the trees predict the numbers of the classes
        codes = np.stack([np.searchsorted(c, y[60:, o]) for o, c in enumerate(forest.classes_)], axis=1)
        each = [float((t.predict(X[60:]) != codes).mean()) for t in trees]
    assert pm.Pruning.unpruned(given).error == pytest.approx(np.mean(each))
    stored, drawn = (
        pm.problem_from_forest(forest, X, costs=1, errors=errors)
        for errors in (pm.samples.InBag(), pm.samples.InBag(X[:60], y[:60]))
    )
    np.testing.assert_allclose(stored.node_error, drawn.node_error, atol=1e-9 * stored.node_error.max())


@pytest.mark.parametrize("kind", FORESTS)
def test_pruned_forests_keep_all_outputs(kind: str, tmp_path: Path) -> None:
    """Path, held-out change and `evaluate` have the pruned forest's own mean error; files are read again."""
    forest, y = fitted(kind)
    result = pm.prune_forest(forest, X[60:], y[60:], costs=[1, 2, 3, 4, 5], budget=5)
    assert result.cost <= 5
    assert result.estimator.predict(X).shape == y.shape
    seen = evaluate_path(result.path, X, y)
    own = [own_error(pm.apply_pruning(p, forest), kind, y, X) for p in result.path]
    np.testing.assert_allclose(seen.error, own, rtol=1e-9)
    error = own_error(result.estimator, kind, y, X)
    assert result.evaluate(X, y).error_after.mean == pytest.approx(error)
    assert pm.evaluate(result.estimator, X, y, costs=1).error == pytest.approx(error)
    pm.save_forest(result.estimator, tmp_path / "forest.skops")
    again = pm.load_forest(tmp_path / "forest.skops")
    np.testing.assert_array_equal(again.predict(X), result.estimator.predict(X))


def test_what_needs_one_output_says_so() -> None:
    """Exits, prediction on demand, ONNX, misclassification costs, tables in blocks and the forest's own loss refuse, with the
    remedy.
    """
    forest, y = fitted("classification")
    problem = pm.problem_from_forest(forest, X, costs=1)
    path = pm.pruning_path(problem)
    table = pd.DataFrame(X).assign(label=y[:, 0])
    for use in (
        lambda: pm.read_forest(forest),
        lambda: pm.deployment.to_onnx(forest),
        lambda: pm.exits.trees_as_stages(problem.ensemble, 1, [1, 2]),
        lambda: pm.exit_path(path, X, y),
        lambda: pm.exit_path(path, X, y[:, 0]),
        lambda: pm.problem_from_forest(forest, X, costs=1, errors=pm.tables.GivenTable(table, "label")),
        lambda: pm.hold_out(path[0], forest, pm.tables.ChunkedTable(table), "label"),
        lambda: pm.OnDemandPredictor(problem.ensemble, 1, pm.on_demand.from_table(X)),
        lambda: pm.OnDemandPredictor(forest, 1, pm.on_demand.from_table(X)),
        lambda: pm.prune_forest(forest, X, y, budget=2, objective="ensemble"),
        lambda: pm.prune_forest(forest, X, budget=2, misclassification_costs=[[0, 1], [1, 0]]),
    ):
        with pytest.raises(pm.errors.UnsupportedModelError, match=r"2 outputs.*train one forest for each output"):
            use()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (LABELS[:, 0], r"y has shape \(90,\); give one column for each of 2 outputs, shape \(90, 2\)"),
        (LABELS + 4, r"y\[:, 0\]\[.\] is the label ., the model was trained on \[0, 1, 2\]"),
    ],
)
def test_labels_that_do_not_fit(wrong: NDArray[Any], message: str) -> None:
    """Another number of columns, and labels that the forest does not know."""
    forest, _ = fitted("classification")
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(X, wrong))
