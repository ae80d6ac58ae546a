"""Divide and conquer: a part of the path becomes pieces, each with one breakpoint.

At lambda* of a part, where all of it is worth as much as nothing, its best closure cuts it in two; where that is worth nothing
either, the part is a piece. Large parts are cut by a guess, small ones by a minimum cut. Pieces are always proven by a cut, so
wrong guesses show as breakpoints out of order (`windows`); the pieces concerned are then thrown together and cut exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.closure_cut import Ties, best_closure
from solvers.divide_and_conquer.guess import WORTHWHILE, guess_closure
from solvers.divide_and_conquer.parts import Network, Part, Parts
from solvers.divide_and_conquer.ties import extreme
from solvers.divide_and_conquer.windows import contradictions

PATIENCE = 8
"""Repairs after which guesses are given up, and everything is cut anew without."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Splits that go at one breakpoint.

    Parameters
    ----------
    ratio
        the breakpoint, integer gains for one integer price; None if a wrong guess left a part that has none.
    part
        the splits and their usage arcs, merged.
    load
        int64, shape of the arcs: the flow that proves it, in gains times the denominator of `ratio`.
    """

    ratio: Fraction | None
    part: Part
    load: NDArray[np.int64]


class Decomposition:
    """Pieces of a path, outermost first."""

    def __init__(self, parts: Parts, ties: Ties, *, guess: bool, advance: Callable[[int], None]) -> None:
        self.parts, self.ties, self.guess, self.advance = parts, ties, guess, advance
        self.pieces: list[Piece] = []
        self.stats = dict.fromkeys(("cuts", "arcs_cut", "guesses", "arcs_guessed", "repairs", "splits_repaired"), 0.0)

    def solve(self, part: Part) -> None:
        """All pieces of a part, as a list that obeys (1) of `windows`."""
        self.pieces = self._pieces(part, guess=self.guess) if part.nodes.size else []
        for attempt in range(PATIENCE + 1):
            wrong = contradictions([p.ratio for p in self.pieces])
            if not wrong:
                return
            self._repair(wrong if attempt < PATIENCE else [(0, len(self.pieces) - 1)])

    def _pieces(self, part: Part, *, guess: bool) -> list[Piece]:
        """Pieces of one part, outermost first; they obey (1) of `windows` where nothing was guessed."""
        found: list[Piece] = []
        todo = [(part, guess)]
        while todo:
            part, guess = todo.pop()
            network = self.parts.network(part)
            if network is None:
                found.append(Piece(None, part, np.zeros(part.tail.size, dtype=np.int64)))
                continue
            large = network.part.tail.size > WORTHWHILE
            keep = self._guessed(network) if guess and large else None
            if keep is None:
                guess &= not large  # what is hard to guess in a part is so in its halves
                closure = best_closure(network.instance, ties=self.ties)
                self.stats["cuts"] += 1
                self.stats["arcs_cut"] += closure.n_arcs
                if closure.value == 0:
                    found.append(Piece(network.ratio, network.part, closure.loads()))
                    self.advance(part.nodes.size)
                    continue
                keep = closure.keep
            todo += [(half, guess) for half in self.parts.halves(network, keep)]
        return found

    def _guessed(self, network: Network) -> NDArray[np.bool_] | None:
        """A closure that is worth something at lambda*, so that its halves' breakpoints lie on the right sides of it."""
        instance, nodes, problem = network.instance, network.part.nodes, self.parts.problem
        self.stats["guesses"] += 1
        self.stats["arcs_guessed"] += instance.tail.size
        keep = guess_closure(instance, problem.ensemble.tree_of[nodes], self.ties)
        if keep is None:
            return None
        free = problem.integers.evaluation[nodes] == 0
        keep = extreme(instance, problem.integers.gain[nodes], free, keep, self.ties)
        paid = np.zeros(instance.price.size, dtype=bool)
        paid[instance.head[keep[instance.tail]]] = True
        return keep if int(instance.profit[keep].sum()) > int(instance.price[paid].sum()) else None

    def _repair(self, wrong: list[tuple[int, int]]) -> None:
        """Throw the pieces of each range together and cut them again, without guesses."""
        problem, pieces = self.parts.problem, self.pieces
        place = np.full(problem.ensemble.n_nodes, -1, dtype=np.int32)
        for k, piece in enumerate(pieces):
            place[piece.part.nodes] = k
        payer = problem.highest_user(np.flatnonzero(place >= 0).astype(np.int32), place)
        self.stats["repairs"] += 1
        for first, last in reversed(wrong):
            nodes = np.concatenate([p.part.nodes for p in pieces[first : last + 1]])
            self.stats["splits_repaired"] += nodes.size
            pieces[first : last + 1] = self._pieces(self.parts.anew(nodes, payer, last), guess=False)
