"""Memory that is free, refusals of what would not fit before it is allocated, and arrays in files of a scratch folder instead."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from formulations.errors import BrokenFileError

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


def scratch_array(shape: int | tuple[int, ...], kind: DTypeLike, folder: Path | None) -> NDArray[Any]:
    """An uninitialised array in memory, or an array of zeros in a file.

    `folder`: the folder of the file; None: memory. Where the system allows it the file has no name, and it vanishes with the
    array or at the end of the process.
    """
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    if folder is None or size == 0:
        return np.empty(shape, dtype=kind)
    n_bytes = size * np.dtype(kind).itemsize
    if not folder.is_dir():
        raise BrokenFileError(f"scratch: there is no folder {folder}; create it, or leave scratch out")
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise BrokenFileError(f"scratch: {n_bytes:,} bytes are needed, {folder} has {free:,} free; give another folder")
    try:
        with tempfile.TemporaryFile(prefix="prunemodels-", dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # reserve the space now: a full disk later would end the process
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            else:
                file.truncate(n_bytes)
            return np.asarray(np.memmap(file, dtype=kind, mode="r+", shape=shape))
    except OSError as error:
        raise BrokenFileError(f"scratch: no file of {n_bytes:,} bytes can be made in {folder} ({error})") from error
