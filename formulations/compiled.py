"""Functions that numba compiles, and that run as they are, slower, where numba is not installed.

`proofs_checks` needs numpy and scipy only; what prunes forests needs numba for its speed, and `pip` installs it.

numba stores what it compiled beside the sources, in the user's home, or in the folder of ``NUMBA_CACHE_DIR``, and raises where it
may write to none of them. A container has a package and a home that are read-only, so here a kernel is

    read     from each of these folders that holds it, writable or not: `prunemodels warm-up` may have filled it before;     (1)
    stored   where numba may write, else in a folder of the user's own below the temporary one, else nowhere.                (2)
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from typing import Any

LOG = logging.getLogger("prunemodels.compiled")


def _as_it_is(**_: Any) -> Callable[[Any], Any]:
    """What stands for `numba.njit`: the function stays as it is."""
    return lambda function: function


try:
    numba: Any = import_module("numba")
    caching: Any = import_module("numba.core.caching")
except ModuleNotFoundError as missing:
    if missing.name != "numba":
        raise
    njit = _as_it_is
else:
    # numba 0.61 writes these names with an underscore
    _BESIDE_THE_SOURCES = getattr(caching, "InTreeCacheLocator", None) or caching._InTreeCacheLocator
    _NAMED_BY_THE_USER = getattr(caching, "UserProvidedCacheLocator", None) or caching._UserProvidedCacheLocator

    class _ReadableBesideTheSources(_BESIDE_THE_SOURCES):  # type: ignore[misc, valid-type]
        """The folder beside the sources, whether or not it is writable."""

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            return cls(py_func, py_file)

    class _ReadableNamedByTheUser(_NAMED_BY_THE_USER):  # type: ignore[misc, valid-type]
        """The folder of ``NUMBA_CACHE_DIR``, whether or not it is writable."""

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            return cls(py_func, py_file) if numba.config.CACHE_DIR else None

    class _BelowTheTemporaryFolder(_NAMED_BY_THE_USER):  # type: ignore[misc, valid-type]
        """A folder of the user's own below the temporary one."""

        def __init__(self, py_func: Any, py_file: str) -> None:
            super().__init__(py_func, py_file)
            self._cache_path = os.path.join(_own_temporary_folder(), self.get_suitable_cache_subpath(py_file))

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            try:
                place = cls(py_func, py_file)
                place.ensure_cache_path()
            except OSError:
                return None
            return place

    def _cache_at(locator: Any) -> Any:
        """The class of numba's caches whose folder the locator finds."""
        found = type("_Found", (caching.CompileResultCacheImpl,), {"_locator_classes": [locator]})
        return type("_Cache", (caching.FunctionCache,), {"_impl_class": found})

    def _cache_or_none(kind: Any, function: Any) -> Any:
        """A cache of this class; None where numba finds no folder for it."""
        try:
            return kind(function)
        except RuntimeError:  # numba: "cannot cache function ...: no locator available"
            return None

    class KernelCache(caching._Cache):  # type: ignore[misc]
        """(1) and (2) for one kernel. `function`: what is compiled."""

        readable = (_cache_at(_ReadableNamedByTheUser), _cache_at(_ReadableBesideTheSources))
        writable = (caching.FunctionCache, _cache_at(_BelowTheTemporaryFolder))
        told = begun = False

        def __init__(self, function: Any) -> None:
            self._name = f"{function.__module__}.{function.__qualname__}"
            self._store = next((cache for kind in self.writable if (cache := _cache_or_none(kind, function)) is not None), None)
            found = [cache for kind in self.readable if (cache := _cache_or_none(kind, function)) is not None]
            self._places = ([] if self._store is None else [self._store]) + [c for c in found if c.cache_path != self.cache_path]

        @property
        def cache_path(self) -> str | None:
            """The folder that kernels are stored in; None where there is none."""
            return None if self._store is None else str(self._store.cache_path)

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """The compiled kernel for some types of arguments; None if no folder holds it."""
            for place in self._places:
                try:
                    compiled = place.load_overload(sig, target_context)
                except OSError:  # a folder that may not be read
                    continue
                if compiled is not None:
                    return compiled
            self._say()
            return None

        def _say(self) -> None:
            """What the caller waits for: in the log, and once on a terminal or in a notebook."""
            LOG.info("compiling %s for these types of arguments", self._name)
            if not KernelCache.begun and (sys.stderr.isatty() or "ipykernel" in sys.modules):
                sys.stderr.write(
                    f"prunemodels: compiling up to {len(KERNELS)} kernels, once for this installation; this takes 10 to 60 s "
                    "(`prunemodels warm-up --all` does it ahead)\n"
                )
            KernelCache.begun = True

        def save_overload(self, sig: Any, data: Any) -> None:
            """Store a compiled kernel; where that fails, say so once, and go on without."""
            failure: str | None = "no folder for it is writable"
            if self._store is not None:
                try:
                    self._store.save_overload(sig, data)
                    failure = None
                except OSError as error:  # the disk is full, or the folder has been taken away
                    failure = str(error)
            if failure is not None and not KernelCache.told:
                KernelCache.told = True
                LOG.warning(
                    "Compiled code cannot be stored (%s), so each process compiles it again, which takes some seconds. "
                    "Set NUMBA_CACHE_DIR to a writable folder, or fill one with `prunemodels warm-up` where it is writable.",
                    failure,
                )

        def enable(self) -> None:
            """Numba's switch; this cache is always on."""

        def disable(self) -> None:
            """Numba's switch; this cache is always on."""

        def flush(self) -> None:
            """Forget what is stored."""
            if self._store is not None:
                self._store.flush()

    def njit(*, cache: bool = False, **options: Any) -> Callable[[Any], Any]:
        """`numba.njit`, with `KernelCache` where ``cache=True``."""

        def compiled(function: Any) -> Any:
            dispatcher = numba.njit(**options)(function)
            if cache and not numba.config.DISABLE_JIT:
                dispatcher._cache = KernelCache(function)
                KERNELS.append(dispatcher)
            return dispatcher

        return compiled


KERNELS: list[Any] = []
"""The kernels of all modules that have been imported, as numba's dispatchers."""


def _own_temporary_folder() -> str:
    """A folder below the temporary one that nobody else may write to: whoever writes to it decides what code runs."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = os.path.join(tempfile.gettempdir(), f"prunemodels-compiled-{user}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    seen = os.lstat(folder)
    if hasattr(os, "getuid") and (not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o022):
        raise PermissionError(f"{folder} belongs to another user, or others may write to it")
    return folder


__all__ = ["KERNELS", "njit"]
