"""Divide and conquer: a part of the path becomes pieces, each with one breakpoint.

At lambda* of a part all of its splits together are worth nothing. If its best closure is worth something, that closure cuts the
part in two; otherwise the part is a piece, and lambda* is its breakpoint. Large parts are cut by a guess and small ones by a
minimum cut. A cut starts from the flow of the cut that made the part, because near a breakpoint that many splits share parts are
cut several times in nearly the same place. Every piece is proven by a cut, so wrong guesses show as breakpoints out of order
(`windows`); the pieces concerned are then joined and cut exactly. Parts have nothing in common, so that two threads can work on
two of them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import Closure, Ties, best_closure
from solvers.closures.preflow import Flow, preflow_closure
from solvers.path.guess import GUESS_ARCS, guess_closure
from solvers.path.parts import Network, Parts, PathPart
from solvers.path.threads import divide
from solvers.path.ties import extreme
from solvers.path.windows import contradictions

THREADS = min(2, os.cpu_count() or 1)
"""There are too few large parts for more than two threads."""

ONE_THREAD_ARCS = 20_000
"""A part with at most so many usage arcs is divided to its end by one thread."""

MOST_REPAIRS = 8
"""After so many repairs the guesses are given up, and everything is cut again without them."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Splits that go at one breakpoint.

    Parameters
    ----------
    ratio
        the breakpoint, in integer gains for one integer price; None if a wrong guess left a part that has no breakpoint.
    part
        the splits and their usage arcs, merged.
    dual
        int64, shape of the arcs: the flow that proves it, in gains times the denominator of `ratio`.
    """

    ratio: Fraction | None
    part: PathPart
    dual: NDArray[np.int64]

    @property
    def nodes(self) -> NDArray[np.int32]:
        """The splits."""
        return self.part.nodes


class PathDecomposition:
    """Divides parts of a path into pieces.

    Parameters
    ----------
    guess
        cut large parts by guesses.
    warm
        cut by `preflow_closure`, from earlier flows; False: by OR-Tools, in one thread.
    advance
        called with the number of splits in the pieces that were found.
    """

    def __init__(self, parts: Parts, ties: Ties, *, guess: bool, warm: bool, advance: Callable[[int], None]) -> None:
        self.parts, self.ties, self.guess, self.warm, self.advance = parts, ties, guess, warm, advance
        self.stats = dict.fromkeys(("cuts", "arcs_cut", "guesses", "arcs_guessed", "repairs", "splits_repaired"), 0.0)
        self._lock = threading.Lock()

    def solve(self, part: PathPart, paid: NDArray[np.bool_]) -> list[Piece]:
        """All pieces of a part, outermost first, as a list that obeys (1) of `windows`.

        Parameters
        ----------
        paid
            bool, shape (M (N + 1),): what the optimum inside the part pays.
        """
        pieces = self._pieces(part, guess=self.guess) if part.nodes.size else []
        for attempt in range(MOST_REPAIRS + 1):
            wrong = contradictions([p.ratio for p in pieces])
            if not wrong:
                break
            self._repair(pieces, wrong if attempt < MOST_REPAIRS else [(0, len(pieces) - 1)], paid)
        return pieces

    def _pieces(self, part: PathPart, *, guess: bool) -> list[Piece]:
        """Pieces of one part, outermost first; they obey (1) of `windows` where nothing was guessed."""
        threads = THREADS if self.warm and part.n_arcs > ONE_THREAD_ARCS else 1
        return divide((part, guess), self._step, threads=threads, done=self._found)

    def _found(self, pieces: list[Piece]) -> None:
        self.advance(sum(p.nodes.size for p in pieces))

    def _step(self, item: tuple[PathPart, bool]) -> tuple[list[Piece], list[tuple[PathPart, bool]]]:
        """Divide a large part once, into outer and inner part, and a small one until only pieces are left."""
        if item[0].n_arcs > ONE_THREAD_ARCS:
            return self._divided(*item)
        pieces, todo = [], [item]
        while todo:
            found, items = self._divided(*todo.pop())
            pieces += found
            todo += reversed(items)
        return pieces, []

    def _divided(self, part: PathPart, guess: bool) -> tuple[list[Piece], list[tuple[PathPart, bool]]]:
        """The piece that a part is, or its two parts, outer and inner."""
        network = self.parts.network(part)
        if network is None:
            return [Piece(None, part, np.zeros(part.n_arcs, dtype=np.int64))], []
        large = network.part.n_arcs > GUESS_ARCS
        keep, flow = self._guessed(network) if guess and large else (None, None)
        if keep is None:
            guess &= not large  # where a guess failed on a part, it would fail on its halves too
            closure, flow = self._cut(network, flow)
            if closure.value == 0:
                return [Piece(network.ratio, replace(network.part, flow=None), closure.duals())], []
            keep = closure.keep
        inner, outer = self.parts.halves(network, keep, flow)
        return [], [(outer, guess), (inner, guess)]

    def _cut(self, network: Network, flow: Flow | None) -> tuple[Closure, Flow | None]:
        """The part's best closure and, with `warm`, its flow; the cut starts from `flow`, or else from the part's own flow."""
        if self.warm:
            closure, flow = preflow_closure(network.instance, ties=self.ties, start=network.start if flow is None else flow)
        else:
            closure, flow = best_closure(network.instance, ties=self.ties), None
        self._count(cuts=1, arcs_cut=closure.n_arcs)
        return closure, flow

    def _guessed(self, network: Network) -> tuple[NDArray[np.bool_] | None, Flow | None]:
        """A closure worth something at lambda*, so that its halves' breakpoints lie on the right sides of it; and a flow."""
        instance, part = network.instance, network.part.subproblem
        self._count(guesses=1, arcs_guessed=instance.tail.size)
        guess = guess_closure(instance, self.parts.problem.ensemble.tree_of[part.nodes], self.ties)
        flow = guess.flow(instance) if self.warm else None
        if guess.keep is None:
            return None, flow
        keep = extreme(instance, part.gain, part.evaluation == 0, guess.keep, self.ties)
        worth = int(instance.profit[keep].sum()) - int(instance.price[part.used(keep)].sum())
        return keep if worth > 0 else None, flow

    def _repair(self, pieces: list[Piece], wrong: list[tuple[int, int]], paid: NDArray[np.bool_]) -> None:
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
            pieces[first : last + 1] = self._pieces(self.parts.reassembled(nodes, paid | (payer > last)), guess=False)

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, count in more.items():
                self.stats[name] += count
