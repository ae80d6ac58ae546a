"""Solves in a process of their own: limits, Ctrl-C, and answers that come back."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import InvalidInputError, PruningProblem, SolverFailedError, StopReason
from formulations.instance.papers import two_trees
from formulations.programs.matrix import model_size
from proofs_checks import check_solution
from solvers import SOLVERS, child_process, pruning_path
from solvers.child_process import Call, TimeIsOver, call_in_child, in_this_process, stays_here
from solvers.closures.cut import FlowNetwork
from solvers.column_generation import PLAIN, dantzig_wolfe
from solvers.column_generation.pricing import TreePricing
from solvers.path import decomposition
from solvers.path.closure_path import closure_path
from solvers.price_sharing import price_sharing
from solvers.price_sharing.run import Run
from solvers.primal_dual import algorithm, primal_dual
from solvers.programs import engines
from solvers.programs.engines import PARAMS
from solvers.programs.highs import highs
from solvers.within import BUDGET_SOLVERS, by_path, solve_lp1
from tests.instances import random_grid
from tests.loops import looped
from tests.solvers.cases import ends_by_ctrl_c, instance, twin_stumps
from tests.solvers.programs.test_engines import big

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads a process's children from /proc")


def forest_and_rows(n_trees: int = 20, n_rows: int = 400) -> tuple[RandomForestClassifier, np.ndarray, np.ndarray]:
    """A forest of full trees, and rows that it was not grown on."""
    X, y = make_classification(2000 + n_rows, 20, n_informative=10, random_state=0)
    return RandomForestClassifier(n_trees, random_state=0).fit(X[:2000], y[:2000]), X[2000:], y[2000:]


@cache
def large() -> PruningProblem:
    """An instance whose programs no engine solves within seconds."""
    forest, X, _ = forest_and_rows()
    return pm.problem_from_forest(forest, X, costs=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["highs_ip1", "highs_ip3", "pdlp_ip3", "pyomo_closure"])
def test_an_engine_without_an_answer_in_time_still_has_a_bound(name: str) -> None:
    """It stops at the limit with the best pruning free of charge, a bound that holds, and its name."""
    solution = SOLVERS[name](large(), 0.001, time_limit=0.2)
    assert solution.stopped is StopReason.TIME_LIMIT
    assert solution.method in ("integer_program", "linear_program", "pyomo_highs")
    assert solution.bound <= pm.solve(large(), lam=0.001).value <= solution.value
    assert check_solution(large(), solution).holds
    assert "rows" not in solution.stats, "the program was built, so nothing was stopped"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["highs_lp1", "pyomo_lp1", "highs_lp1_integer"])
def test_a_budget_engine_without_an_answer_in_time_still_has_a_bound(name: str) -> None:
    """The same within a budget: no pruning within it is better than the bound."""
    solution = BUDGET_SOLVERS[name](large(), 5, time_limit=0.2)
    assert solution.stopped is StopReason.TIME_LIMIT
    assert solution.bound <= pm.solve(large(), budget=5, method="path").error <= solution.error
    assert solution.cost <= 5


@pytest.mark.slow
def test_a_process_of_its_own_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pruning, value, bound and certificate are those that the engine finds in this process."""
    forest, X, _ = forest_and_rows(8, 800)
    problem, called = pm.problem_from_forest(forest, X, costs=1.0), []
    plain = engines.call_in_child

    def counted(*args: object) -> object:
        called.append(args)
        return plain(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(engines, "call_in_child", counted)
    assert model_size(problem, "IP3").nonzeros > PARAMS.most_nonzeros
    with in_this_process():
        here = SOLVERS["highs_ip3"](problem, 0.01)
    assert not called
    there = SOLVERS["highs_ip3"](problem, 0.01, time_limit=1000.0)
    assert len(called) == 1
    assert there.problem is problem
    assert there.pruning.problem is problem
    np.testing.assert_array_equal(there.pruning.kept, here.pruning.kept)
    assert (there.value, there.bound, there.stopped) == (here.value, here.bound, here.stopped)
    assert check_solution(problem, there).holds


@pytest.mark.parametrize("limit", [-1.0, math.nan])
def test_a_limit_that_is_none_is_refused(limit: float) -> None:
    """Also where the program is large, before a process is started."""
    with pytest.raises(InvalidInputError, match="time_limit is"):
        SOLVERS["highs_ip3"](large(), 0.001, time_limit=limit)


@pytest.mark.slow
def test_a_program_without_an_answer_in_time() -> None:
    """An engine for programs keeps its limit too: an answer without a point, and a bound that claims nothing."""
    answer = highs(big(900), time_limit=0.2)
    assert (answer.stopped, answer.x, answer.bound) == (StopReason.TIME_LIMIT, None, -math.inf)


@pytest.mark.slow
@linux
@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        pytest.param("pyomo_ip3", 3.0, id="pyomo_ip3, building"),
        pytest.param("pdlp_ip3", 3.0, id="pdlp_ip3, solving"),
        *(pytest.param(name, 3.0, marks=pytest.mark.slow) for name in ("highs_ip1", "highs_ip3", "glop_ip3", "pyomo_ip1")),
        *(pytest.param(name, 0.1, marks=pytest.mark.slow) for name in ("highs_ip3", "pyomo_closure")),  # while it starts
    ],
)
def test_ctrl_c_ends_an_engine(name: str, seconds: float) -> None:
    """Ctrl-C while a large program is built or solved ends the call with InterruptedSolveError, and its process with it."""
    before = f"""
from solvers import SOLVERS
from tests.solvers.programs.test_stoppable import large
problem, engine = large(), SOLVERS[{name!r}]
"""
    out = ends_by_ctrl_c(before, "engine(problem, 0.001)", after=seconds, within=10, in_child=True)
    assert out == f"interrupted while {called(name)} was solving; nothing was changed\n"


def called(name: str) -> str:
    """The function behind an engine."""
    engine = SOLVERS[name]
    return str(getattr(engine, "func", engine).__name__)


def test_waiting_for_a_process_heeds_ctrl_c_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed and collected before the error is raised."""
    started: list[subprocess.Popen[bytes]] = []

    def interrupted(process: subprocess.Popen[bytes], deadline: float) -> bool:
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(child_process, "_ends_before", interrupted)
    with pytest.raises(pm.errors.InterruptedSolveError, match="interrupted while linear_program was solving"):
        SOLVERS["highs_ip3"](large(), 0.001)
    assert started[0].returncode == -signal.SIGKILL


def together(subject: list[int], more: int, *, time_limit: float, times: int = 1) -> tuple[list[int], int, bool, bool]:
    """The subject, a number, whether there is a time limit, and whether calls stay here."""
    return subject, (subject[0] + more) * times, math.isfinite(time_limit), stays_here()


def fails(subject: list[int], *, time_limit: float) -> None:
    """Raises an error of the package."""
    raise InvalidInputError(f"subject is {subject}; no good")


def kills_itself(subject: list[int], *, time_limit: float) -> None:
    """Ends as if memory had run out."""
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps(subject: list[int], *, time_limit: float) -> None:
    """Does not heed its limit."""
    time.sleep(1000)


def cannot_be_sent(subject: list[int], *, time_limit: float) -> object:
    """Returns what no pickle can hold."""
    return lambda: subject


def a_call(function: object, subject: object, *arguments: object, time_limit: float = math.inf, **options: object) -> Call:
    return Call(__name__, function.__name__, subject, arguments, dict(options), time_limit, time.time())  # type: ignore[attr-defined]


@pytest.mark.slow
def test_an_answer_refers_to_the_callers_own_subject() -> None:
    """Arguments and options arrive; where the answer holds the subject, the caller gets its own object and no copy."""
    mine = [40]
    subject, number, limited, stays = call_in_child(a_call(together, [40], 2, times=10, time_limit=1000), mine)
    assert subject is mine
    assert (number, limited, stays) == (420, True, True)


@pytest.mark.slow
def test_errors_are_raised_here() -> None:
    """An error of the function is raised in the caller; a process that was killed, or could not answer, is told."""
    with pytest.raises(InvalidInputError, match=r"subject is \[1\]; no good"):
        call_in_child(a_call(fails, [1]), [1])
    with pytest.raises(SolverFailedError, match=r"was killed by signal 9 .* perhaps because memory ran out"):
        call_in_child(a_call(kills_itself, [1]), [1])
    with pytest.raises(SolverFailedError, match="could not send its answer"):
        call_in_child(a_call(cannot_be_sent, [1]), [1])
    with pytest.raises(TimeIsOver):  # a second after its limit the process is killed, however long it would have slept
        call_in_child(a_call(sleeps, [1], time_limit=0.1), [1])


def test_a_reserve_takes_at_most_a_third() -> None:
    """Of 90 s the function gets 60 where the reserve is large, 80 where it is 10 s, and all of an endless limit."""
    for reserve, left in ((1000.0, 60.0), (10.0, 80.0)):
        np.testing.assert_allclose(Call("", "", None, (), {}, 90.0, time.time(), reserve).seconds_left(), left, atol=1.0)
    assert Call("", "", None, (), {}, math.inf, time.time(), 1000.0).seconds_left() == math.inf


def test_calls_stay_here_in_a_block_only() -> None:
    """The block ends, also by an error."""
    said = []
    with pytest.raises(ZeroDivisionError), in_this_process():
        said.append(1 / (not stays_here()))
    assert not said
    assert not stays_here()


INTERRUPTS: list[tuple[Any, str, Callable[[], object], str]] = [
    (by_path, "components_of", lambda: solve_lp1(two_trees(), 1), "while rounding LP1's optimum; nothing was changed"),
    (TreePricing, "price", lambda: dantzig_wolfe(two_trees(), 0.1, scheme=PLAIN), "during Dantzig-Wolfe"),
    (decomposition, "preflow_closure", lambda: pruning_path(two_trees()), "nothing was changed"),
    (FlowNetwork, "maximum_flow", lambda: closure_path(random_grid(3, 3)), "interrupted while computing the path"),
    (Run, "round", lambda: price_sharing(instance("iris"), 0.05, small_core=0), "interrupted while sharing prices"),
    (algorithm, "best_tree_closures", lambda: primal_dual(twin_stumps(), 0.1), "in iteration 1; nothing was changed"),
]


@looped(("home", "name", "call", "words"), INTERRUPTS)
def test_ctrl_c_in_an_engine_of_ours(
    home: Any, name: str, call: Callable[[], object], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle arrives as the package's own exception, which says what was under way."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(home, name, interrupted)
        with pytest.raises(pm.errors.InterruptedSolveError, match=words):
            call()
