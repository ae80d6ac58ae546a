"""The methods that every learner of this package has besides scikit-learn's own.

Learners count prices while they grow a model, and report what their predictions cost. Boosted learners, and forests that are
grown until a budget is spent, report it after each stage as well, so one fit gives a whole curve.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Learner(Protocol):
    """A fitted estimator that knows what its predictions cost."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels or numbers, shape (N,)."""
        ...

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        """What each row of X pays, shape (N,), in the unit of the prices; evaluation of splits included."""
        ...


@runtime_checkable
class StagedLearner(Learner, Protocol):
    """A learner whose first stages are models of their own."""

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predictions after each stage."""
        ...

    def staged_cost(self, X: Any) -> NDArray[np.float64]:
        """Mean cost of a prediction after each stage, shape (stages,), in the unit of the prices; never falls."""
        ...
