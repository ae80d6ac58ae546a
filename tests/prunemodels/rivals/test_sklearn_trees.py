"""Trees as arrays -> scikit-learn's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, export_text

from formulations.errors import UnsupportedModelError
from formulations.instance.ensemble import Ensemble
from prunemodels.models.forests.reading import read_forest
from prunemodels.rivals import sklearn_trees
from prunemodels.rivals.sklearn_trees import (
    ClassificationTree,
    Criterion,
    ensemble_of,
    fill_forest,
    forest_to_fill,
    sklearn_tree,
)


def arrays_of(estimator: DecisionTreeClassifier) -> ClassificationTree:
    """The arrays of a tree that scikit-learn has grown."""
    tree = estimator.tree_
    return ClassificationTree(
        tree.children_left.astype(np.int32),
        tree.children_right.astype(np.int32),
        tree.feature.astype(np.int32),
        tree.threshold.copy(),
        tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None],
        tree.n_node_samples.astype(np.int64),
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_tree_of_scikit_learns_comes_back_the_same(criterion: Criterion) -> None:
    """Taken apart and rebuilt, every field of every node is what scikit-learn had, impurities included."""
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(80, 3)).astype(np.float32), rng.integers(0, 3, 80), rng.integers(1, 4, 80).astype(float)
    grown = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y, w)
    built = sklearn_tree(arrays_of(grown), 3, criterion)
    ours, theirs = built.__getstate__(), grown.tree_.__getstate__()
    assert (ours["max_depth"], ours["node_count"]) == (theirs["max_depth"], theirs["node_count"])
    split = theirs["nodes"]["left_child"] >= 0
    np.testing.assert_array_equal(ours["nodes"]["missing_go_to_left"][split], theirs["nodes"]["missing_go_to_left"][split])
    for name in sklearn_trees.FIELDS[:-1]:
        np.testing.assert_allclose(ours["nodes"][name], theirs["nodes"][name], atol=1e-12, err_msg=name)
    np.testing.assert_allclose(ours["values"], theirs["values"], atol=1e-12)
    assert (built.apply(X) == grown.tree_.apply(X)).all()
    assert (built.n_features, built.n_leaves, built.n_outputs) == (3, grown.get_n_leaves(), 1)


def filled(n_trees: int = 2) -> tuple[RandomForestClassifier, Any, Any]:
    """A forest of 3 stumps, filled with the first trees of another."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.choice(["no", "yes", "well"], 60)
    grown = RandomForestClassifier(3, random_state=5).fit(X, y)
    forest = forest_to_fill(RandomForestClassifier(3, max_depth=7, min_samples_leaf=2, random_state=5), X, y)
    trees = [arrays_of(tree) for tree in grown.estimators_[:n_trees]]
    return fill_forest(forest, trees, 2), grown, X


def test_a_filled_forest_is_a_forest() -> None:
    """It predicts as the trees it was given, keeps scikit-learn's draws and the parameters wanted, and drops the other stumps."""
    forest, grown, X = filled()
    grown.estimators_ = grown.estimators_[:2]
    np.testing.assert_allclose(forest.predict_proba(X), grown.predict_proba(X))
    assert (forest.predict(X) == grown.predict(X)).all()
    assert forest.n_estimators == len(forest.estimators_) == 2
    assert (forest.max_depth, forest.min_samples_leaf, forest.max_features) == (7, 2, "sqrt")
    assert {(t.max_depth, t.min_samples_leaf, t.max_features_) for t in forest.estimators_} == {(7, 2, 2)}
    for ours, theirs in zip(forest.estimators_samples_, grown.estimators_samples_, strict=True):
        assert (ours == theirs).all()
    assert forest.estimators_[0].get_depth() == grown.estimators_[0].get_depth() > 1
    assert "class: " in export_text(forest.estimators_[0])


def test_the_arrays_for_costs_are_those_of_the_forest() -> None:
    """`ensemble_of` the trees and `read_forest` of the filled forest agree in every array."""
    forest, grown, _ = filled(3)
    ours = ensemble_of([arrays_of(tree) for tree in grown.estimators_], 4, forest.classes_, None)
    theirs = read_forest(forest)
    for name in ("tree_start", "left", "right", "feature", "threshold", "missing_left", "value"):
        np.testing.assert_allclose(at_splits(ours, name), at_splits(theirs, name), atol=1e-12, err_msg=name)
    assert (ours.classes == theirs.classes).all()  # type: ignore[union-attr]


def at_splits(ensemble: Ensemble, name: str) -> Any:
    """An array of the ensemble; thresholds and ways of NaN only where they mean something."""
    array = getattr(ensemble, name)
    return array[ensemble.is_split] if name in ("threshold", "missing_left") else array


def test_an_unknown_node_record_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a scikit-learn to come names a field otherwise, the message says which one is missing."""
    monkeypatch.setattr(sklearn_trees, "FIELDS", ("left_child", "gain"))
    with pytest.raises(UnsupportedModelError, match="have no field 'gain'"):
        sklearn_trees._fitted_state()
