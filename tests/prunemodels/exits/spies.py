"""Estimators that record what they were trained on."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


class SpyClassifier(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that keeps its training rows, and notes what every tree was asked about; row numbers stand in column 0."""

    asked: ClassVar[list[tuple[frozenset[int], frozenset[int]]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        self.trained_on_ = numbers(X)
        self.labels_ = np.asarray(y)
        return super().fit(X, y, sample_weight)  # type: ignore[no-any-return]

    def predict_proba(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:
        self.asked.append((self.trained_on_, numbers(X)))
        return np.asarray(super().predict_proba(X))


class SpyRegressor(DecisionTreeRegressor):  # type: ignore[misc]
    """The same for numbers."""

    asked: ClassVar[list[tuple[frozenset[int], frozenset[int]]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
        self.trained_on_ = numbers(X)
        return super().fit(X, y, sample_weight)  # type: ignore[no-any-return]

    def predict(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:
        self.asked.append((self.trained_on_, numbers(X)))
        return np.asarray(super().predict(X))


def numbers(X: Any) -> frozenset[int]:
    """The row numbers in column 0."""
    return frozenset(np.asarray(X)[:, 0].astype(int).tolist())


class NoWeights(DecisionTreeClassifier):  # type: ignore[misc]
    """A classifier whose fit takes no weights."""

    def fit(self, X: Any, y: Any) -> Self:
        return super().fit(X, y)  # type: ignore[no-any-return]
