"""Margins of rows after each stage: a constant plus the values of the leaves in which the rows end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.ensemble import Ensemble


def staged_margins(
    trees: Ensemble, baseline: NDArray[np.float64], stage: NDArray[np.int32], output: NDArray[np.int32], rows: NDArray[np.float32]
) -> Iterator[NDArray[np.float64]]:
    """Margins after each stage, shape (N, K), in one array that the next stage overwrites. The trees are sorted by stage."""
    F = np.tile(baseline, (len(rows), 1))
    ends = np.flatnonzero(np.diff(stage, append=-1)) + 1
    splits = (trees.left, trees.right, trees.feature, trees.threshold, trees.missing_left, trees.value[:, 0])
    left, right, feature, threshold, missing_left, value = (_read_only(a) for a in splits)
    rows = _read_only(rows)
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        for t in range(first, end):
            _add_tree(rows, trees.tree_start[t], left, right, feature, threshold, missing_left, value, F[:, output[t]])
        yield F


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: arrays of tables and loaded models are read-only, others are not, and one compiled kernel serves both."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@njit(cache=True, nogil=True)
def _add_tree(rows, root, left, right, feature, threshold, missing_left, value, F):  # type: ignore[no-untyped-def]
    """Add the value of each row's leaf."""
    for i in range(rows.shape[0]):
        h = root
        while left[h] >= 0:
            x = rows[i, feature[h]]
            go_left = missing_left[h] if np.isnan(x) else np.float64(x) <= threshold[h]
            h = left[h] if go_left else right[h]
        F[i] += value[h]
