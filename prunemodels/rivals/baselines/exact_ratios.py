"""Ratios of integers, compared and sorted without rounding: a / b with |a|, b < 2^53, b > 0."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit


def ranks(numerator: NDArray[np.int64], denominator: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort distinct ratios upwards.

    Returns
    -------
    first
        the place at which each distinct ratio occurs first, in the order of the ratios.
    rank
        the place of every ratio among the distinct ones.
    """
    common = np.gcd(numerator, denominator)
    pairs = np.stack([numerator // common, denominator // common], axis=1)
    distinct, first, place = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    order = _ascending(distinct[:, 0], distinct[:, 1])
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[place.reshape(-1)]


def _ascending(numerator: NDArray[np.int64], denominator: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order of distinct ratios: a float division is monotone, so only ratios of equal floats need fractions."""
    value = numerator / denominator
    order = np.argsort(value, kind="stable")
    same = np.concatenate([[False], value[order][1:] == value[order][:-1], [False]]).astype(np.int8)
    change = np.diff(same)
    for start, stop in zip(np.flatnonzero(change == 1), np.flatnonzero(change == -1) + 1, strict=True):
        run = order[start:stop].tolist()
        run.sort(key=lambda k: Fraction(int(numerator[k]), int(denominator[k])))
        order[start:stop] = run
    return order


@njit(cache=True)
def less(a, b, c, d):  # type: ignore[no-untyped-def]
    """Whether a / b < c / d, for b, d > 0: by continued fractions, so that no product can overflow."""
    while True:
        p, q = a // b, c // d
        if p != q:
            return p < q
        a, c = a - p * b, c - q * d  # both remainders are in [0, 1)
        if c == 0:
            return False
        if a == 0:
            return True
        a, b, c, d = d, c, b, a  # a / b < c / d where d / c < b / a
