"""A fitted forest as a pruning problem, a pruning as a forest of scikit-learn, and a pruned forest as a pruning."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.pruning import Pruning
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import features_of
from formulations.long_steps import timed_step
from prunemodels.models.costs import Costs, cost_items, keep_prices
from prunemodels.models.forests.error_samples import Errors, InBag, with_weights_of
from prunemodels.models.forests.reading import ReadForest, check_columns, final_step, is_tree, pruned_tree, read_trees

LOG = logging.getLogger(__name__)


@checked
def problem_from_forest(
    forest: Any,
    X: Any,
    *,
    costs: Costs,
    errors: Errors | Literal["in-bag"] = "in-bag",
    sample_weight: ArrayLike | None = None,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
    misclassification_costs: ArrayLike | None = None,
) -> PruningProblem:
    """Set up the pruning of a fitted scikit-learn forest.

        minimise  error + lam * cost                                                                     (OBJ)

    Error is the mean over the trees of their error on the error sample: an error rate, or for a regression the mean of what the
    trees' criterion measures (squared error, absolute error, Poisson deviance); ``problem.ensemble.measure`` says which. Cost is
    the mean over the examples of X of the prices of the features that they need, each paid once per example, however many trees
    use it.

    Parameters
    ----------
    forest
        a fitted RandomForest*, ExtraTrees*, Bagging* of decision trees, or DecisionTree*; or a fitted `Pipeline` that ends with
        one. It is not changed. Or an `Ensemble`: trees by hand, with
        ``errors=Given``.
    X
        the cost sample: examples like those to be predicted, shape (N, n_features); labels are not needed. BP16 uses a validation
        set. Examples that the trees were grown on may look cheaper or dearer than new ones. For files and tables larger than
        memory, use `problem_from_table`.
    costs
        prices, see `prunemodels.models.costs.cost_items`: numbers in the forest's order, or by name, or `CostItems`. For a
        pipeline they are those of its raw columns.
    errors
        where the nodes' errors are measured: ``"in-bag"`` (default: what the trees store), `InBag`, `OutOfBag`, `Given`, `Blend`.
    sample_weight
        omega, shape (N,), >= 0: a row of X stands for that many, in cost as in error. An error sample of other rows has its own.
    evaluation_cost
        a >= 0: price of evaluating one split for one example; one number, or one for each feature.
    misclassification_costs
        for a classifier, C[true class, predicted class], shape (K, K), each >= 0, in the order of ``forest.classes_``. The error
        is then the mean misclassification cost; trees and forest predict as before. Default: each wrong prediction costs 1.

    Returns
    -------
    PruningProblem

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        the message names the argument, its value, and the remedy.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, X_valid, costs, forest, y_train
    >>> pm.problem_from_forest(forest, X_valid, costs=costs)
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    >>> pm.problem_from_forest(forest, X_valid, costs=1, errors=pm.samples.OutOfBag(X_train, y_train))
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)

    To miss a malignant tumour (class 0) costs ten times as much as a false alarm:

    >>> dear = pm.problem_from_forest(forest, X_valid, costs=costs, misclassification_costs=[[0, 10], [1, 0]])
    >>> dear.ensemble.measure
    'mean misclassification cost'
    """
    read = ReadForest.of(forest).under_costs(misclassification_costs)
    return problem_of(read, X, costs=costs, errors=errors, sample_weight=sample_weight, evaluation_cost=evaluation_cost)


def problem_of(
    forest: ReadForest,
    X: Any,
    *,
    costs: Costs,
    errors: Errors | Literal["in-bag"],
    sample_weight: ArrayLike | None,
    evaluation_cost: Price | Sequence[Price] | NDArray[np.float64],
) -> PruningProblem:
    """`problem_from_forest` of a forest that was read."""
    ensemble = forest.ensemble
    check_columns(X, ensemble.names_to_check)
    items = cost_items(costs, ensemble)
    with timed_step(LOG, "problem of %s", ensemble):
        sample = InBag() if isinstance(errors, str) else errors
        sample = with_weights_of(sample, X, sample_weight, partial(features_of, ensemble))
        node_errors = sample.measure(forest)
        return PruningProblem.build(ensemble, node_errors, X, items, sample_weight=sample_weight, evaluation_cost=evaluation_cost)


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
    read = ReadForest.of(forest)
    check_same_trees(pruning.problem.ensemble, read.ensemble, "forest", (*SPLITS, "value"))
    return pruned_copy(read, pruning)


def pruned_copy(forest: ReadForest, pruning: Pruning) -> Any:
    """`apply_pruning` of a pruning of this very forest; the trees, large and about to be replaced, are not copied."""
    trees = [view.estimator.tree_ for view in forest.views]
    pruned = copy.deepcopy(forest.model, {id(tree): tree for tree in trees})
    last = final_step(pruned)
    for t, (estimator, tree) in enumerate(zip([last] if is_tree(last) else last.estimators_, trees, strict=True)):
        estimator.tree_ = pruned_tree(tree, pruning.is_leaf[forest.ensemble.nodes_of(t)])
    keep_prices(pruned, pruning.problem.costs, pruning.problem.usage.evaluation)
    return pruned


SPLITS = ("tree_start", "left", "right", "feature", "threshold", "missing_left")
"""The arrays of an ensemble that say how it routes rows."""


def check_same_trees(ours: Ensemble, theirs: Ensemble, model: str, arrays: Sequence[str] = SPLITS) -> None:
    """Refuse a model with other trees than those of a problem; messages call it a `model`."""
    if not all(np.array_equal(getattr(ours, a), getattr(theirs, a)) for a in arrays):
        raise InvalidInputError(
            f"the {model} has other trees ({theirs!r}) than the problem that was pruned ({ours!r}); "
            f"give the {model} that the problem was built from"
        )


def pruning_from_forest(problem: PruningProblem, pruned: Any) -> Pruning:
    """The pruning that turns the problem's forest into a pruned one, whoever pruned it: nothing but some splits may differ."""
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
