"""Engines one after the other: in this process, or each in a process of its own, which ends when its time is over.

With the seconds go the machine, the packages that did the work, and the memory, measured by the process's high-water mark, which
is reset before the block.

A server process imports everything, which takes seconds, and reads the instance. On Linux it forks itself for each run, which
takes milliseconds; elsewhere it makes a single run itself, and the next run has another server. The server never solves where it
forks, so it has no thread of an engine, which a fork would lack.

The server's standard output has pickles, by run: `BEGUN` when the solve begins, its `Answer`, and, of a fork, how it `Ended`.
A watchdog of `faulthandler`, which needs no help of the interpreter or the engine, ends a process whose time is over.
"""

from __future__ import annotations

import faulthandler
import importlib
import math
import os
import pickle
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from formulations.answers.limited_solution import LimitedSolution, LimitedSolver
from formulations.answers.solution import Solver, StopReason
from formulations.errors import InvalidInputError, PruneModelsError, SolverFailedError
from formulations.instance.papers import two_trees
from formulations.instance.problem import PruningProblem
from solvers import SOLVERS, price_sharing
from solvers.child_process import Running, die_with_parent, how_it_ended, received, running, sent
from solvers.child_process import in_this_process as no_child_process
from solvers.within import BUDGET_SOLVERS

VERSIONS = ("prunemodels", "numpy", "numba", "scikit-learn", "ortools", "highspy", "pyomo")
"""Packages whose versions matter for the figures."""


def machine() -> str:
    """System, cores, memory, Python and the versions of `VERSIONS`, in one line."""
    parts = [f"{platform.system()} {platform.machine()}", f"{os.cpu_count()} cores"]
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf, and other systems may not know these names
        parts.append(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB")
    parts.append(f"Python {platform.python_version()}")
    for name in VERSIONS:
        with suppress(PackageNotFoundError):
            parts.append(f"{name} {version(name)}")
    return ", ".join(parts)


STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


class PeakMemory:
    """The largest resident memory while a block runs, above what the process held at its start.

    On Linux the kernel's high-water mark is reset first. Where that is impossible, only memory beyond the process's
    earlier peak is seen, so the figure may be too low.

    >>> with PeakMemory() as memory:
    ...     numbers = list(range(1_000_000))
    >>> memory.bytes is None or memory.bytes >= 0
    True
    """

    bytes: int | None = None
    """Set after the block; None where the system does not say."""

    def __enter__(self) -> Self:
        with suppress(OSError):
            RESET.write_text("5")  # see proc(5)
        self._before = high_water()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        after = high_water()
        self.bytes = None if after is None or self._before is None else after - self._before


def high_water() -> int | None:
    """The largest resident memory of this process so far, in bytes; None where the system does not say."""
    with suppress(OSError):
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


@dataclass(frozen=True)
class ComparisonParams:
    """How long engines are waited for, and what they solve before the time is measured."""

    grace: float = 5.0  # an engine is ended this many seconds after its time limit, or a fifth of the limit if that is more
    start_up: float = 300.0  # seconds that a run may take for imports and compilation
    # warm_up_lam, warm_up_budget: for the papers' two trees; the budget is inside an edge of their hull
    warm_up_lam: float = 0.1
    warm_up_budget: int = 1


PARAMS = ComparisonParams()

BEGUN = "begun"
"""The message that the solve begins."""

TIMEOUT = b"Timeout ("
"""What the watchdog writes to stderr when it ends a process."""


@dataclass(frozen=True)
class Run:
    """One engine, as `find_engine` takes it, at one lambda or one budget."""

    solver: str
    number: float | Fraction
    is_budget: bool


@dataclass(frozen=True, eq=False)
class Task:
    """The instance that every engine solves, with the time limit and all runs.

    In a process of its own an engine is ended `grace` seconds after the limit, or if no solve begins within `start_up` seconds.
    """

    problem: PruningProblem
    time_limit: float
    runs: Sequence[Run]
    grace: float = math.inf
    start_up: float = math.inf


@dataclass(frozen=True, eq=False)
class MixtureAnswer:
    """The optimum of LP1's relaxation that an engine has found, see `formulations.answers.limited_solution.LP1Relaxation`."""

    lam: Fraction
    weight: Fraction
    cheaper: NDArray[np.bool_]
    dearer: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Answer:
    """The outcome of an engine's solve: ``"solved"``, ``"refused"``, ``"crashed"`` or ``"time limit"``; `note` says why.

    `seconds` are without imports and compilation, `peak_bytes` above what the process held before, None if unknown. What follows
    has a meaning only if it was solved; `kept` is None without a pruning, `mixture` at a lambda.
    """

    outcome: str
    note: str = ""
    seconds: float = math.nan
    peak_bytes: int | None = None
    stopped: StopReason = StopReason.CONVERGED
    kept: NDArray[np.bool_] | None = None
    bound: float = math.nan
    tolerance: float = 0.0
    stats: Mapping[str, float] = field(default_factory=dict)
    method: str = ""
    mixture: MixtureAnswer | None = None


def find_engine(name: str, *, is_budget: bool = False) -> Solver | LimitedSolver:
    """An engine by its name in `SOLVERS` or, for budgets, `BUDGET_SOLVERS`; or any other as ``module:function``."""
    registry: Mapping[str, Solver | LimitedSolver] = BUDGET_SOLVERS if is_budget else SOLVERS
    if name in registry:
        return registry[name]
    module, colon, function = name.partition(":")
    if not colon:
        known = "BUDGET_SOLVERS" if is_budget else "SOLVERS"
        raise InvalidInputError(
            f"the engine {name!r} is in the {known} of another process only; name it as 'module:function', or take isolate=False"
        )
    found: Solver | LimitedSolver = getattr(importlib.import_module(module), function)
    return found


def solve(run: Run, task: Task, begun: Callable[[], object] = lambda: None) -> Answer:
    """Warm an engine up and have it solve the task; `begun` is called in between.

    An exception of the engine becomes part of the answer; only Ctrl-C is passed on.
    """
    try:
        engine = find_engine(run.solver, is_budget=run.is_budget)
        _warm_up(engine, is_budget=run.is_budget)
        begun()
        with no_child_process(), PeakMemory() as memory:
            start = time.perf_counter()
            # the protocol says float, but exact engines also take fractions
            solution = engine(task.problem, run.number, time_limit=task.time_limit)  # type: ignore[arg-type]
            seconds = time.perf_counter() - start
        answer = Answer(
            outcome="solved",
            seconds=seconds,
            peak_bytes=memory.bytes,
            stopped=solution.stopped,
            kept=None if solution.pruning is None else solution.pruning.kept,
            bound=solution.bound,
            stats=dict(solution.stats),
            method=solution.method,
        )
        if not isinstance(solution, LimitedSolution):
            return answer
        relaxed = solution.relaxation
        return replace(
            answer,
            mixture=MixtureAnswer(Fraction(relaxed.lam), Fraction(relaxed.weight), relaxed.cheaper.kept, relaxed.dearer.kept),
        )
    except KeyboardInterrupt:  # among them InterruptedSolveError
        raise
    except SolverFailedError as error:
        return Answer("crashed", str(error))
    except PruneModelsError as error:
        return Answer("refused", str(error))
    except Exception as error:
        return Answer("crashed", f"{type(error).__name__}: {error}".removesuffix(": "))


def _warm_up(engine: Solver | LimitedSolver, *, is_budget: bool = False) -> None:
    """Solve a tiny instance, so that everything is imported and compiled before the time is measured."""
    # price sharing would cut so small an instance at once, and compile no round
    options = {"small_core": 0} if engine is price_sharing else {}
    try:
        engine(two_trees(), PARAMS.warm_up_budget if is_budget else PARAMS.warm_up_lam, **options)
    except KeyboardInterrupt:
        raise
    except PruneModelsError:  # engines for a single tree refuse two
        pass


@dataclass(frozen=True)
class Ended:
    """How the process of a run ended: its exit status, and what it wrote to stderr."""

    code: int
    messages: bytes


def in_this_process(problem: PruningProblem, runs: list[Run], time_limit: float) -> Generator[Answer]:
    """Solve in this process. Each engine gets a new copy of the instance, without what earlier engines made it cache."""
    for run in runs:
        yield solve(run, Task(_without_caches(problem), time_limit, runs))


def _without_caches(problem: PruningProblem) -> PruningProblem:
    """The same instance as new: without what an engine had it cache."""
    return replace(problem, usage=replace(problem.usage))


def in_processes(problem: PruningProblem, runs: list[Run], time_limit: float) -> Generator[Answer]:
    """Solve in processes that read the instance from one file without a name, so that no file is ever left behind."""
    task, done = Task(_without_caches(problem), time_limit, runs, max(PARAMS.grace, time_limit / 5), PARAMS.start_up), 0
    with ExitStack() as files:
        try:
            given = files.enter_context(sent(task))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidInputError(f"problem cannot be sent to other processes ({error}); take isolate=False") from error
        while done < len(runs):
            for answer in _of_one_server(given, done, task):
                done += 1
                yield answer


def _of_one_server(given: IO[bytes], done: int, task: Task) -> Generator[Answer]:
    """The answers for the runs that are not yet done, as many as one server gives. A fork dies with its server."""
    with running(__name__, given, subprocess.PIPE, str(done)) as server:
        while done < len(task.runs) and server.process.returncode is None:
            yield _heard(server, task)
            done += 1


def _heard(server: Running, task: Task) -> Answer:
    """The answer of the next run, or why there is none."""
    assert server.process.stdout is not None
    begun, answer, ended = False, None, None
    while ended is None:
        try:
            said = pickle.load(server.process.stdout)
        except (EOFError, pickle.UnpicklingError):  # the server has ended, or a fork was killed while it wrote
            said = Ended(*server.ended())
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
    task, answers = received()
    for run in task.runs[int(sys.argv[1]) :]:
        if sys.platform != "linux":
            _answer(run, task, answers)
            break
        _tell(answers, _forked(run, task, answers))


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
