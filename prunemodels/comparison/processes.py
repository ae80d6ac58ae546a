"""Engines one after the other: in this process, or each in a process of its own, which is killed when its time is over."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from typing import IO

from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
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
    with tempfile.TemporaryFile() as tasks:
        try:
            pickle.dump(import_path(), tasks)
            pickle.dump(Task(_without_caches(problem), time_limit), tasks, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidInputError(f"problem cannot be sent to other processes ({error}); take isolate=False") from error
        tasks.flush()
        for run in runs:
            yield _solve_in_process(run, tasks, time_limit)


def _solve_in_process(run: Run, tasks: IO[bytes], time_limit: float) -> Answer:
    """Have a new process solve the task."""
    os.lseek(tasks.fileno(), 0, os.SEEK_SET)  # the last process has moved the shared position in the file
    with tempfile.TemporaryFile(buffering=0) as answers, tempfile.TemporaryFile(buffering=0) as messages:
        command = command_of("prunemodels.comparison.worker", *run.arguments())
        process = subprocess.Popen(command, stdin=tasks, stdout=answers, stderr=messages)
        try:
            killed = _wait(process, answers, time_limit)
        finally:
            process.kill()
            process.wait()
        answers.seek(0)
        messages.seek(0)
        return _last_answer(answers.read()) or killed or Answer("crashed", how_it_ended(process.returncode, messages.read()))


def _wait(process: subprocess.Popen[bytes], answers: IO[bytes], time_limit: float) -> Answer | None:
    """Wait until the process ends or has used up its time, which counts from the beginning of the solve."""
    start, begun = time.perf_counter(), False
    grace = max(GRACE, time_limit / 5)
    while process.poll() is None:
        time.sleep(POLL)
        if not begun and os.fstat(answers.fileno()).st_size:
            start, begun = time.perf_counter(), True
        seconds = time.perf_counter() - start
        if begun and seconds > time_limit + grace:
            return Answer("time limit", f"killed {seconds - time_limit:.3g} s after its time limit", seconds)
        if not begun and seconds > START_UP:
            return Answer("crashed", f"killed because it had not begun to solve after {START_UP:g} s")
    return None


def _last_answer(pickles: bytes) -> Answer | None:
    """The answer at the end of what a process wrote; None if it wrote none."""
    stream, last = io.BytesIO(pickles), None
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            last = pickle.load(stream)
    return last if isinstance(last, Answer) else None
