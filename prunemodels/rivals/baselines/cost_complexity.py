"""Cost-complexity pruning of every tree at one alpha: Breiman et al. (1984), section 3.3.

    each tree by itself:  minimise  R(tree) + alpha * (number of its leaves),      R = sum over its leaves of R(h)         (1)

BP16 (section 5) compares with it: it "trades off classification ability for tree size" and does not know prices. With
measure="error", R(h) is the node's part of its tree's error on the problem's error sample, as in Breiman and as in optimal
pruning. With measure="impurity" it is w_h / w_root times the impurity that scikit-learn's tree stores at h, by which scikit-learn
prunes. BP16 prunes "individual trees to different levels". Two choices are ours: one alpha for all trees, and that (1) is solved
in integers (`weakest_links`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import PruningSequence
from formulations.arguments import checked
from formulations.instance.problem import PruningProblem
from prunemodels.rivals.baselines.exact_ratios import ranks
from prunemodels.rivals.baselines.node_impurities import stored
from prunemodels.rivals.baselines.weakest_links import weakest_links

Measure = Literal["error", "impurity"]

IMPURITY_UNIT = 2.0**-50
"""Impurities are rounded to multiples of this share of the largest tree's gain, which is about the precision of their floats."""


@checked
def cost_complexity_path(problem: PruningProblem, *, measure: Measure = "error", forest: Any = None) -> PruningSequence:
    """All prunings of a forest by (1), for every alpha >= 0, without regard to prices.

    Parameters
    ----------
    problem
        the instance, with the node errors, and the prices by which the prunings are reported.
    measure
        ``"error"``: R is the error of the tree. ``"impurity"``: R is the impurity that scikit-learn's ``ccp_alpha`` refers to.
    forest
        the forest that the problem was built from; for ``"impurity"`` only.

    Returns
    -------
    PruningSequence
        row k is the smallest optimum of (1) for alpha from ``parameter[k]`` up to the next. Alpha is error (or impurity) of one
        tree for one leaf, as ``ccp_alpha`` is; row 0 has alpha = 0, so splits without gain are gone (scikit-learn's trees with
        ``ccp_alpha=0`` are not pruned at all). Ties are exact with ``"error"`` where the problem's integers are, with
        ``"impurity"`` up to rounding at the 50th bit.

    Raises
    ------
    InvalidInputError
        for another measure, and with ``"impurity"`` for a missing or another forest.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.rivals.cost_complexity_path(problem).at_cost(12)
    Pruning(cost=11.6667, error=0.0855, 12 splits)
    """
    ensemble = problem.ensemble
    if measure == "error":
        gain, unit = problem.integers.gain, problem.integers.gain_unit * ensemble.n_trees
    else:
        gain, unit = _impurity_gain(problem, forest)
    numerator, denominator = weakest_links(ensemble, gain)
    gaining = np.flatnonzero(ensemble.is_split & (numerator > 0))
    first, rank = ranks(numerator[gaining], denominator[gaining])
    rows_kept = np.zeros(ensemble.n_nodes, dtype=np.int32)
    rows_kept[gaining] = rank + 1  # row 0 belongs to alpha = 0
    at = gaining[first]
    alphas = [float(int(a) * unit / int(b)) for a, b in zip(numerator[at], denominator[at], strict=True)]
    return PruningSequence(problem, rows_kept, np.array([0.0, *alphas]), "alpha", f"cost-complexity pruning ({measure})")


def _impurity_gain(problem: PruningProblem, forest: Any) -> tuple[NDArray[np.int64], Fraction]:
    """By how much each split lowers its tree's impurity, in integers, and their unit."""
    ensemble = problem.ensemble
    impurity = stored(ensemble, forest, "impurity")
    weight = stored(ensemble, forest, "weighted_n_node_samples")
    gain = ensemble.gains(impurity * weight / weight[ensemble.roots][ensemble.tree_of])
    largest = float(np.bincount(ensemble.tree_of, weights=np.abs(gain)).max()) or 1.0
    unit = float(2.0 ** np.ceil(np.log2(largest))) * IMPURITY_UNIT
    return np.rint(gain / unit).astype(np.int64), Fraction(unit)
