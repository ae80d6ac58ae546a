"""The non-linear feature space: each example is mapped to the values of T weak learners.

    phi(x) = (h_1(x), ..., h_T(x)),   H(x) = phi(x)' beta + b                                             (W1)

CSTC13 section 3 takes the trees of gradient boosting with squared loss ("boosting trick"), and in section 5.1 ``phi(x) = x``.
Ours: each h_t is centred on the training examples, and where phi is x itself also scaled to unit variance, because the relaxed
penalties depend on the scale of a column. Boosted trees keep the scale that boosting gave them (beta = 1 is the boosted model).
The trees are those of scikit-learn's HistGradientBoostingRegressor; each needs every feature that one of its splits tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from formulations.errors import InvalidInputError

FEATURES = ("boosted", "identity")


@dataclass(frozen=True, eq=False)
class WeakLearners:
    """The fitted map phi of (W1).

    Parameters
    ----------
    model
        the boosted trees; None where phi is x itself.
    uses
        bool, shape (T, F): whether weak learner t needs feature f; F of CSTC13, transposed.
    centre, scale
        shape (T,): h_t(x) is (value - centre) / scale.
    """

    model: HistGradientBoostingRegressor | None
    uses: NDArray[np.bool_]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

    @property
    def n_weak_learners(self) -> int:
        """T, the number of weak learners."""
        return len(self.centre)

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """phi(x) of every row, shape (N, T)."""
        return (_values(self.model, X, self.n_weak_learners) - self.centre) / self.scale


def fit_weak_learners(
    features: str, X: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64], settings: dict[str, Any]
) -> WeakLearners:
    """Fit boosted trees with the given settings, or take the features themselves.

    Raises
    ------
    InvalidInputError
        for another kind of features.
    """
    if features not in FEATURES:
        raise InvalidInputError(f"features is {features!r}; give one of {', '.join(map(repr, FEATURES))}")
    share = weights / weights.sum()
    if features == "identity":
        centre = share @ X
        spread = np.sqrt(share @ (X - centre) ** 2)
        return WeakLearners(None, np.eye(X.shape[1], dtype=bool), centre, np.where(spread > 0, spread, 1.0))
    model = HistGradientBoostingRegressor(early_stopping=False, **settings).fit(X, y, sample_weight=weights)
    uses = np.zeros((model.n_iter_, X.shape[1]), dtype=bool)
    for t, (tree,) in enumerate(model._predictors):
        nodes = tree.nodes
        uses[t, nodes["feature_idx"][nodes["is_leaf"] == 0]] = True
    centre = share @ _values(model, X, model.n_iter_)
    return WeakLearners(model, uses, centre, np.ones(model.n_iter_))


def _values(model: HistGradientBoostingRegressor | None, X: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """h_t(x) before centring: what boosting step t adds to the prediction; the first also has the model's constant."""
    if model is None:
        return X
    values = np.empty((len(X), n))
    before = np.zeros(len(X))
    for t, predicted in enumerate(model.staged_predict(X)):
        values[:, t] = predicted - before
        before = predicted
    return values
