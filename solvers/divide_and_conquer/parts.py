"""Parts of the path: splits between two nested closures, with the purchases that the inner one has not paid.

A part with total gain G and total price P, evaluation included, is worth as much as nothing at

    lambda* = G / P                                                                                         (1)

A closure of a part cuts it into an inner part, which keeps the arcs of its splits, and an outer one, which keeps those of
its own to purchases that the inner one does not pay. So parts share no arc, and prices are paid once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.errors import CapacityOverflowError
from formulations.merging import merge_purchases
from formulations.problem import PruningProblem
from solvers.closure_cut import ClosureProblem
from solvers.numbering import compact, local_forest


@dataclass(frozen=True, eq=False)
class Part:
    """Splits, int32 and ascending, with their usage arcs `tail` -> `head`, grouped by tail in ascending order."""

    nodes: NDArray[np.int32]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Network:
    """A part at lambda* (1) as a closure problem in integers: gains times the denominator, prices times the numerator.

    Parameters
    ----------
    part
        the part, its purchases merged.
    ratio
        lambda*.
    """

    part: Part
    ratio: Fraction
    instance: ClosureProblem


class Parts:
    """Makes parts and their networks; holds the prices, which merging adds up."""

    def __init__(self, problem: PruningProblem, *, merge: bool) -> None:
        self.problem = problem
        self.merge = merge
        self.price = problem.purchase_price()
        self.merged_into = np.arange(problem.n_purchases, dtype=np.int32)
        self._place = np.full(problem.ensemble.n_nodes, -1, dtype=np.int32)
        self._scratch = np.empty(problem.n_purchases, dtype=np.int32)

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
        parent, tail = local_forest(self.problem.ensemble.parent, part.nodes, part.tail, self._place)
        profit = gain * ratio.denominator - evaluation * ratio.numerator
        return Network(part, ratio, ClosureProblem(profit, parent, tail, head, price * ratio.numerator))

    def _merged(self, part: Part) -> tuple[Part, NDArray[np.int32], NDArray[np.int32]]:
        """The part after merging purchases; its purchases, and the arcs' heads as places among them."""
        purchases, head = compact(part.head, self._scratch)
        if not self.merge:
            return part, purchases, head
        merged = merge_purchases(part.tail, head, self.price[purchases])
        if merged.arc.size == part.tail.size:
            return part, purchases, head
        self.price[purchases] = merged.price
        self.merged_into[purchases] = purchases[merged.representative]
        stays = Part(part.nodes, part.tail[merged.arc], part.head[merged.arc])
        return stays, *compact(stays.head, self._scratch)

    def halves(self, network: Network, keep: NDArray[np.bool_]) -> tuple[Part, Part]:
        """The inner part, and the outer one without the purchases that the inner one pays; `keep` bool, shape (k,)."""
        part = network.part
        kept, left = _sides(network.instance.tail, network.instance.head, network.instance.price.size, keep)
        inner = Part(part.nodes[keep], part.tail[kept], part.head[kept])
        return inner, Part(part.nodes[~keep], part.tail[left], part.head[left])


@njit(cache=True)
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
