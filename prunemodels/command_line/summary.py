"""What a command says while it works and when it is done: one renderer for all commands.

A summary is a record, which ``--json`` prints, and lines for a terminal. Both are made of the answers of the Python functions:
`plain` turns an answer into JSON, its ``repr`` is what the terminal shows. A line with a label is wrapped behind it; plain text,
such as a table, stays as it is.

While a command works, it says what it is doing, and for how long: a line on a terminal, or in a pipe one every ten seconds. Bars
count what can be counted, such as decided splits. Everything else that takes time is named here, so that no bar at 100 % stands
there while work goes on. A thread writes, because training returns only when it is done.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from tqdm import tqdm

from formulations.shown import Shown
from prunemodels.command_line.process import DONE, styled


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


HIDDEN = {"problem", "proof"}
"""Fields of answers that JSON leaves out: the instance, and certificates, which may be as large as it."""

OF_NETWORK = ("tail", "head", "start", "end", "transposed")
"""The fields of a tree with paths, of which JSON has the sizes; ``--out`` writes all of it."""


PYTHON = re.compile(r" \((?:pm)?\.\w+\*?(?:\([^()]*\))?\)")
"""The name of a function of Python in brackets, which terminals leave out."""


class Line(NamedTuple):
    """A label and its text, perhaps in a style of `prunemodels.command_line.process`."""

    label: str
    text: str
    style: str = ""


@dataclass(frozen=True)
class Summary:
    """The result of a command: the `record` that ``--json`` prints, by `plain`, and what a terminal shows.

    That are `warnings`, which are to be read before any saving, `lines`, the seconds where `timed`, what was taken for numbers in
    tables that were `read`, hints on what a user may want to know or to change, columns of the data that were not used
    (`ignored`), the files `written`, and the command to type `next`, if any.
    """

    record: Mapping[str, Any]
    lines: Sequence[str | Line]
    written: Sequence[Any] = ()
    ignored: Sequence[str] = ()
    hints: Sequence[str] = ()
    _: KW_ONLY
    read: Sequence[str] = ()
    next: str = ""
    exit_status: int = DONE
    timed: bool = True
    warnings: Sequence[str] = ()

    def json(self, seconds: float) -> str:
        """One JSON object, for programs; `seconds` is how long the command took."""
        more = {
            "warnings": self.warnings,
            "written": self.written,
            "ignored": self.ignored,
            "read": self.read,
            "hints": self.hints,
            "seconds": seconds,
        }
        return json.dumps(plain(more | dict(self.record)), indent=2, allow_nan=False)

    def text(self, seconds: float) -> str:
        """The text that a terminal shows; `seconds` as in `json`."""
        unused = ", ".join(self.ignored[: SETTINGS.most_names]) + (", ..." if len(self.ignored) > SETTINGS.most_names else "")
        lines: list[str | Line] = [*(Line("read first", warning, "warning") for warning in self.warnings)]
        lines += [*([""] if lines else []), *self.lines, *([Line("time", f"{seconds:.1f} s")] if self.timed else [])]
        lines += [*(Line("read", sentence) for sentence in self.read), *(Line("hint", hint) for hint in self.hints)]
        lines += [Line("not used", f"columns {unused}")] if self.ignored else []
        lines += [f"{'written':{SETTINGS.label}}{file}" for file in self.written]
        lines += [f"{'next':{SETTINGS.label}}{self.next}"] if self.next else []
        return "\n".join(line if isinstance(line, str) else self._wrapped(line) for line in lines).replace("\u00a0", " ")

    def _wrapped(self, line: Line) -> str:
        rows = textwrap.wrap(line.text, SETTINGS.width - SETTINGS.label, break_on_hyphens=False, break_long_words=False) or [""]
        shown = [styled(row, line.style) if line.style else row for row in rows]
        return "\n".join(f"{line.label if k == 0 else '':{SETTINGS.label}}{row}" for k, row in enumerate(shown))


def plain(value: Any) -> Any:
    """An answer for JSON: fractions as text, dataclasses as objects, arrays as lists, null for NaN and infinity.

    Of a pruning there are cost, splits, and the trees' mean error, which pruning minimises beside the cost.
    """
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | list | tuple | set | frozenset):
        return [plain(entry) for entry in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value if value is None or type(value) in (bool, int, str) else str(value)


def _object(value: Any) -> Any:
    """A dataclass for JSON."""
    if hasattr(value, "kept") and hasattr(value, "n_splits"):
        return plain({"cost": value.cost, "error": value.error, "splits": value.n_splits})
    names = [field.name for field in fields(value) if field.name not in HIDDEN]
    if {*OF_NETWORK} <= {*names}:
        return {"arcs": len(value.tail), "paths": len(value.start), "transposed": value.transposed}
    return {name: plain(getattr(value, name)) for name in names}


def card_of(answer: Shown, title: str = "") -> str:
    """How an answer shows itself, perhaps under another title, without the Python that it proposes to type next.

    What is to be read before it stands above all lines, see `Summary`.
    """
    card = answer._card()
    notes = tuple(PYTHON.sub("", note) for note in card.notes if not note.startswith("Next: "))
    return replace(card, title=title or card.title, notes=notes, first=()).text()


def model_name(model: Any) -> str:
    """What a model is; of one that `prunemodels train` prepared, its last step."""
    kind = type(model).__name__
    return f"prepared {type(model[-1]).__name__}" if kind == "PreparedModel" else kind


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
