"""A limit on the work of a call, in place of one on its seconds: the same on any machine, under any load.

Work is counted in calls of our own Python functions. So a loop that never ends is found where it calls one; a loop inside of
compiled code or of a library is not.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

MOST_CALLS = 2_000_000
"""Calls of our functions; the fuzzer's tiny instances take some thousands for each answer."""

ROOT = Path(__file__).resolve().parents[2]

OURS = tuple(f"{ROOT / package}/" for package in ("prunemodels", "formulations", "solvers", "proofs_checks"))
"""Whose functions are counted: an environment may stand in the same folder, and numba's own functions call millions."""


class NeverEndsError(BaseException):
    """More work than was allowed. Not an `Exception`: no engine may take it for a failure of its own."""


@contextmanager
def limited(most: int = MOST_CALLS) -> Iterator[None]:
    """Raise `NeverEndsError` inside of the block, and of the threads that it starts, after so many calls of our functions."""
    left = most

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            left -= 1
            if left < 0:
                raise NeverEndsError(f"{most:,} calls of functions, and no end")

    before = sys.gettrace()  # a trace sees calls alone, a profile also what returns and what is compiled: three times slower
    threading.settrace(count)
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(None)  # type: ignore[arg-type]
