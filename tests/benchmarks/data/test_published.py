"""Parts, and how rows are divided among them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.data import Part, PublishedData
from benchmarks.data.published import split_rows
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems


def test_rows_are_divided_as_published() -> None:
    """Enough rows give the published sizes, what is left over is left out; fewer are divided in proportion, none empty."""
    assert [(s.start, s.stop) for s in split_rows(12, (3, 2, 4))] == [(0, 3), (3, 5), (5, 9)]
    assert [(s.start, s.stop) for s in split_rows(9, (35, 14, 56))] == [(0, 3), (3, 4), (4, 9)]
    with pytest.raises(InvalidInputError, match="2 examples are too few"):
        split_rows(2, (1, 1, 8))


def test_parts_and_prices_must_fit() -> None:
    """Labels for other rows, prices for other features, and empty parts are refused."""
    X, y = np.zeros((2, 3), dtype=np.float32), np.zeros(2, dtype=np.int64)
    part = Part(X, y, y)
    for bad in ((X, y[:1], y), (X[:0], y[:0], y[:0])):
        with pytest.raises(InvalidInputError, match="one of each"):
            Part(*bad)
    with pytest.raises(InvalidInputError, match="one of each"):
        Part(X, y, y, y[:1])
    PublishedData(part, part, part, CostItems.plain([1, 2, 3]))
    with pytest.raises(InvalidInputError, match="prices for 2 features"):
        PublishedData(part, part, part, CostItems.plain([1, 2]))


def test_a_part_keeps_its_queries() -> None:
    """Rows are taken of everything."""
    part = Part(np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 1]), np.array([0, 3, 4]), np.array([7, 7, 8]))
    some = part.take(np.array([2, 0]))
    assert (some.X[:, 0].tolist(), some.y.tolist(), some.raw.tolist()) == ([4, 0], [1, 0], [4, 0])
    assert some.query is not None
    assert some.query.tolist() == [8, 7]
