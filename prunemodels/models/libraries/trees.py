"""The trees of any library as arrays, before they become a `ModelForest`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import UnsupportedModelError
from formulations.instance.ensemble import Ensemble
from prunemodels.models.libraries.categories import CategorySet
from prunemodels.models.libraries.thresholds import Cells, cells_of


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
        int32, shape (n,): the node's number in its tree in the library's model.
    categories
        the tests of categorical splits, by node; their thresholds mean nothing.
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
    categories: Mapping[int, CategorySet] = field(default_factory=dict)

    def with_columns(self, n_features: int) -> tuple[Trees, tuple[CategorySet, ...]]:
        """Trees whose categorical splits compare further columns, from number `n_features` on, and what these are made from."""
        made = tuple(dict.fromkeys(self.categories.values()))
        feature, threshold, missing_left = self.feature.copy(), self.threshold.copy(), self.missing_left.copy()
        place = {test: n_features + k for k, test in enumerate(made)}
        for h, test in self.categories.items():
            feature[h], threshold[h], missing_left[h] = place[test], 0.5, False
        changed = replace(self, feature=feature, threshold=threshold, missing_left=missing_left, categories={})
        return (changed if made else self), made

    def cells(self) -> dict[int, Cells] | None:
        """The cells of thresholds that are doubles; None for float32 thresholds, which `Ensemble` compares unchanged."""
        if self.threshold.dtype == np.float32:
            return None
        split = self.left >= 0
        return cells_of(self.feature[split], self.threshold[split].astype(np.float64))

    def ensemble(
        self,
        cells: Mapping[int, Cells] | None,
        n_features: int,
        classes: NDArray[Any] | None,
        feature_names: tuple[str, ...] | None,
    ) -> Ensemble:
        """The trees with thresholds that float32 rows are compared with; classes where leaves hold class fractions."""
        threshold = self.threshold.astype(np.float64)
        for f, own in (cells or {}).items():
            mine = self.feature == f
            threshold[mine] = own.stand_in(self.threshold[mine])
        return Ensemble(
            self.tree_start,
            self.left,
            self.right,
            self.feature,
            threshold,
            self.missing_left,
            self.leaf_value.astype(np.float64),
            n_features,
            "regression" if classes is None else "classification",
            classes,
            feature_names,
        )


def joined(trees: Sequence[Trees]) -> Trees:
    """Single trees, whose children are numbered from their own root, one after the other.

    Raises
    ------
    UnsupportedModelError
        if there are none.
    """
    if not trees:
        raise UnsupportedModelError("the model has no trees: nothing to prune")
    start = np.concatenate([[0], np.cumsum([len(tree.left) for tree in trees])]).astype(np.int64)

    def together(name: str) -> Any:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def shifted(name: str) -> Any:
        children = [getattr(tree, name) for tree in trees]
        return np.concatenate([np.where(c >= 0, c + first, -1) for c, first in zip(children, start[:-1], strict=True)])

    names = ("feature", "threshold", "missing_left", "leaf_value", "node_id")
    cover = together("cover") if all(tree.cover is not None for tree in trees) else None
    left, right = shifted("left").astype(np.int32), shifted("right").astype(np.int32)
    categories = {
        int(first) + h: test for tree, first in zip(trees, start[:-1], strict=True) for h, test in tree.categories.items()
    }
    return Trees(start, left, right, cover=cover, categories=categories, **{name: together(name) for name in names})
