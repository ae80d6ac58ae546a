"""Read treelite's trees into arrays in the order of `Ensemble`: tree after tree, parents before children."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from formulations.errors import UnsupportedModelError
from prunemodels.other_libraries.thresholds import before

OPERATORS = {2: "<", 3: "<=", 4: ">", 5: ">="}
"""treelite's numbers for the comparisons that can be read."""


@dataclass(frozen=True, eq=False)
class Trees:
    """Arrays over all nodes, see `Ensemble`; thresholds in the library's own type, each of the form ``x <= t``.

    Parameters
    ----------
    leaf_value
        shape (n, K), in the library's own type; 0 at splits.
    cover
        float64, shape (n,): sums of Hessians, or else numbers of training rows; None if the model has neither.
    node_id
        int32, shape (n,): the node's number in its tree in treelite's model.
    """

    tree_start: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.floating]
    missing_left: NDArray[np.bool_]
    leaf_value: NDArray[np.floating]
    cover: NDArray[np.float64] | None
    node_id: NDArray[np.int32]


def read_trees(model: Any, n_values: int) -> Trees:
    """Read all trees of a ``treelite.Model``.

    Parameters
    ----------
    n_values
        K: numbers in a leaf.

    Raises
    ------
    UnsupportedModelError
        naming the tree and the node, for categorical splits, unknown comparisons and thresholds that are not numbers.
    """
    trees = [_read_tree(model.get_tree_accessor(t), t, n_values) for t in range(model.num_tree)]
    if not trees:
        raise UnsupportedModelError("the model has no trees: nothing to prune")
    start = np.concatenate([[0], np.cumsum([len(tree.left) for tree in trees])]).astype(np.int64)

    def joined(name: str) -> Any:
        return np.concatenate([getattr(tree, name) for tree in trees])

    for tree, first in zip(trees, start[:-1], strict=True):
        for child in (tree.left, tree.right):
            child[child >= 0] += first
    cover = joined("cover") if all(tree.cover is not None for tree in trees) else None
    names = ("left", "right", "feature", "threshold", "missing_left", "leaf_value", "node_id")
    return Trees(start, cover=cover, **{name: joined(name) for name in names})


def _read_tree(accessor: Any, t: int, n_values: int) -> Trees:
    def of(name: str) -> NDArray[Any]:
        return np.array(accessor.get_field(name))  # a copy: treelite's own memory goes when the model does

    left, right = of("cleft"), of("cright")
    order = _parents_first(left, right)
    place = np.full(len(left) + 1, -1, dtype=np.int32)  # the last one for "no child": -1
    place[order] = np.arange(order.size)
    left, right = place[left[order]], place[right[order]]
    split = left >= 0
    comparison, threshold = of("cmp")[order], of("threshold")[order]
    _check_splits(t, order, split, of("node_type")[order], comparison, threshold)
    strict = np.isin(comparison, (2, 5))
    threshold = np.where(strict & split, before(threshold), threshold)
    swapped = np.isin(comparison, (4, 5)) & split
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    missing_left = (of("default_left")[order] != 0) ^ swapped
    feature = np.where(split, of("split_index")[order], -1).astype(np.int32)
    return Trees(
        np.array([0, order.size]),
        left,
        right,
        feature,
        np.where(split, threshold, 0).astype(threshold.dtype),
        missing_left & split,
        _leaf_values(of, order, split, n_values),
        _cover(of, order, split),
        order.astype(np.int32),
    )


def _parents_first(left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.int64]:
    """The nodes below the root and the root itself, level by level."""
    levels, level = [], np.zeros(1, dtype=np.int64)
    while level.size:
        levels.append(level)
        below = np.column_stack([left[level], right[level]]).ravel()
        level = below[below >= 0].astype(np.int64)
    return np.concatenate(levels)


def _check_splits(
    t: int,
    order: NDArray[np.int64],
    split: NDArray[np.bool_],
    node_type: NDArray[np.int8],
    comparison: NDArray[np.int8],
    threshold: NDArray[np.floating],
) -> None:
    def refuse(bad: NDArray[np.bool_], what: str) -> NoReturn:
        raise UnsupportedModelError(f"tree {t}, node {order[np.flatnonzero(bad)[0]]}: {what}")

    categorical = split & (node_type == 2)
    if categorical.any():
        refuse(categorical, "a categorical split; only numeric comparisons can be pruned: encode the feature before training")
    unknown = split & ~np.isin(comparison, list(OPERATORS))
    if unknown.any():
        found = comparison[unknown][0]
        refuse(unknown, f"comparison number {found} of treelite is not one of {', '.join(OPERATORS.values())}")
    if (split & np.isnan(threshold)).any():
        refuse(split & np.isnan(threshold), "the threshold is NaN")


def _leaf_values(of: Any, order: NDArray[np.int64], split: NDArray[np.bool_], n_values: int) -> NDArray[np.floating]:
    """Scalars, or vectors of K numbers."""
    if n_values == 1 and not of("leaf_vector").size:
        scalar = of("leaf_value")[order]
        return np.where(split, 0, scalar).astype(scalar.dtype)[:, None]
    vectors, begin = of("leaf_vector"), of("leaf_vector_begin")[order].astype(np.int64)
    value = np.zeros((order.size, n_values), dtype=vectors.dtype)
    leaves = np.flatnonzero(~split)
    value[leaves] = vectors[begin[leaves][:, None] + np.arange(n_values)]
    return value


def _cover(of: Any, order: NDArray[np.int64], split: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    for name in ("sum_hess", "data_count"):
        present = of(f"{name}_present")
        if present.size and present[order][~split].all():
            return np.asarray(of(name)[order], dtype=np.float64)
    return None
