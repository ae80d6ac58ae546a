"""Parts of the path: splits between two nested closures, with the purchases that the inner one has not paid.

A part with total gain G and total price P, evaluation included, is worth as much as nothing at

    lambda* = G / P                                                                                         (1)

Nested closures of a part divide it into parts one outside of the other. Each of them keeps those usage arcs of its splits that
lead to purchases which no part further inside pays:

    arc (u, j) stays   <=>   u is in the innermost part that needs j                                        (2)

So no two parts share an arc, and every price is paid once. Parts have nothing in common. Any number of them is therefore one
network, in which each has a lambda of its own, and all of them are merged, cut and divided by the same few passes.

Pieces from the outermost to the innermost, each a breakpoint of its own, are the path if and only if

    their breakpoints never fall                                                                            (3)

because then their flows together are one dual state that proves all closures between them optimal. Where a guess has put a split
on the wrong side, (3) fails.

The pieces of a path are the corners of a hull. Where breakpoints do not ascend, a corner lies inside of it, and the two edges
that meet there are one: such neighbours are pooled, as in isotonic regression.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.problem import Core
from formulations.instance.usage_arcs import representatives
from solvers.closures.preflow import Flow
from solvers.closures.subproblem import ParametricSubproblem, parametric_subproblem
from solvers.path.part_sequence import PartSequence


class Parts:
    """Divides parts, and remembers which purchases have been merged.

    Parts have no purchase in common, so threads can work on two sequences.
    """

    def __init__(self, problem: Core) -> None:
        self.problem = problem
        self.merged_into = np.arange(problem.usage.n_purchases, dtype=np.int32)

    def reassembled(self, nodes: NDArray[np.int32], paid: NDArray[np.bool_]) -> ParametricSubproblem:
        """A part out of the splits of some pieces, its purchases as they were before merging.

        `paid`: bool, shape (M (N + 1),): purchases that pieces further inside pay.
        """
        part = parametric_subproblem(self.problem, np.sort(nodes), paid)
        self.merged_into[part.purchases] = part.purchases
        return part

    def divided(self, parts: PartSequence, label: NDArray[np.int32]) -> PartSequence:
        """New parts by (2), their purchases merged.

        `label`: int32, shape (k,): the new part of each split, as `PartSequence.restricted` takes it.
        """
        return self.merged(parts.restricted(label, parts.payers(label), label))

    def merged(self, parts: PartSequence) -> PartSequence:
        """Merge purchases with the same users; the flows of merged arcs are added up."""
        part, flow = parts.subproblem, parts.flow
        representative = representatives(part.tail, part.head, part.price.size)
        own = np.where(representative == np.arange(representative.size), np.int32(0), np.int32(-1))
        everyone, label = np.arange(parts.n_splits, dtype=np.int32), np.zeros(parts.n_splits, dtype=np.int32)
        tail, head, met, _, number = parts._arcs(label, own, everyone)
        if tail.size == part.tail.size:
            return parts
        group, purchases = number[representative], part.purchases[met]
        self.merged_into[part.purchases] = purchases[group]
        price = np.zeros(met.size, dtype=part.price.dtype)
        np.add.at(price, group, part.price)
        # copies, because what is cut off would stay in memory
        after = replace(part, tail=tail.copy(), head=head.copy(), purchases=purchases, price=price)
        if flow is not None:
            flow = Flow(_summed(part.tail, group[part.head], after.tail, after.head, flow.usage_flow), flow.parent_flow)
        return replace(parts, subproblem=after, flow=flow)


def _summed(
    tail: NDArray[np.int32],
    group: NDArray[np.int32],
    merged_tail: NDArray[np.int32],
    merged_head: NDArray[np.int32],
    flow: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The flow on merged arcs: that on all arcs (tail, group) of the same split to the same merged purchase."""
    summed, place = np.zeros(merged_tail.size, dtype=np.int64), np.empty(merged_tail.size, dtype=np.int32)
    _add_up(tail, group, merged_tail, merged_head, flow, place, summed)
    return summed


@njit(cache=True, nogil=True)
def _add_up(tail, group, merged_tail, merged_head, flow, place, summed):  # type: ignore[no-untyped-def]
    """`_summed` into zeros; `place` is room to work in, as long."""
    first, k = 0, 0
    while k < tail.shape[0]:
        u, s = tail[k], first
        while s < merged_tail.shape[0] and merged_tail[s] == u:
            place[merged_head[s]] = s
            s += 1
        first = s
        while k < tail.shape[0] and tail[k] == u:
            summed[place[group[k]]] += flow[k]
            k += 1


@dataclass(frozen=True, eq=False)
class Leaving:
    """Splits that go together, their gain and their cost."""

    gain: Fraction
    cost: Fraction
    nodes: NDArray[np.int32]

    @classmethod
    def at(cls, ratio: Fraction, gain: Any, nodes: NDArray[np.int32]) -> Leaving:
        """What goes at a breakpoint, which with the gain tells the cost; at the breakpoint 0 nothing is gained."""
        return cls(Fraction(gain), Fraction(gain) / ratio, nodes) if ratio else cls(Fraction(0), Fraction(1), nodes)

    @property
    def ratio(self) -> Fraction:
        """The breakpoint, in gains for one price."""
        return self.gain / self.cost if self.gain else Fraction(0)

    def joined(self, inside: Leaving) -> Leaving:
        """With the next piece further inside."""
        return Leaving(self.gain + inside.gain, self.cost + inside.cost, np.concatenate([self.nodes, inside.nodes]))


class _Range(NamedTuple):
    """Pieces first, ..., last, and their least and largest breakpoint."""

    first: int
    last: int
    least: Fraction | float
    most: Fraction | float


def contradictions(ratios: Sequence[Fraction | None]) -> list[tuple[int, int]]:
    """The least ranges of pieces, first and last, such that (3) holds between them.

    `ratios`: the breakpoints, outermost first; None for a piece that has none, and contradicts both its neighbours.
    """

    def out_of_order(outer: _Range, inner: _Range) -> bool:
        return ratios[outer.last] is None or ratios[inner.first] is None or outer.most > inner.least

    def join(outer: _Range, inner: _Range) -> _Range:
        return _Range(outer.first, inner.last, min(outer.least, inner.least), max(outer.most, inner.most))

    each = [_Range(k, k, math.inf, -math.inf) if ratio is None else _Range(k, k, ratio, ratio) for k, ratio in enumerate(ratios)]
    return [(r.first, r.last) for r in pooled(each, out_of_order, join)[0] if r.first < r.last or ratios[r.first] is None]


def in_order(pieces: Sequence[Leaving]) -> list[Leaving]:
    """Pieces that obey (3), out of pieces that are optimal up to a gap or a rounding: neighbours that do not are joined.

    What is left are the prunings between the pieces that are the best of them at some lambda, the upper hull of their costs and
    gains.
    """
    return pooled(pieces, lambda outer, inner: outer.gain * inner.cost > inner.gain * outer.cost, Leaving.joined)[0]


Piece = TypeVar("Piece")


def pooled(
    pieces: Iterable[Piece], out_of_order: Callable[[Piece, Piece], bool], join: Callable[[Piece, Piece], Piece]
) -> tuple[list[Piece], list[int]]:
    """Join neighbours until none are out of order; and how many of the given pieces each one consists of.

    `out_of_order`, `join`: called with a piece and the one that follows it.
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
