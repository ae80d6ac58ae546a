"""Several lambdas by price sharing: what one decides holds for the others, and a path that was stopped goes on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from formulations import InvalidInputError, SolverFailedError, StopReason
from proofs_checks import check_solution
from solvers import min_cut, pruning_path
from solvers.closures.cut import Ties
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing import Scores, path, price_sharing, price_sharing_path
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.path import _ends_then_middles, _known
from solvers.price_sharing.rows import Rows
from solvers.price_sharing.run import Known, Run
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance

LAMBDAS = (0.05, 0, 0.003, 0.01, 0.02, 0.1, 1e300)
DIGITS = tuple(float(f"{x:.3g}") for x in np.geomspace(2e-3, 0.1, 7))


@looped("seed", range(24))
def test_every_point_is_the_optimum(seed: int) -> None:
    """Smallest and largest optima, with and without what neighbours decide, are those of the cut at each lambda, with no gap."""
    problem = random_problem(seed, rounded=seed % 4 == 0)
    breakpoints = pruning_path(problem).breakpoints
    lams = [*LAMBDAS, *{b * f for b in breakpoints[1:4] for f in (Fraction(9, 10), 1)}]
    for ties in ("smallest", "largest"):
        points = price_sharing_path(problem, lams, ties=ties, small_core=50_000 * (seed % 2))  # type: ignore[arg-type]
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
                assert not (point.kept | point.pruned).any()  # nothing of the instance itself


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


def test_a_rough_point_hands_on_what_it_decided() -> None:
    """Before its core is cut a point tells its neighbours of the splits that it fixed, in and out."""
    problem = instance("digits")
    for point in price_sharing_path(problem, (0.03,), gap=1e-5, small_core=0):
        assert point.proof.dual is None
        for stage in point.proof.stages:
            assert point.kept[stage.fixed_in].all()
            assert point.pruned[stage.fixed_out].all()
        assert point.kept.sum() == sum(stage.fixed_in.size for stage in point.proof.stages) > 0
        assert point.pruned.sum() == sum(stage.fixed_out.size for stage in point.proof.stages) > 0


def test_what_neighbours_decide_saves_rounds() -> None:
    """A point between two others takes at most as many rounds as by itself."""
    problem = instance("digits")
    points = price_sharing_path(problem, DIGITS, small_core=0)
    alone = [price_sharing(problem, lam, small_core=0) for lam in DIGITS]
    for point, other in zip(points, alone, strict=True):
        assert point.solution.stats["iterations"] <= other.stats["iterations"]


@pytest.mark.parametrize("name", ["digits", "breast cancer, licence", "wine, evaluation"])
def test_a_run_begins_with_what_is_known(name: str) -> None:
    """With some splits fixed, the best of the prunings tried is the first value, in integers that of the pruning itself."""
    problem = instance(name)
    integers = integer_objective(problem, Fraction(1, 200)).refined()
    best = min_cut(problem, Fraction(1, 200)).pruning  # type: ignore[arg-type]
    assert best is not None
    top = best.kept & (problem.ensemble.parent < 0)
    out = problem.ensemble.is_split & ~best.kept & (problem.ensemble.depth > 2)
    roots_only = best.kept & (problem.ensemble.depth < 2)
    with ThreadPoolExecutor(1) as pool:
        bare = Run(LocalRows(integers, pool), "smallest", None, Known(top, out))
        run = Run(LocalRows(integers, pool), "smallest", None, Known(top, out, (roots_only, best.kept, top)))
    assert bare.best_value == bare.rows.base != 0
    np.testing.assert_array_equal(bare.best_kept, top)
    gained = best.integer_gain * problem.integers.gain_unit - integers.lam * best.exact_cost
    assert run.best_value * integers.unit == gained
    np.testing.assert_array_equal(run.best_kept, best.kept)
    assert run.bound >= run.best_value
    kept, pruned = run.decided()
    np.testing.assert_array_equal(kept, top)
    assert pruned[out].all()
    assert not pruned[best.kept].any()


def test_every_point_starts_from_equal_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of other lambdas have drifted apart, so none are handed on; the nearest lambda's pruning is tried first."""
    starts: list[Scores | None] = []
    tried: list[Known] = []

    def spied(rows: Rows, ties: Ties, start: Scores | None, known: Known) -> Run:
        starts.append(start)
        tried.append(known)
        return Run(rows, ties, start, known)

    monkeypatch.setattr(path, "Run", spied)
    for middle, nearest in ((0.002, 0), (0.09, 2)):
        tried.clear()
        points = price_sharing_path(instance("digits"), (0.001, middle, 0.1), small_core=0)
        assert tried[2].prunings[0] is points[nearest].solution.pruning.kept  # type: ignore[union-attr]
    assert starts == [None] * 6


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
