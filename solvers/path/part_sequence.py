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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.problem import Core
from formulations.instance.usage_arcs import representatives, starts_by_tail
from solvers.closures.cut import ClosureProblem, check_products
from solvers.closures.integer_objective import PRICE_MARGIN, TOTAL_BITS, ldexp
from solvers.closures.preflow import Flow, grouped
from solvers.closures.subproblem import ParametricSubproblem, parametric_subproblem
from solvers.price_sharing.shares import group_weights

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class PartSequence:
    """Parts of a path, outermost first, in one set of arrays."""

    subproblem: ParametricSubproblem  # the splits of one part after the other, and their purchases as usage arcs first meet them
    first: NDArray[np.int64]  # int64, shape (p + 1,): where each part's splits start, and the end of the last
    outside: NDArray[np.int64]  # int64, shape (p,): how many splits of what was divided are outside of each part
    # float64, shape (k,): scores by which prices can be shared out; None: none are known.
    score: NDArray[np.float64] | None = None
    # flow, scale: the flow from the cut that made the part, in gains times `scale`, shape (p,); None: none is known.
    flow: Flow | None = None
    scale: NDArray[Any] | None = None

    @staticmethod
    def of(subproblem: ParametricSubproblem) -> PartSequence:
        """A single part."""
        return PartSequence(subproblem, np.array([0, subproblem.nodes.size]), np.zeros(1, dtype=np.int64))

    @property
    def n_parts(self) -> int:
        """How many parts there are, p."""
        return self.outside.size

    @property
    def n_splits(self) -> int:
        """How many splits all parts have, k."""
        return self.subproblem.nodes.size

    @property
    def n_arcs(self) -> int:
        """Usage arcs."""
        return self.subproblem.tail.size

    @cached_property
    def first_arc(self) -> NDArray[np.int64]:
        """Where each part's arcs start, and the end of the last; shape (p + 1,)."""
        return np.searchsorted(self.subproblem.tail, self.first.astype(np.int32))

    @cached_property
    def first_purchase(self) -> NDArray[np.int64]:
        """Where each part's purchases start, which its first arc leads to, and the end of the last; shape (p + 1,)."""
        part = self.subproblem
        return np.append(part.head, np.int32(part.purchases.size))[self.first_arc].astype(np.int64)

    def of_splits(self, of_parts: NDArray[Number]) -> NDArray[Number]:
        """What each split has where each part has so much; shape (k,)."""
        return np.repeat(of_parts, np.diff(self.first))

    def of_purchases(self, of_parts: NDArray[Number]) -> NDArray[Number]:
        """What each purchase has where each part has so much; shape (j,)."""
        return np.repeat(of_parts, np.diff(self.first_purchase))

    def part_of_splits(self) -> NDArray[np.int32]:
        """The part of each split, int32 of shape (k,)."""
        return self.of_splits(np.arange(self.n_parts, dtype=np.int32))

    def total(self, of_splits: NDArray[Any], of_purchases: NDArray[Any] | None = None) -> NDArray[Any]:
        """The sum for each part of some amounts of its splits, and of its purchases; shape (p,)."""
        total = _between(of_splits, self.first)
        return total if of_purchases is None else total + _between(of_purchases, self.first_purchase)

    @cached_property
    def gain(self) -> NDArray[Any]:
        """G of (1), shape (p,)."""
        return self.total(self.subproblem.gain)

    @cached_property
    def cost(self) -> NDArray[Any]:
        """P of (1), shape (p,)."""
        return self.total(self.subproblem.evaluation, self.subproblem.price)

    def mean_lambda(self) -> NDArray[np.float64]:
        """(1) as a float, whatever gains and costs are: what is not above 0 counts as the least number that is; shape (p,)."""
        least = 1 if self.subproblem.exact else 1e-300
        return np.asarray(np.maximum(self.gain, least) / np.maximum(self.cost, least), dtype=np.float64)

    def at(self, p: NDArray[np.int64], q: NDArray[np.int64]) -> ClosureProblem:
        """All parts as one closure problem, each at its own lambda p / q: gains times q, prices times p."""
        part = self.subproblem
        gains = self.total(np.abs(part.gain)).astype(np.float64) * q
        largest = max(gains.max(initial=0.0), (self.cost.astype(np.float64) * p).max(initial=0.0))
        check_products(largest)
        profit: NDArray[Any] = part.gain * self.of_splits(q) - part.evaluation * self.of_splits(p)
        return part.closure_problem(profit, part.price * self.of_purchases(p))

    def near(self, lam: NDArray[np.float64], largest: int) -> ClosureProblem:
        """All parts as one closure problem, each at a lambda of its own beside the given one, a ratio of integers up to that."""
        if not self.subproblem.exact:
            return self.on_grids(lam).problem
        p, q = (np.where(dear, np.round(largest * ratio), largest) for dear, ratio in ((lam >= 1, lam), (lam < 1, 1 / lam)))
        return self.at(p.astype(np.int64), q.astype(np.int64))

    def on_grids(self, lam: NDArray[np.float64]) -> Grids:
        """All parts as one closure problem, each at its own lambda and on the finest grid that holds it.

        Profits are rounded up and prices down, as by (1) and (2) of `solvers.closures.integer_objective`.
        """
        part = self.subproblem
        rate = self.of_splits(lam)
        profit, charged = part.gain - rate * part.evaluation, np.abs(part.gain) + rate * part.evaluation
        price = self.of_purchases(lam) * part.price
        exponent = (
            TOTAL_BITS - 1 - np.frexp(np.maximum(self.total(charged), _between(price, self.first_purchase)))[1].astype(np.int64)
        )
        of_splits = self.of_splits(exponent)
        profits = np.ceil(ldexp(profit + 2.0**-50 * charged, of_splits)).astype(np.int64)
        prices = np.floor(ldexp(price * PRICE_MARGIN, self.of_purchases(exponent))).astype(np.int64)
        return Grids(part.closure_problem(profits, prices), exponent)

    def weights(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """`group_weights` of each part; shape (k,)."""
        return group_weights(score, self.of_splits(np.maximum.reduceat(score, self.first[:-1])))

    def payers(self, label: NDArray[np.int32]) -> NDArray[np.int32]:
        """The highest label of the splits that need each purchase; int32, shape (j,)."""
        highest = np.full(self.subproblem.purchases.size, -1, dtype=np.int32)
        _highest(self.subproblem.tail, self.subproblem.head, label, highest)
        return highest

    def restricted(self, label: NDArray[np.int32], payer: NDArray[np.int32], new_part: NDArray[np.int32]) -> PartSequence:
        """New parts, nothing merged.

        Parameters
        ----------
        label, payer
            int32, shapes (k,) and (j,): an arc stays if the label of its split is the purchase's payer.
        new_part
            int32, shape (k,): the new part of each split, not above its parent's; -1 for none. Old parts have no new part in
            common, and those of old parts further outside have lower numbers. Splits of one new part have the same label.
        """
        old = self.subproblem
        n_new = int(new_part.max(initial=-1)) + 1
        # the splits, part by part; a split whose parent is in another part is a top
        start, order = grouped(new_part, n_new)
        first, order = start.astype(np.int64), order[: start[-1]]
        place = np.empty(self.n_splits, dtype=np.int32)
        place[order] = np.arange(order.size, dtype=np.int32)
        above = old.parent[order]
        parent = np.where((above >= 0) & (new_part[above] == new_part[order]), place[above], np.int32(-1))
        # the arcs that stay, and the purchases that they meet
        tail, head, met, arc, _ = self._arcs(label, payer, order)
        part_of = self.part_of_splits()[order[first[:-1]]]
        return PartSequence(
            ParametricSubproblem(
                old.nodes[order],
                parent,
                tail,
                head,
                old.purchases[met],
                old.gain[order],
                old.evaluation[order],
                old.price[met],
            ),
            first,
            self.outside[part_of] + first[:-1] - first[np.searchsorted(part_of, part_of)],
            None if self.score is None else self.score[order],
            None if self.flow is None else Flow(self.flow.usage_flow[arc], self.flow.parent_flow[order]),
            None if self.scale is None else self.scale[part_of],
        )

    def _arcs(
        self, label: NDArray[np.int32], payer: NDArray[np.int32], order: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], ...]:
        """The arcs of the splits of `order` to purchases whose payer is the split's label.

        Returns
        -------
        tuple
            int32: tails, as places in `order`; heads, as places in the next array; the purchases, as they are met; the arcs' old
            numbers; and the place of each old purchase, shape (j,), -1 where no arc leads to it.
        """
        part, first_arc = self.subproblem, starts_by_tail(self.subproblem.tail, self.n_splits)
        room = int((first_arc[order + 1] - first_arc[order]).sum())
        tail, head, met, arc = np.empty((4, room), dtype=np.int32)
        number = np.full(part.purchases.size, -1, dtype=np.int32)
        n_arcs, n_met = _restrict(label, first_arc, part.head, order, payer, number, tail, head, met, arc)
        return tail[:n_arcs], head[:n_arcs], met[:n_met], arc[:n_arcs], number

    def batches(self, most: int) -> Iterator[PartSequence]:
        """Parts next to each other, together of at most so many arcs, or a single one."""
        begin = 0
        while begin < self.n_parts:
            end = max(begin + 1, int(np.searchsorted(self.first_arc, self.first_arc[begin] + most, side="right")) - 1)
            yield self if end - begin == self.n_parts else self._slice(begin, end)
            begin = end

    def _slice(self, begin: int, end: int) -> PartSequence:
        """The parts begin, ..., end - 1."""
        part = self.subproblem
        (u, v), (a, b), (i, j) = (first[[begin, end]].tolist() for first in (self.first, self.first_arc, self.first_purchase))
        above = part.parent[u:v]
        return PartSequence(
            ParametricSubproblem(
                part.nodes[u:v],
                np.where(above >= 0, above - np.int32(u), np.int32(-1)),
                part.tail[a:b] - np.int32(u),
                part.head[a:b] - np.int32(i),
                part.purchases[i:j],
                part.gain[u:v],
                part.evaluation[u:v],
                part.price[i:j],
            ),
            self.first[begin : end + 1] - u,
            self.outside[begin:end],
            None if self.score is None else self.score[u:v],
            None if self.flow is None else Flow(self.flow.usage_flow[a:b], self.flow.parent_flow[u:v]),
            None if self.scale is None else self.scale[begin:end],
        )


@dataclass(frozen=True, eq=False)
class Grids:
    """Parts at lambdas of their own as one closure problem, part k in units of 2^-exponent[k]."""

    problem: ClosureProblem
    exponent: NDArray[np.int64]  # int64, shape (p,)


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


def _between(amounts: NDArray[Any], first: NDArray[np.int64]) -> NDArray[Any]:
    """The sums between borders. A running sum of integers that wraps around does no harm to its differences."""
    if amounts.dtype == np.float64:
        filled = np.flatnonzero(np.diff(first))
        sums = np.zeros(first.size - 1)
        if filled.size:
            sums[filled] = np.add.reduceat(amounts.astype(np.longdouble), first[filled])
        return sums
    running = np.zeros(amounts.size + 1, dtype=np.int64)
    np.cumsum(amounts, out=running[1:])
    return np.diff(running[first])


@njit(cache=True, nogil=True)
def _highest(tail, head, label, highest):  # type: ignore[no-untyped-def]
    """The highest label of the users of each purchase."""
    for k in range(tail.shape[0]):
        if label[tail[k]] > highest[head[k]]:
            highest[head[k]] = label[tail[k]]


@njit(cache=True, nogil=True)
def _restrict(label, first_arc, old_head, order, payer, number, tail, head, met, arc):  # type: ignore[no-untyped-def]
    """(2) for the arcs of some splits; purchases are numbered as they are met."""
    n_arcs, n_purchases = 0, 0
    for u in range(order.shape[0]):
        h = order[u]
        for k in range(first_arc[h], first_arc[h + 1]):
            j = old_head[k]
            # (2): the arc stays if the split's part pays for the purchase
            if payer[j] == label[h]:
                if number[j] < 0:
                    number[j] = n_purchases
                    met[n_purchases] = j
                    n_purchases += 1
                tail[n_arcs] = u
                head[n_arcs] = number[j]
                arc[n_arcs] = k
                n_arcs += 1
    return n_arcs, n_purchases
