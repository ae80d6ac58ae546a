"""Divide and conquer: a part of the path becomes pieces, each with one breakpoint.

At lambda* of a part all of its splits together are worth nothing. If its best closure is worth something, that closure cuts the
part in two; otherwise the part is a piece, and lambda* is its breakpoint. A large part is first divided by a guess, into many
parts at once, and these by minimum cuts, which start from the shares of the guess, or from the flow of the cut before. Every
piece is proven by a cut, so wrong guesses show as breakpoints out of order, (3) of `solvers.path.part_sequence`. The pieces
concerned are then joined and cut exactly. Parts have nothing in common, so that one network holds many of them, and two threads
can work on two such networks.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_rows import pooled
from solvers.closures.cut import ClosureProblem, Ties
from solvers.closures.preflow import Flow, preflow_closure, shared_flow
from solvers.closures.subproblem import ParametricSubproblem
from solvers.path.guess import guessed_parts
from solvers.path.params import PathParams
from solvers.path.part_sequence import Parts, PartSequence


@dataclass(frozen=True, eq=False)
class PathPiece:
    """Splits that go at one breakpoint."""

    # the breakpoint, in gains for one price; None if a wrong guess left a part that has no breakpoint.
    ratio: Fraction | None
    nodes: NDArray[np.int32]  # int32: the splits
    # tail, head: int32: their usage arcs to merged purchases, in the numbers of the whole instance.
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    dual: NDArray[np.int64]  # int64, shape of the arcs: the flow that proves it, in gains times `scale`
    scale: int | Fraction  # of whole numbers the denominator of `ratio`, else that of the grid that the cut was made on
    outside: int  # how many splits of what was divided are outside of it
    left: int = 0  # what its best closure is worth on the grid of the cut, in the unit of `dual`; 0 where nothing was rounded


@dataclass(frozen=True, eq=False)
class Networks:
    """Parts at lambda*, (1) of `solvers.path.part_sequence`, each with its own, as one closure problem in integers."""

    parts: PartSequence
    # lambda* of each part; None where a wrong guess left a part with a gain below 0 or a cost of 0, so that there is none.
    ratios: list[Fraction | None]
    scale: NDArray[Any]  # shape (p,): what gains are multiplied by: the denominator of lambda*, or a power of two
    instance: ClosureProblem

    @staticmethod
    def of(parts: PartSequence) -> Networks:
        """The networks of some parts."""
        each = zip(parts.gain.tolist(), parts.cost.tolist(), strict=True)
        ratios = [Fraction(gain) / Fraction(cost) if cost > 0 and gain >= 0 else None for gain, cost in each]
        if not parts.subproblem.exact:
            ratios = [None if ratio is None else Fraction(float(ratio)) for ratio in ratios]
            grids = parts.on_grids(np.array([1.0 if ratio is None else float(ratio) for ratio in ratios]))
            return Networks(parts, ratios, np.ldexp(1.0, grids.exponent), grids.problem)
        p = np.array([1 if ratio is None else ratio.numerator for ratio in ratios], dtype=np.int64)
        q = np.array([1 if ratio is None else ratio.denominator for ratio in ratios], dtype=np.int64)
        return Networks(parts, ratios, q, parts.at(p, q))

    def start(self) -> Flow | None:
        """What is known of the flow at lambda*, which need not fit."""
        parts, problem = self.parts, self.instance
        if parts.flow is not None and parts.scale is not None:
            factor = parts.of_splits(self.scale / parts.scale)
            return parts.flow.scaled(factor[problem.tail], factor)
        if parts.score is not None:
            return shared_flow(problem, parts.weights(parts.score))
        return None

    def worth(self, keep: NDArray[np.bool_]) -> NDArray[np.int64]:
        """What a closure is worth in each part, in the integers of the cut; shape (p,)."""
        paid = self.parts.subproblem.used(keep)
        return self.parts.total(np.where(keep, self.instance.profit, 0), np.where(paid, -self.instance.price, 0))

    def whole(self, keep: NDArray[np.bool_], worth: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The parts that a best closure of this worth does not divide: bool, shape (p,).

        Of real numbers a closure divides a part if it is worth more than nothing in these, beyond what their sums can be off by:
        2^-48 of the gains.
        """
        pieces = np.array([ratio is None for ratio in self.ratios])
        parts, part = self.parts, self.parts.subproblem
        if part.exact:
            return np.asarray(pieces | (worth == 0))
        used, lam = part.used(keep), np.array([0.0 if ratio is None else float(ratio) for ratio in self.ratios])
        gain = parts.total(np.where(keep, part.gain, 0.0))
        cost = parts.total(np.where(keep, part.evaluation, 0.0), np.where(used, part.price, 0.0))
        kept = parts.total(keep.astype(np.int64))
        better = gain - lam * cost > 2.0**-48 * parts.total(np.abs(part.gain))
        return np.asarray(pieces | ~better | (kept == 0) | (kept == np.diff(parts.first)))


class PathDecomposition:
    """Divides parts of a path into pieces. `advance`: called with the number of splits in the pieces that were found."""

    def __init__(self, parts: Parts, ties: Ties, advance: Callable[[int], None], params: PathParams) -> None:
        self.parts, self.ties, self.advance, self.params = parts, ties, advance, params
        self.stats = dict.fromkeys(("cuts", "arcs_cut", "guesses", "arcs_guessed", "repairs", "splits_repaired"), 0.0)
        self._lock = threading.Lock()

    def solve(self, part: ParametricSubproblem, paid: NDArray[np.bool_]) -> list[PathPiece]:
        """All pieces of a part, outermost first, as a list that obeys (3) of `solvers.path.part_sequence`.

        Parameters
        ----------
        paid
            bool, shape (M (N + 1),): what the optimum inside the part pays.
        """
        if not part.nodes.size:
            return []
        parts = self.parts.merged(PartSequence.of(part))
        if parts.n_arcs > self.params.guess_arcs:
            self._count(guesses=1, arcs_guessed=parts.n_arcs)
            parts = guessed_parts(self.parts, parts, self.ties, self.params)
        pieces = self._pieces(parts)
        for attempt in range(self.params.most_repairs + 1):
            wrong = contradictions([p.ratio for p in pieces])
            if not wrong:
                break
            self._repair(pieces, wrong if attempt < self.params.most_repairs else [(0, len(pieces) - 1)], paid)
        return pieces

    def _pieces(self, parts: PartSequence) -> list[PathPiece]:
        """Pieces of some parts, outermost first; those of one part obey (3) of `solvers.path.part_sequence`."""
        pieces: list[PathPiece] = []

        def found(done: list[PathPiece], rest: list[PartSequence]) -> list[PartSequence]:
            if done:
                pieces.extend(done)
                self.advance(sum(piece.nodes.size for piece in done))
            return rest

        if self.params.threads == 1 or parts.n_arcs <= self.params.one_thread_arcs:
            todo = [parts]
            while todo:
                todo += found(*self._step(todo.pop()))
            return sorted(pieces, key=lambda piece: piece.outside)
        # in several threads: whatever finished parts were divided into is submitted at once
        with ThreadPoolExecutor(self.params.threads) as pool:
            pending = {pool.submit(self._step, parts)}
            try:
                while pending:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    for future in done:
                        pending |= {pool.submit(self._step, rest) for rest in found(*future.result())}
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return sorted(pieces, key=lambda piece: piece.outside)

    def _step(self, parts: PartSequence) -> tuple[list[PathPiece], list[PartSequence]]:
        """Divide large parts once, and small ones until only pieces are left: the pieces, and what is to be divided further."""
        batches = list(parts.batches(self.params.one_thread_arcs))
        if len(batches) > 1:
            return [], batches
        pieces: list[PathPiece] = []
        while True:
            networks = Networks.of(parts)
            closure, flow = preflow_closure(networks.instance, ties=self.ties, start=networks.start())
            self._count(cuts=parts.n_parts, arcs_cut=closure.n_arcs)
            keep, worth = closure.keep, networks.worth(closure.keep)
            done = networks.whole(keep, worth)
            pieces += _pieces_of(networks, done, closure.duals(), worth)
            # the halves of the other parts, outer and inner
            half = np.zeros((done.size, 2), dtype=np.int32)
            half[~done] = 1
            number = np.where(half, np.cumsum(half).reshape(half.shape) - 1, -1).astype(np.int32)
            label = number[parts.part_of_splits(), keep.astype(np.int8)]
            parts = self.parts.divided(replace(parts, score=None, flow=flow, scale=networks.scale), label)
            if not parts.n_parts or parts.n_arcs > self.params.one_thread_arcs:
                return pieces, [parts] if parts.n_parts else []

    def _repair(self, pieces: list[PathPiece], wrong: list[tuple[int, int]], paid: NDArray[np.bool_]) -> None:
        """Join the pieces of each range and cut them again, without guesses."""
        problem = self.parts.problem
        place = np.full(problem.ensemble.n_nodes, -1, dtype=np.int32)
        for k, piece in enumerate(pieces):
            place[piece.nodes] = k
        payer = problem.usage.highest_user(np.flatnonzero(place >= 0).astype(np.int32), place)
        self._count(repairs=1)
        for first, last in reversed(wrong):
            nodes = np.concatenate([p.nodes for p in pieces[first : last + 1]])
            self._count(splits_repaired=nodes.size)
            joined = PartSequence.of(self.parts.reassembled(nodes, paid | (payer > last)))
            pieces[first : last + 1] = self._pieces(self.parts.merged(joined))

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, count in more.items():
                self.stats[name] += count


def _pieces_of(networks: Networks, done: NDArray[np.bool_], dual: NDArray[np.int64], worth: NDArray[np.int64]) -> list[PathPiece]:
    """The parts that are pieces."""
    part, parts = networks.parts.subproblem, networks.parts
    tail, head = part.nodes[part.tail], part.purchases[part.head]
    first, first_arc, outside = parts.first.tolist(), parts.first_arc.tolist(), parts.outside.tolist()
    pieces = []
    for k in np.flatnonzero(done).tolist():
        arcs = slice(first_arc[k], first_arc[k + 1])
        nodes = part.nodes[first[k] : first[k + 1]]
        scale, left = networks.scale[k].item(), int(worth[k])
        flow = dual[arcs], scale if part.exact else Fraction(scale)
        pieces.append(PathPiece(networks.ratios[k], nodes, tail[arcs], head[arcs], *flow, outside[k], left))
    return pieces


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
