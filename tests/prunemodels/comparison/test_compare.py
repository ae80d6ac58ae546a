"""Comparing engines: what the table says, and that nothing that an engine does harms the caller or leaves a trace."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.instance.papers import two_trees
from prunemodels.command_line.programs import comparison_text
from prunemodels.command_line.summary import plain
from prunemodels.comparison import processes
from prunemodels.comparison.compare import BUDGET_TYPES, TYPES, compare
from prunemodels.comparison.processes import ComparisonParams, PeakMemory, find_engine
from solvers import SOLVERS
from solvers.price_sharing.run import Run
from solvers.within import BUDGET_SOLVERS
from tests.instances import with_usage
from tests.loops import looped
from tests.prunemodels.comparison import odd_engines

ROOT = Path(__file__).resolve().parents[3]
LAM = 0.01
ODD = "tests.prunemodels.comparison.odd_engines"


@pytest.fixture(scope="module")
def problem() -> pm.PruningProblem:
    """A forest on breast cancer data, the cost sample a table."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(6, max_depth=5, random_state=0).fit(X[:300], y[:300])
    return pm.problem_from_forest(forest, X[300:], costs=1)


def alone(problem: pm.PruningProblem, name: str) -> pd.Series:
    """The row of one odd engine that is run in this process."""
    return compare(problem, LAM, [f"{ODD}:{name}"], isolate=False).iloc[0]


@pytest.fixture(scope="module")
def isolated(problem: pm.PruningProblem) -> pd.DataFrame:
    """Engines in processes of their own."""
    return compare(problem, LAM, [f"{ODD}:hoard", "min_cut", f"{ODD}:dawdle", "brute_force"])


@pytest.mark.slow
def test_a_row_an_engine_with_figures_of_the_instance(problem: pm.PruningProblem, isolated: pd.DataFrame) -> None:
    """Rows come in the order asked for; their figures are those of the optimal pruning; columns have fixed types."""
    assert list(isolated.solver) == [f"{ODD}:hoard", "min_cut", f"{ODD}:dawdle", "brute_force"]
    assert list(isolated.columns) == list(TYPES)
    assert isolated.method[1] == "min_cut"
    expected = pm.engines.min_cut(problem, LAM)
    assert expected.pruning is not None
    for _, row in isolated[:3].iterrows():
        assert (row.status, row.stopped, row.note) == ("optimal", "converged", "")
        assert (row.value, row.bound, row.gap) == (expected.value, expected.bound, 0)
        assert (row.cost, row.error, row.splits) == (expected.pruning.cost, expected.pruning.error, expected.pruning.n_splits)
        assert row.integral
        assert math.isnan(row.nodes)
    assert all(isolated[c].dtype == np.float64 for c in ("value", "bound", "gap", "cost", "error", "seconds", "peak_memory_mb"))
    assert (isolated.splits.dtype, isolated.integral.dtype) == (pd.Int64Dtype(), pd.BooleanDtype())


@pytest.mark.slow
def test_a_refusal_is_a_row(isolated: pd.DataFrame) -> None:
    """An engine that refuses the instance says why in `note`, and has no figures."""
    refused = isolated.iloc[3]
    assert refused.status == "refused"
    assert "at most 1,000,000 can be listed" in refused.note
    assert refused[["value", "bound", "splits", "integral", "seconds"]].isna().all()


def test_memory_and_seconds_are_of_the_solve_alone(isolated: pd.DataFrame) -> None:
    """100 MB that one engine takes are told of it and of no other, and a slow warm-up is not counted."""
    megabytes = isolated.peak_memory_mb
    assert 99 < megabytes[0] < 120
    assert megabytes[1] < 50
    assert isolated.seconds[2] < 0.5


@pytest.mark.slow
def test_crashes_are_rows(problem: pm.PruningProblem) -> None:
    """An engine that is killed, leaves, or prints into the answer's stream harms neither the caller nor the next engine."""
    table = compare(problem, LAM, [f"{ODD}:{name}" for name in ("die", "leave", "chat")])
    assert list(table.status) == ["crashed", "crashed", "optimal"]
    assert "killed by signal 9 (Killed), perhaps because memory ran out" in table.note[0]
    assert table.note[1] == "ended with exit status 3: last words"
    assert table.value[:2].isna().all()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a fork with its parent, so only there engines are forks")
def test_engines_share_one_import(problem: pm.PruningProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process imports for all engines, also after one that was killed or whose time was over."""
    begun: list[object] = []
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: begun.append(a) or start(*a, **k))
    monkeypatch.setattr(processes, "PARAMS", ComparisonParams(grace=0.2))
    assert list(compare(problem, LAM, ["min_cut", f"{ODD}:die", "min_cut"]).status) == ["optimal", "crashed", "optimal"]
    assert len(begun) == 1
    table = compare(problem, LAM, [f"{ODD}:sleep", "min_cut", "min_cut"], time_limit=0.3)
    assert list(table.status) == ["time limit", "optimal", "optimal"]
    assert len(begun) == 2


def test_exceptions_are_rows(problem: pm.PruningProblem) -> None:
    """An engine that raises has crashed, with the exception as note; so has one that says that it failed."""
    assert alone(problem, "divide")[["status", "note"]].tolist() == ["crashed", "ZeroDivisionError: division by zero"]
    assert alone(problem, "fail")[["status", "note"]].tolist() == ["crashed", "lost its basis"]
    absent = compare(problem, LAM, ["no_such_module:engine"], isolate=False).iloc[0]
    assert absent[["status", "note"]].tolist() == ["crashed", "ModuleNotFoundError: No module named 'no_such_module'"]


@pytest.mark.slow
def test_an_engine_that_does_not_look_at_the_clock_is_killed(problem: pm.PruningProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past its time limit and the grace an engine's process is ended."""
    monkeypatch.setattr(processes, "PARAMS", ComparisonParams(grace=0.2))
    row = compare(problem, LAM, [f"{ODD}:sleep"], time_limit=0.3).iloc[0]
    assert row.status == "time limit"
    assert 0.5 <= row.seconds < 20
    assert row.note.endswith("s after its time limit")


def test_figures_that_an_engine_reports(problem: pm.PruningProblem) -> None:
    """Iterations, nodes and a fractional point are the engine's; what it does not have is empty."""
    row = alone(problem, "report")
    assert (row.integral, row.iterations, row.nodes) == (False, 7, 3)
    row = alone(problem, "give_up")
    assert (row.status, row.stopped, row.value, row.bound) == ("unknown", "time limit", math.inf, 0)
    assert row[["integral", "splits", "cost"]].isna().all()
    row = alone(problem, "fall_back")
    assert (row.status, row.stopped) == ("optimal", "time limit")
    assert row.integral is pd.NA


def test_answers_are_not_trusted(problem: pm.PruningProblem) -> None:
    """A bound above a pruning's value, one's own or another's, is told, and so is a pruning that keeps leaves."""
    assert "is above" in alone(problem, "boast").note
    names = [f"{ODD}:boast", "brute_force", "min_cut"]
    table = compare(two_trees(), LAM, names, isolate=False)
    assert table.note[0].startswith("wrong bound: 1.1")
    assert list(table.note[1:]) == ["", ""]
    loose = compare(two_trees(), LAM, [f"{ODD}:boast", f"{ODD}:give_up"], isolate=False)
    assert "its own pruning" in loose.note[0]
    row = alone(problem, "lie")
    assert row.status == "crashed"
    assert row.note.startswith("the engine returned something that is not a pruning: kept: node")


@pytest.mark.slow
def test_budget_engines_side_by_side() -> None:
    """A row for each engine and budget; LP1's value, lambda* and bounds are those worked out by hand, for every engine.

    The papers' trees, features 1 each, costs 3, 2, 0 and errors 1/8, 2/8, 1: at 2.5 LP1 = 3/16 with lambda* = 1/8, and the best
    pruning errs 2/8; at 1 LP1 = 5/8 with lambda* = 3/8, and 6/8; at 2 both are 2/8; beyond 3 another unit is worth nothing.
    """
    expected = {1.0: (5 / 8, 3 / 8, 6 / 8, 1), 2.5: (3 / 16, 1 / 8, 2 / 8, 2), 4.0: (1 / 8, 0, 1 / 8, 3)}
    table = compare(two_trees(), budget=list(expected), isolate=False)
    assert list(table.columns) == list(BUDGET_TYPES)
    assert list(table.solver) == list(pm.BUDGET_SOLVERS) * 3
    assert list(table.budget) == [b for b in expected for _ in pm.BUDGET_SOLVERS]
    proven = {"exact", "highs_lp1_integer", "brute_force"}
    for row in table.itertuples():
        value, dual, error, cost = expected[row.budget]
        assert (row.value, row.dual) == (value, pytest.approx(dual))
        assert row.error in ({error} if row.solver in proven else {error, 1.0 if row.budget == 1 else error})
        assert row.cost in ({cost} if row.error == error else {0})
        assert row.integral == (row.budget == 4)
        assert row.note == ""
        assert value - 1e-12 <= row.bound <= error
        assert row.gap == pytest.approx(row.error - row.bound)
        assert (row.status == "optimal") == (row.gap <= 1e-12)
        assert row.status == "optimal" or row.solver not in proven


@pytest.mark.slow
def test_budgets_in_processes_of_their_own(problem: pm.PruningProblem) -> None:
    """What an engine finds for a fraction of a budget does not depend on the process; refusals and crashes are rows."""
    budget = Fraction(10, 3)
    names = ["path", "highs_lp1", "brute_force", f"{ODD}:overspend"]
    there, here = (compare(problem, budget=budget, solvers=names, isolate=isolate) for isolate in (True, False))
    same = [c for c in BUDGET_TYPES if c not in ("seconds", "peak_memory_mb")]
    pd.testing.assert_frame_equal(there[same], here[same])
    assert list(there.status) == ["feasible", "feasible", "refused", "crashed"]
    assert there.value[0] == pytest.approx(there.value[1], abs=1e-12)
    assert (there.seconds[:2] > 0).all()


def test_an_engine_that_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a registry it is compared, shown and stored; what it does not have is nan, null, or said in words, never infinite."""
    monkeypatch.setitem(SOLVERS, "bold", odd_engines.prove_nothing)
    monkeypatch.setitem(BUDGET_SOLVERS, "bold", odd_engines.spend)
    at_lam, within = (compare(two_trees(), **goal, solvers=["bold"], isolate=False) for goal in ({"lam": LAM}, {"budget": 2.5}))
    for row in (at_lam.iloc[0], within.iloc[0]):
        assert (row.status, row.note) == ("feasible", "")
        assert np.isnan([row.bound, row.gap, row.relative_gap]).all()
    assert "inf" not in comparison_text(pd.concat([at_lam]))
    solution, limited = pm.solve(two_trees(), lam=LAM, method="bold"), pm.solve(two_trees(), budget=2.5, method="bold")
    assert (solution.status, solution.gap, solution.relative_gap) == (pm.engines.Status.FEASIBLE, math.inf, math.inf)
    assert "nothing is proven" in solution._card().text()
    assert repr(solution).startswith(f"Solution(feasible, value={solution.value:.9g}, unproven, Pruning(")
    assert repr(limited).endswith(f"error {limited.error:.9g}, unproven)")
    assert "the engine proves nothing" in limited.in_words()
    verdicts = [pm.checks.check_solution(two_trees(), told) for told in (solution, limited)]
    assert [verdict.holds for verdict in verdicts] == [True, None]
    assert not any("inf" in str(verdict) for verdict in verdicts)
    for told in (solution, limited, at_lam.iloc[0].to_dict()):
        assert json.dumps(plain(told), allow_nan=False).count("inf") == 0


def test_budget_answers_are_not_trusted(problem: pm.PruningProblem) -> None:
    """A pruning or a mixture beyond the budget, a weight above 1, a bound above a pruning's error, an answer for a lambda."""
    notes = {
        "overspend": "the engine returned something that is not a pruning within the budget: it costs",
        "overmix": "its relaxation costs",
        "overweigh": "its relaxation has the weight 2",
        "overprove": "a defect of the engine",
    }
    for name, note in notes.items():
        row = compare(problem, budget=2.5, solvers=[f"{ODD}:{name}"], isolate=False).iloc[0]
        assert note in row.note
        assert row.status == "crashed"
    row = compare(problem, budget=2.5, solvers=["solvers.closures.min_cut:min_cut"], isolate=False).iloc[0]
    assert row.status == "crashed"
    assert "no relaxation" in row.note


BAD = [
    # both or neither goal, numbers that are no budgets, and engines for a lambda
    ((1.0,), {"budget": 1}, "both of lam and budget given; give lam"),
    ((), {}, "neither of lam and budget given; give lam"),
    ((), {"budget": [1, -2]}, r"budget\[1\] is -2, negative"),
    ((), {"budget": math.nan}, "budget is nan"),
    ((), {"budget": "much"}, "budget is 'much'"),
    ((), {"budget": []}, "budget is empty"),
    ((), {"budget": {"a": ([0], 1)}}, "budget is a dict; give a number, a sequence"),
    ((), {"budget": 1, "solvers": ["min_cut"]}, "no solver 'min_cut' for a budget; there are path, best"),
    # unknown names, none, and numbers that make no sense
    ((LAM, ["min_cut", "mincut"]), {}, r"there is no solver 'mincut'; there are min_cut, "),
    ((LAM, []), {}, "solvers is empty; name at least one of min_cut"),
    ((LAM, "min_cut"), {}, r"solvers is 'min_cut'; give a sequence"),
    ((-1.0,), {}, "lam is -1.0, negative"),
    ((math.nan,), {}, "lam is nan"),
    ((math.inf,), {}, "lam is inf"),
    ((LAM,), {"time_limit": -1}, "time_limit is -1; give a number >= 0"),
    ((LAM,), {"time_limit": math.nan}, "time_limit is nan"),
]


@looped(("arguments", "options", "message"), BAD)
def test_bad_arguments_are_refused_before_any_process_starts(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goals, budgets, names and numbers that make no sense are named at once."""
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        pm.compare(two_trees(), *arguments, **options)


def test_what_cannot_be_sent_is_refused() -> None:
    """An instance that cannot be pickled is refused with a remedy that works; so is an engine that only this process knows."""
    problem = with_usage(two_trees(), X=lambda: 0)
    with pytest.raises(pm.errors.InvalidInputError, match=r"problem cannot be sent to other processes .* take isolate=False"):
        compare(problem, LAM, ["min_cut"])
    assert compare(problem, LAM, ["min_cut"], isolate=False).status[0] == "optimal"
    with pytest.raises(pm.errors.InvalidInputError, match=r"'mine' is in the SOLVERS of another process only; name it as"):
        find_engine("mine")


SCRIPT = """
import sys
import prunemodels as pm
from formulations.instance.papers import two_trees
try:
    print(pm.compare(two_trees(), 0.01, [ENGINE]).status[0])
except pm.errors.InterruptedSolveError as stop:
    print(stop, flush=True)
    sys.stdin.read()  # the process goes on
"""


def environment(tmp_path: Path) -> dict[str, str]:
    """Of a script: temporary files in a folder of the test's own, nothing on the path but ours."""
    (tmp_path / "temporary").mkdir()
    names = {"TMPDIR": tmp_path / "temporary", "ODD_PID": tmp_path / "pid", "PYTHONPATH": ROOT}
    return {**os.environ, **{k: str(v) for k, v in names.items()}}


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: object) -> None:
    end = time.monotonic() + 120
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and only Linux ends children with their parent")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_no_process_and_no_file_stays(tmp_path: Path, stop: signal.Signals) -> None:
    """After Ctrl-C, which raises InterruptedSolveError, and even if the caller is killed, the engine's process and files go."""
    code = SCRIPT.replace("ENGINE", f"'{ODD}:sleep'")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment(tmp_path), stdin=pipe, stdout=pipe, text=True, start_new_session=True
    ) as script:
        wait_for((tmp_path / "pid").exists)
        pid = int((tmp_path / "pid").read_text())
        assert is_alive(pid)
        if stop == signal.SIGINT:
            os.killpg(script.pid, stop)  # as a terminal does: to the engine's process as well
        else:
            script.send_signal(stop)
        assert script.stdout is not None
        said = script.stdout.readline()
        wait_for(lambda: not is_alive(pid))
        assert is_alive(script.pid) == (stop == signal.SIGINT)
        assert list((tmp_path / "temporary").iterdir()) == []
    expected = f"interrupted while {ODD}:sleep was solving; nothing was changed\n"
    assert said == (expected if stop == signal.SIGINT else "")
    assert script.returncode == (0 if stop == signal.SIGINT else -signal.SIGKILL)


def test_peak_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The peak of a block counts what was freed before its end, and not what was freed before its start. Where there is no /proc,
    the process's peak so far is the measure: what stays below it is not seen.
    """
    np.ones(40_000_000).sum()
    with PeakMemory() as peak:
        np.ones(10_000_000).sum()
    assert peak.bytes is not None
    assert 79e6 < peak.bytes < 120e6
    monkeypatch.setattr(processes, "STATUS", tmp_path / "absent" / "status")
    monkeypatch.setattr(processes, "RESET", tmp_path / "absent" / "clear_refs")
    with PeakMemory() as peak:
        pass
    assert peak.bytes == 0
    monkeypatch.setitem(sys.modules, "resource", None)
    with PeakMemory() as peak:
        pass
    assert peak.bytes is None


def test_an_engine_that_never_begins_is_killed(problem: pm.PruningProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports and warm-up have a limit of their own."""
    monkeypatch.setattr(processes, "PARAMS", ComparisonParams(start_up=0.1))
    row = compare(problem, LAM, ["min_cut"]).iloc[0]
    assert (row.status, row.note) == ("crashed", "killed because it had not begun to solve after 0.1 s")


@pytest.mark.parametrize("engine", ["ctrl_c", "interrupted"])
def test_ctrl_c_in_this_process(problem: pm.PruningProblem, engine: str) -> None:
    """With isolate=False Ctrl-C is no crash of an engine: it ends the comparison."""
    with pytest.raises(pm.errors.InterruptedSolveError):
        alone(problem, engine)


def test_price_sharing_is_warmed_up_with_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The papers' two trees would be cut at once, and rounds compiled on the clock."""
    rounds: list[int] = []
    real = Run.round
    monkeypatch.setattr(Run, "round", lambda run: (rounds.append(1), real(run))[1])
    processes._warm_up(SOLVERS["price_sharing"])
    assert len(rounds) >= 10
    processes._warm_up(SOLVERS["min_cut"])
