"""The trees of any library as arrays, in a form in which `Ensemble` routes rows exactly as the library does.

`Ensemble` goes left where ``float64(float32(x)) <= threshold``, and every comparison of a library is turned into that one:

    x <  t   is   x <= the number before t,                                                        (1)
    x >  t   is   not x <= t,   x >= t   is   not x < t:   the children change places.             (2)

Numbers are of the library's own type. XGBoost casts to float32 and compares there, so (1) and (2) suffice. LightGBM compares
doubles, of which float32 holds too few. The thresholds t_1 < ... < t_k of a feature cut its axis into k + 1 cells, and only the
cell of x matters. So each t_j gets a float32 s_j, with s_1 < ... < s_k, as close below t_j as possible, and

    x in (t_j, t_{j+1}]   becomes   float32(x) clipped to [the float32 after s_j, s_{j+1}].         (3)

This is float32(x) itself except for doubles within rounding of a threshold, and it routes every double, infinities included, as
the library does.

A categorical split sends a row left or right by the category of a column, which the library numbers 0, 1, 2, ... It becomes a
comparison with a column of zeros and ones that is made from the category, missing and unknown ones included: 0 <= 1/2 where the
row goes left, 1 > 1/2 where it goes right. So each split stays one split, routing is exact, and a pruned model keeps the
library's own split. There is one such column for each set of categories that some split tests; it costs what the category's
column costs.

Libraries keep no values at splits, or not those that are wanted. A collapsed split predicts the mean of the leaves below it,
weighted by their cover:

    v_h = sum over the leaves l below h of c_l v_l  /  sum of c_l,                                  (4)

or the plain mean where no leaf has cover. Cover is the leaf's sum of Hessians where the library kept it. Then (4) is, apart from
penalties, the value that the booster itself would have put there in training, because leaves are Newton steps -G_l / H_l and G
and H are sums over leaves. Otherwise cover is the number of training rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.errors import UnsupportedModelError
from formulations.instance.ensemble import Ensemble


@dataclass(frozen=True)
class CategorySet:
    """The test of a categorical split."""

    feature: int  # the column of the category
    # listed, listed_left: categories that go to one side, and whether that is the left one. Other known categories go to the
    # other side.
    listed: frozenset[int]
    listed_left: bool
    known: frozenset[int] | None  # the categories that the model knows; None: all numbers. Others go where missing values go
    missing_left: bool  # whether these go left

    def right(self, codes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows go right, for their numbers of categories; NaN is missing."""
        found, place = np.unique(np.where(np.isnan(codes), np.inf, codes), return_inverse=True)
        return np.array([not self._left(code) for code in found.tolist()], dtype=bool)[place]

    def _left(self, code: float) -> bool:
        if code == np.inf:
            return self.missing_left
        number = int(code) if -1 < code < 2**24 else -1  # larger codes are no categories in any library
        if number in self.listed:
            return self.listed_left
        return not self.listed_left if self.known is None or number in self.known else self.missing_left


LARGEST = np.finfo(np.float32).max


@dataclass(frozen=True, eq=False)
class Cells:
    """The thresholds of one feature: float64 as the library compares (`edges`), and the float32 that stand for them."""

    edges: NDArray[np.float64]
    stand_ins: NDArray[np.float32]

    @classmethod
    def of(cls, thresholds: NDArray[np.float64]) -> Cells:
        """Number the cells of a feature's thresholds, each of the form ``x <= t``."""
        edges = np.unique(thresholds)
        return cls(edges, _strictly_rising(floor32(edges)))

    def cast(self, x: NDArray[np.float64]) -> NDArray[np.float32]:
        """(3); NaN stays NaN."""
        lower = np.concatenate([[-LARGEST], np.nextafter(self.stand_ins, np.float32(np.inf))])
        upper = np.concatenate([self.stand_ins, [LARGEST]])
        cell = np.searchsorted(self.edges, x, side="left")
        cell[np.isnan(x)] = 0
        with np.errstate(over="ignore"):
            return np.clip(x.astype(np.float32), lower[cell], upper[cell]).astype(np.float32)

    def stand_in(self, thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
        """s_j of thresholds that are among `edges`."""
        place: NDArray[np.float32] = self.stand_ins[np.searchsorted(self.edges, thresholds)]
        return place


def cells_of(feature: NDArray[np.int32], threshold: NDArray[np.float64]) -> dict[int, Cells]:
    """The cells of every feature that is tested; arrays over split nodes."""
    return {int(f): Cells.of(threshold[feature == f]) for f in np.unique(feature)}


def cast_rows(X: NDArray[np.float64], cells: Mapping[int, Cells]) -> NDArray[np.float32]:
    """float32 rows that every split routes as it routes the doubles; features that no split tests are cast and clipped."""
    with np.errstate(over="ignore"):
        rows = np.clip(X.astype(np.float32), -LARGEST, LARGEST)
    for f, own in cells.items():
        rows[:, f] = own.cast(X[:, f])
    return rows


def before(threshold: NDArray[np.floating]) -> NDArray[np.floating]:
    """The number before each threshold, in the thresholds' own type: see (1)."""
    with np.errstate(over="ignore"):  # before the lowest number comes minus infinity: nothing is at most that
        return np.asarray(np.nextafter(threshold, threshold.dtype.type(-np.inf)))


def floor32(numbers: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is at most each number."""
    with np.errstate(over="ignore"):
        nearest = numbers.astype(np.float32)
        below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest > numbers, below, nearest).astype(np.float32)


def _strictly_rising(s: NDArray[np.float32]) -> NDArray[np.float32]:
    """Move ties up by one float32 at a time, within the finite numbers and with room for data below and above."""
    up, down = np.float32(np.inf), np.float32(-np.inf)
    rising = np.clip(s, -LARGEST, LARGEST)
    for j in range(1, rising.size):
        if rising[j] <= rising[j - 1]:
            rising[j] = np.nextafter(rising[j - 1], up) if rising[j - 1] < LARGEST else LARGEST
    most = np.nextafter(LARGEST, down)
    for j in range(rising.size - 1, -1, -1):
        if rising[j] <= most:
            break
        rising[j] = most
        most = np.nextafter(most, down)
    return rising


@dataclass(frozen=True, eq=False)
class Trees:
    """Arrays over all nodes, see `Ensemble`; thresholds in the library's own type, each of the form ``x <= t``."""

    tree_start: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.floating]
    missing_left: NDArray[np.bool_]
    # shape (n, K), in the library's own type. At splits it is what they predict as leaves, where that is known.
    leaf_value: NDArray[np.floating]
    # float64, shape (n,): sums of Hessians, or else numbers of training rows; None where values of splits are not needed.
    cover: NDArray[np.float64] | None
    # the tests of categorical splits, by node; their thresholds mean nothing.
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
        n_features: int,
        classes: NDArray[Any] | None,
        feature_names: tuple[str, ...] | None,
        cells: Mapping[int, Cells] | None = None,
        **other: Any,
    ) -> Ensemble:
        """The trees with thresholds that float32 rows are compared with; classes where leaves hold class fractions.

        `other` are further fields of `Ensemble`.
        """
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
            **{"task": "regression" if classes is None else "classification", **other},
            classes=classes,
            feature_names=feature_names,
        )


def one_tree(
    left: NDArray[Any],
    right: NDArray[Any],
    feature: NDArray[Any],
    threshold: NDArray[np.floating],
    missing_left: NDArray[np.bool_],
    leaf_value: NDArray[np.floating],
    *,
    cover: NDArray[np.float64] | None = None,
    categories: Mapping[int, CategorySet] | None = None,
) -> Trees:
    """A tree as its library has it: parents before children, a negative left child at leaves, and anything else there."""
    n, split = len(left), np.asarray(left) >= 0
    return Trees(
        np.array([0, n]),
        np.where(split, left, -1).astype(np.int32),
        np.where(split, right, -1).astype(np.int32),
        np.where(split, feature, -1).astype(np.int32),
        np.where(split, threshold, 0).astype(threshold.dtype),
        np.asarray(missing_left, dtype=np.bool_) & split,
        leaf_value,
        cover,
        categories or {},
    )


def level_by_level(
    left: NDArray[np.integer], right: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The file's numbers of the root and the nodes below it, parents first, and the children of each in this order; -1: none."""
    levels, level = [], np.zeros(1, dtype=np.int64)
    while level.size:
        levels.append(level)
        below = np.column_stack([left[level], right[level]]).ravel()
        level = below[below >= 0].astype(np.int64)
    order = np.concatenate(levels)
    place = np.full(len(left) + 1, -1, dtype=np.int64)  # the last one for "no child": -1
    place[order] = np.arange(order.size)
    return order, place[left[order]], place[right[order]]


def joined(trees: Sequence[Trees]) -> Trees:
    """Single trees, whose children are numbered from their own root, one after the other."""
    if not trees:
        raise UnsupportedModelError("the model has no trees: nothing to prune")
    start = np.concatenate([[0], np.cumsum([len(tree.left) for tree in trees])]).astype(np.int64)

    def together(name: str) -> Any:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def shifted(name: str) -> Any:
        children = [getattr(tree, name) for tree in trees]
        return np.concatenate([np.where(c >= 0, c + first, -1) for c, first in zip(children, start[:-1], strict=True)])

    names = ("feature", "threshold", "missing_left", "leaf_value")
    cover = together("cover") if all(tree.cover is not None for tree in trees) else None
    left, right = shifted("left").astype(np.int32), shifted("right").astype(np.int32)
    categories = {
        int(first) + h: test for tree, first in zip(trees, start[:-1], strict=True) for h, test in tree.categories.items()
    }
    return Trees(start, left, right, cover=cover, categories=categories, **{name: together(name) for name in names})


def mean_of_leaves(
    left: NDArray[np.int32], right: NDArray[np.int32], leaf_value: NDArray[np.floating], cover: NDArray[np.float64]
) -> NDArray[np.floating]:
    """(4) at splits and the leaf's own value at leaves, in the values' own type; all arrays over nodes, parents first.

    `leaf_value`, shape (n, K), and `cover` >= 0 are read at leaves only.
    """
    leaf = left < 0
    values = np.where(leaf[:, None], leaf_value, 0.0).astype(np.float64)
    covers = np.where(leaf, cover, 0.0)
    _gather(left, right, values, covers, np.ones(len(left)))
    return np.where(leaf[:, None], leaf_value, values.astype(leaf_value.dtype))


@njit(cache=True)
def _gather(left, right, value, cover, leaves):  # type: ignore[no-untyped-def]
    """Means of the children's means, children first; `leaves` counts them, for subtrees without cover."""
    for h in range(left.shape[0] - 1, -1, -1):
        if left[h] < 0:
            continue
        a, b = left[h], right[h]
        cover[h] = cover[a] + cover[b]
        leaves[h] = leaves[a] + leaves[b]
        share = cover[a] / cover[h] if cover[h] > 0 else leaves[a] / leaves[h]
        for k in range(value.shape[1]):
            value[h, k] = share * value[a, k] + (1.0 - share) * value[b, k]


def counterparts(ensemble: Ensemble, t: int, left: NDArray[np.integer], right: NDArray[np.integer]) -> NDArray[np.int64]:
    """The file's number of each node of tree t, in our order; `left` and `right` are the file's children."""
    nodes = ensemble.nodes_of(t)
    file = np.zeros(nodes.stop - nodes.start, dtype=np.int64)
    for h in range(nodes.start, nodes.stop):
        if ensemble.left[h] >= 0:
            file[ensemble.left[h] - nodes.start] = left[file[h - nodes.start]]
            file[ensemble.right[h] - nodes.start] = right[file[h - nodes.start]]
    return file


def pruned_ends(ensemble: Ensemble, kept: NDArray[np.bool_]) -> NDArray[np.int32]:
    """For each node the leaf of the pruned tree in which its rows end (a split's own id where it is kept)."""
    ends = np.arange(ensemble.n_nodes, dtype=np.int32)
    for level in range(1, int(ensemble.depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(ensemble.depth == level)
        above = ensemble.parent[nodes]
        ends[nodes] = np.where(kept[above], nodes, ends[above])
    return ends


def remaining(ensemble: Ensemble, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which nodes a pruning leaves, shape (n,): the splits that are kept, and the leaves of the pruned trees."""
    return np.asarray(pruned_ends(ensemble, kept) == np.arange(ensemble.n_nodes))


def pruned_nodes(ensemble: Ensemble, kept: NDArray[np.bool_], trees: int) -> tuple[Ensemble, NDArray[np.int64]]:
    """The first trees of an ensemble, where all splits outside of `kept`, shape (n,), are leaves, and the nodes that remain."""
    stays = remaining(ensemble, kept)
    stays[ensemble.tree_start[trees] :] = False
    nodes = np.flatnonzero(stays)
    place = np.cumsum(stays) - 1
    split = kept[nodes]
    smaller = replace(
        ensemble,
        tree_start=np.concatenate([[0], np.cumsum(np.bincount(ensemble.tree_of[nodes], minlength=trees))]).astype(np.int64),
        left=np.where(split, place[ensemble.left[nodes]], -1).astype(np.int32),
        right=np.where(split, place[ensemble.right[nodes]], -1).astype(np.int32),
        feature=np.where(split, ensemble.feature[nodes], -1).astype(np.int32),
        threshold=ensemble.threshold[nodes],
        missing_left=ensemble.missing_left[nodes] & split,
        value=ensemble.value[nodes],
    )
    return smaller, nodes
