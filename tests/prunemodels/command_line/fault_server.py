"""A process that runs command lines under faults, each in a child of its own.

It imports the package and compiles the kernels once; a child is a fork, which takes a moment. It reads one JSON object a line
from stdin, and answers each with a line: the exit status, or minus the number of the signal that ended the child.

    {"words": [...], "folder": ..., "stdout": file, "stderr": file, "fault": {...}}

A fault has some of these entries:

    signal, at     send this signal when an input file is read, an output file is written, or renamed;
    count          at which of these events, the first by default
    file_size      the most bytes that a file may have, as if the disk were full
    defect         raise this text as a RuntimeError when the command has done its work, before its files are written
    close          the descriptors to close
    pipe           have stdout be a pipe that nobody reads
    encoding       of stdout, strict
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from prunemodels.command_line import cli

AT = {
    "reading": lambda event, args: event == "open" and str(args[0]).endswith(("valid.csv", "lder.skops", "breast_cancer.csv")),
    "writing": lambda event, args: event == "open" and ".partial" in str(args[0]) and "x" not in str(args[1]),
    "renaming": lambda event, args: event in ("os.link", "os.rename") and ".partial" in str(args[0]),
}
"""Audit events by the moment that they tell."""


def when(moment: str, do: Callable[[], None], count: int = 1) -> None:
    """Do something at an event of a moment: the first, or whichever."""
    seen = []

    def hook(event: str, args: Any) -> None:
        if len(seen) < count and AT[moment](event, args):
            seen.append(event)
            if len(seen) == count:
                do()

    sys.addaudithook(hook)


def prepare(task: dict[str, Any]) -> None:
    """Set up the child: its folder, its streams, and the fault."""
    fault = task["fault"]
    os.chdir(task["folder"])
    for descriptor, file in ((1, task["stdout"]), (2, task["stderr"])):
        if not isinstance(file, int):
            file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(file, descriptor)
    if fault.get("pipe"):
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)
    sys.stdout = open(1, "w", encoding=fault.get("encoding", "utf-8"), closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
    for descriptor in fault.get("close", ()):
        os.close(descriptor)
        setattr(sys, ("stdin", "stdout", "stderr")[descriptor], None)  # as Python does when it starts
    if "file_size" in fault:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault["file_size"],) * 2)
    if "signal" in fault:
        when(fault["at"], lambda: os.kill(os.getpid(), fault["signal"]), fault.get("count", 1))
    if "defect" in fault:
        with_defect(fault["defect"])


def with_defect(text: str) -> None:
    """Have the next command fail after its work."""
    whole = cli._run

    def broken(args: argparse.Namespace) -> int:
        work = args.run

        def fails(given: argparse.Namespace) -> None:
            work(given)
            raise RuntimeError(text)

        args.run = fails
        return whole(args)

    cli._run = broken


def run(task: dict[str, Any]) -> int:
    """What Python does with a program, to its end."""
    prepare(task)
    sys.argv = ["prunemodels", *task["words"]]
    try:
        status = cli.main()
    except BaseException as error:  # main may raise nothing
        os.write(2, f"main raised {error!r}\n".encode())
        return 99
    with contextlib.suppress(AttributeError):
        try:
            sys.stdout.flush()
        except OSError:
            return 120  # and a message
    return status


def serve() -> None:
    """Answer tasks until there are no more. The first are runs to warm up, in this process."""
    for line in sys.stdin:
        task = json.loads(line)
        if task.get("warm_up"):
            os.chdir(task["folder"])
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
                status = cli.main(task["words"])
            print(json.dumps([status, said.getvalue()]), flush=True)
            continue
        child = os.fork()
        if not child:
            signal.set_wakeup_fd(-1)
            os._exit(run(task))
        print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])), flush=True)


if __name__ == "__main__":
    serve()
