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

import numpy as np
from numpy.typing import ArrayLike, NDArray

DEPTH = 5
"""So many documents at the head of a query are looked at."""


def average_precision_at_5(y: ArrayLike, scores: ArrayLike, query: ArrayLike) -> float:
    """(2), between 0 and 1: y is 1 for relevant documents and 0 for others, greater scores come first; rows in any order."""
    return float(precisions_at_5(y, scores, query).mean())


def precisions_at_5(y: ArrayLike, scores: ArrayLike, query: ArrayLike) -> NDArray[np.float64]:
    """(1) for every query, in the order of ``numpy.unique(query)``."""
    query_of = np.unique(np.asarray(query), return_inverse=True)[1]
    order = np.lexsort((-np.asarray(scores, dtype=np.float64), query_of))  # stable
    starts = np.flatnonzero(np.diff(query_of[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))  # 0 is the head of the query
    # j - 1, or DEPTH: the document at the head has one of 0 and DEPTH, so a query's least place is never over DEPTH
    first_unrelated = np.minimum.reduceat(np.where(np.asarray(y, dtype=bool)[order], DEPTH, place), starts)
    return first_unrelated / DEPTH
