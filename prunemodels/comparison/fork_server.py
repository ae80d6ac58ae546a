"""A process that has imported everything, and forks itself for each engine: an import takes seconds, a fork milliseconds.

`ForkServer` is the parent's side, `main` the server's. The server reads two pickles from its standard input, ``sys.path`` and a
`Task`. Then each line of its first pipe has the arguments of a `Run`. For each it forks, writes the number of the new process to
its second pipe, waits until that process has ended, and writes its exit status.

The server itself never solves, so it has no thread of an engine, which a fork would lack. It is for Linux alone, where a new
process can ask to be ended with its parent.
"""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import IO

from prunemodels.comparison.worker import Run, Task, own_stdout, write_answer
from solvers.child_process import command_of, die_with_parent


class ForkServer:
    """The server, and the process that it has forked last.

    Parameters
    ----------
    tasks
        a file with the two pickles.
    answers, messages
        files to which the forked processes write: `write_answer`, and what they say on stderr.
    """

    def __init__(self, tasks: IO[bytes], answers: IO[bytes], messages: IO[bytes]) -> None:
        self._tasks, self._answers, self._messages = tasks, answers, messages
        self._server: subprocess.Popen[bytes] | None = None
        self._pipes: tuple[int, int] = (-1, -1)
        self._heard = b""
        self.returncode: int | None = None

    def start(self, run: Run) -> None:
        """Have the server fork a process for a run; a server that has ended is replaced."""
        self._heard, self.returncode = b"", None
        if self._server is None or self._server.poll() is not None:
            self.end()
            self._begin()
        with suppress(BrokenPipeError):  # the server has ended, which `ended` tells
            os.write(self._pipes[0], json.dumps(run.arguments()).encode() + b"\n")

    def _begin(self) -> None:
        requests, own_requests = os.pipe()
        own_replies, replies = os.pipe()
        os.lseek(self._tasks.fileno(), 0, os.SEEK_SET)  # the last server has moved the shared position in the file
        self._server = subprocess.Popen(
            command_of(__name__, str(requests), str(replies)),
            stdin=self._tasks,
            stdout=self._answers,
            stderr=self._messages,
            pass_fds=(requests, replies),
        )
        os.close(requests)
        os.close(replies)
        self._pipes = own_requests, own_replies

    def ended(self, seconds: float) -> bool:
        """Whether the forked process, or the server, ends within some seconds; `returncode` is then its exit status."""
        assert self._server is not None
        if self.returncode is None and select.select([self._pipes[1]], [], [], seconds)[0]:
            heard = os.read(self._pipes[1], 4096)
            self._heard += heard
            if not heard:
                self.returncode = self._server.wait()
            elif self._heard.count(b"\n") == 2:
                self.returncode = int(self._heard.split()[1])
        return self.returncode is not None

    def end(self) -> None:
        """End the forked process, if it still runs, and the server."""
        if self._server is None:
            return
        if not self.ended(0.0) and b"\n" in self._heard:
            with suppress(ProcessLookupError):
                os.kill(int(self._heard.split()[0]), signal.SIGKILL)
        self._server.kill()
        self._server.wait()
        self._server = None
        for pipe in self._pipes:
            os.close(pipe)

    close = end


def main() -> None:
    """Fork for every run that is asked for, until the parent closes the pipe."""
    die_with_parent()
    requests, replies = (int(word) for word in sys.argv[1:])
    answers = own_stdout()
    task: Task = pickle.load(sys.stdin.buffer)
    with os.fdopen(requests) as lines:
        for line in lines:
            child = os.fork()
            if child == 0:
                _solve_and_end(Run.of(json.loads(line)), task, answers)
            os.write(replies, f"{child}\n".encode())
            _, status = os.waitpid(child, 0)
            os.write(replies, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _solve_and_end(run: Run, task: Task, answers: IO[bytes]) -> None:
    """The forked process: solve, answer, and end without what the server has planned for its own end."""
    server = os.getppid()
    die_with_parent()
    status = 1
    try:
        if os.getppid() == server:  # else the server was killed before this process asked to be ended with it
            write_answer(run, task, answers)
            status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(status)
