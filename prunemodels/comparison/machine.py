"""The machine on which seconds were measured, the packages that did the work, and the memory that a block of code takes.

Memory is measured by the process's high-water mark, which is reset before the block.
"""

from __future__ import annotations

import os
import platform
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Self

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


STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


class PeakMemory:
    """The largest resident memory while a block runs, above what the process held at its start.

    On Linux the kernel's high-water mark is reset first. Where that is impossible, only memory beyond the process's
    earlier peak is seen, so the figure may be too low.

    >>> with PeakMemory() as memory:
    ...     numbers = list(range(1_000_000))
    >>> memory.bytes is None or memory.bytes >= 0
    True
    """

    bytes: int | None = None
    """Set after the block; None where the system does not say."""

    def __enter__(self) -> Self:
        with suppress(OSError):
            RESET.write_text("5")  # see proc(5)
        self._before = high_water()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        after = high_water()
        self.bytes = None if after is None or self._before is None else after - self._before


def high_water() -> int | None:
    """The largest resident memory of this process so far, in bytes; None where the system does not say."""
    with suppress(OSError):
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
