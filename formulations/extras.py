"""What is imported late: packages that not every install has, and public names, when they are first used.

An extra brings such packages, or a light install leaves them out; the error names the remedy. Public names are imported late so
that packages and the command line start quickly. The stub file beside a namespace (``__init__.pyi`` or ``NAME.pyi``) is the one
list of its public names. Type checkers read the stub, and so does `lazy_names`.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from formulations.errors import MissingPackageError

EXTRAS = {
    "matplotlib": "plots",
    "openpyxl": "excel",
    "pyarrow": "io",
    "skops": "io",
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


def lazy_names(namespace: str, file: str) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a namespace whose stub says where each public name lives.

    Parameters
    ----------
    namespace
        the module's ``__name__``.
    file
        the module's ``__file__``. Its stub, with the ending ``.pyi``, holds a line ``from MODULE import NAME as NAME`` for each
        public name; ``from NAMESPACE import NAME as NAME`` names a module within the namespace.

    Returns
    -------
    names : list of str
        the public names, sorted.
    getattr : callable
        imports a public name when it is first used; raises `AttributeError` for any other name.
    dir : callable
        the public names.
    """
    homes = homes_of(Path(file).with_suffix(".pyi"))
    names = sorted(homes)

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {namespace!r} has no attribute {name!r}")
        if homes[name] == namespace:
            return importlib.import_module(f"{namespace}.{name}")
        from formulations.arguments import at_the_door
        from formulations.extras import package

        value = getattr(package(homes[name]), name)
        if namespace.partition(".")[0] == "prunemodels":
            value = at_the_door(value, namespace, name)
        setattr(sys.modules[namespace], name, value)
        return value

    return names, get, lambda: list(names)


def homes_of(stub: Path) -> dict[str, str]:
    """The module of every public name, from the import statements of a stub file."""
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}
