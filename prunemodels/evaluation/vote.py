"""The vote of a pruned forest cut anew: from which probability on the second of two classes is predicted.

Pruning pulls the mean fractions of the trees towards the class shares, so that the likelier class may be the same for everybody
though the fractions still tell the classes apart. With the fraction p_i of the second class, its truth y_i and costs C[y, k] of
mistakes (1 each by default), on labelled rows of weights w_i,

    t  =  the threshold of least  sum of w_i C[y_i, p_i >= t],  of equals the one nearest to 1/2                          (1)

So that this does no harm, rows judge it that it was not chosen by: in five folds, t is chosen without a fold and judged on it.
The vote is cut anew only where less is lost than by the likelier class, beyond the 95 % interval of the paired difference. On 96
prunings of six tables (four splits, budgets of 10 to 80 % of the forest's cost) this cut a quarter anew, which then erred 5.8
points less on other rows; one of them erred more, by 1.7 points. One standard error in place of the interval made six worse, the
worst by 6.7 points.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier

from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.instance.tree_loss import TreeLoss
from prunemodels.models.labelled_samples import class_numbers, folds_of
from prunemodels.models.response import unwrapped
from prunemodels.statements.mean_bounds import over_groups, paired_interval, paired_share_interval, repeated

Floats = NDArray[np.float64]


def cut_of(
    fraction: Floats, truth: NDArray[np.int64], weights: Floats, loss: TreeLoss, groups: NDArray[np.int64] | None = None
) -> float | None:
    """(1); None where the likelier class does as well.

    `fraction`: shape (N,), of the second class. `truth`: 0 or 1. `groups`: rows that are judged together.
    """
    price = np.array([[0.0, 1.0], [1.0, 0.0]]) if not loss.costs else loss.matrix
    folds, said = folds_of(len(fraction), 5, groups, 0), np.zeros(len(fraction), dtype=np.int64)
    for rows, held_out in folds:
        said[held_out] = fraction[held_out] >= _best(fraction[rows], truth[rows], weights[rows], price)
    saved = price[truth, said] - price[truth, (fraction > 0.5).astype(np.int64)]
    counted = weights
    if (groups := repeated(groups)) is not None:
        (saved,), counted = over_groups([saved], weights, groups)
    change = (paired_interval if loss.costs else paired_share_interval)(saved, counted, 0.95)
    return _best(fraction, truth, weights, price) if change.high < 0 else None


def cut_of_forest(problem: PruningProblem, model: Any, y: Any, groups: NDArray[np.int64] | None = None) -> float | None:
    """(1) of a pruned forest, on the labelled cost sample of its problem; refuses forests of other than two classes."""
    classes, usage = problem.ensemble.classes, problem.usage
    if classes is None or len(classes) != 2:
        found = "numbers" if classes is None else f"{len(classes)} classes"
        raise InvalidInputError(f"cut_vote is for two classes, and the forest predicts {found}; leave it out")
    truth = class_numbers(classes, y, len(np.asarray(y)))[usage.rows]
    fraction = np.asarray(model.predict_proba(problem.X))[usage.rows, 1]
    return cut_of(fraction, truth, usage.weights, problem.ensemble.loss, None if groups is None else groups[usage.rows])


def _best(fraction: Floats, truth: NDArray[np.int64], weights: Floats, price: Floats) -> float:
    """The t of (1)."""
    order = np.argsort(fraction, kind="stable")
    rising, y, w = fraction[order], truth[order], weights[order]
    first, second = w * price[y, 0], w * price[y, 1]  # what is lost where the first class is said, or the second
    lost = np.concatenate([[0.0], np.cumsum(first)]) + np.concatenate([np.cumsum(second[::-1])[::-1], [0.0]])
    between = np.flatnonzero(np.concatenate([[True], rising[1:] > rising[:-1], [True]]))
    ends = np.concatenate([[rising[0]], (rising[1:] + rising[:-1]) / 2, [np.nextafter(rising[-1], np.inf)]])
    least = between[lost[between] <= lost[between].min() * (1 + 1e-12)]
    return float(ends[least][np.argmin(np.abs(ends[least] - 0.5))])


def with_cut(model: Any, threshold: float | None) -> Any:
    """The classifier that predicts the second class from this fraction on, with scikit-learn's own class; None: itself."""
    if threshold is None:
        return model
    frozen = FrozenEstimator(model)
    cut = FixedThresholdClassifier(frozen, threshold=threshold, response_method="predict_proba")
    cut.estimator_ = frozen
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(cut, name, getattr(model, name))
    return cut


def without_cut(model: Any) -> tuple[Any, float | None]:
    """What `with_cut` made, taken apart; other models as they are."""
    if not isinstance(model, FixedThresholdClassifier):
        return model, None
    inner, rule = unwrapped(model)
    return unwrapped(inner)[0], None if rule is None else rule.threshold
