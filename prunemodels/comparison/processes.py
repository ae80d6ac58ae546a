"""Engines one after the other: in this process, or each in a process of its own, which ends when its time is over.

A server process imports everything, which takes seconds, and reads the instance. On Linux it forks itself for each run, which
takes milliseconds; elsewhere it makes a single run itself, and the next run has another server. The server never solves where it
forks, so it has no thread of an engine, which a fork would lack.

The server's standard output has pickles, by run: `BEGUN` when the solve begins, its `Answer`, and, of a fork, how it `Ended`.
A watchdog of `faulthandler`, which needs no help of the interpreter or the engine, ends a process whose time is over.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import IO

from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from prunemodels.comparison.worker import Answer, Run, Task, solve
from solvers.child_process import command_of, die_with_parent, how_it_ended, import_path

GRACE = 5.0
"""An engine is ended this many seconds after its time limit, or a fifth of the limit if that is more."""

START_UP = 300.0
"""Seconds that a run may take for imports and compilation."""

BEGUN = "begun"
"""The message that the solve begins."""

TIMEOUT = b"Timeout ("
"""What the watchdog writes to stderr when it ends a process."""


@dataclass(frozen=True)
class Ended:
    """How the process of a run ended: its exit status, and what it wrote to stderr."""

    code: int
    messages: bytes


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
    task = Task(_without_caches(problem), time_limit, max(GRACE, time_limit / 5), START_UP)
    todo = list(runs)
    with tempfile.TemporaryFile() as sent:
        try:
            pickle.dump(import_path(), sent)
            pickle.dump(task, sent, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidInputError(f"problem cannot be sent to other processes ({error}); take isolate=False") from error
        sent.flush()
        while todo:
            yield from _of_one_server(sent, todo, task)


def _of_one_server(sent: IO[bytes], todo: list[Run], task: Task) -> Generator[Answer]:
    """The answers for the first runs of a list, as many as one server gives; these runs leave the list."""
    os.lseek(sent.fileno(), 0, os.SEEK_SET)  # the last server has moved the shared position in the file
    command = command_of(__name__, json.dumps([run.arguments() for run in todo]))
    with tempfile.TemporaryFile() as messages:
        server = subprocess.Popen(command, stdin=sent, stdout=subprocess.PIPE, stderr=messages)
        assert server.stdout is not None
        try:
            while todo and server.returncode is None:
                answer = _heard(server, messages, task)
                del todo[0]
                yield answer
        finally:
            server.kill()  # its fork dies with it
            server.wait()
            server.stdout.close()


def _heard(server: subprocess.Popen[bytes], messages: IO[bytes], task: Task) -> Answer:
    """The answer of the next run, or why there is none."""
    assert server.stdout is not None
    begun, answer, ended = False, None, None
    while ended is None:
        try:
            said = pickle.load(server.stdout)
        except (EOFError, pickle.UnpicklingError):  # the server has ended, or a fork was killed while it wrote
            server.kill()
            code = server.wait()
            messages.seek(0)
            said = Ended(code, messages.read())
        begun = begun or said == BEGUN
        answer = said if isinstance(said, Answer) else answer
        ended = said if isinstance(said, Ended) else None
    if answer is not None:
        return answer
    if TIMEOUT not in ended.messages:
        return Answer("crashed", how_it_ended(ended.code, ended.messages))
    if not begun:
        return Answer("crashed", f"killed because it had not begun to solve after {task.start_up:g} s")
    return Answer("time limit", f"killed {task.grace:.3g} s after its time limit", task.time_limit + task.grace)


def main() -> None:
    """The server."""
    die_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # native engines may print to it
    task: Task = pickle.load(sys.stdin.buffer)
    for words in json.loads(sys.argv[1]):
        if sys.platform != "linux":
            _answer(Run.of(words), task, answers)
            break
        _tell(answers, _forked(Run.of(words), task, answers))


def _forked(run: Run, task: Task, answers: IO[bytes]) -> Ended:
    """Have a fork of this process make a run, and wait for its end."""
    with tempfile.TemporaryFile() as messages:
        server, child = os.getpid(), os.fork()
        if child == 0:
            die_with_parent()
            os.dup2(messages.fileno(), 2)
            _answer_and_end(run, task, answers, server)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        messages.seek(0)
        return Ended(code, messages.read())


def _answer_and_end(run: Run, task: Task, answers: IO[bytes], server: int) -> None:
    """The fork: answer, and end without what the server has planned for its own end."""
    status = 1
    try:
        if os.getppid() == server:  # else the server was killed before this process asked to be ended with it
            _answer(run, task, answers)
            status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(status)


def _answer(run: Run, task: Task, answers: IO[bytes]) -> None:
    """Solve, under the watchdog; what is written is written whole, because the watchdog rests by then."""

    def begun() -> None:
        _end_after(math.inf)
        _tell(answers, BEGUN)
        _end_after(task.time_limit + task.grace)

    _end_after(task.start_up)
    answer = solve(run, task, begun)
    _end_after(math.inf)
    _tell(answers, answer)


def _end_after(seconds: float) -> None:
    """Have the watchdog end this process so many seconds from now; inf: never."""
    faulthandler.cancel_dump_traceback_later()
    if seconds < math.inf:
        faulthandler.dump_traceback_later(seconds, exit=True)


def _tell(answers: IO[bytes], what: object) -> None:
    pickle.dump(what, answers)
    answers.flush()
