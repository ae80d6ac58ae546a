"""Long computations: Ctrl-C while they run, and in Python's log when a step begins, on what, and after how many seconds it ends.

Every module that has long steps logs under its own name, such as ``solvers.path.pruning_path``. Steps are INFO, rounds of an
engine are DEBUG. Nothing is shown until the user asks for it:

    logging.basicConfig(level=logging.INFO)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from formulations.errors import InterruptedSolveError

PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")

for _package in PACKAGES:
    logging.getLogger(_package).addHandler(logging.NullHandler())


@contextmanager
def timed_step(log: logging.Logger, step: str, *arguments: object) -> Iterator[None]:
    """Log that a step begins, and its seconds once it has ended or failed.

    Parameters
    ----------
    log
        the logger of the module.
    step, arguments
        what is done, on what; as in ``log.info(step, *arguments)``. The text is made only if it is wanted.
    """
    log.info(step, *arguments)
    start = time.perf_counter()
    try:
        yield
    except BaseException as error:
        log.info(f"{step}: %s after %.3g s", *arguments, type(error).__name__, time.perf_counter() - start)
        raise
    log.info(f"{step}: done in %.3g s", *arguments, time.perf_counter() - start)


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
