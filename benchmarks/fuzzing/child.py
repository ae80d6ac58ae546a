"""One case in a child process with limits: an answer, a named error, another error, a signal, or no end."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXTRA_MEMORY = 2 << 30
"""Address space that a case may take beyond what this process has."""

CPU_SECONDS, SECONDS = 10, 60
"""Time of the processor, and time by the clock, until a case counts as hanging."""

PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Parameters
    ----------
    kind
        ``answer``, ``named`` (an error of ours), ``raw`` (any other exception), ``crash`` (a signal) or ``hang``.
    text
        the error's type and place, or the signal; equal for equal defects.
    answer
        what the reader returned.
    """

    kind: str
    text: str = ""
    answer: Any = None


def run_in_child(work: Callable[[], Any]) -> Outcome:
    """Fork, run `work` under the limits, and say how it ended; its answer must be made of what JSON knows."""
    sys.stdout.flush()
    sys.stderr.flush()
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        try:
            _answer(work, sender)
        finally:
            os._exit(3)
    os.close(sender)
    told, ended = _received(receiver, time.monotonic() + SECONDS)
    os.close(receiver)
    if not ended:
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if not ended or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return Outcome("hang", "no answer in time")
    if os.WIFSIGNALED(status):
        return Outcome("crash", signal.Signals(os.WTERMSIG(status)).name)
    try:
        return Outcome(**json.loads(told))
    except ValueError:
        return Outcome("crash", f"status {os.waitstatus_to_exitcode(status)} without an answer")


def _received(receiver: int, deadline: float) -> tuple[bytes, bool]:
    """All that the child wrote, and whether it ended in time."""
    parts = []
    while True:
        ready, _, _ = select.select([receiver], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b"".join(parts), False
        part = os.read(receiver, 1 << 16)
        if not part:
            return b"".join(parts), True
        parts.append(part)


def _answer(work: Callable[[], Any], sender: int) -> None:
    """In the child: limits, the work, and the outcome as JSON."""
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
        outcome = {"kind": "answer", "answer": work()}
    except PruneModelsError as error:
        outcome = {"kind": "named", "text": f"{type(error).__name__}: {error}"}
    except BaseException as error:  # this is what the fuzzer looks for
        outcome = {"kind": "raw", "text": f"{type(error).__name__} {_place(error)}"}
    with os.fdopen(sender, "wb") as out:
        out.write(json.dumps(outcome).encode())
    os._exit(0)


def _place(error: BaseException) -> str:
    """The innermost line of the package that the error passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        f
        for f in frames
        if any(f"{os.sep}{name}{os.sep}" in f.filename for name in PACKAGES) and "site-packages" not in f.filename
    ]
    if not ours:
        return "outside of the package"
    return f"at {os.sep.join(Path(ours[-1].filename).parts[-3:])}:{ours[-1].lineno} ({ours[-1].name})"
