"""Which models add up their trees; and treelite, imported when one of another library is read."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from formulations.extras import package
from prunemodels.models.forests.reading import OTHER_LIBRARIES

GRADIENT_BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
HIST_GRADIENT_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def treelite() -> Any:
    """The treelite package.

    Raises
    ------
    MissingPackageError
        with the command that installs it.
    """
    package("treelite.frontend")
    package("treelite.model_builder")
    return package("treelite")


def library_of(model: Any) -> str:
    """The package of a model's class, or of a class that it derives from: one of `OTHER_LIBRARIES`, or another."""
    packages = [kind.__module__.split(".")[0] for kind in type(model).__mro__]
    return next((p for p in packages if p in OTHER_LIBRARIES), packages[0])


def is_boosted(model: Any) -> bool:
    """Whether `read_model` is for a model of this class, rather than `read_forest`."""
    return library_of(model) in OTHER_LIBRARIES or isinstance(model, GRADIENT_BOOSTING + HIST_GRADIENT_BOOSTING)
