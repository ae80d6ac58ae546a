"""One case in a child process with limits: an answer, a named error, another error, a signal, or no end.

`limited` counts the work of a call instead, in calls of our own Python functions: the same on any machine, under any load. So a
loop that never ends is found where it calls one; a loop inside of compiled code or of a library is not.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

EXTRA_MEMORY = 2 << 30  # address space that a case may take beyond what this process has
CPU_SECONDS, SECONDS = 10, 60  # time of the processor, and time by the clock, until a case counts as hanging
FORKS = multiprocessing.get_context("fork")
PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")


@dataclass(frozen=True)
class Outcome:
    """How a case ended: ``answer``, ``named`` (an error of ours), ``raw`` (another exception), ``crash`` (a signal) or ``hang``.
    The text has the error's type and place, or the signal; it is equal for equal defects. The answer is what the reader returned.
    """

    kind: str
    text: str = ""
    answer: Any = None


def run_in_child(work: Callable[[], Any]) -> Outcome:
    """Fork, run `work` under the limits, and say how it ended."""
    receiver, sender = FORKS.Pipe(duplex=False)
    child = FORKS.Process(target=_answer, args=(work, sender))
    child.start()
    sender.close()
    told = None
    is_heard = receiver.poll(SECONDS)
    if is_heard:
        with suppress(EOFError):  # it ended without a word
            told = receiver.recv()
    else:
        child.kill()
    child.join()
    receiver.close()
    if not is_heard or child.exitcode == -signal.SIGXCPU:
        return Outcome("hang", "no answer in time")
    if child.exitcode is not None and child.exitcode < 0:
        return Outcome("crash", signal.Signals(-child.exitcode).name)
    return told or Outcome("crash", f"status {child.exitcode} without an answer")


def _answer(work: Callable[[], Any], sender: Connection) -> None:
    """In the child: limits, the work, and the outcome."""
    faulthandler.disable()
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    size = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (size + EXTRA_MEMORY, size + EXTRA_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    from formulations.errors import PruneModelsError

    try:
        outcome = Outcome("answer", answer=work())
    except PruneModelsError as error:
        outcome = Outcome("named", f"{type(error).__name__}: {error}")
    except BaseException as error:  # this is what the fuzzer looks for
        outcome = Outcome("raw", f"{type(error).__name__} {_place(error)}")
    sender.send(outcome)


def _place(error: BaseException) -> str:
    """The innermost line of the package that the error passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    ours = [frame for frame in frames if any(f"{os.sep}{name}{os.sep}" in frame.filename for name in PACKAGES)]
    if not ours:
        return "outside of the package"
    return f"at {os.sep.join(Path(ours[-1].filename).parts[-3:])}:{ours[-1].lineno} ({ours[-1].name})"


MOST_CALLS = 2_000_000  # calls of our functions; the fuzzer's tiny instances take some thousands for each answer
ROOT = Path(__file__).resolve().parents[2]
OURS = tuple(f"{ROOT / package}/" for package in PACKAGES)
"""Whose functions are counted: an environment may stand in the same folder, and numba's own functions call millions."""


class NeverEndsError(BaseException):
    """More work than was allowed. Not an `Exception`: no engine may take it for a failure of its own."""


@contextmanager
def limited(most: int = MOST_CALLS) -> Iterator[None]:
    """Raise `NeverEndsError` inside of the block, and of the threads that it starts, after so many calls of our functions."""
    left = most

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            left -= 1
            if left < 0:
                raise NeverEndsError(f"{most:,} calls of functions, and no end")

    before = sys.gettrace()  # a trace sees calls alone, a profile also what returns and what is compiled: three times slower
    threading.settrace(count)
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(None)  # type: ignore[arg-type]
