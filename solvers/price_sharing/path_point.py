"""One lambda of several: its answer, and what it tells the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import SharedPrices, Solution
from solvers.price_sharing.checkpoint import Scores
from solvers.price_sharing.run import scores_after
from solvers.price_sharing.solve import WARM


@dataclass(frozen=True, eq=False)
class PathPoint:
    """An answer of `price_sharing_path`; all points together are a proof, see `proofs_checks.check_shared_path`.

    Parameters
    ----------
    solution
        pruning, value and bound. Its certificate is `proof` where that stands alone, else None: then the bound rests on the
        neighbours' proofs too. ``stats``: as of `price_sharing`, and ``decided_by_order``: the splits that they decided.
    lam
        what the integers stand for, perhaps a little below what was asked for, ``solution.lam``.
    proof
        of the bound: stages, scores and flow on what the neighbours left open.
    smaller, larger
        the lambdas that were asked for of the points whose `pruned`, and whose `kept`, were taken as decided; None: none was.
    kept, pruned
        bool, shape (n,): nodes that are proven to be splits in the optimum at this lambda, and not to be. Of an instance that was
        rounded, none.
    """

    solution: Solution
    lam: Fraction
    proof: SharedPrices
    smaller: Fraction | None
    larger: Fraction | None
    kept: NDArray[np.bool_]
    pruned: NDArray[np.bool_]

    @property
    def scores(self) -> Scores:
        """Where a neighbour may start; made anew each time, for the proof has them all."""
        p = self.proof
        return Scores(scores_after(p.stages, p.nodes, p.score, self.kept.size, p.iteration), WARM)
