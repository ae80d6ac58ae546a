"""How well scores rank documents: the measure of BRF15, and of those who compare with it.

The documents of a query are sorted by decreasing score, and the first five are looked at. BRF15 section 3 (also BP16 and CEGB17,
after Kusner et al. 2014) counts how many relevant documents come before the first that is not:

    p(q)  =  1                 if all of the first five documents are relevant                                             (1)
             (j - 1) / 5       else, j the place of the first document among them that is not
    AP@5  =  mean of p(q) over the queries                                                                                 (2)

It is not the average precision of information retrieval: relevant documents after the first unrelated one count for nothing.

What the papers leave open, and what is done here:

- A query of fewer than five documents scores 1 if all of them are relevant, and (j - 1) / 5 otherwise: (1) to the letter.
- Documents of equal score stay in the order in which they are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import InvalidInputError

DEPTH = 5
"""So many documents at the head of a query are looked at."""


def average_precision_at_5(y: ArrayLike, scores: ArrayLike, query: ArrayLike) -> float:
    """Average Precision@5 (2), between 0 and 1; more is better.

    Parameters
    ----------
    y
        whether each document is relevant: bool, or 0 and 1, shape (N,).
    scores
        the documents' scores, shape (N,): the more relevant, the greater.
    query
        which query each document belongs to, shape (N,); any labels, in any order.

    Raises
    ------
    InvalidInputError
        for no documents, shapes that differ, labels that are graded, or a score that is NaN.
    """
    return float(precisions_at_5(y, scores, query).mean())


def precisions_at_5(y: ArrayLike, scores: ArrayLike, query: ArrayLike) -> NDArray[np.float64]:
    """(1) for every query, in the order of ``numpy.unique(query)``; see `average_precision_at_5`."""
    relevant, score, query_of = _checked(y, scores, query)
    order = np.lexsort((-score, query_of))  # stable
    starts = np.flatnonzero(np.diff(query_of[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))  # 0 is the head of the query
    # j - 1, or DEPTH: the document at the head has one of 0 and DEPTH, so a query's least place is never over DEPTH
    first_unrelated = np.minimum.reduceat(np.where(relevant[order], DEPTH, place), starts)
    return first_unrelated / DEPTH


def _checked(y: ArrayLike, scores: ArrayLike, query: ArrayLike) -> tuple[NDArray[np.bool_], Any, NDArray[np.int64]]:
    """Relevance, scores and the number of the query of each document."""
    truth, score, labels = np.asarray(y), np.asarray(scores, dtype=np.float64), np.asarray(query)
    if not truth.shape == score.shape == labels.shape or truth.ndim != 1 or not truth.size:
        raise InvalidInputError(
            f"y, scores and query have the shapes {truth.shape}, {score.shape} and {labels.shape}; give one of each a document, "
            "and at least one document"
        )
    if not np.isin(truth, [0, 1]).all():
        odd = truth[~np.isin(truth, [0, 1])][0]
        raise InvalidInputError(
            f"y holds {odd!r}; give 0 (unrelated) or 1 (relevant): of graded relevance, y > 0 as the papers do"
        )
    if np.isnan(score).any():
        raise InvalidInputError(f"scores[{int(np.flatnonzero(np.isnan(score))[0])}] is NaN; give a number for each document")
    return truth.astype(bool), score, np.unique(labels, return_inverse=True)[1].astype(np.int64)
