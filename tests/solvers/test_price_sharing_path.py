"""Several lambdas by price sharing: what one decides holds for the others, and a path that was stopped goes on."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from formulations import BrokenFileError, InterruptedSolveError, InvalidInputError, SolverFailedError, StopReason
from formulations.solution import Solution
from proofs_checks import check_solution
from solvers import min_cut
from solvers.closure_cut import Ties
from solvers.shared_prices import PathPoint, Scores, path, price_sharing, price_sharing_path, solve
from solvers.shared_prices.checkpoint import fingerprint
from solvers.shared_prices.path import _ends_then_middles, _known
from solvers.shared_prices.point_files import RUNNING, PointFiles
from solvers.shared_prices.run import Known, Run
from solvers.shared_prices.solve import WARM
from solvers.shared_prices.whole import Whole, whole
from tests.instances import random_problem
from tests.solvers.cases import instance

LAMBDAS = (0.05, 0, 0.003, 0.01, 0.02, 0.1, 1e300)
DIGITS = tuple(float(f"{x:.3g}") for x in np.geomspace(2e-3, 0.1, 7))


@pytest.mark.parametrize("seed", range(24))
def test_every_point_is_the_optimum(seed: int) -> None:
    """Smallest and largest optima, with and without what neighbours decide, are those of the cut at each lambda, with no gap."""
    problem = random_problem(seed, rounded=seed % 4 == 0)
    for ties in ("smallest", "largest"):
        points = price_sharing_path(problem, LAMBDAS, ties=ties, small_core=50_000 * (seed % 2))  # type: ignore[arg-type]
        assert [p.solution.lam for p in points] == sorted(p.solution.lam for p in points)
        for point in points:
            best = min_cut(problem, point.solution.lam, ties=ties)  # type: ignore[arg-type]
            assert point.solution.value <= best.value + 1e-12
            if problem.integers.exact:
                np.testing.assert_array_equal(point.solution.pruning.kept, best.pruning.kept)  # type: ignore[union-attr]
                assert point.solution.relative_gap == 0
                np.testing.assert_array_equal(point.kept, ~point.pruned)
            else:
                assert point.smaller is None
                assert point.larger is None


def test_neighbours_decide() -> None:
    """Each point but the first takes what its neighbours proved, most splits of the middles are decided so, and it says whose."""
    problem = instance("digits")
    points = price_sharing_path(problem, DIGITS, small_core=0)
    lams = [p.lam for p in points]
    assert (points[-1].smaller, points[-1].larger) == (None, None)
    assert (points[0].smaller, points[0].larger) == (None, lams[-1])
    assert (points[3].smaller, points[3].larger) == (lams[0], lams[-1])
    assert (points[1].smaller, points[1].larger) == (lams[0], lams[3])
    assert (points[2].smaller, points[2].larger) == (lams[1], lams[3])
    for k, point in enumerate(points):
        known_kept = next((p.kept for p in points if p.lam == point.larger), np.zeros_like(point.kept))
        known_pruned = next((p.pruned for p in points if p.lam == point.smaller), np.zeros_like(point.kept))
        decided = (known_kept | known_pruned) & problem.ensemble.is_split
        assert point.solution.stats["decided_by_order"] == decided.sum()
        assert (point.solution.certificate is point.proof) == (k == 6)
    assert points[2].solution.stats["decided_by_order"] > problem.ensemble.n_splits / 2
    assert check_solution(problem, points[6].solution).holds


def test_points_that_stand_alone_are_accepted_by_the_checker() -> None:
    """Without the order every point has a certificate of its own, which the checker accepts, and the prunings are the same."""
    problem = instance("iris")
    alone, nested = (price_sharing_path(problem, (0.001, 0.01, 0.05), nested=n, small_core=0) for n in (False, True))
    for a, b in zip(alone, nested, strict=True):
        assert check_solution(problem, a.solution).holds
        assert a.solution.stats["decided_by_order"] == 0
        np.testing.assert_array_equal(a.solution.pruning.kept, b.solution.pruning.kept)  # type: ignore[union-attr]


@pytest.mark.parametrize("gap", [0.3, 1e-2, 1e-5])
def test_with_a_gap_only_what_is_proven_is_handed_on(gap: float) -> None:
    """Each point reaches the gap, its bound is true, and what it says is decided is so in the smallest optimum."""
    problem = instance("digits")
    for point in price_sharing_path(problem, DIGITS, gap=gap):
        best = min_cut(problem, point.solution.lam)  # type: ignore[arg-type]
        assert point.solution.stopped is StopReason.CONVERGED
        assert point.solution.relative_gap <= gap
        assert point.solution.bound <= best.value + 1e-12 <= point.solution.value + 2e-12
        assert best.pruning is not None
        assert best.pruning.kept[point.kept].all()
        assert not best.pruning.kept[point.pruned].any()


def test_scores_and_prunings_are_handed_on() -> None:
    """A point between two others takes fewer rounds than it takes by itself, and starts with the nearest pruning."""
    problem = instance("digits")
    points = price_sharing_path(problem, DIGITS, small_core=0)
    alone = [price_sharing(problem, lam, small_core=0).stats["iterations"] for lam in DIGITS]
    rounds = [p.solution.stats["iterations"] - WARM for p in points[:-1]]  # a warm start counts as so many
    assert all(a <= b for a, b in zip(rounds, alone, strict=False))


@pytest.mark.parametrize("name", ["digits", "breast cancer, licence", "wine, evaluation"])
def test_a_run_begins_with_what_is_known(name: str) -> None:
    """With some splits fixed, the best of the prunings tried is the first value, in integers that of the pruning itself."""
    problem = instance(name)
    integers = whole(problem, Fraction(1, 200))
    best = min_cut(problem, Fraction(1, 200)).pruning  # type: ignore[arg-type]
    assert best is not None
    top = best.kept & (problem.ensemble.parent < 0)
    out = problem.ensemble.is_split & ~best.kept & (problem.ensemble.depth > 2)
    roots_only = best.kept & (problem.ensemble.depth < 2)
    with ThreadPoolExecutor(1) as pool:
        bare = Run(integers, "smallest", None, pool, Known(top, out))
        run = Run(integers, "smallest", None, pool, Known(top, out, (roots_only, best.kept, top)))
    assert bare.best_value == bare.left.base != 0
    np.testing.assert_array_equal(bare.best_kept, top)
    gained = best.integer_gain * problem.integers.gain_unit - integers.lam * best.exact_cost
    assert run.best_value * integers.unit == gained
    np.testing.assert_array_equal(run.best_kept, best.kept)
    assert run.bound >= run.best_value
    kept, pruned = run.decided()
    np.testing.assert_array_equal(kept, top)
    assert pruned[out].all()
    assert not pruned[best.kept].any()


def test_scores_are_those_of_the_nearest_lambda(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first point starts cold, the others from the nearest lambda that is done, whether it is smaller or larger."""
    starts: list[Scores | None] = []

    def spied(whole: Whole, ties: Ties, start: Scores | None, pool: ThreadPoolExecutor, known: Known) -> Run:
        starts.append(start)
        return Run(whole, ties, start, pool, known)

    monkeypatch.setattr(path, "Run", spied)
    for middle, nearest in ((0.002, 0), (0.09, 2)):
        starts.clear()
        points = price_sharing_path(instance("digits"), (0.001, middle, 0.1))
        assert starts == [None, points[2].scores, points[nearest].scores]


def test_time_is_limited_for_each_point() -> None:
    """With no time every point is a true answer with a gap, and says why it stopped."""
    problem = instance("digits")
    for point in price_sharing_path(problem, DIGITS[:3], time_limit=0.0, small_core=0):
        best = min_cut(problem, point.solution.lam).value  # type: ignore[arg-type]
        assert point.solution.stopped is StopReason.TIME_LIMIT
        assert point.solution.bound <= best + 1e-12 <= point.solution.value + 2e-12


def test_ends_come_first_and_then_middles() -> None:
    """The last, the first, then always a place between two that are done; each once."""
    assert list(_ends_then_middles(1)) == [0]
    assert list(_ends_then_middles(2)) == [1, 0]
    assert list(_ends_then_middles(6)) == [5, 0, 2, 1, 3, 4]
    for n in range(3, 40):
        order = list(_ends_then_middles(n))
        assert sorted(order) == list(range(n))
        for k in range(2, n):
            assert min(order[:k]) < order[k] < max(order[:k])


def same(a: PathPoint, b: PathPoint) -> None:
    """Two points are equal in all that does not depend on the clock."""
    for field in fields(Solution):
        if field.name not in {"problem", "pruning", "certificate", "stats"}:
            assert getattr(a.solution, field.name) == getattr(b.solution, field.name), field.name
    np.testing.assert_array_equal(a.solution.pruning.kept, b.solution.pruning.kept)  # type: ignore[union-attr]
    assert set(a.solution.stats) == set(b.solution.stats)
    assert (a.lam, a.smaller, a.larger) == (b.lam, b.smaller, b.larger)
    assert (a.solution.certificate is None) == (b.solution.certificate is None)
    for name in ("kept", "pruned"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.scores.iteration == b.scores.iteration
    np.testing.assert_array_equal(a.scores.score, b.scores.score)
    assert (a.proof.unit, a.proof.lam, a.proof.iteration) == (b.proof.unit, b.proof.lam, b.proof.iteration)
    assert (a.proof.load is None) == (b.proof.load is None)
    np.testing.assert_array_equal(a.proof.nodes, b.proof.nodes)
    np.testing.assert_array_equal(a.proof.score, b.proof.score)
    if a.proof.load is not None and b.proof.load is not None:
        np.testing.assert_array_equal(a.proof.load, b.proof.load)
    for one, other in zip(a.proof.stages, b.proof.stages, strict=True):
        for field in fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


@pytest.mark.parametrize("gap", [0.0, 1e-3])
def test_a_stopped_path_goes_on(tmp_path: Path, gap: float) -> None:
    """Stopped after three points, the next call reads those back unchanged and ends with the points of a path in one go."""
    problem, folder = instance("digits"), tmp_path / "new" / "path"
    told: list[PathPoint] = []

    def stop(point: PathPoint) -> None:
        told.append(point)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        price_sharing_path(problem, DIGITS, gap=gap, small_core=0, checkpoint=folder, done=stop)
    assert gap or any(point.proof.stages for point in told)
    files = {f: f.stat().st_mtime_ns for f in folder.iterdir()}
    assert len(files) == 3
    again: list[PathPoint] = []
    points = price_sharing_path(problem, DIGITS, gap=gap, small_core=0, checkpoint=folder, done=again.append)
    assert len(list(folder.iterdir())) == len(DIGITS)
    assert all(f.stat().st_mtime_ns == t for f, t in files.items())
    for a, b in zip(told, again, strict=False):
        same(a, b)
        assert b.solution.certificate is (b.proof if a.solution.certificate is not None else None)
        if b.solution.certificate is not None:
            assert check_solution(problem, b.solution).holds
    for a, b in zip(points, price_sharing_path(problem, DIGITS, gap=gap, small_core=0), strict=True):
        same(a, b)


def test_a_point_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C within a point leaves its scores and the points before it; the next call starts there and forgets them when done."""
    problem = instance("digits")
    check, checks = Run.check, itertools.count()

    def stop(run: Run) -> None:
        if next(checks) == 1:
            raise KeyboardInterrupt
        check(run)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "check", stop)
        patched.setattr(solve, "_ready", lambda *_: False)  # goes on though nothing is left
        with pytest.raises(InterruptedSolveError, match=r"running\.scores holds the scores"):
            price_sharing_path(problem, DIGITS[2:], small_core=0, checkpoint=tmp_path)
    files = PointFiles(tmp_path, f"{fingerprint(problem)} 0.0 smallest True")
    begun = files.begun()
    assert begun is not None
    assert begun.iteration == 10
    points: list[PathPoint] = []
    price_sharing_path(problem, DIGITS[2:], small_core=0, checkpoint=tmp_path, done=points.append)
    assert points[0].solution.stats["iterations"] > 10
    assert not (tmp_path / RUNNING).exists()
    for point in points:
        best = min_cut(problem, point.solution.lam).pruning  # type: ignore[arg-type]
        np.testing.assert_array_equal(point.solution.pruning.kept, best.kept)  # type: ignore[union-attr]


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


def test_bad_lambdas_are_refused() -> None:
    """No lambdas, equal ones, negative ones and a negative gap are named."""
    problem = instance("iris")
    with pytest.raises(InvalidInputError, match="lams is empty"):
        price_sharing_path(problem, ())
    with pytest.raises(InvalidInputError, match=r"lams has 0\.1 twice"):
        price_sharing_path(problem, (0.1, 0.5, Fraction(1, 10)))
    with pytest.raises(InvalidInputError, match=r"lams\[1\]"):
        price_sharing_path(problem, (0.1, -0.5))
    for gap in (-1.0, float("nan")):
        with pytest.raises(InvalidInputError, match="gap is"):
            price_sharing_path(problem, (0.1,), gap=gap)


def test_neighbours_that_contradict_each_other_are_a_defect() -> None:
    """A split pruned at the smaller lambda and kept at the larger one is named."""
    problem = instance("digits")
    small, large = price_sharing_path(problem, (DIGITS[0], DIGITS[-1]))
    assert small.kept.sum() > large.kept.sum()
    with pytest.raises(SolverFailedError, match=r"split \d+ is pruned at a smaller lambda"):
        _known(problem, large, small, ())
