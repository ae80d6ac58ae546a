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
    >>> from sklearn.datasets import load_diabetes
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = pm.rivals.CEGBRegressor(1, lam=100, n_estimators=20, n_jobs=1).fit(X[:300], y[:300])
    >>> print(f"cost {model.prediction_cost(X[300:]).mean():.2f}, R2 {model.score(X[300:], y[300:]):.2f}")
    cost 3.84, R2 0.39
    """

    def _loss(self, y: NDArray[Any]) -> Loss:
        return Loss.squares(y)
