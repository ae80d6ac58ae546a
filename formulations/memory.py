"""Memory that is free, and refusals of what would not fit before it is allocated."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
STATM = Path("/proc/self/statm")
CGROUP = Path("/sys/fs/cgroup")


def memory_free() -> int | None:
    """Free bytes, within the limits of the control group and of the process; None where the system does not say."""
    free = []
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
        free.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):  # "max", or no such file: no limit
        limit = int((CGROUP / "memory.max").read_text())
        free.append(max(0, limit - int((CGROUP / "memory.current").read_text())))
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            free.append(max(0, limit - resource.getpagesize() * int(STATM.read_text().split()[0])))
    return min(free, default=None)


def too_large(n_bytes: int) -> str | None:
    """Why so many bytes are refused, as the end of a message; None where they fit into the free memory."""
    if n_bytes < 1 << 20:
        return None  # without asking the system: small ones are many
    free = memory_free()
    return None if free is None or n_bytes <= free else f"needs {readable(n_bytes)} of memory, {readable(free)} are free"


def readable(n_bytes: int) -> str:
    """A number of bytes for people."""
    if n_bytes >= 1e15:
        return f"{min(n_bytes, 10**300) / 1e15:.3g} PB"
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
