"""Margins of rows after each stage: a constant plus the values of the leaves in which the rows end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import read_only, walk_tree


def staged_margins(
    trees: Ensemble, baseline: NDArray[np.float64], stage: NDArray[np.int32], output: NDArray[np.int32], rows: NDArray[np.float32]
) -> Iterator[NDArray[np.float64]]:
    """Margins after each stage, shape (N, K), in one array that the next stage overwrites. The trees are sorted by stage."""
    F = np.tile(baseline, (len(rows), 1))
    ends = np.flatnonzero(np.diff(stage, append=-1)) + 1
    rows, nodes, leaf = read_only(rows), np.arange(trees.n_nodes, dtype=np.int32), np.empty(len(rows), dtype=np.int32)
    for first, end in zip([0, *ends[:-1]], ends, strict=True):
        for t in range(first, end):
            walk_tree(trees, t, rows, nodes, leaf)
            F[:, output[t]] += trees.value[leaf, 0]
        yield F
