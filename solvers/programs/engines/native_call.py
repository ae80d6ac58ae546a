"""Ctrl-C during a native solve: Python sees signals only between its own instructions, so the solve runs beside."""

from __future__ import annotations

import threading
from collections.abc import Callable

from formulations.errors import InterruptedSolveError

GRACE_SECONDS = 3.0
"""Seconds that a cancelled solve has for coming to an end."""


def interruptible(solve: Callable[[], None], cancel: Callable[[], object], engine: str) -> None:
    """Run `solve` in a thread and wait for it; on Ctrl-C call `cancel`.

    `solve` must let go of the interpreter's lock while it works. A solve that takes more than `GRACE_SECONDS` to end is left
    behind in its thread, which does not keep the process alive.

    Raises
    ------
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    BaseException
        whatever `solve` raises.
    """
    failure: list[BaseException] = []
    # not Thread.join: in Python 3.11 and 3.12 an interrupted join takes the thread for ended
    ended = threading.Event()

    def work() -> None:
        try:
            solve()
        except BaseException as error:
            failure.append(error)
        finally:
            ended.set()

    try:
        threading.Thread(target=work, name=engine, daemon=True).start()
        while not ended.wait(0.1):
            pass
    except KeyboardInterrupt as stop:
        cancel()
        ended.wait(GRACE_SECONDS)
        raise InterruptedSolveError(f"interrupted while {engine} was solving; nothing was changed") from stop
    if failure:
        raise failure[0]
