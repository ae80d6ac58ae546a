"""Shares that are right up to a little become right: the rest moves between users of the same purchase, by a maximum flow.

With c_h the charge of split h by (2) of `solvers.path.level_shares`, everything at the breakpoint of the split's own level,
a / b in integer gains for one integer price, let

    surplus_h  =  b gain_h - a (evaluation_h + c_h)                                                                       (1)
    pass_h     =  max(0, surplus_h + the sum of pass over the children of h in its block)                                 (2)

A block is a maximal connected set of splits of one tree and one level. The level is proven where, from the leaves up, nothing is
missing at any split and nothing is left over at the tops of the blocks: (2) and (3) of
`proofs_checks.optimality.path_optimality`. After rounds of price sharing a little is missing here and left over there, as much
as is missing. A split that pays too much gives a part of a share to another user of that purchase. That one passes up less, or
gives in turn:

    source -> h     what is missing at h               h -> sink     what is left over at the top h
    h -> j          at most the share of h in j        j -> h        without limit
    h -> parent     at most pass_h                     parent -> h   without limit: h passes up more                      (3)

If the flow is as large as what is missing, its flows through purchases are moves that prove the level. What is missing is far
less than most shares, so that a few purchases for each split suffice, whatever the number of usage arcs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from solvers.closures.cut import MAX_TOTAL, FlowNetwork, compact
from solvers.closures.tree_pass import climb
from solvers.path.level_shares import SharedArcs

Amounts: TypeAlias = NDArray[Any]
"""int64 where sums of absolute values fit, else Python integers."""


@dataclass(frozen=True, eq=False)
class Move:
    """A part of the giver's share of a purchase that the taker pays instead, in integer prices; splits are node ids."""

    purchase: int
    giver: int
    taker: int
    amount: Fraction


@dataclass(frozen=True, eq=False)
class LevelBlocks:
    """The blocks of one level, with all amounts times 2^bits."""

    nodes: NDArray[np.int32]  # int32, shape (k,): the splits, ascending
    parent: NDArray[np.int32]  # int32, shape (k,): places of the parents in the same block; -1 at tops
    earned: Amounts  # shape (k,): b gain_h - a evaluation_h
    ratio: Fraction  # a / b
    bits: int

    @classmethod
    def of(
        cls,
        nodes: NDArray[np.int32],
        parent: NDArray[np.int32],
        gain: NDArray[np.int64],
        evaluation: NDArray[np.int64],
        ratio: Fraction,
        bits: int,
    ) -> Self:
        """From the splits' gains and evaluation prices, in integers."""
        a, b = ratio.numerator << bits, ratio.denominator << bits
        largest = a + b + b * float(np.abs(gain).sum(dtype=np.float64)) + a * float(evaluation.sum(dtype=np.float64))
        kind = _kind(largest)
        return cls(nodes, parent, gain.astype(kind) * b - evaluation.astype(kind) * a, ratio, bits)

    def surplus(self, charge: NDArray[np.int64]) -> Amounts:
        """(1) at charges in 2^-bits integer prices."""
        a, earned = self.ratio.numerator, self.earned
        kind = _kind(float(np.abs(earned.astype(np.float64)).sum()) + a + a * float(charge.sum(dtype=np.float64)))
        return np.asarray(earned.astype(kind) - charge.astype(kind) * a)

    def gains(self, amount: int) -> Fraction:
        """In integer gains what is in the unit of (1)."""
        return Fraction(amount, self.ratio.denominator << self.bits)

    def balance(self, surplus: Amounts) -> tuple[Amounts, Amounts]:
        """What is missing (below 0) or left over (above 0) at each split, and (2), which is 0 at tops."""
        passed, uneven = surplus.copy(), np.zeros_like(surplus)
        _for_kind(_balance, surplus)(self.parent, passed, uneven)
        return uneven, passed

    def shortfall(self, surplus: Amounts) -> tuple[Fraction, Fraction]:
        """Sums over the blocks, in integer gains: the worth of the best closure, and that less the worth of the block."""
        over = int(_for_kind(climb, surplus)(self.parent, surplus.copy()))
        return self.gains(over), self.gains(over - int(surplus.sum()))

    def moves(self, surplus: Amounts, arcs: SharedArcs) -> list[Move] | None:
        """The moves (3) that prove the level; None if none along these arcs, with node ids as tails, do that in int64."""
        uneven, passed = self.balance(surplus)
        missing = -int(uneven[uneven < 0].sum())
        if missing >= MAX_TOTAL or uneven.sum() != 0:
            return None
        k, purchases, at = len(uneven), *compact(arcs.head.astype(np.int32), int(arcs.head.max(initial=0)) + 1)
        place = np.zeros(int(self.nodes[-1]) + 1, dtype=np.int32)
        place[self.nodes] = np.arange(k, dtype=np.int32)
        tail, head, source, sink = place[arcs.tail], np.int32(k) + at, k + purchases.size, k + purchases.size + 1
        network = FlowNetwork(source, sink)
        open_, above = uneven.astype(np.int64), self.parent
        short, rest, below = np.flatnonzero(open_ < 0), np.flatnonzero(open_ > 0), np.flatnonzero(above >= 0)
        network.add(source, short, -open_[short])
        network.add(rest, sink, open_[rest])
        network.add(below, above[below], np.minimum(passed[below], missing).astype(np.int64))
        network.add(above[below], below, missing)
        enough = -(-missing // self.ratio.numerator)
        give = network.add(tail, head, np.minimum(np.minimum(arcs.share, enough) * self.ratio.numerator, missing))
        take = network.add(head, tail, missing)
        if network.maximum_flow() < missing:
            return None
        unit = self.ratio.numerator << self.bits
        net = network.flow_on(take) - network.flow_on(give)
        moved = np.flatnonzero(net)
        moved = moved[np.argsort(at[moved], kind="stable")]
        of_moved = zip(at[moved].tolist(), self.nodes[tail[moved]].tolist(), net[moved].tolist(), strict=True)
        return [Move(int(purchases[j]), giver, taker, Fraction(amount, unit)) for j, giver, taker, amount in _paired(of_moved)]


def _kind(largest: float) -> type:
    """What holds sums of at most so much in `Amounts`."""
    return np.int64 if largest < MAX_TOTAL else object


def _for_kind(kernel: Any, amounts: Amounts) -> Any:
    """A kernel, compiled or, for Python integers, as it is written."""
    return kernel if amounts.dtype == np.int64 else getattr(kernel, "py_func", kernel)


@njit(cache=True, nogil=True)
def _balance(parent, passed, uneven):  # type: ignore[no-untyped-def]
    """`LevelBlocks.balance`: `passed` holds (1) on entry, (2) on return."""
    for h in range(parent.shape[0] - 1, -1, -1):
        top = parent[h]
        if passed[h] < 0 or top < 0:
            uneven[h], passed[h] = passed[h], 0
        else:
            passed[top] += passed[h]


def _paired(net: Any) -> list[tuple[int, int, int, int]]:
    """Pairs of givers (below 0) and takers of each purchase, out of (purchase, user, net amount) sorted by purchase."""
    found: list[tuple[int, int, int, int]] = []
    waiting: list[tuple[int, int]] = []  # of this purchase: users and amounts, all of one sign
    for j, user, amount in net:
        while waiting and amount and (waiting[-1][1] < 0) != (amount < 0):
            other, rest = waiting.pop()
            both = min(abs(amount), abs(rest))
            found.append((j, other, user, both) if rest < 0 else (j, user, other, both))
            if abs(rest) > both:
                waiting.append((other, rest + amount))
            amount = amount + both if amount < 0 else amount - both
        if amount:
            waiting.append((user, amount))
    return found
