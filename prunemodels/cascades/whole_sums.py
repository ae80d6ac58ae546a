"""Losses of rows as whole numbers of a unit, so that their sums are exact: the same in any order of the rows.

What rows save at one stage they may lose at the next. Where that cancels, sums must cancel, too: a rest of 1e-18 would be a
policy that costs more and saves nothing, and last digits differ between processors. With weights w_i and losses l_{s,i},

    v_i  =  w_i / g,  where g, a whole number of 10^-d, divides all weights and no v_i is large;    else  w_i / max w      (1)
    u    =  the larger of  2^-loss_bits up(max |l|)  and  2^-sum_bits up(max |l| sum v),    up: to a power of two           (2)
    l_{s,i}      ->  u round(l_{s,i} / u)                                                                                    (3)
    v_i l_{s,i}  ->  u round(v_i l_{s,i} / u),    the same where v is whole                                                  (4)

(3) changes a loss by at most u / 2: 1e-9 of the largest where a thousand rows have a weight of 1. Doubts keep their last digits:
thresholds lie half-way between two of them, so no row changes sides.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from prunemodels.cascades.params import PARAMS

Floats = NDArray[np.float64]


def whole_weights(weights: Floats) -> Floats:
    """(1), shape (N,). `weights`: > 0."""
    for decimals in range(PARAMS.price_decimals + 1):
        whole = np.rint(weights * 10.0**decimals)
        if whole.max() < 2**53 and (whole / 10.0**decimals == weights).all():
            whole /= np.gcd.reduce(whole.astype(np.int64))
            if whole.max() <= PARAMS.largest_whole_weight:
                return whole
    return np.asarray(weights / weights.max())


def on_grid(loss: Floats, weights: Floats) -> Floats:
    """(3). `loss`: shape (S, N). `weights`: shape (N,), > 0."""
    unit = _unit(loss, whole_weights(weights))
    return np.asarray(np.rint(loss / unit) * unit)


def whole_losses(loss: Floats, v: Floats) -> tuple[Floats, Fraction]:
    """(4) in units, shape (S, N), and the unit."""
    unit = _unit(loss, v)
    return np.asarray(np.rint(np.rint(loss / unit) * v)), Fraction(unit)


def _unit(loss: Floats, v: Floats) -> float:
    """(2); no less than 2^-loss_bits where nothing is lost."""
    largest = float(np.abs(loss).max(initial=0.0)) or 1.0
    return max(_up(largest) * 2.0**-PARAMS.loss_bits, _up(largest * math.fsum(v)) * 2.0**-PARAMS.sum_bits)


def _up(x: float) -> float:
    return 2.0 ** math.ceil(math.log2(x))


def sums_by_level(amounts: Floats, level: NDArray[np.int64], count: int) -> Floats:
    """Sums over the rows of each stage and level from 1 to `count`, shape (S, count), rounded once where they are not whole.

    `amounts`, `level`: shape (S, N).
    """
    found, whole = np.empty((len(amounts), count)), bool((amounts == np.rint(amounts)).all())
    for s, (a, ell) in enumerate(zip(amounts, level, strict=True)):
        if whole:
            found[s] = np.bincount(ell, weights=a, minlength=count + 1)[1:]
        else:
            found[s] = [math.fsum(a[ell == j]) for j in range(1, count + 1)]
    return found
