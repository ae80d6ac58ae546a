"""The command line's process: its streams and their styles, its signals, and its exit status however a command ends.

Styles are shown by terminals, never in files and pipes, nor where the environment variable NO_COLOR has any value but the empty
one: https://no-color.org.

A line on a terminal, or in a pipe one every ten seconds, says what a command is doing, and for how long. Bars count what can be
counted, such as decided splits. Everything else that takes time is named here, so that no bar at 100 % stands there while work
goes on. A thread writes, because training returns only when it is done.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, Self

from tqdm import tqdm


@dataclass(frozen=True)
class Settings:
    """What commands do where no option says otherwise, and how wide they write."""

    evidence_lines: int = 20  # lines of a table that the text shows; ``--json`` has all of them
    # limit of work, in seconds by formula, of the search within each budget, where prices differ and the path has few prunings
    demo_search_seconds: float = 3.0
    seed: int = 0  # the random state is fixed, so that the same command gives the same model
    confidence: float = 0.95  # of intervals
    seconds_in_pipes: float = 10.0  # between two lines on what a command is doing, where stderr is no terminal
    seconds_on_terminals: float = 1.0  # the same on terminals
    few_words: int = 4  # the largest number of words or columns that a line of the table of columns names
    word: int = 16  # characters of a word there
    most_names: int = 6  # the largest number of items or columns that a line names
    # share of different rows above which a row that comes again is the same example, not one that happens to be equal
    mostly: float = 0.9
    split: float = 0.4  # share of the table that is kept apart where no other is given
    help_width: int = 80  # characters of a line of help and of notes
    grid: int = 12  # lambdas of a boosted model's trade-off, as many as `prune_boosted` goes along
    width: int = 118  # characters of a line
    label: int = 15  # characters of the labels


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


DONE = 0
REFUTED = 1
REFUSED = 2
UNDECIDED = 3
STATUS = {True: DONE, False: REFUTED, None: UNDECIDED}
"""By whether claims hold."""
DEFECT = 70
"""EX_SOFTWARE of sysexits.h."""
NOT_SHOWN = 74
"""EX_IOERR of sysexits.h."""
INTERRUPTED = 130
BY_SIGNAL = 128
"""Added to a signal's number, as shells do."""

MEANINGS = {
    "0": "done; check: the claim holds",
    "1": "check, report: a claim is refuted",
    "2": "refused: bad arguments or input, a file that cannot be read or written, or too little memory",
    "3": "check, report: no claim is refuted, but one remains undecided",
    "70": "a defect of prunemodels or of a solver that it calls; PRUNEMODELS_TRACEBACK=1 shows where",
    "74": "the summary could not be written to stdout; output files, if any, are complete",
    "130": "interrupted with Ctrl-C",
    "129, 143": "ended by SIGHUP, SIGTERM",
    "141": "stdout was closed by its reader; output files, if any, are complete",
}
"""What each status means. Only after 0, 1, 3, 74 and 141 there are output files."""

TRACEBACK_VARIABLE = "PRUNEMODELS_TRACEBACK"
"""An environment variable: with any value but the empty one, the traceback of a defect is printed."""

SIGNS_OF_SHORT_MEMORY = ("failed to map segment", "cannot allocate memory", "can't start new thread")
"""What the dynamic linker and Python's threads say instead of raising MemoryError."""

LESS_MEMORY = "give fewer examples, a smaller forest, or a machine with more"

ENDING = ("SIGTERM", "SIGHUP")
"""Signals that end a process, on which files are put in order first."""

STYLES = {"bold": "1", "faint": "2", "warning": "1;33", "bad": "1;31", "good": "32"}
"""Codes of ANSI terminals (ECMA-48, SGR). Nothing is said by colour alone."""


def styled(text: str, style: str) -> str:
    """A text in one of `STYLES`, or as it is where stdout is no terminal that shows them, or the user has declined them."""
    plain = sys.stdout is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if plain else f"\x1b[{STYLES[style]}m{text}\x1b[0m"


class _Unfailing(io.FileIO):
    """A stream for messages. A message that cannot be written is lost, and the work goes on."""

    def write(self, data: Any) -> int:
        """Write, or lose the message."""
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Make stdout and stderr safe to write to, whatever they are.

    A descriptor that is closed would be given to the next file that is opened, and libraries' messages would end up in it.
    Characters that a stream's encoding lacks are escaped.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    stderr, encoding = _Unfailing(2, "w", closefd=False), getattr(sys.stderr, "encoding", "utf-8")
    sys.stderr = io.TextIOWrapper(stderr, encoding, "backslashreplace", write_through=True)


@contextmanager
def ending_signals() -> Iterator[list[int]]:
    """Treat SIGTERM and SIGHUP like Ctrl-C during the block, so that files are put in order; the numbers of those that came.

    A second signal of the kind ends the process at once.
    """
    arrived: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    mine = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]  # nohup has SIGHUP ignored
    for number in mine:
        signal.signal(number, interrupt)
    try:
        yield arrived
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def status_of(run: Callable[[], int], command: str, arrived: list[int]) -> int:
    """Run a command, from reading its inputs to showing its summary, and return its exit status.

    One line on stderr says why a command ended early. `arrived`: see `ending_signals`.
    """
    try:
        # imported late, because this loads the whole package, which help and usage errors do not need
        from formulations.errors import PruneModelsError, SolverFailedError
        from formulations.extras import naming_extras

        try:
            with naming_extras():
                return run()
        except SolverFailedError as error:
            return _defect(command, error)
        except PruneModelsError as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return _refused(command, str(error))
    except KeyboardInterrupt as stop:
        how = f"ended by {signal.Signals(arrived[-1]).name}" if arrived else "interrupted"
        _say(f"{how}: {'the output files were written' if getattr(stop, 'files_written', False) else 'nothing was written'}")
        return BY_SIGNAL + arrived[-1] if arrived else INTERRUPTED
    except MemoryError as error:
        return _refused(command, f"not enough memory ({_one_line(error) or 'of unknown size'}); {LESS_MEMORY}")
    except OSError as error:
        named = f"a file without a name, perhaps in {tempfile.gettempdir()}" if error.filename is None else error.filename
        return _refused(command, f"{named}: {error.strerror or _one_line(error)}")
    except Exception as error:
        if isinstance(error, ImportError | RuntimeError) and any(sign in str(error) for sign in SIGNS_OF_SHORT_MEMORY):
            return _refused(command, f"not enough memory ({_one_line(error)}); {LESS_MEMORY}")
        return _defect(command, error)


def show(text: str) -> int | None:
    """Write a text to stdout, and flush it: None, or the exit status where that failed."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        if text:
            print(text)
        sys.stdout.flush()
        return None
    except OSError as error:
        # what is left in the buffer goes nowhere: otherwise Python fails once more when it ends
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return BY_SIGNAL + int(getattr(signal, "SIGPIPE", 13))
        _say(f"the summary could not be written to stdout: {error.strerror or error}; output files, if any, are complete")
        return NOT_SHOWN


def _refused(command: str, message: str) -> int:
    _say(f"prunemodels {command}: {message}")
    return REFUSED


def _defect(command: str, error: Exception) -> int:
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    _say(
        f"prunemodels {command}: {type(error).__name__}: {_one_line(error)}. This is a defect of prunemodels or of a solver; "
        f"please report it with the traceback, which the environment variable {TRACEBACK_VARIABLE}=1 shows"
    )
    return DEFECT


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
