"""Ratios are compared and ranked as fractions are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prunemodels.rivals.baselines.cost_complexity import less, ranks

INTEGERS, POSITIVE = st.integers(-(2**52), 2**52), st.integers(1, 2**52)
LARGE = 2**52


@settings(max_examples=200, deadline=None)
@given(a=INTEGERS, b=POSITIVE, c=INTEGERS, d=POSITIVE)
@example(a=LARGE, b=LARGE - 1, c=LARGE - 1, d=LARGE - 2)  # equal as floats, their products have 104 bits
@example(a=-LARGE, b=LARGE - 1, c=1 - LARGE, d=LARGE - 2)
@example(a=-1, b=3, c=-2, d=6)
@example(a=0, b=3, c=1, d=LARGE)
def test_less_is_that_of_fractions(a: int, b: int, c: int, d: int) -> None:
    """Whatever the signs, and where the cross products do not fit 64 bits."""
    assert less(a, b, c, d) == (Fraction(a, b) < Fraction(c, d))
    assert less(c, d, a, b) == (Fraction(c, d) < Fraction(a, b))
    assert not less(a, b, 3 * a if abs(a) < 2**50 else a, 3 * b if abs(a) < 2**50 else b)


@settings(max_examples=100, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 9)), max_size=30))
@example(pairs=[(LARGE - k, LARGE - k - 1) for k in (0, 5, 3, 1, 4, 2)] + [(0, 1), (1, 2), (2, 4)])
def test_ranks_are_places_among_the_distinct_fractions(pairs: list[tuple[int, int]]) -> None:
    """Equal ratios share a rank, however written, and different ones do not, also where they are equal as floats."""
    numerator, denominator = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    fractions = [Fraction(a, b) for a, b in pairs]
    distinct = sorted(set(fractions))
    first, rank = ranks(numerator, denominator)
    assert rank.tolist() == [distinct.index(f) for f in fractions]
    assert [fractions[k] for k in first] == distinct
