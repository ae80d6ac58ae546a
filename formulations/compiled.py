"""Functions that numba compiles, and that run as they are, slower, where numba is not installed.

`proofs_checks` needs numpy and scipy only; what prunes forests needs numba for its speed, and `pip` installs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _as_it_is(**_: Any) -> Callable[[Any], Any]:
    """What stands for `numba.njit`: the function stays as it is."""
    return lambda function: function


try:
    from numba import njit
except ModuleNotFoundError as missing:
    if missing.name != "numba":
        raise
    njit = _as_it_is  # type: ignore[assignment]

__all__ = ["njit"]
