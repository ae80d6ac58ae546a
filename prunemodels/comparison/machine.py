"""The machine on which seconds were measured, and the versions of the packages that did the work."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

VERSIONS = ("prunemodels", "numpy", "numba", "scikit-learn", "ortools", "highspy", "pyomo")
"""Packages whose versions matter for the figures."""


def machine() -> str:
    """System, cores, memory, Python and the versions of `VERSIONS`, in one line."""
    parts = [f"{platform.system()} {platform.machine()}", f"{os.cpu_count()} cores"]
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf, and other systems may not know these names
        parts.append(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB")
    parts.append(f"Python {platform.python_version()}")
    for name in VERSIONS:
        with suppress(PackageNotFoundError):
            parts.append(f"{name} {version(name)}")
    return ", ".join(parts)
