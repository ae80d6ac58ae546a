"""Files that were written when some classes had another home still load: their former modules stand in while a file is read."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

MODELS = "prunemodels.models"

MOVED = {
    "prunemodels.columns.pipelines": f"{MODELS}.columns.pipelines",
    "prunemodels.columns.restored": f"{MODELS}.columns.restored",
    "prunemodels.forests.error_samples": f"{MODELS}.forests.error_samples",
    "prunemodels.forests.mixture": f"{MODELS}.forests.mixture",
    "prunemodels.other_libraries.boosted_pruning": f"{MODELS}.boosting.boosted_pruning",
    "prunemodels.other_libraries.categories": f"{MODELS}.libraries.categories",
    "prunemodels.other_libraries.hist_gradient_boosting": f"{MODELS}.libraries.sklearn_models",
    "prunemodels.other_libraries.losses": f"{MODELS}.losses",
    "prunemodels.other_libraries.model_forest": f"{MODELS}.libraries.model_forest",
    "prunemodels.other_libraries.thresholds": f"{MODELS}.libraries.trees",
}
"""Former modules whose classes a saved model, cascade or estimator may hold, and where these classes live now."""


def former_names(trusted: tuple[str, ...]) -> tuple[str, ...]:
    """The names that trusted types had in their former modules."""
    homes = [name.rpartition(".") for name in trusted]
    return tuple(f"{former}.{kind}" for former, present in MOVED.items() for home, _, kind in homes if home == present)


class FormerModule(ModuleType):
    """A module that is gone: it has the names of the module that took its place."""

    def __getattr__(self, name: str) -> object:
        return getattr(importlib.import_module(MOVED[self.__name__]), name)


@contextmanager
def former_modules() -> Iterator[None]:
    """Let the former modules be imported inside of the block."""
    added = {name: FormerModule(name) for name in MOVED if name not in sys.modules}
    sys.modules.update(added)
    try:
        yield
    finally:
        for name in added:
            del sys.modules[name]
