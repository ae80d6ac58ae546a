"""What a collapsed split predicts."""

from __future__ import annotations

import numpy as np

from prunemodels.models.trees import mean_of_leaves

LEFT, RIGHT = np.array([1, -1, 3, -1, -1], dtype=np.int32), np.array([2, -1, 4, -1, -1], dtype=np.int32)


def test_the_mean_of_the_leaves_by_cover() -> None:
    """Leaves 6, 1, 3 with cover 1, 2, 6: the lower split (2 + 18) / 8, the root (6 + 2 + 18) / 9; leaves stay to the bit."""
    value = mean_of_leaves(LEFT, RIGHT, np.array([[9.0], [6.0], [9.0], [1.0], [3.0]]), np.array([7.0, 1.0, 7.0, 2.0, 6.0]))
    assert np.allclose(value[:, 0], [26 / 9, 6.0, 2.5, 1.0, 3.0], rtol=1e-15)


def test_without_cover_the_plain_mean() -> None:
    """No leaf has cover: (6 + 1 + 3) / 3, not the mean of means; a subtree with cover outweighs one without."""
    value = mean_of_leaves(LEFT, RIGHT, np.array([[0.0], [6.0], [0.0], [1.0], [3.0]]), np.zeros(5))
    assert np.allclose(value[:, 0], [10 / 3, 6.0, 2.0, 1.0, 3.0], rtol=1e-15)
    value = mean_of_leaves(LEFT, RIGHT, np.array([[0.0], [6.0], [0.0], [1.0], [3.0]]), np.array([0.0, 5.0, 0.0, 0.0, 0.0]))
    assert np.allclose(value[:, 0], [6.0, 6.0, 2.0, 1.0, 3.0], rtol=1e-15)


def test_values_keep_the_type_of_the_leaves() -> None:
    """float32 leaves give float32 means, rounded once; vectors are averaged by component."""
    leaf = np.array([[0, 0], [0.1, 0.9], [0, 0], [0.3, 0.7], [0.7, 0.3]], dtype=np.float32)
    value = mean_of_leaves(LEFT, RIGHT, leaf, np.array([0.0, 1, 0, 1, 1]))
    assert value.dtype == np.float32
    assert np.array_equal(value[[1, 3, 4]], leaf[[1, 3, 4]])
    assert np.array_equal(value[0], (leaf[[1, 3, 4]].astype(float).sum(axis=0) / 3).astype(np.float32))
