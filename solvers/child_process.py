"""Calls in a process of their own, which can be ended at any moment.

A native solver looks at its clock and at Ctrl-C only between its own steps, and Pyomo builds a large model for minutes. So a call
that may take long is made in a new process. It is killed when its time is over, and on Ctrl-C.

The arguments and the answer go through temporary files without a name, so that no file is ever left behind.
"""

from __future__ import annotations

import ctypes
import importlib
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import IO, Any

from formulations.errors import SolverFailedError

GRACE_SECONDS, GRACE_SHARE = 1.0, 0.1
"""A process is killed so many seconds after its time limit, and this share of the limit: what it has found arrives until then."""

_stays_here: ContextVar[bool] = ContextVar("_stays_here", default=False)


@dataclass(frozen=True, eq=False)
class Call:
    """A function of a module, called as ``function(subject, *arguments, time_limit=..., **options)``."""

    module: str
    function: str
    subject: Any  # the large first argument. Where the answer refers to it, the parent puts its own in that place
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    time_limit: float  # seconds from `sent_at`, which is a `time.time()`
    sent_at: float
    # seconds, of the limit, for what the function does after its own limit; at most a third of what is left at its start.
    reserve: float = 0.0

    def seconds_left(self) -> float:
        """The time limit of the function if it starts now."""
        left = max(0.0, self.sent_at + self.time_limit - time.time())
        return left - min(self.reserve, left / 3)


class TimeIsOver(Exception):  # noqa: N818 (no error: the caller expects it)
    """The process was killed because its time was over."""


@contextmanager
def in_this_process() -> Iterator[None]:
    """No call in this block starts a process: for a process that is killed from outside, and where memory is measured."""
    token = _stays_here.set(True)
    try:
        yield
    finally:
        _stays_here.reset(token)


def stays_here() -> bool:
    """Whether calls are to be made in this process."""
    return _stays_here.get()


@contextmanager
def sent(given: Any) -> Iterator[IO[bytes]]:
    """A file without a name for processes: where this one imports from, and what they are given."""
    with tempfile.TemporaryFile() as file:
        pickle.dump([os.path.abspath(p) for p in sys.path if isinstance(p, str)], file)  # '' is the working directory
        pickle.dump(given, file, protocol=pickle.HIGHEST_PROTOCOL)
        file.flush()
        yield file


@contextmanager
def running(module: str, given: IO[bytes], answers: IO[bytes] | int, *arguments: str) -> Iterator[Running]:
    """A process that runs ``main()`` of a module, which begins with `received`. It is killed where the block ends.

    `given`: a file of `sent`, which is read from its beginning. `answers`: where the process writes, or ``subprocess.PIPE``.
    """
    program = (
        "import pickle, signal, sys;"
        "signal.signal(signal.SIGINT, signal.SIG_IGN);"  # Ctrl-C is left to the parent
        "sys.path[:] = pickle.load(sys.stdin.buffer);"  # only then this package can be imported
        f"from {module} import main;"
        "main()"
    )
    os.lseek(given.fileno(), 0, os.SEEK_SET)  # an earlier process has moved the shared position in the file
    with tempfile.TemporaryFile() as messages:
        command = [sys.executable, "-P", "-c", program, *arguments]
        process = subprocess.Popen(command, stdin=given, stdout=answers, stderr=messages)
        try:
            yield Running(process, messages)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


@dataclass(frozen=True, eq=False)
class Running:
    """A process, and the file of what it writes to stderr."""

    process: subprocess.Popen[bytes]
    messages: IO[bytes]

    def ended(self) -> tuple[int, bytes]:
        """Kill it if it still runs: its exit status, and what it wrote to stderr."""
        self.process.kill()
        code = self.process.wait()
        self.messages.seek(0)
        return code, self.messages.read()


def received() -> tuple[Any, IO[bytes]]:
    """What the parent has sent, and where answers go. Native engines may print to standard output, which goes nowhere."""
    die_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return pickle.load(sys.stdin.buffer), answers


def how_it_ended(code: int, messages: bytes) -> str:
    """Why a process ended without an answer, with the last line that it wrote to stderr."""
    lines = messages.decode(errors="replace").strip().splitlines()
    cause = f"ended with exit status {code}"
    if code < 0:
        cause = f"killed by signal {-code} ({signal.strsignal(-code)})"
        if -code == signal.SIGKILL:
            cause += ", perhaps because memory ran out"
    return f"{cause}: {lines[-1][:200]}" if lines else cause


def call_in_child(call: Call, subject: Any) -> Any:
    """The answer of a call that is made in a new process. `subject`: what the answer gets in the place of ``call.subject``."""
    with sent(call) as given, tempfile.TemporaryFile() as answers, running(__name__, given, answers) as child:
        if not _ends_before(child.process, call.sent_at + call.time_limit * (1 + GRACE_SHARE) + GRACE_SECONDS):
            raise TimeIsOver
        code, messages = child.ended()
        answers.seek(0)
        return _answer(answers, subject, "was " * (code < 0) + how_it_ended(code, messages))


def _ends_before(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait until the process ends or a `time.time()` is reached."""
    while process.poll() is None:
        if time.time() > deadline:
            return False
        time.sleep(0.01)
    return True


def _answer(answers: IO[bytes], subject: Any, cause: str) -> Any:
    """What the function returned or raised."""
    try:
        returned, outcome = _Unpickler(answers, subject).load()
    except (EOFError, pickle.UnpicklingError) as error:
        raise SolverFailedError(f"the process of a solve {cause}") from error
    if not returned:
        raise outcome
    return outcome


class _Pickler(pickle.Pickler):
    """Writes a reference in the place of the subject."""

    def __init__(self, file: IO[bytes], subject: Any) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.subject = subject

    def persistent_id(self, obj: Any) -> str | None:
        return "subject" if obj is self.subject else None


class _Unpickler(pickle.Unpickler):
    """Puts a subject in the place of the reference."""

    def __init__(self, file: IO[bytes], subject: Any) -> None:
        super().__init__(file)
        self.subject = subject

    def persistent_load(self, pid: str) -> Any:
        return self.subject


def main() -> None:
    """Read a call from standard input, make it, and write its outcome to standard output."""
    call, answers = received()
    outcome: tuple[bool, Any]
    try:
        outcome = True, _made(call)
    except Exception as error:
        outcome = False, error
    with answers:
        answers.write(_pickled(outcome, call.subject))


def _made(call: Call) -> Any:
    """Make the call with what is left of its time."""
    function = getattr(importlib.import_module(call.module), call.function)
    with in_this_process():
        return function(call.subject, *call.arguments, time_limit=call.seconds_left(), **call.options)


def _pickled(outcome: tuple[bool, Any], subject: Any) -> bytes:
    """The outcome as bytes; an exception that cannot be sent becomes one that says the same."""
    stream = io.BytesIO()
    try:
        _Pickler(stream, subject).dump(outcome)
        return stream.getvalue()
    except (pickle.PicklingError, TypeError, AttributeError):
        said = f"{type(outcome[1]).__name__}: {outcome[1]}"
        return pickle.dumps((False, SolverFailedError(f"the process of a solve could not send its answer ({said})")))


def die_with_parent() -> None:
    """Ask the kernel to end this process if the parent is killed, which only Linux offers."""
    if sys.platform == "linux":
        set_parent_death_signal = 1  # see prctl(2)
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
