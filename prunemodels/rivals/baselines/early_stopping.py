"""Early stopping by impurity, applied to grown trees: BP16's naive pruning of BudgetRF.

    h stays a split exactly where the impurity of h and of all its ancestors exceeds the threshold                     (1)

BP16 (section 5): "the recursive node splitting process for each tree is stopped as soon as node impurity (entropy or Pairs) falls
below a threshold". Growing is greedy, so a tree that was stopped is its full tree pruned by (1), and one forest gives the results
of all thresholds; that is ours. (For trees that draw random numbers while they grow, it is one of the possible results.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from formulations.answers.nested_prunings import PruningSequence
from formulations.arguments import checked
from formulations.instance.problem import PruningProblem
from prunemodels.rivals.baselines.node_impurities import Criterion, node_impurities


@checked
def early_stopping_path(
    problem: PruningProblem, forest: Any = None, *, criterion: Criterion | ArrayLike = "entropy", pairs_alpha: float = 0
) -> PruningSequence:
    """All prunings of a forest by (1), for every threshold >= 0.

    Parameters
    ----------
    forest
        the forest that the problem was built from; not needed for ``"entropy"`` and ``"gini"``.
    criterion
        ``"entropy"`` in bits, ``"gini"``, ``"pairs"`` (BRF15 eq. 11), ``"stored"`` (the impurity that scikit-learn's trees store,
        those of regressors included), or the impurity of every node, shape (n,).
    pairs_alpha
        alpha of ``"pairs"``.

    Returns
    -------
    PruningSequence
        row k is (1) for thresholds from ``parameter[k]`` up to the next; row 0 has threshold 0.

    Raises
    ------
    InvalidInputError
        see `node_impurities`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest, problem
    >>> pm.rivals.early_stopping_path(problem, forest).at_cost(12)
    Pruning(cost=11.7267, error=0.077, 17 splits)
    """
    ensemble = problem.ensemble
    least = node_impurities(ensemble, criterion, forest, pairs_alpha=pairs_alpha).copy()
    by_depth = np.argsort(ensemble.depth, kind="stable")
    for nodes in np.split(by_depth, np.flatnonzero(np.diff(ensemble.depth[by_depth])) + 1)[1:]:
        least[nodes] = np.minimum(least[nodes], least[ensemble.parent[nodes]])
    threshold = np.unique(np.concatenate([[0.0], least[ensemble.is_split]]))
    rows_kept = np.where(ensemble.is_split, np.searchsorted(threshold, least), 0).astype(np.int32)
    name = criterion if isinstance(criterion, str) else "given impurity"
    return PruningSequence(problem, rows_kept, threshold, "threshold", f"early stopping ({name})")
