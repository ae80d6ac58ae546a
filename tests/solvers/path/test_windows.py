"""Which pieces contradict each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from solvers.path.parts import contradictions, in_order


@pytest.mark.parametrize(
    ("ratios", "wrong"),
    [
        ([], []),
        ([1], []),
        ([1, 2, 2, 3], []),
        ([2, 1], [(0, 1)]),
        ([1, 3, 2, 4], [(1, 2)]),
        ([2, 3, 1, 4], [(0, 2)]),  # 1 is below both pieces outside it
        ([1, 4, 2, 3, 5], [(1, 3)]),  # 4 is above both pieces inside it
        ([1, 5, 2, 4, 3, 6, 8, 7], [(1, 4), (6, 7)]),
        ([2, 3, 4, 1, 5], [(0, 3)]),
        ([1, 2, None, 3, 4], [(1, 3)]),
        ([None, 1, 2], [(0, 1)]),
        ([1, 2, None], [(1, 2)]),
        ([None], [(0, 0)]),
    ],
)
def test_least_ranges(ratios: list[int | None], wrong: list[tuple[int, int]]) -> None:
    """Ranges join pieces until breakpoints never fall from one range to the next; a piece without breakpoint takes both sides."""
    assert contradictions([None if r is None else Fraction(r) for r in ratios]) == wrong


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        ([], []),
        ([(2, 4), (3, 3)], [(Fraction(1, 2), [0]), (Fraction(1), [1])]),
        ([(0, 1), (1, 1)], [(Fraction(0), [0]), (Fraction(1), [1])]),
        # Together the first two have (2 + 1) / (1 + 2), which is below 4 / 2.
        ([(2, 1), (1, 2), (4, 2)], [(Fraction(1), [0, 1]), (Fraction(2), [2])]),
        # 1 / 2 is below both pieces outside of it; joined with one of them it is above the other.
        ([(1, 1), (3, 1), (1, 2)], [(Fraction(1), [0]), (Fraction(4, 3), [1, 2])]),
        ([(1, 1), (3, 1), (1, 9)], [(Fraction(5, 11), [0, 1, 2])]),
    ],
)
def test_the_upper_hull_of_pieces(pieces: list[tuple[int, int]], joined: list[tuple[Fraction, list[int]]]) -> None:
    """Pieces with (gain, cost), outermost first: one with a lower breakpoint than the one outside of it joins that one."""
    leaving = [(Fraction(*piece), np.array([k], dtype=np.int32)) for k, piece in enumerate(pieces)]
    found = in_order(leaving, np.array([gain for gain, _ in pieces], dtype=np.int64))
    assert [(ratio, nodes.tolist()) for ratio, nodes in found] == joined
