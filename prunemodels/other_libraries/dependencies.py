"""treelite, imported when a model of another library is read."""

from __future__ import annotations

from typing import Any


def treelite() -> Any:
    """The treelite package.

    Raises
    ------
    ImportError
        with the command that installs it.
    """
    try:
        import treelite as package
        import treelite.frontend
        import treelite.model_builder
    except ImportError as error:
        raise ImportError(
            'models of other libraries are read by treelite; install it with: python -m pip install "prunemodels[boosting]"'
        ) from error
    return package


def library_of(model: Any) -> str:
    """The package of a model's class, or of a class that it derives from: xgboost, lightgbm, catboost, treelite, or another."""
    known = ("xgboost", "lightgbm", "catboost", "treelite")
    packages = [kind.__module__.split(".")[0] for kind in type(model).__mro__]
    return next((p for p in packages if p in known), packages[0])
