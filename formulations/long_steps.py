"""Long computations: Ctrl-C while they run, a bar on stderr, and lines in Python's log.

The log says when a step begins, on what, and after how many seconds it ends.

Every module that has long steps logs under its own name, such as ``solvers.path.pruning_path``. Steps are INFO, rounds of an
engine are DEBUG. Nothing is shown until the user asks for it:

    logging.basicConfig(level=logging.INFO)
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from tqdm import tqdm

from formulations.errors import InterruptedSolveError

LOG = logging.getLogger(__name__)

PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")

for _package in PACKAGES:
    logging.getLogger(_package).addHandler(logging.NullHandler())


@contextmanager
def timed_step(log: logging.Logger, step: str, *arguments: object) -> Iterator[None]:
    """Log that a step begins, and its seconds once it has ended or failed.

    `log`: the logger of the module. `step`, `arguments`: what is done, on what; as in ``log.info(step, *arguments)``. The text is
    made only if it is wanted.
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
    """Turn Ctrl-C in the block into the error that says "interrupted", `what` was going on, and what is the case `then`."""
    try:
        yield
    except InterruptedSolveError:
        raise
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError(f"interrupted {what}; {then}") from stop


SECONDS, SECONDS_UNASKED = 1.0, 3.0
"""After so long a bar appears; where nobody asked for it, later."""


class Progress:
    """A bar on stderr that counts decided splits up to `total`; silent unless `shown`. None: on a terminal, if it takes long."""

    def __init__(self, what: str, total: int, *, shown: bool | None) -> None:
        self._what, self._decided = what, 0
        self._bar = tqdm(
            total=total,
            desc=what,
            bar_format="{desc}: {percentage:3.0f} %|{bar}| {n:,} of {total:,} splits decided, {elapsed}",
            file=sys.stderr,
            leave=False,
            disable=None if shown is None else not shown,
            delay=SECONDS_UNASKED if shown is None else SECONDS,
            miniters=0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.close()

    def advance(self, count: int) -> None:
        """Count that many more splits as decided."""
        self._bar.update(count)
        self._decided += count
        LOG.debug("%s: %d of %d splits decided", self._what, self._decided, self._bar.total)

    def tick(self) -> None:
        """Show the time, although no split was decided."""
        self._bar.update(0)
