"""Prices shared within levels: those users of a purchase that are kept longest pay for it.

Let l be the highest level of the users of a purchase j on a path of nested prunings. At breakpoint l its price is shared among
its users of level l, in proportion to one weight for each split:

    share of split u in j  =  price_j w_u / W_j,      W_j = the sum of w over the users of level l of j                   (1)
    charge of split u      =  the sum of its shares                                                                       (2)

This is (1) of `solvers.price_sharing.shares` at all breakpoints at once, since levels share no purchase. Shares are whole numbers
of 2^-bits integer prices, rounded as `formulations.answers.pruning_path.PathShares` says, so that they add up to the price.

Shares that are right up to a little become right: the rest moves between users of the same purchase, by a maximum flow.

With c_h the charge of split h by (2), everything at the breakpoint of the split's own level,
a / b in integer gains for one integer price, let

    surplus_h  =  b gain_h - a (evaluation_h + c_h)                                                                       (3)
    pass_h     =  max(0, surplus_h + the sum of pass over the children of h in its block)                                 (4)

A block is a maximal connected set of splits of one tree and one level. The level is proven where, from the leaves up, nothing is
missing at any split and nothing is left over at the tops of the blocks: (2) and (3) of
`proofs_checks.optimality.path_optimality`. After rounds of price sharing a little is missing here and left over there, as much
as is missing. A split that pays too much gives a part of a share to another user of that purchase. That one passes up less, or
gives in turn:

    source -> h     what is missing at h               h -> sink     what is left over at the top h
    h -> j          at most the share of h in j        j -> h        without limit
    h -> parent     at most pass_h                     parent -> h   without limit: h passes up more                      (5)

If the flow is as large as what is missing, its flows through purchases are moves that prove the level. What is missing is far
less than most shares, so that a few purchases for each split suffice, whatever the number of usage arcs.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.numbers import INT64_SAFE
from formulations.instance.problem import Core
from solvers.closures.cut import FlowNetwork, compact
from solvers.closures.integer_objective import IntegerPrices
from solvers.closures.tree_pass import climb
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.remaining import all_open, price_for_row, price_once
from solvers.price_sharing.shares import OwnRows, in_threads, portions, rows_in_block, slice_charges

NONE: NDArray[np.bool_] = np.zeros(0, dtype=bool)


class SharedArcs(NamedTuple):
    """Usage arcs at the level of their purchase, with shares."""

    tail: NDArray[np.int32]  # int32, shape (a,): splits
    head: NDArray[np.int64]  # int64, shape (a,): purchases, numbered as in `UsageArcs`
    share: NDArray[np.int64]  # int64, shape (a,): in 2^-bits integer prices

    @classmethod
    def room(cls, count: int) -> Self:
        """Room for so many."""
        return cls(np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64))


class LevelShares:
    """Passes over the usage of some splits, k of them, which go at breakpoints.

    `level`: int32, shape (n,): of every node. `highest`: int32, shape (M (N + 1),): the highest level of each purchase's users,
    of all splits that are ever kept. `is_open`: bool, shape (n,): the k splits, all or none of a level. `bits`: see `PathShares`.
    `pool`: one thread: passes are halved between it and the caller's.
    """

    def __init__(
        self,
        problem: Core,
        level: NDArray[np.int32],
        highest: NDArray[np.int32],
        is_open: NDArray[np.bool_],
        bits: int,
        pool: ThreadPoolExecutor,
        params: SharingParams,
    ) -> None:
        ints = problem.numbers
        self.remaining = all_open(IntegerPrices(problem.usage, ints.price << bits, ints.weight, None), is_open)
        self.nodes, self.threads = self.remaining.nodes, portions(self.remaining, params)
        self.level, self.highest, self.pool = level[self.nodes], highest, pool
        shape = problem.usage.row_blocks.n_blocks, self.remaining.slices.item.size
        self.own = self._own_rows(OwnRows.of(*shape))

    def _own_rows(self, own: OwnRows) -> OwnRows:
        """Count the rows of all slices, and write down those of slices that are partly at the level of their purchases."""
        remaining, threads = self.remaining, self.threads
        arguments = remaining.blocked_usage, self.level, self.highest
        in_threads(self.pool, [partial(_own, *arguments, own, portion) for portion in threads])
        blocks, slices = remaining.objective.usage.row_blocks, remaining.slices
        nodes = self.nodes[slices.split]
        rows = blocks.stop[:, nodes] - blocks.start[:, nodes]
        partly = np.where(rows == own.number, 0, own.number).ravel()
        np.cumsum(partly[:-1], out=own.first.ravel()[1:])
        own = own._replace(place=np.empty(int(partly.sum(dtype=np.int64)), dtype=np.uint16))
        in_threads(self.pool, [partial(_own, *arguments, own, portion) for portion in threads])
        return own

    def rough_charges(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """(2) up to rounding, in 2^-bits integer prices, several times as fast."""
        return slice_charges(self.remaining, weight, self.threads, self.pool, self.own)

    def charges(self, weight: NDArray[np.float64]) -> NDArray[np.int64]:
        """(2) for weights of shape (k,), in 2^-bits integer prices."""
        return self._pass(weight, [SharedArcs.room(0)] * 2)[0]

    def most_balanced(self, weight: NDArray[np.float64], each: int) -> NDArray[np.int64]:
        """For every split some purchases at most so many: those that it and others together pay as evenly as possible."""
        found = self._pass(weight, [SharedArcs.room(0)] * 2, each=each)[1]
        return np.unique(found[found >= 0])

    def arcs(self, weight: NDArray[np.float64], selected: NDArray[np.bool_]) -> SharedArcs:
        """The arcs of selected purchases, bool of shape (M (N + 1),), with their shares; tails are node ids."""
        counts = self._pass(weight, [SharedArcs.room(0)] * 2, selected)[2]
        parts = [SharedArcs.room(count) for count in counts]
        self._pass(weight, parts, selected)
        tail, head, share = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return SharedArcs(self.nodes[tail], head, share)

    def _pass(
        self, weight: NDArray[np.float64], arcs: Sequence[SharedArcs], selected: NDArray[np.bool_] = NONE, each: int = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[int]]:
        """Charges, purchases of `most_balanced`, and the number of arcs of selected purchases in each of two threads.

        The threads have different rows, or different items. Arcs are written as far as there is room for them.
        """
        remaining, threads = self.remaining, self.threads
        k = weight.size
        charge = [np.zeros(k, dtype=np.int64) for _ in threads]
        balance = [np.zeros((k, each), dtype=np.int64) for _ in threads]
        found = [np.full((k, each), -1, dtype=np.int64) for _ in threads]
        given = remaining.blocked_usage, remaining.prices, self.own, weight, selected
        sums = zip(charge, balance, found, arcs[: len(threads)], threads, strict=True)
        works = [partial(_share, *given, c, b, f, a, portion) for c, b, f, a, portion in sums]
        counts = in_threads(self.pool, works)
        for t in range(1, len(threads)):
            charge[0] += charge[t]
            better = balance[t] > balance[0]
            found[0][better] = found[t][better]
        return charge[0], found[0], counts


@njit(cache=True, nogil=True)
def _own(usage, level, highest, own, portion):  # type: ignore[no-untyped-def]
    """Count the rows of each slice and block whose purchase is of the split's level; write them where there is room."""
    item, split, begins, nodes, tree_of, start, stop, order, rows, size, once = usage
    count, first_own, own_place = own
    n_rows = order.shape[1]
    places = order.reshape(order.size)
    top = np.empty(min(size, n_rows), dtype=np.int32)
    for b in range(portion.block, portion.last_block):
        block_rows = rows[b * size : min((b + 1) * size, n_rows)]
        for g in range(portion.item, portion.last_item):
            m = item[begins[g]]
            # the level of each row's purchase of this item
            if not once[m]:
                for i in range(block_rows.shape[0]):
                    top[i] = highest[m * n_rows + block_rows[i]]
            for k in range(begins[g], begins[g + 1]):
                h, mine = nodes[split[k]], level[split[k]]
                if once[m]:
                    count[b, k] = b == 0 and highest[once.shape[0] * n_rows + m] == mine
                    continue
                # the second time, slices with all of their rows or none need no list
                n_users = stop[b, h] - start[b, h]
                if own_place.shape[0] > 0 and count[b, k] in (0, n_users):
                    continue
                # the rows of the slice whose purchase is of the split's level
                found = 0
                p = tree_of[h] * n_rows + b * size
                for i in places[p + start[b, h] : p + stop[b, h]]:
                    if top[i] == mine:
                        if own_place.shape[0] > 0:
                            own_place[first_own[b, k] + found] = i
                        found += 1
                count[b, k] = found
    return 0


@njit(cache=True, nogil=True, error_model="numpy")
def _share(  # type: ignore[no-untyped-def]
    usage, prices, own, weight, selected, charge, balance, found, arcs, portion
):
    """Sums of weights, then shares, item by item and block by block. Returns the number of arcs that there are to write."""
    item, split, begins, _, _, _, _, order, rows, size, once = usage
    tail, head, share = arcs
    n_rows = order.shape[1]
    room = min(size, n_rows)
    total, left = np.empty(room), np.empty(room, dtype=np.int64)
    owner = np.empty(room, dtype=np.int32)
    one, all_rows = np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.int32)
    n_arcs = 0
    for b in range(portion.block, portion.last_block):
        block_rows = rows[b * size : min((b + 1) * size, n_rows)]
        for g in range(portion.item, portion.last_item):
            begin, end = begins[g], begins[g + 1]
            m = item[begin]
            # a purchase is an item for a row, or, where it is paid once, the item for all rows
            payers = all_rows if once[m] else block_rows
            base = once.shape[0] * n_rows + m if once[m] else m * n_rows
            # the weights of each purchase's users, and the last of them
            total[:] = 0.0
            for k in range(begin, end):
                u = split[k]
                for i in _users(usage, own, b, k, one):
                    total[i] += weight[u]
                    owner[i] = u
            for r in range(payers.shape[0]):
                left[r] = price_once(prices, m) if once[m] else price_for_row(prices, m, payers[r])
                # slightly less for all but the last user, so that rounding leaves something over for that one, never a debt
                total[r] = float(left[r]) / total[r] * (1.0 - 2.0**-30) if total[r] > 0.0 else 0.0
            for k in range(begin, end):
                u = split[k]
                for i in _users(usage, own, b, k, one):
                    # the last user pays what is left
                    part = left[i] if owner[i] == u else np.int64(weight[u] * total[i])
                    left[i] -= part
                    charge[u] += part
                    if found.shape[1] > 0:
                        price = price_once(prices, m) if once[m] else price_for_row(prices, m, payers[i])
                        both, r = min(part, price - part), payers[i] % found.shape[1]
                        if both > balance[u, r]:
                            balance[u, r] = both
                            found[u, r] = base + payers[i]
                    if selected.shape[0] > 0 and selected[base + payers[i]]:
                        if n_arcs < tail.shape[0]:
                            tail[n_arcs] = u
                            head[n_arcs] = base + payers[i]
                            share[n_arcs] = part
                        n_arcs += 1
    return n_arcs


@njit(cache=True, nogil=True)
def _users(usage, own, b, k, one):  # type: ignore[no-untyped-def]
    """The rows of slice k in block b whose purchases are of the split's level, as places in the block."""
    if usage.once[usage.item[k]]:
        return one[: own.number[b, k]]
    listed, first, last = rows_in_block(usage, own, b, k)
    return own.place[first:last] if listed else usage.order.reshape(usage.order.size)[first:last]


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
        """(3) at charges in 2^-bits integer prices."""
        a, earned = self.ratio.numerator, self.earned
        kind = _kind(float(np.abs(earned.astype(np.float64)).sum()) + a + a * float(charge.sum(dtype=np.float64)))
        return np.asarray(earned.astype(kind) - charge.astype(kind) * a)

    def gains(self, amount: int) -> Fraction:
        """In integer gains what is in the unit of (3)."""
        return Fraction(amount, self.ratio.denominator << self.bits)

    def balance(self, surplus: Amounts) -> tuple[Amounts, Amounts]:
        """What is missing (below 0) or left over (above 0) at each split, and (4), which is 0 at tops."""
        passed, uneven = surplus.copy(), np.zeros_like(surplus)
        _for_kind(_balance, surplus)(self.parent, passed, uneven)
        return uneven, passed

    def shortfall(self, surplus: Amounts) -> tuple[Fraction, Fraction]:
        """Sums over the blocks, in integer gains: the worth of the best closure, and that less the worth of the block."""
        over = int(_for_kind(climb, surplus)(self.parent, surplus.copy()))
        return self.gains(over), self.gains(over - int(surplus.sum()))

    def moves(self, surplus: Amounts, arcs: SharedArcs) -> list[Move] | None:
        """The moves (5) that prove the level; None if none along these arcs, with node ids as tails, do that in int64."""
        uneven, passed = self.balance(surplus)
        missing = -int(uneven[uneven < 0].sum())
        if missing >= INT64_SAFE or uneven.sum() != 0:
            return None
        # (5) as a flow: splits, then purchases, then a source and a sink
        k, (purchases, at) = len(uneven), compact(arcs.head.astype(np.int32), int(arcs.head.max(initial=0)) + 1)
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
        # users give up what they bear, and take any amount
        enough = -(-missing // self.ratio.numerator)
        give = network.add(tail, head, np.minimum(np.minimum(arcs.share, enough) * self.ratio.numerator, missing))
        take = network.add(head, tail, missing)
        if network.maximum_flow() < missing:
            return None
        # what flows through a purchase is moved from one user to another
        unit = self.ratio.numerator << self.bits
        net = network.flow_on(take) - network.flow_on(give)
        moved = np.flatnonzero(net)
        moved = moved[np.argsort(at[moved], kind="stable")]
        of_moved = zip(at[moved].tolist(), self.nodes[tail[moved]].tolist(), net[moved].tolist(), strict=True)
        return [Move(int(purchases[j]), giver, taker, Fraction(amount, unit)) for j, giver, taker, amount in _paired(of_moved)]


def _kind(largest: float) -> type:
    """What holds sums of at most so much in `Amounts`."""
    return np.int64 if largest < INT64_SAFE else object


def _for_kind(kernel: Any, amounts: Amounts) -> Any:
    """A kernel, compiled or, for Python integers, as it is written."""
    return kernel if amounts.dtype == np.int64 else getattr(kernel, "py_func", kernel)


@njit(cache=True, nogil=True)
def _balance(parent, passed, uneven):  # type: ignore[no-untyped-def]
    """`LevelBlocks.balance`: `passed` holds (3) on entry, (4) on return."""
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
