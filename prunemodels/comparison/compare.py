"""Several engines on one instance and one lambda: what each finds and proves, in what time and memory.

The engines run one after the other, each in a process of its own. Peak memory is then that of the engine, a crash ends nothing
else, and a time limit also holds for engines that never look at the clock. An engine returns a pruning and a bound; value, cost
and error are computed here, from the instance.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from typing import IO, Any

import pandas as pd
from tqdm import tqdm

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solution
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from prunemodels.comparison.worker import BOOTSTRAP, Answer, Task, solve
from solvers import SOLVERS

TYPES: dict[str, str] = {
    "solver": "str",
    "status": "str",
    "stopped": "str",
    "method": "str",
    "value": "float64",
    "bound": "float64",
    "gap": "float64",
    "relative_gap": "float64",
    "integral": "boolean",
    "splits": "Int64",
    "cost": "float64",
    "error": "float64",
    "seconds": "float64",
    "peak_memory_mb": "float64",
    "iterations": "float64",
    "nodes": "float64",
    "note": "str",
}
"""The columns of the table and their types."""

GRACE = 5.0
"""An engine is killed this many seconds after its time limit, or a fifth of the limit if that is more."""

START_UP = 300.0
"""Seconds that a process may take for imports and compilation."""

POLL = 0.02
"""Seconds between two looks at a running process."""

ROUNDING = 1e-9
"""The excess of a bound over a value that rounding explains, relative to the error of the all-roots forest."""


def compare(
    problem: PruningProblem,
    lam: float | Fraction,
    solvers: Sequence[str] | None = None,
    *,
    time_limit: float = math.inf,
    isolate: bool = True,
    progress: bool = False,
) -> pd.DataFrame:
    """Run several engines on one instance and one lambda.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    solvers
        names in `SOLVERS`, or ``"module:function"`` for an engine of your own that can be imported. Default: all of `SOLVERS`.
    time_limit
        seconds for each engine. One that has not returned 5 s (or a fifth of the limit) later is killed.
    isolate
        run every engine in a process of its own, which adds about a second each. False: run all in this process; then no engine
        can be killed, a crash ends this process, and memory that was freed earlier and is used again is not counted.
    progress
        show on stderr which engine is running.

    Returns
    -------
    DataFrame
        One row an engine, in the order asked for. ``status``: optimal, feasible or unknown as in `Solution`; ``refused``,
        ``crashed`` or ``time limit`` (killed) where there is no answer, and ``note`` says why. ``method``: the engine that gave
        the answer, see `Solution`. ``integral``: whether the engine's own point was, before any rounding; <NA> without a point.
        ``seconds``: of the solve, after a warm-up on a tiny instance. ``peak_memory_mb``: 10^6 bytes above what the process held
        before the solve. Numbers that an engine does not have are NaN. A bound above the value of some engine's pruning is
        wrong, and ``note`` says so.

    Raises
    ------
    InvalidInputError
        for unknown names or none, a negative lambda or time limit, and an instance that cannot be pickled.
    InterruptedSolveError
        on Ctrl-C; the running process is ended.
    """
    names = check_solvers(solvers)
    exact(lam, "lam")
    if not time_limit >= 0:
        raise InvalidInputError(f"time_limit is {time_limit!r}; give seconds >= 0, or math.inf")
    run = _in_processes if isolate else _in_this_process
    answers, name = [], names[0]
    try:
        with (
            tqdm(total=len(names), bar_format="{desc}", leave=False, disable=not progress, file=sys.stderr) as bar,
            closing(run(problem, lam, time_limit, names)) as results,
        ):
            for k, name in enumerate(names):
                bar.set_description_str(f"running {name} ({k + 1} of {len(names)})")
                answers.append(next(results))
    except InterruptedSolveError:
        raise
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError(f"interrupted while {name} was solving; nothing was changed") from stop
    rows = [_row(problem, lam, name, answer) for name, answer in zip(names, answers, strict=True)]
    _note_wrong_bounds(rows, Pruning.all_roots(problem).error)
    return pd.DataFrame(rows, columns=list(TYPES)).astype(TYPES)


def check_solvers(solvers: Sequence[str] | None) -> list[str]:
    """The names of the engines to run; all of `SOLVERS` if None.

    Raises
    ------
    InvalidInputError
        for unknown names, and for none.
    """
    if isinstance(solvers, str):
        raise InvalidInputError(f"solvers is the text {solvers!r}; give a list of names: [{solvers!r}]")
    names = list(SOLVERS if solvers is None else solvers)
    if not names:
        raise InvalidInputError(f"solvers is empty; name at least one of {', '.join(SOLVERS)}")
    for name in names:
        if not isinstance(name, str) or (name not in SOLVERS and ":" not in name):
            raise InvalidInputError(f"there is no solver {name!r}; there are {', '.join(SOLVERS)}")
    return names


def _in_this_process(problem: PruningProblem, lam: float | Fraction, time_limit: float, names: list[str]) -> Generator[Answer]:
    """Solve in this process. Each engine gets a new copy of the instance, without what earlier engines made it cache."""
    for name in names:
        yield solve(name, Task(_without_caches(problem), lam, time_limit))


def _without_caches(problem: PruningProblem) -> PruningProblem:
    """The same instance as new: without what an engine had it cache."""
    return replace(problem, usage=replace(problem.usage))


def _in_processes(problem: PruningProblem, lam: float | Fraction, time_limit: float, names: list[str]) -> Generator[Answer]:
    """Solve in processes that read the instance from one file without a name, so that no file is ever left behind."""
    path = [os.path.abspath(p) for p in sys.path if isinstance(p, str)]  # '' is the working directory
    with tempfile.TemporaryFile() as tasks:
        try:
            pickle.dump(path, tasks)
            pickle.dump(Task(_without_caches(problem), lam, time_limit), tasks, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidInputError(f"problem cannot be sent to other processes ({error}); take isolate=False") from error
        tasks.flush()
        for name in names:
            yield _solve_in_process(name, tasks, time_limit)


def _solve_in_process(name: str, tasks: IO[bytes], time_limit: float) -> Answer:
    """Have a new process solve the task."""
    os.lseek(tasks.fileno(), 0, os.SEEK_SET)  # the last process has moved the shared position in the file
    with tempfile.TemporaryFile(buffering=0) as answers, tempfile.TemporaryFile(buffering=0) as messages:
        process = subprocess.Popen([sys.executable, "-P", "-c", BOOTSTRAP, name], stdin=tasks, stdout=answers, stderr=messages)
        try:
            killed = _wait(process, answers, time_limit)
        finally:
            process.kill()
            process.wait()
        answers.seek(0)
        messages.seek(0)
        return _last_answer(answers.read()) or killed or Answer("crashed", _cause(process.returncode, messages.read()))


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


def _cause(code: int, messages: bytes) -> str:
    """Why a process ended without an answer, with the last line that it wrote to stderr."""
    lines = messages.decode(errors="replace").strip().splitlines()
    cause = f"ended with exit status {code}"
    if code < 0:
        cause = f"killed by signal {-code} ({signal.strsignal(-code)})"
        if -code == signal.SIGKILL:
            cause += ", perhaps because memory ran out"
    return f"{cause}: {lines[-1][:200]}" if lines else cause


def _row(problem: PruningProblem, lam: float | Fraction, name: str, answer: Answer) -> dict[str, Any]:
    """One engine's row; only bound, seconds and counts are taken from its answer."""
    row: dict[str, Any] = {"solver": name, "status": answer.outcome, "stopped": "", "method": answer.method, "note": answer.note}
    row["seconds"] = answer.seconds
    if answer.outcome != "solved":
        return row
    try:
        pruning = None if answer.kept is None else Pruning(problem, answer.kept)
    except InvalidInputError as error:
        return row | {"status": "crashed", "note": f"the engine returned something that is not a pruning: {error}"}
    value = math.inf if pruning is None else pruning.value(float(lam))
    solution = Solution(problem, lam, pruning, value, answer.bound, answer.stopped, answer.tolerance)
    row |= {"status": str(solution.status), "stopped": str(solution.stopped), "value": value, "bound": answer.bound}
    row |= {"gap": solution.gap, "relative_gap": solution.relative_gap, "integral": _integral(answer)}
    if answer.peak_bytes is not None:
        row["peak_memory_mb"] = answer.peak_bytes / 1e6
    if pruning is not None:
        row |= {"splits": pruning.n_splits, "cost": pruning.cost, "error": pruning.error}
    return row | {name: answer.stats[name] for name in ("iterations", "nodes") if name in answer.stats}


def _integral(answer: Answer) -> bool | None:
    """Whether the engine's own point was integral; None without a point."""
    if "integral" in answer.stats:
        return bool(answer.stats["integral"])
    # engines for linear programs report `columns`; their pruning need not come from the program's point
    return None if answer.kept is None or "columns" in answer.stats else True


def _note_wrong_bounds(rows: list[dict[str, Any]], scale: float) -> None:
    """Note bounds that are above the value of a pruning that some engine found."""
    valued = [row for row in rows if math.isfinite(row.get("value", math.nan))]
    if not valued:
        return
    best = min(valued, key=lambda row: float(row["value"]))
    for row in rows:
        if row.get("bound", -math.inf) > best["value"] + ROUNDING * max(scale, abs(best["value"])):
            whose = "its own pruning" if row is best else f"the pruning of {best['solver']}"
            row["note"] = f"wrong bound: {row['bound']:.9g} is above {best['value']:.9g}, the value of {whose}"
