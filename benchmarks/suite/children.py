"""Child processes, which Ctrl-C stops without leaving partial files."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import IO

GRACE_SECONDS = 5.0
"""Seconds that a child has to stop by itself, and again after it was asked to."""

STOPPED = (-signal.SIGINT, 130)
"""Exit statuses of a process after Ctrl-C."""


def run_child(command: Sequence[str], *, stdout: IO[str] | None = None) -> None:
    """Run Python with these arguments and wait for its end.

    On Ctrl-C a terminal signals the child too. A child that did not get the signal is asked to stop. It is killed only if it
    does not, since a killed process cannot remove files that it has begun to write.

    Raises
    ------
    CalledProcessError
        if it fails.
    KeyboardInterrupt
        on Ctrl-C, whichever of the two processes it reached.
    """
    arguments = [sys.executable, *command]
    process = subprocess.Popen(arguments, stdout=stdout)
    try:
        status = process.wait()
    except KeyboardInterrupt:
        _stop(process)
        raise
    if status in STOPPED:
        raise KeyboardInterrupt
    if status:
        raise subprocess.CalledProcessError(status, arguments)


def _stop(process: subprocess.Popen[bytes]) -> None:
    try:
        for ask in (process.terminate if sys.platform == "win32" else lambda: process.send_signal(signal.SIGINT), process.kill):
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                ask()
    finally:
        if process.poll() is None:  # a second Ctrl-C
            process.kill()
        process.wait()
