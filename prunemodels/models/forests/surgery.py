"""Turn a pruning into a scikit-learn forest, and a pruned scikit-learn forest into a pruning."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from prunemodels.models.forests.reading import read_trees, tree_views
from prunemodels.models.forests.saved_prices import keep_prices
from prunemodels.models.forests.sklearn_versions import pruned_tree


@checked
def apply_pruning(pruning: Pruning, forest: Any) -> Any:
    """A copy of the forest whose trees are pruned.

    Every tree is a real ``sklearn.tree`` tree with the pruned nodes gone, so ``predict``, ``predict_proba``, ``apply``, joblib,
    SHAP and ONNX converters work as on any forest. The given forest is not changed. The copy holds the problem's prices, so that
    `evaluate` and `OnDemandPredictor` know them, also after it was saved.

    Parameters
    ----------
    pruning
        the splits to keep.
    forest
        the forest that the pruning's problem was built from, or an equal one.

    Raises
    ------
    InvalidInputError
        if the forest's trees are not those of the pruning's problem.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest, problem
    >>> pruning = pm.solve(problem, budget=10).pruning
    >>> cheap = pm.apply_pruning(pruning, forest)
    >>> pm.read_forest(forest).n_splits, pm.read_forest(cheap).n_splits
    (84, 9)
    """
    ours, theirs = pruning.problem.ensemble, read_trees(forest)
    arrays = ("tree_start", "left", "right", "feature", "threshold", "missing_left", "value")
    same = all(np.array_equal(getattr(ours, a), getattr(theirs, a)) for a in arrays)
    if not same:
        raise InvalidInputError(
            f"the forest has other trees ({theirs!r}) than the problem that was pruned ({ours!r}); "
            "give the forest that the problem was built from"
        )
    pruned = _copy_without_trees(forest)
    for t, view in enumerate(tree_views(pruned, several_outputs=True)):  # its estimators still hold the original trees
        view.estimator.tree_ = pruned_tree(view.estimator.tree_, pruning.is_leaf[ours.nodes_of(t)])
    keep_prices(pruned, pruning.problem.costs, pruning.problem.evaluation)
    return pruned


def pruning_from_forest(problem: PruningProblem, pruned: Any) -> Pruning:
    """The pruning that turns the problem's forest into a pruned one, whoever pruned it.

    Parameters
    ----------
    problem
        the problem of the forest before it was pruned.
    pruned
        a fitted forest whose trees are those of the problem, with some splits turned into leaves and nothing else changed.

    Raises
    ------
    InvalidInputError
        naming the first tree and node of the pruned forest that the problem's forest does not have there.
    """
    ours, theirs = problem.ensemble, read_trees(pruned)
    if ours.n_trees != theirs.n_trees:
        raise InvalidInputError(f"the pruned forest has {theirs.n_trees} trees, the problem's {ours.n_trees}")
    kept = np.zeros(ours.n_nodes, dtype=bool)
    h, g = ours.roots.astype(np.int64), theirs.roots.astype(np.int64)  # pairs of corresponding nodes
    while h.size:
        split = theirs.is_split[g]
        _check_same_nodes(ours, theirs, h, g)
        kept[h[split]] = True
        h = np.concatenate([ours.left[h[split]], ours.right[h[split]]])
        g = np.concatenate([theirs.left[g[split]], theirs.right[g[split]]])
    return Pruning(problem, kept)


def _check_same_nodes(ours: Ensemble, theirs: Ensemble, h: NDArray[np.integer[Any]], g: NDArray[np.integer[Any]]) -> None:
    """Refuse nodes g of the pruned forest whose prediction or split differs from that of the corresponding nodes h."""
    split = theirs.is_split[g]
    for what in ("value", "left", "feature", "threshold", "missing_left"):
        asked = np.ones(g.size, dtype=bool) if what == "value" else split
        own, other = getattr(ours, what)[h], getattr(theirs, what)[g]
        # a split must be a split in both; the indices of its children differ
        differs = own < 0 if what == "left" else (own != other).reshape(g.size, -1).any(axis=1)
        wrong = np.flatnonzero(asked & differs)
        if wrong.size:
            k = int(g[wrong[0]])
            t = int(theirs.tree_of[k])
            name = {"value": "prediction", "left": "split", "missing_left": "direction of missing values"}.get(what, what)
            raise InvalidInputError(
                f"node {k - int(theirs.tree_start[t])} of the pruned forest's tree {t} has another {name} than the node in its "
                "place before pruning; give the forest that it was pruned from"
            )


def _copy_without_trees(forest: Any) -> Any:
    """A deep copy; the trees themselves, large and about to be replaced, stay shared."""
    trees = [view.estimator.tree_ for view in tree_views(forest, several_outputs=True)]
    return copy.deepcopy(forest, {id(tree): tree for tree in trees})
