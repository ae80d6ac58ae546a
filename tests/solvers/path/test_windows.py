"""Which pieces contradict each other."""

from __future__ import annotations

from fractions import Fraction

import pytest

from solvers.path.windows import contradictions


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
