"""One lambda of several: its answer, and what it tells about the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import SharedPrices, Solution


@dataclass(frozen=True, eq=False)
class PathPoint:
    """An answer of `price_sharing_path`; all points together are a proof, see `proofs_checks.check_shared_path`.

    Parameters
    ----------
    solution
        pruning, value and bound. Its certificate is `proof` where that stands alone. Otherwise it is None, because the bound
        rests on the neighbours' proofs too. ``stats``: as of `price_sharing`, and ``decided_by_order``, the number of splits that
        the neighbours decided.
    lam
        the lambda of the integers, perhaps a little below ``solution.lam``, the one that was asked for.
    proof
        of the bound: stages, scores and flow for the splits that the neighbours left open.
    smaller, larger
        the lambdas, as asked for, of the points whose `pruned`, and whose `kept`, were taken as decided; None: no such point.
    kept, pruned
        bool, shape (n,): nodes that are proven to be splits in the optimum at this lambda, and nodes that are proven not to be.
        For an instance that was rounded, no nodes.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> points = pm.engines.price_sharing_path(problem, [0.01, 0.02])
    >>> [(float(point.lam), round(point.solution.value, 4)) for point in points]
    [(0.01, 0.1834), (0.02, 0.3041)]
    """

    solution: Solution
    lam: Fraction
    proof: SharedPrices
    smaller: Fraction | None
    larger: Fraction | None
    kept: NDArray[np.bool_]
    pruned: NDArray[np.bool_]
