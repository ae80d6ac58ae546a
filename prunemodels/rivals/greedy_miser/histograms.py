"""Best splits of many nodes from sums over bins.

A node S of rows with residuals r_i and weights w_i splits into L and R; with G = sum w_i r_i and V = sum w_i over a set,

    gain = G_L^2 / V_L + G_R^2 / V_R - G_S^2 / V_S                                                                  (1)

is by how much the sum of w_i (r_i - h(x_i))^2 falls when h takes the mean of each side. The gains of all thresholds of a feature
follow from running sums over its bins. Missing values go to the side where (1) is greater.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit

TINY = 1e-12
"""A side with at most this share of the node's weight could be rounding: no split may have one."""


@dataclass(frozen=True, eq=False)
class NodeSplits:
    """The best split of each of k nodes on each of F features.

    Parameters
    ----------
    gain
        float64, shape (k, F): (1); -inf where the feature cannot split the node.
    last_left
        uint8, shape (k, F): the last bin that goes left.
    missing_left
        bool, shape (k, F): whether missing values go left; if the node has none, they go to the side with more rows.
    weight
        float64, shape (k,): V_S.
    """

    gain: NDArray[np.float64]
    last_left: NDArray[np.uint8]
    missing_left: NDArray[np.bool_]
    weight: NDArray[np.float64]


def histograms(
    codes: NDArray[np.uint8],
    start: NDArray[np.int64],
    rows: NDArray[np.int64],
    node: NDArray[np.int64],
    pull: NDArray[np.float64],
    weight: NDArray[np.float64] | None,
    n_nodes: int,
) -> NDArray[np.float64]:
    """Sums over the rows of each node that fall in each bin.

    Parameters
    ----------
    codes, start
        see `Binning`.
    rows, node
        int64: rows, and the node (0 to n_nodes - 1) that each is in.
    pull
        float64, shape (N,): w_i r_i.
    weight
        float64, shape (N,), or None: all 1.

    Returns
    -------
    array of shape (n_nodes, cells, 2 or 3): sum of w_i r_i, number of rows and, with weights, sum of w_i
    """
    found = np.zeros((n_nodes, int(start[-1]), 2 if weight is None else 3))
    if weight is None:
        _count(codes, start, rows, node, pull[rows], found)
    else:
        _weigh(codes, start, rows, node, pull[rows], weight[rows], found)
    return found


def best_splits(sums: NDArray[np.float64], start: NDArray[np.int64], min_samples_leaf: int, tie: float = 0.0) -> NodeSplits:
    """The greatest gain (1) for each node and feature; of equal ones that of the lowest threshold.

    Parameters
    ----------
    sums
        see `histograms`.
    min_samples_leaf
        least number of rows on each side, >= 1.
    tie
        gains that differ by at most this are equal, so that rounding does not decide.
    """
    shape = (sums.shape[0], len(start) - 1)
    gain = np.full(shape, -np.inf)
    last_left, missing_left = np.zeros(shape, dtype=np.uint8), np.zeros(shape, dtype=bool)
    totals = sums[:, : start[1]].sum(axis=1)
    _scan(sums, totals, start, min_samples_leaf, tie, gain, last_left, missing_left)
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
def _scan(sums, totals, start, least, tie, gain, last_left, missing_left):  # type: ignore[no-untyped-def]
    """(1) for all thresholds of all features, with missing values on the right and, where there are any, on the left."""
    for s in range(sums.shape[0]):
        total = totals[s]
        left = np.empty_like(total)
        for f in range(start.shape[0] - 1):
            missing = sums[s, start[f + 1] - 1]
            left[:] = 0.0
            for b in range(start[f + 1] - start[f] - 1):
                left += sums[s, start[f] + b]
                found = _gain(left, total, least)
                if found > gain[s, f] + tie:
                    gain[s, f], last_left[s, f] = found, b
                    missing_left[s, f] = missing[1] == 0 and 2 * left[1] > total[1]
                if missing[1] > 0:
                    found = _gain(left + missing, total, least)
                    if found > gain[s, f] + tie:
                        gain[s, f], last_left[s, f], missing_left[s, f] = found, b, True


@njit(cache=True, nogil=True)
def _gain(left, total, least):  # type: ignore[no-untyped-def]
    """(1), or -inf if a side has too few rows. The last number is the weight; without weights, it is the number of rows."""
    V, V_left = total[-1], left[-1]
    V_right = V - V_left
    if left[1] < least or total[1] - left[1] < least or V_left <= TINY * V or V_right <= TINY * V:
        return -np.inf
    return left[0] ** 2 / V_left + (total[0] - left[0]) ** 2 / V_right - total[0] ** 2 / V
