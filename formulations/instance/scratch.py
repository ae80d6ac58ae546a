"""Arrays in files of a scratch folder, which the system maps into memory as far as there is room."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from formulations.errors import BrokenFileError


def scratch_array(shape: int | tuple[int, ...], kind: DTypeLike, folder: Path | None) -> NDArray[Any]:
    """An uninitialised array, in memory or in a file.

    Parameters
    ----------
    folder
        the folder of the file; None: memory. Where the system allows it the file has no name, and it vanishes with the array or
        at the end of the process.

    Raises
    ------
    BrokenFileError
        if the folder does not exist or has too little free space.
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
