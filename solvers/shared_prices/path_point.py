"""One lambda of several: its answer, and what it tells the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.solution import SharedPrices, Solution
from solvers.shared_prices.checkpoint import Scores


@dataclass(frozen=True, eq=False)
class PathPoint:
    """An answer of `price_sharing_path`.

    Parameters
    ----------
    solution
        pruning, value and bound. Its certificate is `proof` where that stands alone, else None: then the bound rests on the
        neighbours' proofs too. ``stats``: as of `price_sharing`, and ``decided_by_order``: the splits that they decided.
    lam
        what the integers stand for, perhaps a little below what was asked for; points are told apart by it.
    proof
        of the bound: stages, scores and flow on what the neighbours left open.
    smaller, larger
        the points whose `pruned`, and whose `kept`, were taken as decided; None: none was.
    kept, pruned
        bool, shape (n,): nodes that are proven to be splits in the optimum at this lambda, and not to be.
    scores
        where a neighbour may start.
    """

    solution: Solution
    lam: Fraction
    proof: SharedPrices
    smaller: Fraction | None
    larger: Fraction | None
    kept: NDArray[np.bool_]
    pruned: NDArray[np.bool_]
    scores: Scores
