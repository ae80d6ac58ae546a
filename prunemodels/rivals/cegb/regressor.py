"""Cost efficient gradient boosting for regression."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from prunemodels.rivals.cegb.estimator import CostEfficientBoosting
from prunemodels.rivals.cegb.losses import Loss


class CEGBRegressor(RegressorMixin, CostEfficientBoosting):  # type: ignore[misc]
    """Boosted regression trees whose splits pay for the features that their examples have not bought yet.

    `CEGBClassifier` with the loss ``(y - m)^2 / 2``, in whose units `lam` is given; parameters and attributes are the same,
    except for `classes_`.

    Examples
    --------
    >>> model = CEGBRegressor(costs=[1, 1, 20], lam=0.01).fit(X, y)            # doctest: +SKIP
    >>> model.predict(X_new), model.prediction_cost(X_new).mean()             # doctest: +SKIP
    """

    def _loss(self, y: NDArray[Any]) -> Loss:
        return Loss.squares(y)
