"""Ctrl-C during a native solve. Python handles signals between its own instructions only, so the solve runs in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from formulations.errors import InterruptedSolveError

GRACE_SECONDS = 3.0
"""Seconds to wait for a cancelled solve to end."""


def interruptible(solve: Callable[[], None], cancel: Callable[[], object], engine: str) -> None:
    """Run `solve` in a thread and wait for it; on Ctrl-C call `cancel`.

    `solve` must release the interpreter's lock while it works. If it takes more than `GRACE_SECONDS` to end after Ctrl-C, it goes
    on in its thread, which does not keep the process alive.

    Raises
    ------
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    BaseException
        whatever `solve` raises.
    """
    failure: list[BaseException] = []
    # not Thread.join: in Python 3.11 and 3.12 an interrupted join treats the thread as ended
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
