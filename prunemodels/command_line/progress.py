"""What a command is doing, and for how long: a line on a terminal, or in a pipe one every ten seconds; and the room's numbers.

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
from dataclasses import dataclass
from typing import Literal, Self

from tqdm import tqdm


@dataclass(frozen=True)
class Settings:
    """What commands do where no option says otherwise, and how wide they write."""

    evidence_lines: int = 20
    """Lines of a table that the text shows; ``--json`` has all of them."""
    demo_search_seconds: float = 3.0
    """Limit of work, in seconds by formula, of the search within each budget, where prices differ and the path has few
    prunings."""
    seed: int = 0
    """The random state is fixed, so that the same command gives the same model."""
    confidence: float = 0.95
    """Of intervals."""
    seconds_in_pipes: float = 10.0
    """Between two lines on what a command is doing, where stderr is no terminal."""
    seconds_on_terminals: float = 1.0
    """The same on terminals."""
    few_words: int = 4
    """The largest number of words or columns that a line of the table of columns names."""
    word: int = 16
    """Characters of a word there."""
    most_names: int = 6
    """The largest number of items or columns that a line names."""
    mostly: float = 0.9
    """Share of different rows above which a row that comes again is the same example, not one that happens to be equal."""
    split: float = 0.4
    """Share of the table that is kept apart where no other is given."""
    help_width: int = 80
    """Characters of a line of help and of notes."""
    grid: int = 12
    """Lambdas of a boosted model's trade-off, as many as `prune_boosted` goes along."""
    width: int = 118
    """Characters of a line."""
    label: int = 15
    """Characters of the labels."""


SETTINGS = Settings()

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
