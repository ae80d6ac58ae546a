"""Parts, and how rows are divided among them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.data import Part, PublishedData
from benchmarks.data.published import drawn, split_rows
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems


def test_enough_rows_give_the_published_sizes() -> None:
    """Sizes are those asked for, one after another; what is left over is left out."""
    assert [(s.start, s.stop) for s in split_rows(12, (3, 2, 4))] == [(0, 3), (3, 5), (5, 9)]


def test_fewer_rows_are_divided_in_proportion() -> None:
    """All rows are used, in the published proportion."""
    assert [(s.start, s.stop) for s in split_rows(9, (35, 14, 56))] == [(0, 3), (3, 4), (4, 9)]


def test_no_part_is_empty() -> None:
    """Rows that are too few for three parts are refused."""
    with pytest.raises(InvalidInputError, match="2 examples are too few"):
        split_rows(2, (1, 1, 8))


def test_rows_of_each_class_are_drawn_without_repeats() -> None:
    """So many of each class, another draw for another seed."""
    labels = np.repeat([4, 2, 9], [10, 12, 11])
    rows = drawn(labels, 9, np.random.default_rng(0))
    assert rows.shape == (3, 9)
    assert len(np.unique(rows)) == 27
    assert [set(labels[r].tolist()) for r in rows] == [{2}, {4}, {9}]
    assert not np.array_equal(rows, drawn(labels, 9, np.random.default_rng(1)))
    with pytest.raises(InvalidInputError, match="class 4 has 10 examples, 11"):
        drawn(labels, 11, np.random.default_rng(0))


def test_parts_and_prices_must_fit() -> None:
    """Labels for other rows, prices for other features, and empty parts are refused."""
    X, y = np.zeros((2, 3), dtype=np.float32), np.zeros(2, dtype=np.int64)
    part = Part(X, y, y)
    for bad in ((X, y[:1], y), (X[:0], y[:0], y[:0])):
        with pytest.raises(InvalidInputError, match="one of each"):
            Part(*bad)
    with pytest.raises(InvalidInputError, match="one of each"):
        Part(X, y, y, y[:1])
    PublishedData("ours", part, part, part, CostItems.plain([1, 2, 3]), ("a", "b", "c"))
    with pytest.raises(InvalidInputError, match="prices for 2 features"):
        PublishedData("ours", part, part, part, CostItems.plain([1, 2]), ("a", "b", "c"))


def test_a_part_keeps_its_queries() -> None:
    """Rows are taken of everything."""
    part = Part(np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 1]), np.array([0, 3, 4]), np.array([7, 7, 8]))
    some = part.take(np.array([2, 0]))
    assert (some.X[:, 0].tolist(), some.y.tolist(), some.raw.tolist()) == ([4, 0], [1, 0], [4, 0])
    assert some.query is not None
    assert some.query.tolist() == [8, 7]
