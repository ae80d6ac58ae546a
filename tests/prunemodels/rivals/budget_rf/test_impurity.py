"""The impurities: the paper's definition of admissible, by listing all small class counts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from formulations.errors import InvalidInputError
from prunemodels.rivals.budget_rf import impurity
from prunemodels.rivals.budget_rf.stumps import MEASURES, _impurity

SMALL = list(itertools.product(range(5), repeat=3))
ADMISSIBLE = [("pairs", {"alpha": a}) for a in (0.0, 0.5, 1.0, 2.0)] + [("powers", {"power": p}) for p in (2, 2.5, 4)]


@pytest.mark.parametrize(("measure", "setting"), ADMISSIBLE)
def test_pairs_and_powers_are_admissible(measure: str, setting: dict[str, float]) -> None:
    """F >= 0, F = 0 for one class, and neither F nor the increment by an example falls as examples are added."""

    def f(*counts: int) -> float:
        return impurity(counts, measure, **setting)

    def more(counts: tuple[int, ...], k: int) -> tuple[int, ...]:
        return tuple(n + (j == k) for j, n in enumerate(counts))

    for counts in SMALL:
        assert f(*counts) >= 0
        if sum(n > 0 for n in counts) <= 1:
            assert f(*counts) == 0
        for i in range(3):
            step = f(*more(counts, i)) - f(*counts)
            assert step >= 0
            for j in range(3):  # supermodular: one more example in the set, no smaller step
                after = f(*more(more(counts, j), i)) - f(*more(counts, j))
                assert after >= step - 1e-9


@pytest.mark.parametrize("measure", ["entropy", "gini"])
def test_entropy_and_gini_are_not(measure: str) -> None:
    """They are pure at 0, and fall as a set grows: 1 : 1 is as mixed as can be, 2 : 1 less."""
    assert impurity([3, 0], measure) == 0
    assert impurity([2, 1], measure) < impurity([1, 1], measure)


def test_values_by_hand() -> None:
    """Each formula on counts that can be reckoned in the head."""
    assert impurity([2, 3, 4], "pairs") == 2 * 3 + 2 * 4 + 3 * 4
    assert impurity([2, 3, 4], "pairs", alpha=1) == (1 * 2 - 1) + (1 * 3 - 1) + (2 * 3 - 1)
    assert impurity([255, 1], "pairs", alpha=1) == 0  # [254]_+ [0]_+ - 1 < 0
    assert impurity([2, 3, 4], "powers", power=3) == 9**3 - 8 - 27 - 64
    assert impurity([1, 3], "gini") == pytest.approx(1 - 1 / 16 - 9 / 16)
    assert impurity([2, 2, 4], "entropy") == pytest.approx(1.5)  # bits
    assert impurity([5, 0], "entropy") == 0


def test_powers_of_two_are_twice_the_pairs() -> None:
    """(n_1 + ... + n_C)^2 - sum of n_k^2 counts each pair of examples of different classes twice."""
    for counts in SMALL:
        assert impurity(counts, "powers", power=2) == 2 * impurity(counts, "pairs")


def test_a_rounding_below_zero_counts_as_none() -> None:
    """Class weights that are differences of floats may be -1e-17; no measure becomes NaN."""
    counts = np.array([3.0, 0.3 - (0.1 + 0.2)])
    assert counts[1] < 0
    for code in MEASURES.values():
        assert 0 <= _impurity(counts, code, 0.0, 2.5) < 1e-12


@pytest.mark.parametrize("counts", [[-1, 2], [[1, 2]], [np.nan, 1]])
def test_counts_are_checked(counts: object) -> None:
    """Negative numbers, tables and NaN are refused, and so is another measure."""
    with pytest.raises(InvalidInputError, match="one number >= 0 for each class"):
        impurity(counts, "pairs")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="measure is 'hinge'; give one of 'pairs'"):
        impurity([1, 2], "hinge")
