"""Trees as arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations import Ensemble, InvalidInputError
from tests.instances import ensemble_of, random_tree


def arrays(**changes):
    """A split over a split and three leaves, then a tree of one leaf."""
    columns = {
        "tree_start": np.array([0, 5, 6]),
        "left": np.array([1, -1, 3, -1, -1, -1], dtype=np.int32),
        "right": np.array([2, -1, 4, -1, -1, -1], dtype=np.int32),
        "feature": np.array([0, -1, 1, -1, -1, -1], dtype=np.int32),
        "threshold": np.zeros(6),
        "missing_left": np.zeros(6, dtype=bool),
        "value": np.ones((6, 1)),
    }
    columns.update({name: np.asarray(new, dtype=columns[name].dtype) for name, new in changes.items()})
    return Ensemble(**columns, n_features=2, task="regression")


def test_by_hand():
    """Parents, depths, roots and trees follow from the children."""
    ensemble = arrays()
    assert ensemble.parent.tolist() == [-1, 0, 0, 2, 2, -1]
    assert ensemble.depth.tolist() == [0, 1, 1, 2, 2, 0]
    assert ensemble.roots.tolist() == [0, 5]
    assert ensemble.tree_of.tolist() == [0, 0, 0, 0, 0, 1]
    assert ensemble.is_split.tolist() == [True, False, True, False, False, False]
    assert (ensemble.n_nodes, ensemble.n_trees, ensemble.n_splits) == (6, 2, 2)


@given(st.integers(0, 10_000))
@settings(deadline=None)
def test_parents_and_depths_of_random_trees(seed):
    """Walking up from every node through `parent` takes `depth` steps to the root of its tree."""
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, 3, int(rng.integers(0, 12)), 3) for _ in range(3)]
    ensemble, _ = ensemble_of(trees, 3)
    for h in range(ensemble.n_nodes):
        steps, above = 0, h
        while ensemble.parent[above] >= 0:
            assert above in (ensemble.left[ensemble.parent[above]], ensemble.right[ensemble.parent[above]])
            above, steps = ensemble.parent[above], steps + 1
        assert steps == ensemble.depth[h]
        assert above == ensemble.roots[ensemble.tree_of[h]]


def test_deep_chain():
    """A chain of 5000 splits needs no recursion."""
    n = 10_001
    left, right = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    left[: n - 2 : 2], right[: n - 2 : 2] = np.arange(1, n - 1, 2), np.arange(2, n, 2)
    feature = np.where(left >= 0, 0, -1).astype(np.int32)
    ensemble = Ensemble(
        np.array([0, n]), left, right, feature, np.zeros(n), np.zeros(n, dtype=bool), np.zeros((n, 1)), 1, "regression"
    )
    assert ensemble.depth.max() == 5000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold": np.zeros(5)}, "threshold has 5 entries, left has 6"),
        ({"value": np.zeros((7, 1))}, "value has 7 entries, left has 6"),
        ({"left": [1, -1, 0, -1, -1, -1]}, "a child must stand behind its parent"),
        ({"right": [2, -1, 5, -1, -1, -1]}, "a child must stand behind its parent, in the same tree"),
        ({"right": [2, -1, 9, -1, -1, -1]}, "a child must stand behind its parent"),
        ({"right": [2, -1, 3, -1, -1, -1]}, "every node but a root must have exactly one parent"),
        ({"right": [2, -1, -1, -1, -1, -1]}, "a child must stand behind its parent"),
        ({"feature": [0, -1, 2, -1, -1, -1]}, "node 2 tests feature 2, the forest has features 0 to 1"),
        ({"feature": [-1, -1, 1, -1, -1, -1]}, "node 0 tests feature -1"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(changes, message):
    """Wrong lengths, children before parents or in other trees, lost or shared nodes, and unknown features."""
    with pytest.raises(InvalidInputError, match=message):
        arrays(**changes)
