"""Histograms that rivals share, and trees put into scikit-learn's forests."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from formulations.errors import UnsupportedModelError
from formulations.instance.ensemble import Ensemble
from prunemodels.models.forests.reading import read_forest
from prunemodels.rivals import sklearn_trees
from prunemodels.rivals.histograms import Binning, Needed, best_splits, histograms
from prunemodels.rivals.sklearn_trees import ClassificationTree, Criterion, ensemble_of, fill_forest, forest_to_fill, sklearn_tree

VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.just(float("nan"))


def test_few_values_have_a_cut_between_each_two() -> None:
    """A feature of three values and one missing has the codes 0, 1, 2, and 3 for the missing one."""
    X = np.array([[5.0], [1.0], [np.nan], [2.0], [5.0]], dtype=np.float32)
    binning = Binning.of(X, None, 255)
    np.testing.assert_array_equal(binning.cuts[0], [1.5, 3.5])
    np.testing.assert_array_equal(binning.codes(X), [[2, 0, 3, 1, 2]])
    np.testing.assert_array_equal(binning.start, [0, 4])  # three bins of values and the missing one


def test_many_values_are_cut_at_quantiles() -> None:
    """Of 100 even values in 4 bins each takes 25; a heavy value fills a bin, and the bins are never more than allowed."""
    even = np.arange(100, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(Binning.of(even, None, 4).cuts[0], [24.5, 49.5, 74.5])
    heavy = np.concatenate([np.zeros(90, dtype=np.float32), np.arange(1, 11, dtype=np.float32)])[:, None]
    np.testing.assert_array_equal(Binning.of(heavy, None, 10).cuts[0], [0.5])  # nine tenths are zeros


@pytest.mark.slow
@settings(deadline=None)
@given(X=arrays(np.float32, (30, 1), elements=VALUES), weight=arrays(np.int64, 30, elements=st.integers(1, 3)))
def test_a_weight_is_the_row_so_many_times(X: np.ndarray, weight: np.ndarray) -> None:
    """Cuts of weighted rows are those of the rows written out."""
    weighted = Binning.of(X, weight.astype(float), 4).cuts[0]
    np.testing.assert_array_equal(weighted, Binning.of(np.repeat(X, weight, axis=0), None, 4).cuts[0])
    assert len(weighted) <= 3


@pytest.mark.slow
@settings(deadline=None)
@given(X=arrays(np.float32, (12, 2), elements=VALUES), max_bins=st.integers(2, 6))
def test_codes_and_thresholds_part_rows_alike(X: np.ndarray, max_bins: int) -> None:
    """Code <= b exactly where float32(x) <= threshold(b), for any finite float32s, neighbours and huge ones among them."""
    binning = Binning.of(X, None, max_bins)
    codes = binning.codes(X)
    for f in range(2):
        for b in range(len(binning.cuts[f])):
            np.testing.assert_array_equal(codes[f] <= b, X[:, f].astype(float) <= binning.threshold(f, b))


def test_other_rows_may_stand_on_a_cut() -> None:
    """Values that training never saw are coded by the same rule: 2, on the cut between 1 and 3, goes left with 1."""
    binning = Binning.of(np.array([[1.0], [3.0]], dtype=np.float32), None, 255)
    np.testing.assert_array_equal(binning.codes(np.array([[2.0], [2.5], [-9], [np.nan]], dtype=np.float32)), [[0, 1, 0, 2]])
    assert binning.threshold(0, 0) == 2


N = 9
INTEGERS = st.integers(-4, 4).map(float)
FEW_VALUES = st.integers(0, 3).map(float) | st.just(float("nan"))


def fall(r: np.ndarray, w: np.ndarray, left: np.ndarray) -> float:
    """By how much the weighted sum of squares falls when each side has its own mean: from the definition."""

    def squares(part: np.ndarray) -> float:
        mean = np.average(r[part], weights=w[part])
        return float((w[part] * (r[part] - mean) ** 2).sum())

    return squares(np.ones(len(r), dtype=bool)) - squares(left) - squares(~left)


def all_splits(x: np.ndarray, least: int) -> list[np.ndarray]:
    """Who goes left, for every threshold and both sides of missing values, where both sides have enough rows."""
    found = []
    for t, with_missing in product(np.unique(x[~np.isnan(x)]), (False, True)):
        left = np.where(np.isnan(x), with_missing, x <= t).astype(bool)
        if min(left.sum(), (~left).sum()) >= least:
            found.append(left)
    return found


@pytest.mark.slow
@settings(deadline=None)
@given(
    X=arrays(np.float32, (N, 2), elements=FEW_VALUES),
    r=arrays(float, N, elements=INTEGERS),
    w=st.none() | arrays(float, N, elements=st.integers(1, 3).map(float)),
    node=arrays(np.int64, N, elements=st.integers(0, 1)),
    least=st.integers(1, 3),
)
def test_every_best_split_is_the_best_of_all(X: Any, r: Any, w: Any, node: Any, least: int) -> None:
    """For each node and feature the gain is the greatest over all thresholds and sides, and the split found has it."""
    node[0], node[1] = 0, 1  # neither is empty
    binning = Binning.of(X, None, 255)
    codes = binning.codes(X)
    weight = np.ones(N) if w is None else w
    sums = histograms(codes, binning.start, np.arange(N), node, r * weight, w, 2)
    found = best_splits(sums, binning.start, Needed(least))
    for s, f in product((0, 1), (0, 1)):
        here = node == s
        x, rs, ws = X[here, f], r[here], weight[here]
        gains = [fall(rs, ws, left) for left in all_splits(x, least)]
        assert found.weight[s] == ws.sum()
        if max(gains, default=0.0) < 1e-9:
            assert found.gain[s, f] < 1e-9
        else:
            assert found.gain[s, f] == pytest.approx(max(gains), abs=1e-9)
            left = np.where(np.isnan(x), found.missing_left[s, f], x <= binning.threshold(f, found.last_left[s, f]))
            assert fall(rs, ws, left.astype(bool)) == pytest.approx(max(gains), abs=1e-9)
            if not np.isnan(x).any():
                assert found.missing_left[s, f] == (2 * left.sum() > len(x))  # to the side of more rows


def test_equal_gains_go_to_the_lowest_threshold() -> None:
    """Residuals 1, 0, 1 gain the same at both cuts; the first is taken, and missing values would follow the two rows."""
    X = np.array([[0.0], [1.0], [2.0]], dtype=np.float32)
    binning = Binning.of(X, None, 255)
    sums = histograms(binning.codes(X), binning.start, np.arange(3), np.zeros(3, dtype=np.int64), np.array([1.0, 0, 1]), None, 1)
    found = best_splits(sums, binning.start, Needed(1))
    assert (found.last_left[0, 0], found.missing_left[0, 0]) == (0, False)


def test_weights_that_vanish_beside_others_part_no_row() -> None:
    """A row of weight 1e-20 beside rows of weight 1 could be rounding: its side would have weight 0."""
    X = np.array([[0.0], [0.0], [1.0]], dtype=np.float32)
    binning = Binning.of(X, None, 255)
    w = np.array([1.0, 1.0, 1e-20])
    sums = histograms(binning.codes(X), binning.start, np.arange(3), np.zeros(3, dtype=np.int64), np.array([1.0, 2, 3]) * w, w, 1)
    assert best_splits(sums, binning.start, Needed(1)).gain[0, 0] == -np.inf


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


def test_the_arrays_for_costs_are_those_of_the_forest() -> None:
    """`ensemble_of` the trees and `read_forest` of the filled forest agree in every array."""
    forest, grown, _ = filled(3)
    ours = ensemble_of([arrays_of(tree) for tree in grown.estimators_], 4, forest.classes_)
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
