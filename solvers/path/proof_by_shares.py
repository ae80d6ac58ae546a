"""Two proofs of a path: the flows of the cuts that found its pieces, put together, and one weight for each split.

Where parts are cut as networks, the flows are there. Pieces share no usage arc, so every arc takes its dual from one flow. Two
things stand between them. Flows go to merged purchases; `formulations.instance.usage_arcs.split_duals` divides them among the
members, each of which takes no more than its price at the breakpoint where it is first paid. And pieces that go at one breakpoint
may have been cut on grids of different fineness, where numbers are real; all of them are brought to the coarsest one, rounded
down.

Shares prove the same paths with one number a split, but have to be found. On MiniBooNE, 5.2 million usage arcs, that takes 1.2
CPU seconds; putting flows together takes 0.3.

A proof by shares is (1) of `solvers.path.level_shares` at the right weights, and a few moves. The weights are found by rounds of
price sharing, for all breakpoints at once, since levels share no purchase. With score s_u, the logarithm of the weight of split
u, and the levels of `solvers.closures.tree_pass` in each block at its own breakpoint,

    s_u  +=  log level_u,      with the limit and the momentum of `solvers.price_sharing.solve`                            (1)

Then `solvers.path.level_shares` moves the rest. A level that is proven is done with. What is not gets more rounds; where the
last try fails, the level counts as a gap, by (3) of `proofs_checks.optimality.path_optimality`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PathCertificate, PathShares
from formulations.instance.problem import Core
from formulations.instance.usage_arcs import split_duals, starts_by_tail
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import PRICE_MARGIN, ldexp
from solvers.closures.tree_pass import LevelTrees
from solvers.path.decomposition import PathPiece
from solvers.path.level_shares import Amounts, LevelBlocks, LevelShares, Move, SharedArcs
from solvers.path.params import PathParams
from solvers.path.part_sequence import Parts
from solvers.price_sharing.run import advance, step_limit
from solvers.price_sharing.shares import group_weights


def flow_certificate(
    parts: Parts, pieces: Sequence[PathPiece], level: NDArray[np.int32], ratios: Sequence[Fraction]
) -> PathCertificate:
    """Duals of all usage arcs, in the canonical order.

    `level`: int32, shape (n,): of every node. `ratios`: the path's breakpoints, in gains for one price.
    """
    problem, representative = parts.problem, parts.merged_into
    while (representative[representative] != representative).any():
        representative = representative[representative]
    at = [int(level[piece.nodes[0]]) for piece in pieces]
    # gains are multiplied by the denominator of the breakpoint, or by the coarsest grid of its pieces
    scale: list[int | Fraction] = [r.denominator for r in ratios]
    for piece, k in zip(pieces, at, strict=True):
        if isinstance(piece.scale, Fraction):
            scale[k] = min(piece.scale, scale[k]) if isinstance(scale[k], Fraction) else piece.scale
    # the flows on merged arcs, grouped by tail
    tail, head, flow = (
        np.concatenate([np.zeros(0, dtype=dtype), *arrays])
        for dtype, arrays in (
            (np.int32, [p.tail for p in pieces]),
            (np.int32, [p.head for p in pieces]),
            (np.int64, [_rescaled(p, scale[k]) for p, k in zip(pieces, at, strict=True)]),
        )
    )
    order = np.argsort(tail, kind="stable")
    start = starts_by_tail(tail, problem.ensemble.n_nodes)
    # divided among the members
    arcs = problem.usage.arcs()
    dual = np.zeros(arcs.tail.size, dtype=np.int64)
    most = _most_paid(problem, pieces, at, ratios, scale, representative)
    split_duals(arcs.tail, dual, representative, start, head[order], flow[order], most, arcs.head)
    return PathCertificate(dual, tuple(scale))


def _rescaled(piece: PathPiece, scale: int | Fraction) -> NDArray[np.int64]:
    """The flow of a piece on a coarser grid, rounded down."""
    return piece.dual if piece.scale == scale or isinstance(scale, int) else piece.dual // int(piece.scale / scale)


def _most_paid(
    problem: Core,
    pieces: Sequence[PathPiece],
    at: Sequence[int],
    ratios: Sequence[Fraction],
    scale: Sequence[int | Fraction],
    representative: NDArray[np.int32],
) -> NDArray[np.int64]:
    """The most that the users of each purchase may pay together: its price at the breakpoint where it is first paid."""
    exact = problem.numbers.exact
    rate, exponent = np.zeros(representative.size, dtype=np.int64 if exact else np.float64), np.zeros(representative.size, int)
    for piece, k in zip(pieces, at, strict=True):
        rate[piece.head] = ratios[k].numerator if exact else float(ratios[k])
        if not exact:
            exponent[piece.head] = math.frexp(float(scale[k]))[1] - 1
    price: NDArray[Any] = problem.purchase_price() * rate[representative]
    return price if exact else np.floor(ldexp(price * PRICE_MARGIN, exponent[representative])).astype(np.int64)


def left_open(
    core: Core, pieces: Sequence[PathPiece], proof: PathCertificate, level: NDArray[np.int32], ratios: Sequence[Fraction]
) -> Fraction:
    """What the certificate of a path leaves open in real numbers, in the unit of the errors.

    The flow of a cut leaves a closure of its piece worth something on the cut's grid, at the cut's lambda. The duals are less
    than the flow by what rounding them, and dividing them among purchases, took off; and the breakpoint is that of exact numbers.
    """
    total = Fraction(0)
    for piece in pieces:
        assert piece.ratio is not None
        beside = abs(ratios[int(level[piece.nodes[0]])] - piece.ratio)
        total += (piece.left + piece.dual.sum().item()) / Fraction(piece.scale)
        total += beside * Fraction(core.numbers.evaluation[piece.nodes].sum().item())
    place = np.clip(level[core.usage.arcs().tail], 0, len(ratios))
    halves = np.zeros((2, len(ratios) + 1), dtype=np.int64)  # duals have up to 62 bits, their sums more
    np.add.at(halves[0], place, proof.dual >> 31)
    np.add.at(halves[1], place, proof.dual & (2**31 - 1))
    paid = [(high << 31) + low for high, low in halves.T.tolist()]
    return total - sum((p / Fraction(s) for p, s in zip(paid, proof.denominator, strict=False)), Fraction(0))


@dataclass(eq=False)
class _State:
    """Rounds (1) on the k splits of the levels that are not proven."""

    shares: LevelShares
    params: PathParams
    parent: NDArray[np.int32]  # int32, shape (k,): places of the parents in the same block, -1 at tops
    profit: NDArray[np.int64]  # int64, shape (k,): what splits earn at their own breakpoint before they are charged
    rate: NDArray[np.float64]  # float64, shape (k,): units of `profit` for a 2^-bits integer price
    # score, stepped: float32, shape (k,).
    score: NDArray[np.float32]
    stepped: NDArray[np.float32]
    trees: LevelTrees | None = None

    def weight(self) -> NDArray[np.float64]:
        """exp(s_u), divided by the highest of its level."""
        level = self.shares.level
        highest = np.full(int(level.max()) + 1, -math.inf, dtype=np.float32)
        np.maximum.at(highest, level, self.score)
        return group_weights(self.score, highest[level])

    def step(self, k: int, charge: NDArray[np.float64]) -> None:
        """Round k = 1, 2, ... from charges in 2^-bits integer prices."""
        pays = charge * self.rate
        if self.trees is None:
            middle, one_thread = self.shares.remaining.middle, self.params.sharing.one_thread_splits
            self.trees = LevelTrees(self.parent, self.profit, pays, middle, one_thread)
        limit, log_level = step_limit(k), np.empty(pays.size, dtype=np.float32)
        self.trees.log_levels(pays, max(limit, self.params.least_limit), log_level, self.shares.pool)
        advance(self.score, self.stepped, log_level, k, self.params.sharing, limit)


class ProofByShares:
    """The proof of a path, of whose levels those in `open` are not proven.

    `level`: int32, shape (n,). `ratios`: the breakpoints, in integer gains for one integer price. `only`: the levels to prove,
    where the others are proven elsewhere; None: all. `scores`: float64, shape (n,): scores of the runs that found the levels, to
    start from; None: zeros.
    """

    def __init__(
        self,
        problem: Core,
        level: NDArray[np.int32],
        ratios: Sequence[Fraction],
        ties: Ties,
        only: Collection[int] | None = None,
        scores: NDArray[np.float64] | None = None,
        params: PathParams = PathParams(),
    ) -> None:
        self.problem, self.level, self.ratios, self.start, self.params = problem, level, ratios, scores, params
        self.bits, self.rounds = share_bits(problem, params), 0
        kept = problem.ensemble.is_split & (level >= (1 if ties == "smallest" else 0))
        self.never, self.always = problem.ensemble.is_split & ~kept, kept & (level >= len(ratios))
        self.highest = problem.usage.highest_user(np.flatnonzero(kept).astype(np.int32), level)
        self.open = np.unique(level[kept & (level > 0) & (level < len(ratios))])
        if only is not None:
            self.open = self.open[np.isin(self.open, list(only))]
        self.shortfall = dict.fromkeys(self.open.tolist(), (Fraction(0), Fraction(0)))
        self.weight, self.moves = kept.astype(np.float64), list[Move]()
        with ThreadPoolExecutor(1) as self.pool:
            self._fit()

    def certificate(self) -> PathShares:
        """The weights and moves."""
        return PathShares(
            self.weight,
            self.bits,
            np.array([m.purchase for m in self.moves], dtype=np.int64),
            np.array([m.giver for m in self.moves], dtype=np.int32),
            np.array([m.taker for m in self.moves], dtype=np.int32),
            tuple(m.amount for m in self.moves),
        )

    def gaps(self) -> tuple[Fraction, ...]:
        """What the certificate leaves open at each breakpoint, in the units of (OBJ); empty where nothing is."""
        elsewhere = self._of_gain(self.never)[0] + self._of_gain(self.always)[1]
        if not self.open.size and not elsewhere:
            return ()
        levels = range(len(self.ratios))
        over, under = ([self.shortfall.get(number, (Fraction(0),) * 2)[side] for number in levels] for side in (0, 1))
        before = list(accumulate(over, initial=Fraction(0)))
        after = list(accumulate(reversed(under), initial=Fraction(0)))[::-1]
        missed = (elsewhere + before[k] + min(over[k], under[k]) + after[k + 1] for k in levels)
        return tuple(m * self.problem.numbers.gain_unit for m in missed)

    def _of_gain(self, splits: NDArray[np.bool_]) -> tuple[Fraction, Fraction]:
        """`LevelBlocks.shortfall` of splits that pay nothing: at lambda = 0, or always kept."""
        nodes, parent = np.flatnonzero(splits).astype(np.int32), self.problem.ensemble.parent
        above = np.where(splits[parent[nodes]], np.searchsorted(nodes, parent[nodes]), -1).astype(np.int32)
        blocks = LevelBlocks.of(nodes, above, self.problem.numbers.gain[nodes], np.zeros_like(nodes), Fraction(0), 0)
        return blocks.shortfall(blocks.earned)

    def _fit(self) -> None:
        """Rounds, and tries to move the rest."""
        state = self._state() if self.open.size else None
        while state is not None and self.open.size and self.rounds < self.params.tries[-1]:
            self.rounds += 1
            state.step(self.rounds, state.shares.rough_charges(state.weight()))
            if self.rounds in self.params.tries:
                state = self._prove(state)

    def _state(self, before: _State | None = None) -> _State:
        """The open levels at the start, or later, when scores go on."""
        is_open = self.problem.ensemble.is_split & np.isin(self.level, self.open)
        shares = LevelShares(self.problem, self.level, self.highest, is_open, self.bits, self.pool, self.params.sharing)
        ints, nodes, level, parent = self.problem.numbers, shares.nodes, shares.level, shares.remaining.parent
        ratio = np.array([float(r) for r in self.ratios])[level]
        profit = ints.gain[nodes] - ratio * ints.evaluation[nodes]
        scale = 2.0**55 / max(1.0, float(np.abs(profit).sum()))
        score, stepped = np.zeros((2, nodes.size), dtype=np.float32)
        if self.start is not None:
            score[:] = stepped[:] = self.start[nodes]
        if before is not None:
            places = np.searchsorted(before.shares.nodes, nodes)
            score, stepped = before.score[places], before.stepped[places]
        return _State(
            shares,
            self.params,
            np.where((parent >= 0) & (level[parent] == level), parent, np.int32(-1)),
            np.rint(profit * scale).astype(np.int64),
            ratio * (scale / 2**self.bits),
            score,
            stepped,
        )

    def _prove(self, state: _State) -> _State:
        """Prove the levels that are right, or become so by moves; the state of the others."""
        # levels with something missing or left over at these weights
        params = self.params
        weight, uneven = state.weight(), dict[int, tuple[LevelBlocks, Amounts]]()
        self.weight[state.shares.nodes] = weight
        charge = state.shares.charges(weight)
        for number, blocks, places in self._blocks(state):
            surplus = blocks.surplus(charge[places])
            self.shortfall[number] = blocks.shortfall(surplus)
            if blocks.balance(surplus)[0].any():
                uneven[number] = blocks, surplus
        # move it along a few purchases for each split; along at least twice as many where levels that are proven make room
        each = 0
        while uneven:
            most = min(params.many_purchases, params.purchases_in_all // state.shares.nodes.size)
            before, each = each, max(params.few_purchases, most)
            if 2 * before > each:
                break
            few = np.zeros(self.highest.size, dtype=bool)
            few[state.shares.most_balanced(state.weight(), each)] = True
            self._move(uneven, state.shares.arcs(state.weight(), few))
            state = self._without_proven(state, uneven)
        # move it along all usage arcs of the levels that are small enough; larger ones only at the last try
        size = {number: int(self.problem.usage.arcs_per_node[blocks.nodes].sum()) for number, (blocks, _) in uneven.items()}
        while batch := _fitting(size, params.all_arcs):
            tried = {number: uneven.pop(number) for number in batch}
            self._move(tried, state.shares.arcs(state.weight(), np.isin(self.highest, batch)))
            uneven |= tried
            if self.rounds < params.tries[-1]:
                break
        return self._without_proven(state, uneven)

    def _without_proven(self, state: _State, uneven: Iterable[int]) -> _State:
        """The state of the levels that are not proven, if there are any."""
        still_open = np.array(sorted(uneven), dtype=np.int32)
        if still_open.size == self.open.size:
            return state
        self.open, self.shortfall = still_open, {number: self.shortfall[number] for number in still_open.tolist()}
        return self._state(state) if still_open.size else state

    def _blocks(self, state: _State) -> list[tuple[int, LevelBlocks, NDArray[np.int64]]]:
        """Of every open level: its number, its blocks, and the places of their splits."""
        ints, nodes, level = self.problem.numbers, state.shares.nodes, state.shares.level
        by_level = np.argsort(level, kind="stable")
        borders = np.searchsorted(level[by_level], [*self.open.tolist(), len(self.ratios)])
        found = []
        for number, first, last in zip(self.open.tolist(), borders[:-1], borders[1:], strict=True):
            places, ratio = by_level[first:last], self.ratios[number]
            above = state.parent[places]
            tops, mine = np.where(above >= 0, np.searchsorted(places, above), -1).astype(np.int32), nodes[places]
            blocks = LevelBlocks.of(mine, tops, ints.gain[mine], ints.evaluation[mine], ratio, self.bits)
            found.append((number, blocks, places))
        return found

    def _move(self, uneven: dict[int, tuple[LevelBlocks, Amounts]], arcs: SharedArcs) -> None:
        """Take those of some levels away that moves along the arcs prove."""
        level = self.level[arcs.tail]
        if len(self.ratios) < 2**16:  # numbers of 16 bits are sorted several times as fast
            level = level.astype(np.uint16)
        by_level = np.argsort(level, kind="stable")
        # of the same type: a search for other numbers would convert all of them each time
        numbers = np.array(list(uneven), dtype=level.dtype)
        first, last = (np.searchsorted(level[by_level], numbers, side) for side in ("left", "right"))
        for (number, (blocks, surplus)), begin, end in zip(list(uneven.items()), first, last, strict=True):
            mine = by_level[begin:end]
            moves = blocks.moves(surplus, SharedArcs(arcs.tail[mine], arcs.head[mine], arcs.share[mine]))
            if moves is not None:
                self.moves += moves
                del uneven[number]


def _fitting(size: dict[int, int], room: int) -> list[int]:
    """Take some levels out, the smallest first, with no more than so many usage arcs together."""
    batch: list[int] = []
    for number in sorted(size, key=size.__getitem__):
        if size[number] > room:
            break
        room -= size.pop(number)
        batch.append(number)
    return batch


def share_bits(problem: Core, params: PathParams) -> int:
    """How many bits shares have behind the point of integer prices, so that sums of shares, and what is moved, fit int64."""
    ints = problem.numbers
    weight = int(ints.weight.sum())
    dearest = int(ints.price.sum()) * weight
    gains = int(np.abs(ints.gain).sum())
    least = min((int(p) for p in ints.price if p > 0), default=1) * int(ints.weight.min(initial=1))
    fitting = min(61 - dearest.bit_length(), 61 + params.rest_bits - (gains * dearest).bit_length())
    return max(0, min(fitting, params.share_bits - least.bit_length()))
