"""Packages that not every use needs: ``pip`` installs them with an extra, and without one the error names it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from formulations.errors import MissingPackageError

EXTRAS = {
    "pyomo": "models",
    "highspy": "models",
    "matplotlib": "plots",
    "networkx": "plots",
    "pyarrow": "io",
    "skops": "io",
    "treelite": "boosting",
    "onnx": "interop",
    "onnxruntime": "interop",
    "skl2onnx": "interop",
    "shtab": "completion",
    "sksurv": "survival",
    "ray": "ray",
    "torch": "rivals",
}
"""The extra of ``pyproject.toml`` that brings each package."""


def package(name: str) -> Any:
    """A package, or a module of one, that an extra brings.

    Parameters
    ----------
    name
        as in an import statement, e.g. ``"pyomo.environ"``.

    Raises
    ------
    MissingPackageError
        if the package is not installed; it names the extra.
    """
    with naming_extras():
        return importlib.import_module(name)


@contextmanager
def naming_extras() -> Iterator[None]:
    """Where an import within fails for lack of a package that an extra brings, say which extra.

    Raises
    ------
    MissingPackageError
        for a package of `EXTRAS` that is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in EXTRAS:
            raise
        raise MissingPackageError(
            f'this needs {missing}, which is not installed: python -m pip install "prunemodels[{EXTRAS[missing]}]"', name=missing
        ) from error
