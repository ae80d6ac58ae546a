"""Ctrl-C during a long computation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from formulations.errors import InterruptedSolveError


@contextmanager
def interruption_as_error(what: str, then: str = "nothing was changed") -> Iterator[None]:
    """Turn Ctrl-C in the block into the error that says "interrupted", `what` was going on, and what is the case `then`.

    Raises
    ------
    InterruptedSolveError
        on Ctrl-C; one from inside of the block, which knows more, is passed on.
    """
    try:
        yield
    except InterruptedSolveError:
        raise
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError(f"interrupted {what}; {then}") from stop
