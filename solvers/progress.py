"""A progress bar on stderr for long computations."""

from __future__ import annotations

import logging
import sys
from types import TracebackType
from typing import Self

from tqdm import tqdm

LOG = logging.getLogger(__name__)


SECONDS, SECONDS_UNASKED = 1.0, 3.0
"""After so long a bar appears; where nobody asked for it, later."""


class Progress:
    """A bar that counts decided splits up to `total`; silent unless `shown`. None: shown on a terminal, if it takes long."""

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
