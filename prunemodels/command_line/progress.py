"""What a command is doing, and for how long: a line on a terminal, or in a pipe one every ten seconds.

Bars count what can be counted, such as decided splits. Everything else that takes time is named here, so that no bar at 100 %
stands there while work goes on. A thread writes, because training returns only when it is done.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Self

from tqdm import tqdm

from prunemodels.command_line.settings import SETTINGS

Where = Literal["terminal", "pipe"]


class Watch:
    """Says on stderr what is being done, until its block ends; silent where `where` is None."""

    def __init__(self, command: str, where: Where | None) -> None:
        self._command, self._where = command, where
        self._begun = False
        self._steps: list[tuple[str, float]] = []
        self._over, self._start = threading.Event(), time.perf_counter()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Self:
        if self._where is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._where is not None:
            self._thread.join()

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Name what the block does."""
        self._begun = True
        self._steps.append((what, time.perf_counter()))
        try:
            yield
        finally:
            self._steps.pop()

    @property
    def line(self) -> str:
        """What is being done: ``prunemodels cascade: fitting models, 20 s (of 25 s)``."""
        now, steps = time.perf_counter(), self._steps[-1:]
        what, since = steps[0] if steps else ("finishing" if self._begun else "starting", self._start)
        whole = f" (of {now - self._start:.0f} s)" if since - self._start >= 1 else ""
        return f"prunemodels {self._command}: {what}, {now - since:.0f} s{whole}"

    def _tell(self) -> None:
        if self._where == "pipe":
            while not self._over.wait(SETTINGS.seconds_in_pipes):
                print(self.line, file=sys.stderr, flush=True)
            return
        if self._over.wait(SETTINGS.seconds_on_terminals):
            return
        with tqdm(bar_format="{desc}", file=sys.stderr, leave=False) as bar:
            bar.set_description_str(self.line)
            while not self._over.wait(SETTINGS.seconds_on_terminals):
                bar.set_description_str(self.line)


@contextmanager
def doing(args: argparse.Namespace, what: str) -> Iterator[None]:
    """Name what the block does, for `Watch`."""
    with args.watch.doing(what):
        yield
