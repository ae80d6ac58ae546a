"""Early stopping by impurity, applied to grown trees: BP16's naive pruning of BudgetRF.

    h stays a split exactly where the impurity of h and of all its ancestors exceeds the threshold                     (1)

BP16 (section 5): "the recursive node splitting process for each tree is stopped as soon as node impurity (entropy or Pairs) falls
below a threshold". Growing is greedy, so a tree that was stopped is its full tree pruned by (1), and one forest gives the results
of all thresholds; that is ours. (For trees that draw random numbers while they grow, it is one of the possible results.)
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.nested_prunings import PruningSequence
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import real_array
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from prunemodels.models.forests.reading import read_forest, tree_views
from prunemodels.rivals.budget_rf.stumps import impurity

Criterion = Literal["stored", "entropy", "gini", "pairs"]

Floats = NDArray[np.float64]


def node_impurities(
    ensemble: Ensemble, criterion: Criterion | ArrayLike, forest: Any = None, *, pairs_alpha: float = 0
) -> Floats:
    """The impurity of every node, shape (n,).

    Entropy, Gini and Pairs are (6), (7) and (4) of `prunemodels.rivals.budget_rf.stumps`, where each pair of classes counts once;
    BRF15 may mean twice. "stored" is what scikit-learn's trees store, by the criterion and weights that they were grown with.
    Arguments are those of `early_stopping_path`, the forest is not needed for entropy and Gini.
    """
    if not isinstance(criterion, str):
        return _given(ensemble, criterion)
    if criterion == "stored":
        return stored(ensemble, forest, "impurity")
    fractions = _class_fractions(ensemble, criterion)
    if criterion != "pairs":
        return impurity(fractions, criterion)
    if not (np.isfinite(pairs_alpha) and pairs_alpha >= 0):
        raise InvalidInputError(f"pairs_alpha is {pairs_alpha}; give a number >= 0")
    counts = fractions * stored(ensemble, forest, "weighted_n_node_samples")[:, None]
    # counts are mostly integers: rounding gives equal sets equal numbers
    return impurity(counts.round(9), "pairs", alpha=pairs_alpha)


def stored(ensemble: Ensemble, forest: Any, what: Literal["impurity", "weighted_n_node_samples"]) -> Floats:
    """The stored impurity, or the weight of each node's training examples, shape (n,)."""
    if forest is None:
        raise InvalidInputError("forest is missing: give the fitted forest that the problem was built from")
    theirs = read_forest(forest)
    arrays = ("tree_start", "left", "right", "feature", "threshold")
    if not all(np.array_equal(getattr(ensemble, a), getattr(theirs, a)) for a in arrays):
        raise InvalidInputError(
            f"the forest has other trees ({theirs!r}) than the problem ({ensemble!r}); "
            "give the forest that the problem was built from"
        )
    return np.concatenate([getattr(view.estimator.tree_, what) for view in tree_views(forest)]).astype(np.float64)


def _given(ensemble: Ensemble, numbers: ArrayLike) -> Floats:
    """Check an array of impurities."""
    try:
        impurity = real_array(numbers, "criterion").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"criterion is not numeric ({error}); give one number for each node") from error
    if impurity.shape != (ensemble.n_nodes,):
        raise InvalidInputError(f"criterion has shape {impurity.shape}; give one number for each of {ensemble.n_nodes} nodes")
    bad = np.flatnonzero(~(np.isfinite(impurity) & (impurity >= 0)))
    if bad.size:
        raise InvalidInputError(f"criterion[{bad[0]}] is {impurity[bad[0]]}; an impurity is finite and >= 0")
    return impurity


def _class_fractions(ensemble: Ensemble, criterion: str) -> Floats:
    """The nodes' values, where they are class fractions."""
    value = ensemble.value
    if ensemble.task != "classification":
        raise InvalidInputError(f"criterion is {criterion!r}, which is of classes; give 'stored' and the forest for a regressor")
    if (value < 0).any() or not np.allclose(value.sum(axis=1), 1.0):
        h = int(np.argmax((value < 0).any(axis=1) | ~np.isclose(value.sum(axis=1), 1.0)))
        raise InvalidInputError(f"node {h} predicts {value[h].tolist()}, no class fractions; give criterion as one number a node")
    return value


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
        for another criterion, invalid numbers, a missing or another forest, or values that are no class fractions.

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
