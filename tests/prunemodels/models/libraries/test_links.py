"""Sums of trees as probabilities and labels, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from prunemodels.models.response import numbers_of, places_of, probabilities_of


@pytest.mark.parametrize(
    ("second", "expected"),
    [("probability > 1/2", [0, 0, 0, 1]), ("margin > 0", [0, 0, 1, 1]), ("margin >= 0", [0, 1, 1, 1])],
)
def test_each_rule_for_the_second_class_has_its_own_ties(second: str, expected: list[int]) -> None:
    """A margin of 0 is a tie of the margins, and 1e-20 is one of the probabilities: 1 / (1 + exp(-1e-20)) rounds to 1/2."""
    sums = np.array([[-1.0], [0.0], [1e-20], [1.0]])
    assert places_of(sums, "sigmoid", 1.0, second).tolist() == expected


def test_of_saturated_probabilities_the_first_is_taken() -> None:
    """1 / (1 + exp(-50)) and 1 / (1 + exp(-60)) both round to 1: one-vs-rest libraries compare these, softmax has no such tie."""
    sums = np.array([[50.0, 60.0, 0.0]])
    assert places_of(sums, "one_vs_rest", 1.0, "probability > 1/2").tolist() == [0]
    assert places_of(sums, "softmax", 1.0, "probability > 1/2").tolist() == [1]


def test_probabilities_and_numbers_by_hand() -> None:
    """With a = 2 and s = log(3) / 2, 1 / (1 + exp(-log 3)) is 3/4; softmax of log(1), log(3) is 1/4, 3/4; types are kept."""
    half = np.array([[np.log(3.0) / 2]])
    assert probabilities_of(half, "sigmoid", 2.0)[0] == pytest.approx([0.25, 0.75])
    assert numbers_of(half, "sigmoid", 2.0) == pytest.approx([0.75])
    assert numbers_of(half, "identity", 2.0) == pytest.approx(half[0])
    thirds = np.log([[1.0, 3.0]]).astype(np.float32)
    assert probabilities_of(thirds, "softmax", 1.0)[0] == pytest.approx([0.25, 0.75], rel=1e-6)
    assert probabilities_of(thirds, "one_vs_rest", 1.0)[0] == pytest.approx([0.5, 0.75], rel=1e-6)
    assert probabilities_of(thirds, "softmax", 1.0).dtype == np.float32
