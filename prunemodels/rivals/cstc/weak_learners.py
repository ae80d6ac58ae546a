"""The non-linear feature space: each example is mapped to the values of T weak learners.

    phi(x) = (h_1(x), ..., h_T(x)),   H(x) = beta' phi(x) + b                                             (W1)

CSTC13 section 3 takes the trees of gradient boosting with squared loss ("boosting trick"), and in section 5.1 ``phi(x) = x``.
Ours: each h_t is centred on the training examples, and where phi is x itself also scaled to unit variance, because the relaxed
penalties depend on the scale of a column. Boosted trees keep the scale that boosting gave them (beta = 1 is the boosted model).
The trees are those of scikit-learn's HistGradientBoostingRegressor; each needs every feature that one of its splits tests. With
several outputs each has boosted trees of its own, by squared loss, and all classifiers may use all of them (ours).

The cost of a path pi_l, from the root to the terminal element v_l (CSTC13 section 4.1; the equation was lost in our copy's
extraction; it is (2) with all classifiers of the path in place of one):

    c_l = sum_t e_t || sum_{j in pi_l} |beta_t^j| ||_0 + sum_m c_m || sum_{j in pi_l} sum_t F_{mt} |beta_t^j| ||_0           (2)

The paper's features are our cost items, so that features may share what they need: F_{mt} = 1 if a feature of weak learner t
needs item m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from formulations.instance.cost_items import CostItems

Features = Literal["boosted", "identity"]


@dataclass(frozen=True, eq=False)
class WeakLearners:
    """The fitted map phi of (W1)."""

    models: tuple[HistGradientBoostingRegressor, ...]  # the boosted trees of each output; none where phi is x itself.
    uses: NDArray[np.bool_]  # bool, shape (T, F): whether weak learner t needs feature f; F of CSTC13, transposed.
    # centre, scale: shape (T,): h_t(x) is (value - centre) / scale.
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

    @property
    def n_weak_learners(self) -> int:
        """T, the number of weak learners."""
        return len(self.centre)

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """phi(x) of every row, shape (N, T)."""
        return (_values(self.models, X) - self.centre) / self.scale


def fit_weak_learners(
    features: Features, X: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64], settings: dict[str, Any]
) -> WeakLearners:
    """Fit boosted trees with the given settings to each column of y, shape (N, K), or take the features themselves."""
    share = weights / weights.sum()
    if features == "identity":
        centre = share @ X
        spread = np.sqrt(share @ (X - centre) ** 2)
        return WeakLearners((), np.eye(X.shape[1], dtype=bool), centre, np.where(spread > 0, spread, 1.0))
    new = HistGradientBoostingRegressor(early_stopping=False, **settings)
    models = tuple(clone(new).fit(X, column, sample_weight=weights) for column in y.T)
    trees = [tree for model in models for (tree,) in model._predictors]
    uses = np.zeros((len(trees), X.shape[1]), dtype=bool)
    for t, tree in enumerate(trees):
        uses[t, tree.nodes["feature_idx"][tree.nodes["is_leaf"] == 0]] = True
    centre = share @ _values(models, X)
    return WeakLearners(models, uses, centre, np.ones(len(trees)))


def _values(models: tuple[HistGradientBoostingRegressor, ...], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """h_t(x) before centring: what a boosting step adds to the prediction; the first also has the model's constant."""
    if not models:
        return X
    values = [np.diff(np.stack(list(model.staged_predict(X)), axis=1), axis=1, prepend=0.0) for model in models]
    return np.hstack(values)


@dataclass(frozen=True, eq=False)
class LearnerPrices:
    """Items and prices of T weak learners."""

    needs: NDArray[np.bool_]  # bool, shape (T, M): F of (2), transposed.
    price: NDArray[np.float64]  # c_m, shape (M,), >= 0.
    evaluation: NDArray[np.float64]  # e_t, shape (T,), >= 0: the price of evaluating a weak learner.

    def bill(self, active: NDArray[np.bool_]) -> float:
        """(2) for the weak learners that a path uses: bool, shape (T,)."""
        return float(self.evaluation[active].sum() + self.price[self.needs[active].any(axis=0)].sum())


def purchases_of(items: CostItems, uses: NDArray[np.bool_], evaluation_cost: float) -> LearnerPrices:
    """The items of weak learners, given the features that each uses, bool, shape (T, F)."""
    needs = (uses.astype(np.float64) @ items.needs_of(range(items.n_features))) > 0
    return LearnerPrices(needs, items.price, np.full(len(uses), float(evaluation_cost)))
