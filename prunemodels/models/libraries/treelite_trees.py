"""Read treelite's trees into arrays in the order of `Ensemble`: tree after tree, parents before children."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from formulations.errors import UnsupportedModelError
from prunemodels.models.libraries.categories import CategorySet
from prunemodels.models.libraries.thresholds import before
from prunemodels.models.libraries.trees import Trees, joined

OPERATORS = {2: "<", 3: "<=", 4: ">", 5: ">="}
"""treelite's numbers for the comparisons that can be read."""


CATEGORICAL = 2
"""treelite's number for nodes with a categorical split."""


def read_trees(model: Any, n_values: int) -> Trees:
    """Read all trees of a ``treelite.Model``.

    Parameters
    ----------
    n_values
        K: numbers in a leaf.

    Raises
    ------
    UnsupportedModelError
        naming the tree and the node, for unknown comparisons and thresholds that are not numbers.
    """
    return joined([_read_tree(model.get_tree_accessor(t), t, n_values) for t in range(model.num_tree)])


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
    categorical = split & (of("node_type")[order] == CATEGORICAL)
    numeric = split & ~categorical
    _check_splits(t, order, numeric, comparison, threshold)
    strict = np.isin(comparison, (2, 5))
    threshold = np.where(strict & numeric, before(threshold), np.where(categorical, 0, threshold)).astype(threshold.dtype)
    swapped = np.isin(comparison, (4, 5)) & numeric
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
        {h: _category_set(of, int(order[h]), feature[h], missing_left[h]) for h in np.flatnonzero(categorical).tolist()},
    )


def _category_set(of: Any, node: int, feature: np.int32, missing_left: np.bool_) -> CategorySet:
    """The test of a categorical split, by treelite's number of the node."""
    begin, end = int(of("category_list_begin")[node]), int(of("category_list_end")[node])
    listed = frozenset(of("category_list")[begin:end].astype(np.int64).tolist())
    return CategorySet(int(feature), listed, not of("category_list_right_child")[node], None, bool(missing_left))


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
    comparison: NDArray[np.int8],
    threshold: NDArray[np.floating],
) -> None:
    def refuse(bad: NDArray[np.bool_], what: str) -> NoReturn:
        raise UnsupportedModelError(f"tree {t}, node {order[np.flatnonzero(bad)[0]]}: {what}")

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
