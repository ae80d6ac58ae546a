"""Divide and conquer: a part of the path becomes pieces, each with one breakpoint.

At lambda* of a part all of its splits together are worth nothing. If its best closure is worth something, that closure cuts the
part in two; otherwise the part is a piece, and lambda* is its breakpoint. A large part is first divided by a guess, into many
parts at once, and these by minimum cuts, which start from the shares of the guess, or from the flow of the cut before. Every
piece is proven by a cut, so wrong guesses show as breakpoints out of order (`windows`); the pieces concerned are then joined and
cut exactly. Parts have nothing in common, so that one network holds many of them, and two threads can work on two such networks.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.closures.cut import Ties, best_closure
from solvers.closures.preflow import Flow, preflow_closure
from solvers.path.guess import GUESS_ARCS, guessed_parts
from solvers.path.networks import Networks
from solvers.path.part_sequence import PartSequence
from solvers.path.parts import Parts, PathPart
from solvers.path.threads import divide
from solvers.path.windows import contradictions

THREADS = min(2, os.cpu_count() or 1)
"""There are too few large parts for more than two threads."""

ONE_THREAD_ARCS = 20_000
"""Parts with together at most so many usage arcs are divided to their ends by one thread."""

MOST_REPAIRS = 8
"""After so many repairs the guesses are given up, and everything is cut again without them."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Splits that go at one breakpoint.

    Parameters
    ----------
    ratio
        the breakpoint, in integer gains for one integer price; None if a wrong guess left a part that has no breakpoint.
    nodes
        int32: the splits.
    tail, head
        int32: their usage arcs to merged purchases, in the numbers of the whole instance.
    dual
        int64, shape of the arcs: the flow that proves it, in gains times the denominator of `ratio`.
    outside
        how many splits of what was divided are outside of it.
    """

    ratio: Fraction | None
    nodes: NDArray[np.int32]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    dual: NDArray[np.int64]
    outside: int


class PathDecomposition:
    """Divides parts of a path into pieces.

    Parameters
    ----------
    guess
        divide large parts by guesses.
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
        if not part.subproblem.nodes.size:
            return []
        parts = self.parts.merged(PartSequence.of(part.subproblem))
        if self.guess and parts.n_arcs > GUESS_ARCS:
            self._count(guesses=1, arcs_guessed=parts.n_arcs)
            parts = guessed_parts(self.parts, parts, self.ties)
        pieces = self._pieces(parts)
        for attempt in range(MOST_REPAIRS + 1):
            wrong = contradictions([p.ratio for p in pieces])
            if not wrong:
                break
            self._repair(pieces, wrong if attempt < MOST_REPAIRS else [(0, len(pieces) - 1)], paid)
        return pieces

    def _pieces(self, parts: PartSequence) -> list[Piece]:
        """Pieces of some parts, outermost first; those of one part obey (1) of `windows`."""
        threads = THREADS if self.warm and parts.n_arcs > ONE_THREAD_ARCS else 1
        pieces = divide(parts, self._step, threads=threads, done=self._found)
        return sorted(pieces, key=lambda piece: piece.outside)

    def _found(self, pieces: list[Piece]) -> None:
        self.advance(sum(p.nodes.size for p in pieces))

    def _step(self, parts: PartSequence) -> tuple[list[Piece], list[PartSequence]]:
        """Divide a large part once, and small ones until only pieces are left."""
        batches = list(parts.batches(ONE_THREAD_ARCS))
        if len(batches) > 1:
            return [], batches
        pieces, rest = self._divided(parts)
        while rest.n_parts:
            if rest.n_arcs > ONE_THREAD_ARCS:
                return pieces, [rest]
            found, rest = self._divided(rest)
            pieces += found
        return pieces, []

    def _divided(self, parts: PartSequence) -> tuple[list[Piece], PartSequence]:
        """The pieces among some parts, and the halves of the others, outer and inner."""
        networks = Networks.of(parts)
        keep, flow, dual = self._cut(networks)
        worth = networks.worth(keep)
        done = (worth == 0) | np.array([ratio is None for ratio in networks.ratios])
        pieces = _pieces_of(networks, done, dual)
        half = np.zeros((done.size, 2), dtype=np.int32)
        half[~done] = 1
        number = np.where(half, np.cumsum(half).reshape(half.shape) - 1, -1).astype(np.int32)
        label = number[parts.part_of_splits(), keep.astype(np.int8)]
        rest = replace(parts, score=None, flow=flow, unit=networks.denominator)
        return pieces, self.parts.divided(rest, label)

    def _cut(self, networks: Networks) -> tuple[NDArray[np.bool_], Flow | None, NDArray[np.int64]]:
        """The parts' best closures; with `warm` their flow; and what proves them."""
        if self.warm:
            closure, flow = preflow_closure(networks.instance, ties=self.ties, start=networks.start())
            self._count(cuts=networks.parts.n_parts, arcs_cut=closure.n_arcs)
            return closure.keep, flow, closure.duals()
        closures = [best_closure(Networks.of(part).instance, ties=self.ties) for part in networks.parts.batches(-1)]
        self._count(cuts=len(closures), arcs_cut=sum(closure.n_arcs for closure in closures))
        return np.concatenate([c.keep for c in closures]), None, np.concatenate([c.duals() for c in closures])

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
            joined = PartSequence.of(self.parts.reassembled(nodes, paid | (payer > last)))
            pieces[first : last + 1] = self._pieces(self.parts.merged(joined))

    def _count(self, **more: int) -> None:
        with self._lock:
            for name, count in more.items():
                self.stats[name] += count


def _pieces_of(networks: Networks, done: NDArray[np.bool_], dual: NDArray[np.int64]) -> list[Piece]:
    """The parts that are pieces."""
    part, parts = networks.parts.subproblem, networks.parts
    tail, head = part.nodes[part.tail], part.purchases[part.head]
    first, first_arc, outside = parts.first.tolist(), parts.first_arc.tolist(), parts.outside.tolist()
    pieces = []
    for k in np.flatnonzero(done).tolist():
        arcs = slice(first_arc[k], first_arc[k + 1])
        nodes = part.nodes[first[k] : first[k + 1]]
        pieces.append(Piece(networks.ratios[k], nodes, tail[arcs], head[arcs], dual[arcs], outside[k]))
    return pieces
