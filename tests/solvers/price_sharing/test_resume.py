"""A path that was stopped, at any moment and however, goes on from its folder and ends with the same points, bit for bit."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations import BrokenFileError, InterruptedSolveError, InvalidInputError
from formulations.answers.solution import Solution, StopReason
from formulations.fingerprint import fingerprint
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import PruningProblem
from proofs_checks import check_solution
from proofs_checks.optimality.shared_path import check_shared_path
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing import PathPoint, loop, price_sharing_path, stopping
from solvers.price_sharing.checkpoint import problem_fingerprint
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.point_files import STATE_FILE, PointFiles
from solvers.price_sharing.run import Run
from tests.solvers.cases import instance
from tests.solvers.price_sharing.test_price_sharing import digits_problem

ROOT = Path(__file__).resolve().parents[3]
LAMS = (0.015, 0.02, 0.025, 0.028, 0.03)
"""For `digits_problem`: some to many rounds each."""

DIGITS = tuple(float(f"{x:.3g}") for x in np.geomspace(2e-3, 0.1, 7))


def same(a: PathPoint, b: PathPoint) -> None:
    """Two points are equal in all that does not depend on the clock."""
    for field in fields(Solution):
        if field.name not in {"problem", "pruning", "certificate", "stats"}:
            assert getattr(a.solution, field.name) == getattr(b.solution, field.name), field.name
    np.testing.assert_array_equal(a.solution.pruning.kept, b.solution.pruning.kept)  # type: ignore[union-attr]
    assert {**a.solution.stats, "seconds": 0.0} == {**b.solution.stats, "seconds": 0.0}
    assert (a.lam, a.smaller, a.larger) == (b.lam, b.smaller, b.larger)
    assert (a.solution.certificate is None) == (b.solution.certificate is None)
    for name in ("kept", "pruned"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.proof.unit, a.proof.lam, a.proof.iteration) == (b.proof.unit, b.proof.lam, b.proof.iteration)
    assert (a.proof.dual is None) == (b.proof.dual is None)
    np.testing.assert_array_equal(a.proof.nodes, b.proof.nodes)
    np.testing.assert_array_equal(a.proof.score, b.proof.score)
    if a.proof.dual is not None and b.proof.dual is not None:
        np.testing.assert_array_equal(a.proof.dual, b.proof.dual)
    for one, other in zip(a.proof.stages, b.proof.stages, strict=True):
        for field in fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


class Count:
    """Counts the calls of a method of `Run`, and stops before one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str, stop_before: float = math.inf) -> None:
        self.calls = 0
        plain = getattr(Run, method)

        def counted(run: Run) -> None:
            if self.calls == stop_before:
                raise KeyboardInterrupt
            self.calls += 1
            plain(run)

        monkeypatch.setattr(Run, method, counted)


def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check after every other round, and every check written, without waiting for the disk."""
    monkeypatch.setattr(loop, "ROUNDS_PER_CHECK", 2)
    monkeypatch.setattr(stopping, "ROUNDS_PER_CHECK", 2)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.parametrize(("gap", "step"), [(0.0, 5), (1e-6, 7)])
def test_stopped_at_any_check_it_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gap: float, step: int) -> None:
    """Stopped before a check, whichever, the next call makes the rounds since the one before, and ends with the same points."""
    problem, lams = digits_problem(), (0.02, 0.025, 0.03)
    often(monkeypatch)
    with monkeypatch.context() as patched:
        checks, rounds = Count(patched, "check"), Count(patched, "round")
        plain = price_sharing_path(problem, lams, gap=gap, small_core=0)
    assert checks.calls > 6
    for k in range(0, checks.calls, step):
        folder = tmp_path / str(k)
        with monkeypatch.context() as patched:
            before = Count(patched, "round")
            Count(patched, "check", stop_before=k)
            with pytest.raises(
                InterruptedSolveError, match=rf"interrupted with \d of 3 lambdas done; the same call goes on from .*{k}$"
            ):
                price_sharing_path(problem, lams, gap=gap, small_core=0, checkpoint=folder)
        with monkeypatch.context() as patched:
            after = Count(patched, "round")
            points = price_sharing_path(problem, lams, gap=gap, small_core=0, checkpoint=folder)
        assert before.calls + after.calls - rounds.calls == 2  # those of the check that was not made
        for a, b in zip(plain, points, strict=True):
            same(a, b)
        assert not (folder / STATE_FILE).exists()


def test_a_state_is_all_there_is(tmp_path: Path) -> None:
    """A run that takes up another's state, from a file, has the same decisions, scores and bounds, whatever comes next."""
    objective = integer_objective(digits_problem(), Fraction("0.025")).refined()
    files = PointFiles(tmp_path, "mine")
    with ThreadPoolExecutor(1) as pool:
        run = Run(LocalRows(objective, pool), "smallest")
        while len(run.stages) < 2:
            run.round()
            run.check()
        run.round()  # after the last stage, so that it has a lowest value again
        run.rounds_without_progress = 7
        files.save_state(run.state(), "this point")
        other = Run(LocalRows(objective, pool), "smallest")
        begun = files.load_state("this point")
        assert begun is not None
        other.go_on(begun)
        before, after = run.state(), other.state()
        assert math.isfinite(before.lowest_bound)
        assert before.bound > before.best_value > 0
        for field in fields(before):
            if field.name != "stages":
                np.testing.assert_array_equal(getattr(before, field.name), getattr(after, field.name), field.name)
        assert len(before.stages) == len(after.stages) == 2
        for a, b in zip(before.stages, after.stages, strict=True):
            for field in fields(a):
                np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name))
        for name in ("fixed_in", "fixed_out"):
            np.testing.assert_array_equal(getattr(run, name), getattr(other, name))
        for name in ("nodes", "parent", "paid", "base"):
            np.testing.assert_array_equal(getattr(run.remaining, name), getattr(other.remaining, name))
        other.round()
        np.testing.assert_array_equal(begun.score, before.score)  # nothing of the state was changed


KILLED = """
import sys, time
from pathlib import Path
from solvers.price_sharing import loop, price_sharing_path, stopping
from solvers.price_sharing.run import Run
from tests.solvers.price_sharing.test_resume import LAMS
from tests.solvers.price_sharing.test_price_sharing import digits_problem
plain = Run.round
def slow(run):
    time.sleep(0.01)
    plain(run)
Run.round = slow
loop.ROUNDS_PER_CHECK = stopping.ROUNDS_PER_CHECK = 2
loop.SECONDS_BETWEEN_WRITES = 0.0
price_sharing_path(digits_problem(), LAMS, small_core=0, checkpoint=sys.argv[1])
"""


def _is_newer(file: Path, others: list[Path]) -> bool:
    """Whether it is there, and was written after the others."""
    with suppress(FileNotFoundError):
        return file.stat().st_mtime_ns > max(other.stat().st_mtime_ns for other in others)
    return False


@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_killed_path_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals) -> None:
    """A process that is killed, or stopped with Ctrl-C, within a point leaves whole files; the next call ends the same."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(12_000):
            time.sleep(0.005)
            done = list(tmp_path.glob("*.point"))
            if process.poll() is not None or (done and _is_newer(tmp_path / STATE_FILE, done)):
                break
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    if how is signal.SIGINT:
        assert re.search(
            rf"InterruptedSolveError: interrupted with \d of 5 lambdas done; the same call goes on from {tmp_path}", err
        )
    assert 0 < len(done) < len(LAMS)
    problem = digits_problem()
    often(monkeypatch)
    state = np.load(tmp_path / STATE_FILE)
    assert '"iteration": ' in str(state["figures"])
    state.close()
    (tmp_path / ".half.partial").write_bytes(b"PK")
    with monkeypatch.context() as patched:
        rounds = Count(patched, "round")
        points = price_sharing_path(problem, LAMS, small_core=0, checkpoint=tmp_path)
    assert len(os.listdir(tmp_path)) == len(LAMS)
    with monkeypatch.context() as patched:
        all_rounds = Count(patched, "round")
        plain = price_sharing_path(problem, LAMS, small_core=0)
    assert rounds.calls <= all_rounds.calls - 4  # of a point that was done, and of the one that was begun
    for a, b in zip(points, plain, strict=True):
        same(a, b)
    assert check_shared_path(problem, points).holds


@pytest.mark.parametrize(
    ("name", "lams", "gap"),
    [("breast cancer, licence", (0.00218, 0.00813, 0.0207, 0.0325, 0.0742), 0.0), ("digits", DIGITS, 0.2)],
)
def test_a_stopped_path_goes_on(tmp_path: Path, name: str, lams: tuple[float, ...], gap: float) -> None:
    """Stopped after three points, the next call reads those back unchanged and ends with the points of a path in one go."""
    problem, folder = instance(name), tmp_path / "new" / "path"
    told: list[PathPoint] = []

    def stop(point: PathPoint) -> None:
        told.append(point)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        price_sharing_path(problem, lams, gap=gap, small_core=0, checkpoint=folder, done=stop)
    assert gap or any(point.proof.stages for point in told)
    files = {f: f.stat().st_mtime_ns for f in folder.iterdir()}
    assert len(files) == 3
    again: list[PathPoint] = []
    points = price_sharing_path(problem, lams, gap=gap, small_core=0, checkpoint=folder, done=again.append)
    assert len(list(folder.iterdir())) == len(lams)
    assert all(f.stat().st_mtime_ns == t for f, t in files.items())
    for a, b in zip(told, again, strict=False):
        same(a, b)
        assert b.solution.certificate is (b.proof if a.solution.certificate is not None else None)
        if b.solution.certificate is not None:
            assert check_solution(problem, b.solution).holds
    assert gap == 0 or any((b.solution.pruning.kept & ~b.kept).any() for b in again)  # type: ignore[union-attr]
    for a, b in zip(points, price_sharing_path(problem, lams, gap=gap, small_core=0), strict=True):
        same(a, b)


def test_a_state_of_another_point_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other lambdas the point at work has other neighbours: what was begun is not taken up, and the answer is right."""
    problem = digits_problem()
    often(monkeypatch)
    with monkeypatch.context() as patched:
        Count(patched, "check", stop_before=1)
        with pytest.raises(InterruptedSolveError):
            price_sharing_path(problem, (0.02,), small_core=0, checkpoint=tmp_path)
    nothing = np.zeros(problem.ensemble.n_nodes, dtype=bool)
    files = PointFiles(tmp_path, problem_fingerprint(problem, 0.0, "smallest", True))
    begun = files.load_state(fingerprint(Fraction(1, 50), None, None, nothing, nothing))
    assert begun is not None
    assert (begun.iteration, begun.rounds_made) == (2, 2)
    assert files.load_state(fingerprint(Fraction(1, 40), None, None, nothing, nothing)) is None
    plain = price_sharing_path(problem, (0.02, 0.025), small_core=0)
    for a, b in zip(price_sharing_path(problem, (0.02, 0.025), small_core=0, checkpoint=tmp_path), plain, strict=True):
        same(a, b)


def test_states_are_not_written_all_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a second of the start nothing is written: on small instances that would take longer than the rounds."""
    written: list[str] = []
    monkeypatch.setattr(PointFiles, "save_state", lambda *_: written.append("state"))
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_WRITES", 1e9)
    price_sharing_path(digits_problem(), (0.02,), small_core=0, checkpoint=tmp_path)
    assert not written
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_WRITES", 0.0)
    price_sharing_path(digits_problem(), (0.025,), small_core=0, checkpoint=tmp_path)
    assert written


def test_ctrl_c_without_a_folder_says_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a checkpoint nothing stays, and the message names the option."""
    Count(monkeypatch, "check", stop_before=2)
    with pytest.raises(InterruptedSolveError, match=r"interrupted with \d of 7 lambdas done; give a checkpoint to keep them"):
        price_sharing_path(instance("digits"), DIGITS, small_core=0)


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    """Points of another instance or of other options, a file that is no point, and a folder that cannot be, are named."""
    problem = instance("iris")
    price_sharing_path(problem, (0.01,), checkpoint=tmp_path)
    for other, options in (
        (instance("digits"), {}),
        (problem, {"gap": 0.1}),
        (problem, {"ties": "largest"}),
        (problem, {"nested": False}),
    ):
        with pytest.raises(InvalidInputError, match="name another folder"):
            price_sharing_path(other, (0.01,), checkpoint=tmp_path, **options)  # type: ignore[arg-type]
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"half a file")
    with pytest.raises(BrokenFileError, match=r"point holds no point"):
        price_sharing_path(problem, (0.01,), checkpoint=tmp_path)
    with pytest.raises(BrokenFileError, match="cannot make the folder"):
        price_sharing_path(problem, (0.01,), checkpoint=file)


def test_a_state_that_lacks_something_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A point's file, or the state of the one at work, that lacks an array or has one of another length, is refused by name."""
    problem = digits_problem()
    often(monkeypatch)
    with monkeypatch.context() as patched:
        Count(patched, "check", stop_before=1)
        with pytest.raises(InterruptedSolveError):
            price_sharing_path(problem, (0.02,), small_core=0, checkpoint=tmp_path)
    state = dict(np.load(tmp_path / STATE_FILE))
    figures = json.loads(str(state["figures"]))
    for arrays, told in (
        ({**state, "score": state["score"][1:]}, r"stepped has the shape \(\d+,\) and the type float32, not \d+ floats"),
        ({name: array for name, array in state.items() if name != "stepped"}, r"running\.state lacks .*stepped"),
        ({**state, "figures": json.dumps(figures | {"best_value": figures["best_value"] + 10**6})}, "not its best pruning's"),
        ({**state, "best_kept": state["best_kept"][1:]}, "its best pruning contradicts"),
        ({**state, "figures": json.dumps(figures | {"iteration": 10**18})}, "iteration is 1000000000000000000"),
    ):
        with (tmp_path / STATE_FILE).open("wb") as file:
            np.savez(file, **arrays)
        with pytest.raises(BrokenFileError, match=told):
            price_sharing_path(problem, (0.02,), small_core=0, checkpoint=tmp_path)
    (tmp_path / STATE_FILE).unlink()
    price_sharing_path(problem, (0.02,), small_core=0, checkpoint=tmp_path)
    (point,) = tmp_path.iterdir()
    arrays = dict(np.load(point))
    del arrays["pruned"]
    with point.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(BrokenFileError, match=r"\.point lacks .*pruned"):
        price_sharing_path(problem, (0.02,), small_core=0, checkpoint=tmp_path)


def stumps(evaluation_cost: float = 1, *, once: bool = False, X: NDArray[np.float64] | None = None) -> PruningProblem:
    """Two stumps on two features, four cost rows: each split gains 1/4."""
    ensemble = Ensemble(
        tree_start=np.array([0, 3, 6]),
        left=np.array([1, -1, -1, 4, -1, -1], dtype=np.int32),
        right=np.array([2, -1, -1, 5, -1, -1], dtype=np.int32),
        feature=np.array([0, -1, -1, 1, -1, -1], dtype=np.int32),
        threshold=np.array([0.5, 0, 0, 0.5, 0, 0]),
        missing_left=np.zeros(6, dtype=bool),
        value=np.array([[0.5, 0.5], [1, 0], [0, 1]] * 2),
        n_features=2,
        task="classification",
        classes=np.array([0, 1]),
    )
    errors = NodeErrors((ErrorComponent(np.array([2.0, 0, 0, 2, 0, 0]), np.array([4.0, 4])),))
    rows = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]) if X is None else X
    costs = CostItems(("a", "b"), (Fraction(1), Fraction(1)), ((0,), (1,)), (once, False))
    return PruningProblem.build(ensemble, errors, rows, costs, evaluation_cost=evaluation_cost)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda: stumps(3), id="evaluation price"),
        pytest.param(lambda: stumps(once=True), id="once"),
        # The same number of rows at each node, but other rows: who pays what for whom else differs.
        pytest.param(lambda: stumps(X=np.array([[0.0, 0], [0, 0], [1, 1], [1, 1]])), id="order of the routing"),
    ],
)
def test_a_point_of_an_instance_that_differs_in_one_thing_is_refused(tmp_path: Path, other: Callable[[], PruningProblem]) -> None:
    """Evaluation prices, `once` and which rows reach which node: a folder made with others is refused, not read back."""
    price_sharing_path(stumps(), (0.01,), checkpoint=tmp_path)
    with pytest.raises(InvalidInputError, match="of another instance"):
        price_sharing_path(other(), (0.01,), checkpoint=tmp_path)
    assert price_sharing_path(stumps(), (0.01,), checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("few", "more", "stopped"),
    [
        ({"rounds": 2}, {}, StopReason.ITERATION_LIMIT),
        ({"time_limit": 0.0}, {"time_limit": 1000.0}, StopReason.TIME_LIMIT),
    ],
)
def test_a_point_that_a_limit_stopped_is_solved_again_under_a_larger_one(
    tmp_path: Path, few: dict[str, Any], more: dict[str, Any], stopped: StopReason
) -> None:
    """It is no optimum. Under the same limit it is read back; under a larger one the path is that without a checkpoint."""
    problem, lams = digits_problem(), (0.015, 0.02, 0.025)
    first = price_sharing_path(problem, lams, small_core=0, checkpoint=tmp_path, **few)
    assert all(point.solution.stopped is stopped for point in first)
    times = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    for a, b in zip(first, price_sharing_path(problem, lams, small_core=0, checkpoint=tmp_path, **few), strict=True):
        same(a, b)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == times
    again = price_sharing_path(problem, lams, small_core=0, checkpoint=tmp_path, **more)
    for a, b in zip(again, price_sharing_path(problem, lams, small_core=0), strict=True):
        same(a, b)
    assert check_shared_path(problem, again).holds


def test_a_point_that_rests_on_one_that_changed_is_solved_again(tmp_path: Path) -> None:
    """A neighbour that was stopped proved less. When it is solved again, so is the point that used what it had proved."""
    problem, lams = digits_problem(), (0.015, 0.02, 0.025)
    price_sharing_path(problem, lams, small_core=0, checkpoint=tmp_path)
    (last,) = (file for file in tmp_path.glob("0.025-*.point"))
    arrays = dict(np.load(last))
    figures = json.loads(str(arrays["figures"])) | {"stopped": "iteration limit", "rounds": 5}
    with last.open("wb") as file:
        np.savez(file, **(arrays | {"figures": np.array(json.dumps(figures))}))
    times = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    points = price_sharing_path(problem, lams, small_core=0, checkpoint=tmp_path)
    assert [point.larger for point in points] == [Fraction("0.025"), Fraction("0.025"), None]
    assert all(file.stat().st_mtime_ns > written for file, written in times.items())


def test_a_folder_serves_one_path_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second path into the folder is refused, and leaves the files that the first is writing; afterwards the folder is free."""
    problem, half_written = instance("iris"), tmp_path / ".running.partial.state"
    refused: list[str] = []

    def second(_: PathPoint) -> None:
        half_written.touch()
        with pytest.raises(BrokenFileError, match="checkpoint: another run") as told:
            price_sharing_path(problem, (0.02,), checkpoint=tmp_path)
        refused.append(str(told.value))
        assert half_written.exists()

    price_sharing_path(problem, (0.01,), checkpoint=tmp_path, done=second)
    assert refused == [
        f"checkpoint: another run, process {os.getpid()}, is writing {tmp_path}: wait for its end, or name another place"
    ]
    price_sharing_path(problem, (0.01, 0.02), checkpoint=tmp_path)
    assert len(os.listdir(tmp_path)) == 2
