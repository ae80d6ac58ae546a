"""Parts, how rows are divided among them, and Average Precision@5 as BRF15 section 3 describes it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.data import Part, PublishedData
from benchmarks.data.published import average_precision_at_5, first_rows, precisions_at_5, split_rows
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


def test_the_first_rows_of_each_part() -> None:
    """10 rows of 10 + 4 + 6 are the first 5, 2 and 3; no part is empty, and more rows than there are take all."""
    y = np.arange(10)
    whole = PublishedData(*(Part(np.ones((n, 1), dtype=np.float32), y[:n], y[:n]) for n in (10, 4, 6)), CostItems.plain([1]))
    assert [part.y.tolist() for part in first_rows(whole, 10).parts] == [[0, 1, 2, 3, 4], [0, 1], [0, 1, 2]]
    assert [len(part) for part in first_rows(whole, 2).parts] == [1, 1, 1]
    assert first_rows(whole, None) is first_rows(whole, 20) is whole


def test_a_part_keeps_its_queries() -> None:
    """Rows are taken of everything."""
    part = Part(np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 1, 1]), np.array([0, 3, 4]), np.array([7, 7, 8]))
    some = part.take(np.array([2, 0]))
    assert (some.X[:, 0].tolist(), some.y.tolist(), some.raw.tolist()) == ([4, 0], [1, 0], [4, 0])
    assert some.query is not None
    assert some.query.tolist() == [8, 7]


def by_the_letter(y: list[int], scores: list[float], query: list[int]) -> list[float]:
    """The paper's sentences, one query after another."""
    found = []
    for q in sorted(set(query)):
        documents = [i for i in range(len(y)) if query[i] == q]
        ranked = sorted(documents, key=lambda i: -scores[i])  # sorted() is stable
        top = [y[i] for i in ranked[:5]]
        found.append(1.0 if all(top) else top.index(0) / 5)
    return found


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([1, 1, 1, 1, 1, 0, 0], 1.0),  # all of the first five are relevant; what follows is not looked at
        ([0, 1, 1, 1, 1, 1], 0.0),  # j = 1
        ([1, 1, 0, 1, 1, 1], 0.4),  # j = 3: the relevant ones after it count for nothing
        ([1, 1, 1, 1, 0], 0.8),  # j = 5
        ([1, 1], 1.0),  # fewer than five, all relevant
        ([1, 0], 0.2),  # fewer than five, j = 2
    ],
)
def test_one_query(y: list[int], expected: float) -> None:
    """A query scores 1 if all its first five documents are relevant, else a fifth for each before the first that is not."""
    scores = -np.arange(len(y), dtype=float)
    assert average_precision_at_5(y, scores, np.zeros(len(y))) == expected


def test_queries_are_averaged_whatever_the_order_of_rows() -> None:
    """Each query counts once, however many documents it has, and rows of queries may be mixed."""
    # query "a", by score: 1 0 -> 1/5; query "b": 1 1 1 1 1 0 -> 1
    query = ["b", "a", "b", "b", "a", "b", "b", "b"]
    scores = [9.0, 0.1, 8.0, 7.0, 0.2, 6.0, 5.0, 4.0]
    y = [1, 0, 1, 1, 1, 1, 1, 0]
    assert precisions_at_5(y, scores, query).tolist() == [0.2, 1.0]
    assert average_precision_at_5(y, scores, query) == pytest.approx(0.6)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(-2, 2)), min_size=1, max_size=40))
def test_as_the_paper_words_it(rows: list[tuple[int, int, int]]) -> None:
    """Vectorised and written out by the letter are the same, query by query, with ties in the order given, and short queries."""
    y, scores, query = (list(column) for column in zip(*rows, strict=True))
    assert precisions_at_5(y, scores, query).tolist() == by_the_letter(y, [float(s) for s in scores], query)
