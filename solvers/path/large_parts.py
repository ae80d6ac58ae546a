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
from formulations.instance.problem import PruningProblem
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import at_fitting_ratio
from solvers.closures.subproblem import parametric_subproblem
from solvers.path.parts import PathPart
from solvers.price_sharing.checkpoint import Scores
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.loop import drive
from solvers.price_sharing.run import Known, Run
from solvers.price_sharing.solve import WARM_START_ITERATION
from solvers.price_sharing.stopping import SMALL_CORE, Goal

LARGEST_NETWORK = 8_000_000
"""Usage arcs of a part that is cut as a network; with all that a cut needs it takes up to 150 bytes for each."""


class _Optimum:
    """An optimum of the path, with its gain and its cost in the integers of the instance; what it has paid is not held."""

    def __init__(self, problem: PruningProblem, kept: NDArray[np.bool_]) -> None:
        self.kept = kept
        pruning = Pruning(problem, kept)
        self.gain, self.cost = pruning.integer_gain, pruning.integer_cost


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
        """The outer and the inner part beside the optimum where both ends are worth the same; None if an end is that optimum."""
        outer, inner = self.outer, self.inner
        lam = Fraction(outer.gain - inner.gain, outer.cost - inner.cost) * problem.integers.lam_unit
        known = Known(inner.kept, problem.ensemble.is_split & ~outer.kept)
        run = Run(LocalRows(at_fitting_ratio(problem, lam).refined(), pool), ties, self.start, known)
        drive(run, Goal(math.inf, 0.0, 1_000_000, SMALL_CORE), None, progress=False)
        n_kept = run.best_kept.sum()
        if n_kept in (inner.kept.sum(), outer.kept.sum()):
            return None
        middle, scores = _Optimum(problem, run.best_kept), Scores(run.scores().score, WARM_START_ITERATION)
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
        usage arcs of a part, those that are paid already included.

    Yields
    ------
    PathPart, NDArray
        a part, and the optimum inside it, bool of shape (n,).
    """
    todo = [LargePart(_Optimum(problem, outer), _Optimum(problem, inner))]
    with ThreadPoolExecutor(1) as pool:
        while todo:
            part = todo.pop()
            nodes = part.nodes
            halves = part.cut(problem, ties, pool) if problem.usage.arcs_per_node[nodes].sum() > largest else None
            if halves is not None:
                todo += reversed(halves)
                continue
            paid = problem.usage.paid_by(part.inner.kept)
            yield PathPart(parametric_subproblem(problem, nodes, paid)), part.inner.kept
