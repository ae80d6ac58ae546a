"""Parts of a path that are too large for a network: price sharing cuts them until they are small.

Between two optima of the path, an outer and an inner one, lies a part. At the lambda at which both are worth the same, (1) of
`solvers.path.parts`, either some optimum lies between them, which cuts the part in two, or nothing does, and the whole part goes
at that lambda. Price sharing finds the optimum there: what the inner optimum keeps and the outer one prunes is decided before it
begins. It holds no usage arcs but those of its last core, so memory is that of the routing and of one small part at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.errors import CapacityOverflowError
from formulations.instance.problem import PruningProblem
from formulations.memory import readable
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import at_fitting_ratio
from solvers.closures.subproblem import parametric_subproblem, small_subproblem
from solvers.path.parts import PathPart
from solvers.price_sharing.checkpoint import Scores
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.loop import drive
from solvers.price_sharing.run import Known, Paid, Run
from solvers.price_sharing.solve import WARM_START_ITERATION
from solvers.price_sharing.stopping import SMALL_CORE, Goal, cut_fits_memory

LARGEST_NETWORK = 8_000_000
"""Usage arcs of a part that is cut as a network; with all that a cut needs it takes up to 150 bytes for each."""


MOST_ROUNDS = 400
"""Rounds after which a part that is still undecided is cut, or given up where the cut does not fit into memory."""


@dataclass(frozen=True, eq=False)
class _Optimum:
    """An optimum of the path: its splits, gain and cost in the integers of the instance, and a bit for each purchase it pays."""

    kept: NDArray[np.bool_]
    gain: int
    cost: int
    paid: NDArray[np.uint8]

    @staticmethod
    def of(problem: PruningProblem, kept: NDArray[np.bool_]) -> _Optimum:
        """From the splits alone, by a pass over all that they use."""
        pruning = Pruning(problem, kept)
        return _Optimum(kept, pruning.integer_gain, pruning.integer_cost, np.packbits(problem.usage.paid_by(kept)))

    def unpacked(self, n_purchases: int) -> NDArray[np.bool_]:
        """What it pays; bool, shape (M (N + 1),), a new array."""
        return np.unpackbits(self.paid, count=n_purchases).view(np.bool_)


@dataclass(frozen=True, eq=False)
class LargePart:
    """What lies between two optima, the inner one within the outer one, and the scores to start from."""

    outer: _Optimum
    inner: _Optimum
    start: Scores | None = None

    @property
    def nodes(self) -> NDArray[np.int32]:
        """The splits, ascending."""
        return np.flatnonzero(self.outer.kept & ~self.inner.kept).astype(np.int32)

    def cut(self, problem: PruningProblem, ties: Ties, pool: ThreadPoolExecutor) -> tuple[LargePart, LargePart] | None:
        """The outer and the inner part beside the optimum where both ends are worth the same; None if an end is that optimum.

        Raises
        ------
        CapacityOverflowError
            where so many splits go at one lambda that the cut of them does not fit into memory.
        """
        outer, inner = self.outer, self.inner
        lam = Fraction(outer.gain - inner.gain, outer.cost - inner.cost) * problem.integers.lam_unit
        objective = at_fitting_ratio(problem, lam).refined()
        rows = LocalRows(objective, pool)
        paid = Paid(inner.unpacked(problem.n_purchases), objective.value(inner.gain, inner.cost))
        run = Run(rows, ties, self.start, Known(inner.kept, problem.ensemble.is_split & ~outer.kept, paid=paid))
        stopped, _ = drive(run, Goal(math.inf, 0.0, MOST_ROUNDS, SMALL_CORE), None, progress=False)
        if stopped is not StopReason.CONVERGED:
            if not cut_fits_memory(rows):
                raise CapacityOverflowError(
                    f"path: {run.remaining.nodes.size:,} splits go at nearly the same lambda, {float(lam):.6g}; to tell them "
                    f"apart takes a cut of their {run.n_arcs:,} usage arcs, some {readable(rows.cut_bytes)}, more than is free; "
                    "give fewer cost rows, or ask for some lambdas alone: pm.engines.price_sharing_path"
                )
            run.finish()
        kept, scores = run.best_kept, Scores(run.scores().score, WARM_START_ITERATION)
        if kept.sum() in (inner.kept.sum(), outer.kept.sum()):
            return None
        keep = kept[run.remaining.nodes]
        rows.fix(keep, ~keep)
        assert rows.remaining.paid is not None
        gain = int(problem.integers.gain[kept].sum())
        middle = _Optimum(kept, gain, objective.cost(gain, rows.base), np.packbits(rows.remaining.paid))
        return LargePart(outer, middle, scores), LargePart(middle, inner, scores)


def small_parts(
    problem: PruningProblem, outer: NDArray[np.bool_], inner: NDArray[np.bool_], ties: Ties, largest: int
) -> Iterator[tuple[PathPart, NDArray[np.bool_]]]:
    """What lies between two optima, outermost first, in parts of at most so many usage arcs; one that goes at once may have more.

    Parameters
    ----------
    outer, inner
        bool, shape (n,): the inner one is free of charge, and within the outer one.
    largest
        usage arcs of a part, those that are paid already left out.

    Yields
    ------
    PathPart, NDArray
        a part, and what the optimum inside it pays, bool of shape (M (N + 1),).
    """
    whole = small_subproblem(problem, np.flatnonzero(outer & ~inner).astype(np.int32), None, largest)
    if whole is not None:
        yield PathPart(whole), np.zeros(problem.n_purchases, dtype=bool)
        return
    todo = [LargePart(_Optimum.of(problem, outer), _Optimum.of(problem, inner))]
    with ThreadPoolExecutor(1) as pool:
        while todo:
            part = todo.pop()
            nodes, paid = part.nodes, part.inner.unpacked(problem.n_purchases)
            found = small_subproblem(problem, nodes, paid, largest)
            if found is None:
                halves = part.cut(problem, ties, pool)
                if halves is not None:
                    todo += reversed(halves)
                    continue
                found = parametric_subproblem(problem, nodes, paid)
            yield PathPart(found), paid
            del found  # before the next one is made
