"""Best splits of many nodes from sums over bins, for all boosted rivals.

Feature f has its own rising cuts t_0 < t_1 < ..., and

    code(x) = number of cuts below x,  so  code(x) <= b  <=>  x <= t_b;  a NaN has the code after the last          (1)

Every cut lies between two neighbouring values of the training rows, and separates them in float32 as in float64. So a tree grown
on codes and the same tree with thresholds send every row the same way. A feature with few values has a cut between every two
neighbours; one with many has cuts at quantiles of the weighted rows.

A node S splits into L and R. Row i pulls with g_i and weighs h_i; with G = sum g_i, V = sum h_i over a set, and a ridge mu,

    gain = G_L^2 / (V_L + mu) + G_R^2 / (V_R + mu) - G_S^2 / (V_S + mu)                                             (2)

With g_i = w_i r_i, h_i = w_i and mu = 0 it is by how much the sum of w_i (r_i - h(x_i))^2 falls when h takes the mean of each
side. With the loss's derivatives, half of it is by how much a Newton step lowers the loss. The gains of all thresholds of a
feature follow from running sums over its bins. Missing values go to the side where (2) is greater.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit

MOST_BINS = 255
"""Largest number of bins of values for which codes are single bytes, that of missing values included."""

ABOVE_ALL = float(np.finfo(np.float32).max)
"""The threshold of a split that separates missing values from all others."""


@dataclass(frozen=True, eq=False)
class Binning:
    """Cuts of every feature."""

    cuts: tuple[NDArray[np.float64], ...]  # for each of F features float64, rising; one less than its bins of values.

    @classmethod
    def of(cls, X: NDArray[np.float32], weight: NDArray[np.float64] | None, max_bins: int) -> Binning:
        """Cuts for at most `max_bins` bins of values for each feature; weights > 0."""
        return cls(tuple(_cuts(X[:, f], weight, max_bins) for f in range(X.shape[1])))

    @cached_property
    def start(self) -> NDArray[np.int64]:
        """int64, shape (F + 1,): where each feature's cells begin in a histogram: its bins of values, then missing values."""
        return np.cumsum([0] + [len(c) + 2 for c in self.cuts])

    def codes(self, X: NDArray[np.float32]) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """(1) of every value, shape (F, N): one row for each feature."""
        small = all(len(c) < MOST_BINS for c in self.cuts)
        codes = np.empty(X.shape[::-1], dtype=np.uint8 if small else np.uint16)
        for f, cuts in enumerate(self.cuts):
            column = X[:, f].astype(np.float64)
            codes[f] = np.where(np.isnan(column), len(cuts) + 1, np.searchsorted(cuts, column))
        return codes

    def threshold(self, feature: int, last_left: int) -> float:
        """The threshold at which exactly the codes up to `last_left` go left."""
        cuts = self.cuts[feature]
        return float(cuts[last_left]) if last_left < len(cuts) else ABOVE_ALL


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Examples: X float32, shape (N, F); targets, shape (N, K); weights > 0, or None: all 1."""

    X: NDArray[np.float32]
    targets: NDArray[np.float64]
    weight: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Training rows as codes, see `Binning`; weights > 0, or None: all 1."""

    binning: Binning
    codes: NDArray[np.uint8] | NDArray[np.uint16]
    weight: NDArray[np.float64] | None


def _cuts(column: NDArray[np.float32], weight: NDArray[np.float64] | None, max_bins: int) -> NDArray[np.float64]:
    """Midpoints between neighbouring values: all, or those nearest above the quantiles 1/max_bins, 2/max_bins ..."""
    known = ~np.isnan(column)
    values, inverse = np.unique(column[known].astype(np.float64), return_inverse=True)
    last_left = np.arange(len(values) - 1)
    if len(values) > max_bins:
        weights = None if weight is None else weight[known]
        up_to = np.cumsum(np.bincount(inverse, weights=weights, minlength=len(values)))
        wanted = up_to[-1] * np.arange(1, max_bins) / max_bins
        last_left = np.unique(np.minimum(np.searchsorted(up_to, wanted), len(values) - 2))
    return np.asarray((values[last_left] + values[last_left + 1]) / 2)


class Needed(NamedTuple):
    """What a split needs, for compiled code."""

    # rows, weight: the least number of rows, >= 1, and the least V on each side.
    rows: int
    weight: float = 0.0
    ridge: float = 0.0  # mu of (2).
    # tie, share: a gain counts where it exceeds 0, and the best one so far, by more than `tie` and by more than this share
    # of its first two terms: less is rounding.
    tie: float = 0.0
    share: float = 0.0


@dataclass(frozen=True, eq=False)
class NodeSplits:
    """The best split of each of k nodes on each of F features."""

    gain: NDArray[np.float64]  # float64, shape (k, F): (2); -inf where no split of the node by the feature has a gain.
    last_left: NDArray[np.int32]  # int32, shape (k, F): the last bin that goes left.
    # bool, shape (k, F): whether missing values go left; if the node has none, they go to the side with more rows.
    missing_left: NDArray[np.bool_]
    weight: NDArray[np.float64]  # float64, shape (k,): V_S.


def histograms(
    codes: NDArray[np.uint8] | NDArray[np.uint16],
    start: NDArray[np.int64],
    rows: NDArray[np.int64],
    node: NDArray[np.int64],
    pull: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n_nodes: int,
) -> NDArray[np.float64]:
    """Sums over the rows of each node in each bin: G, number of rows and, with weights, V; shape (n_nodes, cells, 2 or 3).

    `rows` are some rows, `node` the node (0 to n_nodes - 1) that each is in; `pull` and `weight`, shape (N,), are g and h.
    """
    found = np.zeros((n_nodes, int(start[-1]), 2 if weight is None else 3))
    if weight is None:
        _count(codes, start, rows, node, pull[rows], found)
    else:
        _weigh(codes, start, rows, node, pull[rows], weight[rows], found)
    return found


def best_splits(
    sums: NDArray[np.float64], start: NDArray[np.int64], needed: Needed, totals: NDArray[np.float64] | None = None
) -> NodeSplits:
    """The greatest gain (2) for each node and feature; of equal ones that of the lowest threshold.

    `sums` are those of `histograms`, `totals` those of each node, shape (k, 2 or 3); default: summed over the bins.
    """
    shape = (sums.shape[0], len(start) - 1)
    gain = np.full(shape, -np.inf)
    last_left, missing_left = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=bool)
    totals = sums[:, : start[1]].sum(axis=1) if totals is None else totals
    _scan(sums, totals, start, needed, gain, last_left, missing_left)
    return NodeSplits(gain, last_left, missing_left, totals[:, -1])


@njit(cache=True, nogil=True)
def _count(codes, start, rows, node, pull, sums):  # type: ignore[no-untyped-def]
    """Add up the rows feature by feature, so that a feature's codes and cells stay in the cache."""
    for f in range(codes.shape[0]):
        first = start[f]
        code = codes[f]
        for j in range(rows.shape[0]):
            cell = sums[node[j], first + code[rows[j]]]
            cell[0] += pull[j]
            cell[1] += 1.0


@njit(cache=True, nogil=True)
def _weigh(codes, start, rows, node, pull, weight, sums):  # type: ignore[no-untyped-def]
    """As `_count`, with weights."""
    for f in range(codes.shape[0]):
        first = start[f]
        code = codes[f]
        for j in range(rows.shape[0]):
            cell = sums[node[j], first + code[rows[j]]]
            cell[0] += pull[j]
            cell[1] += 1.0
            cell[2] += weight[j]


@njit(cache=True, nogil=True)
def _scan(sums, totals, start, needed, gain, last_left, missing_left):  # type: ignore[no-untyped-def]
    """(2) for all thresholds of all features, with missing values on the right and, where there are any, on the left."""
    for s in range(sums.shape[0]):
        total = totals[s]
        left = np.empty_like(total)
        for f in range(start.shape[0] - 1):
            # a feature's last bin has its missing values
            missing = sums[s, start[f + 1] - 1]
            left[:] = 0.0
            for b in range(start[f + 1] - start[f] - 1):
                # missing values on the right; where there are none, later ones follow the larger side
                left += sums[s, start[f] + b]
                found, sides = _gain(left, total, needed)
                if found > max(gain[s, f], 0.0) + needed.tie + needed.share * sides:
                    gain[s, f], last_left[s, f] = found, b
                    missing_left[s, f] = missing[1] == 0 and 2 * left[1] > total[1]
                # missing values on the left
                if missing[1] > 0:
                    found, sides = _gain(left + missing, total, needed)
                    if found > max(gain[s, f], 0.0) + needed.tie + needed.share * sides:
                        gain[s, f], last_left[s, f], missing_left[s, f] = found, b, True


@njit(cache=True, nogil=True)
def _gain(left, total, needed):  # type: ignore[no-untyped-def]
    """(2) and the sum of its first two terms; -inf if a side has too little. Without weights, V is the number of rows."""
    V, V_left, mu = total[-1], left[-1], needed.ridge
    V_right = V - V_left
    if left[1] < needed.rows or total[1] - left[1] < needed.rows or V_left < needed.weight or V_right < needed.weight:
        return -np.inf, 0.0
    # a side with at most this share of the node's weight could be rounding
    if V_left + mu <= 1e-12 * V or V_right + mu <= 1e-12 * V:
        return -np.inf, 0.0
    sides = left[0] ** 2 / (V_left + mu) + (total[0] - left[0]) ** 2 / (V_right + mu)
    return sides - total[0] ** 2 / (V + mu), sides
