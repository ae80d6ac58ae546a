"""Which neighbouring pieces of a path contradict each other.

Pieces from the outermost to the innermost, each a breakpoint of its own, are the path if and only if

    their breakpoints never fall                                                                                     (1)

because then their flows together are one dual state that proves all closures between them optimal. Where a guess has put a split
on the wrong side, (1) fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def contradictions(ratios: Sequence[Fraction | None]) -> list[tuple[int, int]]:
    """The least ranges of pieces, first and last, such that (1) holds between them.

    Parameters
    ----------
    ratios
        the breakpoints, outermost first; None for a piece that has none, and contradicts both its neighbours.
    """
    ranges: list[tuple[int, int, Fraction | float, Fraction | float]] = []
    for k, ratio in enumerate(ratios):
        first = k
        least, most = (float("inf"), float("-inf")) if ratio is None else (ratio, ratio)
        joined = ratio is None or (k > 0 and ratios[k - 1] is None)
        while ranges and (joined or ranges[-1][3] > least):
            first, _, other_least, other_most = ranges.pop()
            least, most, joined = min(least, other_least), max(most, other_most), False
        ranges.append((first, k, least, most))
    return [(first, last) for first, last, *_ in ranges if first < last or ratios[first] is None]


def in_order(
    pieces: Sequence[tuple[Fraction, NDArray[np.int32]]], gain: NDArray[np.int64]
) -> list[tuple[Fraction, NDArray[np.int32]]]:
    """Pieces that obey (1), out of pieces that are optimal up to a gap: neighbours that do not are joined.

    What is left are the prunings between the pieces that are the best of them at some lambda, the upper hull of their costs and
    gains.

    Parameters
    ----------
    pieces
        breakpoints and splits, outermost first; only the first one's breakpoint may be 0.
    gain
        int64, shape (n,).
    """
    found: list[tuple[int, Fraction, list[NDArray[np.int32]]]] = []
    for ratio, nodes in pieces:
        earned, parts = int(gain[nodes].sum()), [nodes]
        cost = earned / ratio if ratio else Fraction(1)
        while found and found[-1][0] * cost > earned * found[-1][1]:
            more, dearer, outside = found.pop()
            earned, cost, parts = earned + more, cost + dearer, outside + parts
        found.append((earned, cost, parts))
    return [(earned / cost, np.concatenate(parts)) for earned, cost, parts in found]
