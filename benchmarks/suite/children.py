"""Other processes, which Ctrl-C stops without leaving halves behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import IO

PATIENCE = 5.0
"""Seconds that a child has to stop by itself, then again after it was asked to."""

STOPPED = (-signal.SIGINT, 130)
"""What a process ends with after Ctrl-C."""


def run_child(command: Sequence[str], *, stdout: IO[str] | None = None) -> None:
    """Run Python with these arguments, to its end.

    On Ctrl-C a terminal tells the child too; one that did not hear of it is asked, and killed only where that does not help, for
    a killed process cannot put away what it had begun to write.

    Raises
    ------
    CalledProcessError
        where it fails.
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
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                ask()
    finally:
        if process.poll() is None:  # a second Ctrl-C
            process.kill()
        process.wait()
