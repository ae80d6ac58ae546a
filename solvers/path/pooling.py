"""Neighbours that are out of order are pooled, as in isotonic regression: what is left is in order.

The pieces of a path are the corners of a hull. Where breakpoints do not ascend, a corner lies inside of it, and the two edges
that meet there are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Piece = TypeVar("Piece")


def pooled(
    pieces: Iterable[Piece], out_of_order: Callable[[Piece, Piece], bool], join: Callable[[Piece, Piece], Piece]
) -> tuple[list[Piece], list[int]]:
    """Join neighbours until none are out of order; and how many of the given pieces each one consists of.

    Parameters
    ----------
    out_of_order, join
        called with a piece and the one that follows it.
    """
    found: list[Piece] = []
    counts: list[int] = []
    for piece in pieces:
        joined, count = piece, 1
        while found and out_of_order(found[-1], joined):
            joined, count = join(found.pop(), joined), count + counts.pop()
        found.append(joined)
        counts.append(count)
    return found, counts
