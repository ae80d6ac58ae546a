"""Parts of the path: splits between two nested closures, with the purchases that the inner one has not paid.

A part with total gain G and total price P, evaluation included, is worth as much as nothing at

    lambda* = G / P                                                                                         (1)

A closure of a part cuts it into an inner part, which keeps the arcs of its splits, and an outer one, which keeps those of
its own to purchases that the inner one does not pay. So parts share no arc, and prices are paid once.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.errors import CapacityOverflowError
from formulations.instance.merging import merge_purchases
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import ClosureProblem
from solvers.closures.numbering import compact, local_forest
from solvers.closures.preflow import Flow


@dataclass(frozen=True, eq=False)
class Part:
    """Splits, int32 and ascending, with their usage arcs `tail` -> `head`, grouped by tail in ascending order.

    Parameters
    ----------
    flow
        what is known of the flow from the cut that made the part, in gains times `unit`.
    """

    nodes: NDArray[np.int32]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    flow: Flow | None = None
    unit: int = 1


@dataclass(frozen=True, eq=False)
class Network:
    """A part at lambda* (1) as a closure problem in integers: gains times the denominator, prices times the numerator.

    Parameters
    ----------
    part
        the part, its purchases merged.
    ratio
        lambda*.
    start
        the part's flow at lambda*, which need not fit.
    """

    part: Part
    ratio: Fraction
    instance: ClosureProblem
    start: Flow | None


class _Scratch(threading.local):
    """What `compact` and `local_forest` write into, for every thread its own."""

    def __init__(self, problem: PruningProblem) -> None:
        self.nodes = np.full(problem.ensemble.n_nodes, -1, dtype=np.int32)
        self.purchases = np.empty(problem.n_purchases, dtype=np.int32)


class Parts:
    """Makes parts and their networks; holds the prices, which merging adds up."""

    def __init__(self, problem: PruningProblem, *, merge: bool) -> None:
        self.problem = problem
        self.merge = merge
        self.price = problem.purchase_price()
        self.merged_into = np.arange(problem.n_purchases, dtype=np.int32)
        self._own = _Scratch(problem)

    def between(self, outer: NDArray[np.bool_], inner: NDArray[np.bool_]) -> Part:
        """Everything between two closures, the inner one free of charge, so that it has paid nothing."""
        nodes = np.flatnonzero(outer & ~inner).astype(np.int32)
        arcs = self.problem.usage_arcs(nodes)
        priced = self.price[arcs.head] > 0
        if priced.all():
            return Part(nodes, arcs.tail, arcs.head)
        return Part(nodes, arcs.tail[priced], arcs.head[priced])

    def anew(self, nodes: NDArray[np.int32], payer: NDArray[np.int32], last: int) -> Part:
        """A part out of some pieces, its purchases as they were before merging.

        `payer`: for every purchase the place of the innermost piece that pays it; `last`: the place of the part's own innermost.
        """
        nodes = np.sort(nodes)
        arcs = self.problem.usage_arcs(nodes)
        price = self.problem.purchase_price()[arcs.head]
        mine = (price > 0) & (payer[arcs.head] <= last)
        tail, head = arcs.tail[mine], arcs.head[mine]
        self.price[head] = price[mine]
        self.merged_into[head] = head
        return Part(nodes, tail, head)

    def network(self, part: Part) -> Network | None:
        """The part's network, or None if (1) is no breakpoint: a gain below 0, or nothing to pay, as only wrong guesses leave."""
        part, purchases, head = self._merged(part)
        ints = self.problem.integers
        price, evaluation, gain = self.price[purchases], ints.evaluation[part.nodes], ints.gain[part.nodes]
        total, due = int(gain.sum()), int(price.sum()) + int(evaluation.sum())
        if due == 0 or total < 0:
            return None
        ratio = Fraction(total, due)
        _check_products(gain, price, evaluation, ratio)
        parent, tail = local_forest(self.problem.ensemble.parent, part.nodes, part.tail, self._own.nodes)
        profit = gain * ratio.denominator - evaluation * ratio.numerator
        instance = ClosureProblem(profit, parent, tail, head, price * ratio.numerator)
        return Network(part, ratio, instance, None if part.flow is None else part.flow.scaled(ratio.denominator / part.unit))

    def _merged(self, part: Part) -> tuple[Part, NDArray[np.int32], NDArray[np.int32]]:
        """The part after merging purchases; its purchases, and the arcs' heads as places among them."""
        purchases, head = compact(part.head, self._own.purchases)
        if not self.merge:
            return part, purchases, head
        merged = merge_purchases(part.tail, head, self.price[purchases])
        if merged.arc.size == part.tail.size:
            return part, purchases, head
        self.price[purchases] = merged.price
        self.merged_into[purchases] = purchases[merged.representative]
        flow = part.flow
        if flow is not None:
            flow = Flow(_summed(part.tail, merged.representative[head], merged.arc, flow.load, purchases.size), flow.up)
        stays = Part(part.nodes, part.tail[merged.arc], part.head[merged.arc], flow, part.unit)
        return stays, *compact(stays.head, self._own.purchases)

    def halves(self, network: Network, keep: NDArray[np.bool_], flow: Flow | None = None) -> tuple[Part, Part]:
        """The inner part, and the outer one without the purchases that the inner one pays; `keep` bool, shape (k,)."""
        part, unit = network.part, network.ratio.denominator
        kept, left = _sides(network.instance.tail, network.instance.head, network.instance.price.size, keep)
        inside, outside = (
            None if flow is None else Flow(flow.load[arcs], flow.up[nodes]) for arcs, nodes in ((kept, keep), (left, ~keep))
        )
        inner = Part(part.nodes[keep], part.tail[kept], part.head[kept], inside, unit)
        return inner, Part(part.nodes[~keep], part.tail[left], part.head[left], outside, unit)


@njit(cache=True, nogil=True)
def _summed(tail, group, stays, load, n_purchases):  # type: ignore[no-untyped-def]
    """Loads of the arcs that stay: of all arcs of the same split to purchases of the same group."""
    summed = np.zeros(stays.shape[0], dtype=np.int64)
    place = np.empty(n_purchases, dtype=np.int32)
    first, k = 0, 0
    while k < tail.shape[0]:
        u, s = tail[k], first
        while s < stays.shape[0] and tail[stays[s]] == u:
            place[group[stays[s]]] = s
            s += 1
        first = s
        while k < tail.shape[0] and tail[k] == u:
            summed[place[group[k]]] += load[k]
            k += 1
    return summed


@njit(cache=True, nogil=True)
def _sides(tail, head, n_purchases, keep):  # type: ignore[no-untyped-def]
    """Which arcs belong to kept splits, and which lead to purchases that no kept split pays."""
    paid = np.zeros(n_purchases, dtype=np.bool_)
    kept, left = np.empty(tail.shape[0], dtype=np.bool_), np.empty(tail.shape[0], dtype=np.bool_)
    for k in range(tail.shape[0]):
        kept[k] = keep[tail[k]]
        if kept[k]:
            paid[head[k]] = True
    for k in range(tail.shape[0]):
        left[k] = not paid[head[k]]
    return kept, left


def _check_products(gain: NDArray[np.int64], price: NDArray[np.int64], evaluation: NDArray[np.int64], ratio: Fraction) -> None:
    """Refuse before int64 products wrap."""
    largest = max(
        float(np.abs(gain).sum()) * ratio.denominator,
        (float(price.sum()) + float(evaluation.sum())) * ratio.numerator,
    )
    if largest >= 2.0**62:
        raise CapacityOverflowError(
            f"gains and prices multiply to {largest:.3g}, 62 bits hold {2.0**62:.3g}; use prices with fewer digits"
        )
