"""Promises: the last candidate before the first failure, by exact bounds; their share that is broken."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from benchmarks.promises import broken_and_refused
from prunemodels.errors import InvalidInputError
from prunemodels.statements.mean_bounds import upper_bound
from prunemodels.statements.promises import Draws, check_enough, last_kept


def draws(n: int, mistakes: int) -> Draws:
    return Draws(np.repeat([1.0, 0.0], [mistakes, n - mistakes]), 1.0)


def test_the_answer_is_the_last_before_the_first_failure() -> None:
    """A candidate after one that failed is not looked at, however good it is."""
    seen = []

    def candidates():  # type: ignore[no-untyped-def]
        for name, mistakes in {"a": 2, "b": 3, "c": 40, "d": 0}.items():
            seen.append(name)
            yield name, draws(100, mistakes)

    kept = last_kept(candidates(), 0.1, 0.95, "exact")
    assert (kept.answer, kept.tested, kept.mean) == ("b", 3, 0.03)
    assert seen == ["a", "b", "c"]
    nothing = last_kept(candidates(), 0.01, 0.95, "exact")
    assert nothing.answer is None
    assert nothing.bound == upper_bound(draws(100, 2).x, 1.0, 0.05, "exact")


@pytest.mark.parametrize(("n", "mistakes"), [(10, 0), (59, 0), (100, 3), (40, 39)])
def test_exact_bounds_are_binomial_tails(n: int, mistakes: int) -> None:
    """At the bound so few mistakes have the probability alpha; below it more."""
    bound = upper_bound(draws(n, mistakes).x, 1.0, 0.05, "exact")
    tail = sum(comb(n, k) * bound**k * (1 - bound) ** (n - k) for k in range(mistakes + 1))
    assert tail == pytest.approx(0.05)


def test_rows_that_could_never_show_it_are_refused() -> None:
    """59 rows without a mistake show 5 % with 95 % confidence, 58 do not."""
    check_enough(59, 0.05, 0.95, "X")
    with pytest.raises(InvalidInputError, match="59 rows without a mistake would show, and X has 58"):
        check_enough(58, 0.05, 0.95, "X")
    assert upper_bound(np.zeros(59), 1.0, 0.05, "exact") <= 0.05 < upper_bound(np.zeros(58), 1.0, 0.05, "exact")


@pytest.mark.slow
@pytest.mark.parametrize(("way", "max_error"), [("cascade, classes", 0.18), ("pruned forest", 0.3)])
def test_few_promises_are_broken(way: str, max_error: float) -> None:
    """Of 40 requests at most 5 % and two standard errors, and most are answered."""
    broken, refused = broken_and_refused(way, max_error, 40)
    assert broken <= 40 * (0.05 + 2 * np.sqrt(0.05 * 0.95 / 40))
    assert refused < 20
