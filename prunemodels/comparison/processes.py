"""Engines one after the other: in this process, or each in a process of its own, which is killed when its time is over.

On Linux these processes are forks of one that has imported everything (`prunemodels.comparison.fork_server`).
"""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import replace
from typing import IO

from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from prunemodels.comparison.fork_server import ForkServer
from prunemodels.comparison.worker import Answer, Run, Task, solve
from solvers.child_process import command_of, how_it_ended, import_path

GRACE = 5.0
"""An engine is killed this many seconds after its time limit, or a fifth of the limit if that is more."""

START_UP = 300.0
"""Seconds that a process may take for imports and compilation."""

POLL = 0.02
"""Seconds between two looks at a running process."""


def in_this_process(problem: PruningProblem, runs: list[Run], time_limit: float) -> Generator[Answer]:
    """Solve in this process. Each engine gets a new copy of the instance, without what earlier engines made it cache."""
    for run in runs:
        yield solve(run, Task(_without_caches(problem), time_limit))


def _without_caches(problem: PruningProblem) -> PruningProblem:
    """The same instance as new: without what an engine had it cache."""
    return replace(problem, usage=replace(problem.usage))


def in_processes(problem: PruningProblem, runs: list[Run], time_limit: float) -> Generator[Answer]:
    """Solve in processes that read the instance from one file without a name, so that no file is ever left behind.

    Raises
    ------
    InvalidInputError
        for an instance that cannot be pickled.
    """
    with (
        tempfile.TemporaryFile() as tasks,
        tempfile.TemporaryFile(buffering=0) as answers,
        tempfile.TemporaryFile(buffering=0) as messages,
    ):
        try:
            pickle.dump(import_path(), tasks)
            pickle.dump(Task(_without_caches(problem), time_limit), tasks, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidInputError(f"problem cannot be sent to other processes ({error}); take isolate=False") from error
        tasks.flush()
        way = ForkServer if sys.platform == "linux" else NewProcesses
        with closing(way(tasks, answers, messages)) as starter:
            for run in runs:
                for file in (answers, messages):  # the processes write where the position is, which they share
                    file.truncate(0)
                    file.seek(0)
                starter.start(run)
                over = _wait(starter, answers, time_limit)
                if over is not None:
                    starter.end()
                cause = how_it_ended(starter.returncode or 0, _content(messages))
                yield _last_answer(_content(answers)) or over or Answer("crashed", cause)


class NewProcesses:
    """A new process for each run, which imports everything anew; methods as those of `ForkServer`."""

    def __init__(self, tasks: IO[bytes], answers: IO[bytes], messages: IO[bytes]) -> None:
        self._tasks, self._answers, self._messages = tasks, answers, messages
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def returncode(self) -> int | None:
        """The exit status of the last process."""
        return None if self._process is None else self._process.returncode

    def start(self, run: Run) -> None:
        """Begin a process for a run."""
        os.lseek(self._tasks.fileno(), 0, os.SEEK_SET)  # the last process has moved the shared position in the file
        command = command_of("prunemodels.comparison.worker", *run.arguments())
        self._process = subprocess.Popen(command, stdin=self._tasks, stdout=self._answers, stderr=self._messages)

    def ended(self, seconds: float) -> bool:
        """Whether the process ends within some seconds."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    close = end


def _wait(starter: ForkServer | NewProcesses, answers: IO[bytes], time_limit: float) -> Answer | None:
    """Wait until the process ends or has used up its time, which counts from the beginning of the solve."""
    start, begun = time.perf_counter(), False
    grace = max(GRACE, time_limit / 5)
    while not starter.ended(POLL):
        if not begun and os.fstat(answers.fileno()).st_size:
            start, begun = time.perf_counter(), True
        seconds = time.perf_counter() - start
        if begun and seconds > time_limit + grace:
            return Answer("time limit", f"killed {seconds - time_limit:.3g} s after its time limit", seconds)
        if not begun and seconds > START_UP:
            return Answer("crashed", f"killed because it had not begun to solve after {START_UP:g} s")
    return None


def _content(file: IO[bytes]) -> bytes:
    """All that a file holds."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def _last_answer(pickles: bytes) -> Answer | None:
    """The answer at the end of what a process wrote; None if it wrote none."""
    stream, last = io.BytesIO(pickles), None
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            last = pickle.load(stream)
    return last if isinstance(last, Answer) else None
