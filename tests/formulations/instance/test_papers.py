"""The papers' figure, as drawn."""

from __future__ import annotations

import pytest

from formulations import InvalidInputError
from formulations.instance.papers import ERRORS, two_trees


def test_the_example_reaches_nodes_4_and_11() -> None:
    """The one example goes 1-3-4 and 6-10-11, in the papers' numbers."""
    problem = two_trees()
    assert [h + 1 for h in range(12) if problem.routing.counts()[h]] == [1, 3, 4, 6, 10, 11]


def test_each_split_charges_its_feature_once() -> None:
    """Nodes 1, 3, 6, 10 charge the example features 1, 2, 2, 3; node 7 would charge feature 1, but nobody comes."""
    arcs = two_trees().usage_arcs()
    assert [(t + 1, j + 1) for t, j in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True)] == [
        (1, 1),
        (3, 2),
        (6, 2),
        (10, 3),
    ]


def test_errors_must_cover_all_nodes() -> None:
    """A node without an error is refused."""
    with pytest.raises(InvalidInputError, match="1 to 12"):
        two_trees({k: e for k, e in ERRORS.items() if k != 7})
