"""Engines for linear and integer programs that keep their time limit and heed Ctrl-C, however large the program is.

The size of a program is counted before anything is built. A small program is built and solved in this process: neither takes
much longer than a second beyond the limit. A larger one is built and solved in a process of its own, see `solvers.child_process`.
It ends at most a second and a tenth of the limit late. If it has found nothing by then, the answer is what is known without it.
Python handles signals between its own instructions only, so a native solve in this process runs in a thread: `interruptible`.

NWS15 bounds the size at the end of section 4, for IP3 with T trees of at most |T_max| nodes and |L_max| leaves, N examples, K
features of which an example meets at most K_max in a tree; here items take the place of features:

    columns  <=  T |T_max| + N T K_max + N min(T K_max, K)                                                     (1)
    rows     <=  T |L_max| + 2 N T K_max                                                                       (2)
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from formulations.arguments import checked
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.instance.usage_arcs import count_arcs
from formulations.long_steps import interruption_as_error
from formulations.programs.columns import items_above, naive_columns, usage_columns
from formulations.programs.matrix import MATRICES, evaluation_above
from solvers.child_process import Call, TimeIsOver, call_in_child, stays_here


@dataclass(frozen=True)
class Size:
    """Rows, columns and nonzeros of a constraint matrix."""

    rows: int
    columns: int
    nonzeros: int


def model_size(problem: PruningProblem, formulation: str, *, merge: bool = False) -> Size:
    """The size that a formulation's matrix would have. Arcs are listed only with `merge`."""
    if formulation not in MATRICES:
        raise InvalidInputError(f"there is no formulation {formulation!r}; there are {', '.join(MATRICES)}")
    ensemble = problem.ensemble
    leaf_depth = ensemble.depth[~ensemble.is_split]
    leaves, nodes, cut = leaf_depth.size, ensemble.n_nodes, int(leaf_depth.sum()) + leaf_depth.size
    if formulation == "IP0":
        return Size(leaves, nodes, cut)
    arcs, on_paths, purchases = _counts(problem, formulation, merge=merge)
    below = int((ensemble.parent[problem.splits] >= 0).sum())
    budget = purchases + int(np.count_nonzero(evaluation_above(problem)))
    return {
        "IP1": Size(leaves + arcs, nodes + purchases, cut + 2 * arcs),
        "IP2": Size(leaves + arcs, nodes + purchases, cut + on_paths + arcs),
        "IP3": Size(leaves + 2 * arcs, nodes + arcs + purchases, cut + on_paths + 3 * arcs),
        "LP1": Size(leaves + 2 * arcs + 1, nodes + arcs + purchases, cut + on_paths + 3 * arcs + budget),
        "closure": Size(below + arcs, ensemble.n_splits + purchases, 2 * below + 2 * arcs),
    }[formulation]


@checked
def nws15_bound(problem: PruningProblem) -> tuple[int, int]:
    """The most rows and columns that IP3 of a forest of this size has, by NWS15's complexity paragraph (end of section 4).

    Raises
    ------
    InvalidInputError
        for items that are paid once for all rows, which the paper does not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.programs.nws15_bound(pm.datasets.two_trees())
    (16, 21)
    """
    if problem.costs.paid_once[problem.usage.charges.item].any():
        raise InvalidInputError("the problem has items that are paid once for all rows, for which NWS15 states no bound")
    ensemble, n_rows, n_items = problem.ensemble, problem.n_rows, len(np.unique(problem.usage.charges.item))
    trees, reached = ensemble.n_trees, problem.routing.counts() > 0
    met = np.diff(items_above(problem)[0].start)
    most = int(met[reached].max(initial=0))
    nodes = int(np.diff(ensemble.tree_start).max())
    leaves = int(np.bincount(ensemble.tree_of, weights=~ensemble.is_split).max())
    return trees * leaves + 2 * n_rows * trees * most, trees * nodes + n_rows * trees * most + n_rows * min(trees * most, n_items)


@checked
def size_report(problem: PruningProblem) -> pd.DataFrame:
    """Sizes of all formulations that the instance has, merged and not; `nws15_bound` bounds those of IP3.

    Returns
    -------
    DataFrame
        formulation, merged, rows, columns, nonzeros.

    Examples
    --------
    >>> import prunemodels as pm
    >>> print(pm.programs.size_report(pm.datasets.two_trees()).head(4).to_string(index=False))
    formulation  merged  rows  columns  nonzeros
            IP0   False     7       12        20
            IP1   False    13       15        32
            IP1    True    13       15        32
            IP3   False    15       19        38
    """
    report = []
    for name in MATRICES:
        if name == "IP2" and problem.ensemble.n_trees > 1:
            continue
        for merge in (False, True) if name != "IP0" else (False,):
            size = model_size(problem, name, merge=merge)
            report.append((name, merge, size.rows, size.columns, size.nonzeros))
    return pd.DataFrame(report, columns=["formulation", "merged", "rows", "columns", "nonzeros"])


def _counts(problem: PruningProblem, formulation: str, *, merge: bool) -> tuple[int, int, int]:
    """Arcs of a formulation, the nodes at and above their ends, and its purchase variables; unmerged ones from ranges of rows."""
    ensemble, naive = problem.ensemble, formulation == "IP1"
    if merge:
        columns = (naive_columns if naive else usage_columns)(problem, merge=True)
        on_paths = int((ensemble.depth[columns.node].astype(np.int64) + 1).sum())
        return columns.node.size, on_paths, columns.n_columns
    charges = items_above(problem)[0] if naive else problem.usage.charges
    per_node = count_arcs(charges, problem.routing, problem.costs.paid_once)
    needed = problem.usage.highest_user(problem.splits, np.zeros(ensemble.n_nodes, dtype=np.int32)) >= 0
    return int(per_node.sum()), int((per_node * (ensemble.depth + 1)).sum()), int(needed.sum())


Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Given = dict[str, Any]
"""The arguments of a call by name, defaults among them."""

MOST_NONZEROS = 300_000
"""Nonzeros of a program that is solved in this process; on larger ones engines overrun their limits by seconds."""

MOST_PYOMO_NONZEROS = 30_000
"""The same for a Pyomo model, which is built, and handed to HiGHS, by Python objects one by one."""

RESERVE_SECONDS = 5.0
"""Seconds for each million nonzeros that a process keeps for an engine's overrun and for rounding what it found."""


GRACE_SECONDS = 3.0
"""Seconds to wait for a cancelled solve to end."""


def stoppable(
    nonzeros: Callable[[Given], int], most: int, unsolved: Callable[[Given, float], Answer]
) -> Callable[[Callable[Arguments, Answer]], Callable[Arguments, Answer]]:
    """A decorator for engines, functions of a module whose first argument is an instance or a program.

    Parameters
    ----------
    nonzeros
        the size of the program, from the arguments.
    most
        nonzeros up to which the engine runs in this process.
    unsolved
        the answer where nothing was found in time, from the arguments and the seconds that it took.
    """

    def decorated(engine: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
        signature, name = inspect.signature(engine), engine.__name__

        @wraps(engine)
        def stopped_in_time(*args: Arguments.args, **options: Arguments.kwargs) -> Answer:
            call = signature.bind(*args, **options)
            call.apply_defaults()
            given = dict(call.arguments)
            with interruption_as_error(f"while {name} was solving"):
                size = 0 if stays_here() else nonzeros(given)
                return engine(*args, **options) if size <= most else _apart(engine, given, size, unsolved)

        return stopped_in_time

    return decorated


def program_nonzeros(given: Given) -> int:
    """Nonzeros of the formulation of an instance, LP1 where none is named; 0 for what the engine is going to refuse."""
    formulation = given.get("formulation", "LP1")
    return model_size(given["problem"], formulation).nonzeros if formulation in MATRICES else 0


def linear_nonzeros(given: Given) -> int:
    """Nonzeros of a linear or integer program."""
    return int(given["lp"].matrix.nnz)


def check_time_limit(time_limit: float) -> float:
    """The seconds as a float >= 0; a limit that is negative or nan is refused."""
    if not time_limit >= 0:
        raise InvalidInputError(f"time_limit is {time_limit!r} seconds; it must be 0 or more, math.inf for none")
    return float(time_limit)


def _apart(engine: Callable[..., Answer], given: Given, size: int, unsolved: Callable[[Given, float], Answer]) -> Answer:
    """The engine's answer from a process of its own."""
    started, limit = time.time(), check_time_limit(given["time_limit"])
    rest = {name: value for name, value in given.items() if name != "time_limit"}
    (_, subject), *others = rest.items()
    positional = {
        p.name for p in inspect.signature(engine).parameters.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    }
    arguments = tuple(value for name, value in others if name in positional)
    options = {name: value for name, value in others if name not in positional}
    reserve = RESERVE_SECONDS * size / 1e6
    call = Call(engine.__module__, engine.__name__, _without_rows(subject), arguments, options, limit, started, reserve)
    try:
        if limit > 0:
            answer: Answer = call_in_child(call, subject)
            return answer
    except TimeIsOver:
        pass
    return unsolved(given, time.time() - started)


def _without_rows(subject: Any) -> Any:
    """An instance without the features of its rows and without what engines had it cache; programs need the routes only."""
    if not isinstance(subject, PruningProblem):
        return subject
    return replace(subject, usage=replace(subject.usage, X=None))


def interruptible(solve: Callable[[], None], cancel: Callable[[], object], engine: str) -> None:
    """Run `solve` in a thread, wait for it, and raise what it raises; on Ctrl-C call `cancel` and raise InterruptedSolveError.

    `solve` must release the interpreter's lock while it works. If it takes more than `GRACE_SECONDS` to end after Ctrl-C, it goes
    on in its thread, which does not keep the process alive.
    """
    failure: list[BaseException] = []
    # not Thread.join: in Python 3.11 and 3.12 an interrupted join treats the thread as ended
    ended = threading.Event()

    def work() -> None:
        try:
            solve()
        except BaseException as error:
            failure.append(error)
        finally:
            ended.set()

    try:
        threading.Thread(target=work, name=engine, daemon=True).start()
        while not ended.wait(0.1):
            pass
    except KeyboardInterrupt as stop:
        cancel()
        ended.wait(GRACE_SECONDS)
        raise InterruptedSolveError(f"interrupted while {engine} was solving; nothing was changed") from stop
    if failure:
        raise failure[0]
