"""One call: which searches are asked and for how much work, that the clock decides nothing, and what is refused."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import prunemodels as pm
from formulations import PruningPath, PruningProblem
from formulations.answers.solution import Status, StopReason
from formulations.instance.limit import Limit
from solvers.within import METHODS, best_breakpoint, exact_budget, solve, solve_limits
from solvers.within.core import Effort
from solvers.within.edge import edge_of
from solvers.within.params import WithinParams
from solvers.within.solve import Method
from solvers.within.windows import window_between
from tests.loops import looped
from tests.solvers.cases import halfway
from tests.solvers.within.test_search import costly

ROOT = Path(__file__).resolve().parents[3]
Asked = list[tuple[str, float]]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compiling counts in an engine's seconds, so it is done before a time limit matters."""
    for seed in range(3):
        problem, path, _ = costly(seed)
        for method in ("best", "exact"):
            pm.solve(problem, budget=halfway(path), method=method, path=path, time_limit=math.inf)


@pytest.mark.parametrize(
    ("method", "small", "expected"),
    [
        ("path", True, []),
        ("best", False, [("brackets", 10)]),
        ("best", True, [("search", 5), ("brackets", 10)]),
        ("exact", False, [("brackets", 60), ("search", 300)]),  # at most 60 s before what was asked for
        ("exact", True, [("search", 150), ("brackets", 60), ("search", 300)]),
    ],
)
def test_which_engines_are_asked(method: Method, small: bool, expected: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small instances go to branch and bound first; "exact" searches before it proves; work limits all (the clock stands)."""
    calls: Asked = []

    def searched(self: solve.LimitedCall, *_: Any) -> None:
        calls.append(("search", self.effort.work))
        self.stopped = StopReason.ITERATION_LIMIT

    def improved(path: PruningPath, best: Any, relaxation: Any, effort: Effort, share: float) -> StopReason:
        calls.append(("brackets", effort.work if share == 1 else min(share * effort.work, WithinParams().edge_work)))
        return StopReason.ITERATION_LIMIT

    monkeypatch.setattr(solve.LimitedCall, "_search", searched)
    monkeypatch.setattr(solve, "improve", improved)
    params = WithinParams(most_listed=0, searched_first=10**9 if small else -1)
    problem, path, _ = costly(1)
    found = solve_limits(problem, [Limit(halfway(path))], method=method, path=path, params=params)
    assert calls == expected
    assert found.stopped is (StopReason.ITERATION_LIMIT if calls else StopReason.CONVERGED)


def test_compiling_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first call that compiles for an hour has all of its minute left for the search."""
    problem, path, _ = costly(1)
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(solve, "_compile", lambda: clock.append(clock.pop() + 3600))
    found = pm.solve(problem, budget=halfway(path), time_limit=60)
    assert (found.status, found.stopped) == (Status.OPTIMAL, StopReason.CONVERGED)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("method", ["best", "exact"])
def test_the_clock_decides_nothing(method: str, several: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a time limit the answer is the same where each look at the clock finds an hour gone; work limits it."""
    problem, path, _ = costly(1)
    limits = [Limit(halfway(path)), Limit(halfway(path) / 2, rows=problem.usage.rows[::2])]
    options: Any = {"method": method} | ({"limits": limits} if several else {"budget": halfway(path), "path": path})
    found = [pm.solve(problem, **options, **more) for more in ({}, {"work": 0.0}, {"work": 0.002})]
    clock = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    again = [pm.solve(problem, **options, **more) for more in ({}, {"work": 0.0}, {"work": 0.002})]
    for one, other in zip(found, again, strict=True):
        assert (one.pruning.kept == other.pruning.kept).all()
        assert (one.bound, one.stopped, one.stats["work"]) == (other.bound, other.stopped, other.stats["work"])
    assert found[0].status is Status.OPTIMAL
    assert found[0].gap < found[1].gap or several


def test_what_was_moved_is_told_for_both_engines() -> None:
    """bound_raised and error_lowered are shares of the way from the best breakpoint to the relaxation, whoever moved them."""
    problem, path, _ = costly(1)
    budget = halfway(path)
    first = best_breakpoint(problem, budget, path=path)
    assert first.gap > 0
    found = pm.solve(problem, budget=budget, path=path)
    way = first.error - first.bound
    assert found.stats["error_lowered"] == pytest.approx((first.error - found.error) / way)
    assert found.stats["bound_raised"] == pytest.approx((found.bound - first.bound) / way)
    assert found.stats["error_lowered"] + found.stats["bound_raised"] == pytest.approx(1)


def test_an_edge_past_its_deadline_takes_one_cut() -> None:
    """The bound of one cut holds, and is no better than the finished edge's."""
    weaker = 0
    for seed in range(40):
        path = costly(seed)[1]
        core = window_between(path, 0, len(path) - 1, halfway(path)).core
        if not core.nodes.size:
            continue
        late, done = edge_of(core, goal=-1, effort=Effort(work=0.0)), edge_of(core, goal=-1)
        assert late.cuts <= 1
        assert late.bound >= done.bound
        weaker += late.bound > done.bound
    assert weaker > 5


@looped("method", [*METHODS, "solve_lp1"])
def test_the_path_of_another_problem_is_refused(method: str) -> None:
    """The same forest at other prices has other bounds: its path would prove a bound that does not hold; incumbents likewise."""
    problem, path, _ = costly(0)
    other = replace(problem.costs, prices=tuple(price + 1 for price in problem.costs.prices))
    dearer = PruningProblem.build(problem.ensemble, problem.errors, problem.X, other)
    calls: dict[str, Callable[[], object]] = {"solve_lp1": lambda: pm.budgets.solve_lp1(dearer, 2, path=path)}
    call = calls.get(method, lambda: pm.solve(dearer, budget=2, method=method, path=path))
    with pytest.raises(pm.errors.InvalidInputError, match="path belongs to another problem; give pruning_path"):
        call()
    with pytest.raises(pm.errors.InvalidInputError, match="incumbent belongs to another problem; give a pruning of this one"):
        exact_budget(dearer, path.exact_cost[0], incumbent=path[-1])


@pytest.mark.slow
def test_everything_is_compiled_before_the_clock_starts() -> None:
    """A search that branches compiles nothing more, however new the machine is: that would count against its time limit."""
    code = """if True:
        import gc
        from numba.core.dispatcher import Dispatcher
        from prunemodels.example import problem
        from solvers import pruning_path
        from solvers.within import exact_budget, solve

        def kernels():
            found = [k for k in gc.get_objects() if isinstance(k, Dispatcher)]
            return {(k.py_func.__qualname__, str(s)) for k in found for s in k.signatures}

        path = pruning_path(problem)
        solve._compile()
        before = kernels()
        nodes = exact_budget(problem, 9.5, path=path).stats["nodes"]
        print(int(nodes), sorted(name for name, _ in kernels() - before))
    """
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    nodes, _, compiled = found.stdout.strip().partition(" ")
    assert int(nodes) > 1
    assert compiled == "[]"
