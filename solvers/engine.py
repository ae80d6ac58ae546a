"""What a registry says of an engine, and the versions of the native solvers that work together.

highspy and ortools both bring a ``libhighs.so.1``. From highspy 1.15 on the second one of them to be imported fails, and Pyomo
then says that HiGHS is not available; 1.14 returned wrong optima of integer programs. Installing another
package later can leave such a pair behind. So the versions are checked, without importing either package.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import Generic, Literal, TypeVar

from formulations.extras import LEFT_OUT

Signature = TypeVar("Signature")


@dataclass(frozen=True)
class Engine(Generic[Signature]):
    """An engine of a registry."""

    solve: Signature  # the function: a `Solver` or, within a budget, a `LimitedSolver`
    # ``"optimum"``: value and bound meet, in integers or within the engine's stated tolerance, unless a limit ends it.
    # ``"bound"``: a true bound, between which and the value a gap may remain. ``"nothing"``: its bound is minus infinity.
    proves: Literal["optimum", "bound", "nothing"]
    takes: Literal["any", "small"] = "any"  # ``"any"`` forest, or ``"small"`` ones only and refuses others


NEEDED = {"highspy": "1.13", "ortools": "9.15"}
"""The prefix that each version must have."""


def check_versions() -> None:
    """Refuse versions of highspy and ortools that do not work together."""
    for package, needed in NEEDED.items():
        try:
            installed = metadata.version(package)
        except metadata.PackageNotFoundError:
            if package in LEFT_OUT:  # of a light install; whoever uses it says so
                continue
            raise ImportError(f"{package} {needed} is needed and not installed; {_remedy()}") from None
        if installed != needed and not installed.startswith(needed + "."):
            raise ImportError(
                f"{package} {installed} is installed, {package} {needed} is needed: highspy and ortools both bring a "
                "libhighs.so.1, from highspy 1.15 on the second of them to be imported fails and Pyomo reports HiGHS as not "
                "available, and "
                f"highspy 1.14 returned wrong optima of integer programs; {_remedy()}"
            )


def _remedy() -> str:
    pins = " ".join(f"'{package}=={version}.*'" for package, version in NEEDED.items())
    return f"mend it with: python -m pip install {pins}"
