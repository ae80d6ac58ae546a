"""Optimal pruning of tree ensembles under prediction-time cost.

>>> path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=costs))   # doctest: +SKIP
>>> cheap = pm.apply_pruning(path.at_cost(24.0), forest)                           # doctest: +SKIP
"""

# ruff: noqa: E402 (nothing of ours may be imported before the check)
from prunemodels.siblings import check_siblings

check_siblings()

import ast
import importlib
from pathlib import Path


def _homes() -> dict[str, str]:
    """The module of every public name, from the imports in ``__init__.pyi``, which type checkers read, too."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


__version__ = "0.1.0"

_HOME = _homes()

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that the command line answers at once."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
