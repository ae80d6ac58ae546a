"""Packages that not every use needs: an extra brings them, or a light install leaves them out; the error names the remedy."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from formulations.errors import MissingPackageError

EXTRAS = {
    "matplotlib": "plots",
    "openpyxl": "excel",
    "pyarrow": "io",
    "skops": "io",
    "treelite": "boosting",
    "shtab": "completion",
    "ray": "ray",
    "torch": "rivals",
}
"""The extra of ``pyproject.toml`` that brings each package."""

LEFT_OUT = ("highspy", "networkx", "pyomo")
"""What `requirements-service.txt` leaves out."""


def package(name: str) -> Any:
    """A package, or a module of one, that not every install has.

    Parameters
    ----------
    name
        as in an import statement, e.g. ``"pyomo.environ"``.

    Raises
    ------
    MissingPackageError
        if the package is not installed; it names the command that installs it.
    """
    with naming_extras():
        return importlib.import_module(name)


@contextmanager
def naming_extras() -> Iterator[None]:
    """Where an import within fails for lack of a package that not every install has, say what installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in EXTRAS and missing not in LEFT_OUT:
            raise
        what = f'"prunemodels[{EXTRAS[missing]}]"' if missing in EXTRAS else "prunemodels"
        raise MissingPackageError(
            f"this needs {missing}, which is not installed: python -m pip install {what}", name=missing
        ) from error
