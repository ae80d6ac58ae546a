"""A core that fits no memory: the run ends by itself, with what it has proved, and says what is left and what helps."""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest

from formulations import PruningProblem, Status, StopReason
from proofs_checks import check_solution
from solvers import min_cut, pruning_path
from solvers.brute_force import brute_force
from solvers.price_sharing import price_sharing, stopping
from solvers.price_sharing.cluster import row_shard, sharded_price_sharing
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance
from tests.solvers.price_sharing.cluster.on_ray import TELLS
from tests.solvers.price_sharing.cluster.parted import Unreliable, joined, parted, recipes_of

LEFT = r"stopped at the memory limit: [\d,]+ splits are undecided\. .* cut their [\d,]+ usage arcs, which takes some \d+ MB"


def tie(problem: PruningProblem) -> Fraction:
    """A breakpoint: what goes there is in some optima and not in others, so rounds never decide it."""
    return pruning_path(problem).breakpoints[-2]


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte is free."""
    monkeypatch.setattr(stopping, "memory_free", lambda: 0)


@pytest.mark.usefixtures("no_memory")
def test_a_core_that_fits_no_memory_ends_the_run() -> None:
    """After at most 400 rounds without progress, with a bound that is true and proven, and what is left in figures and words."""
    problem = instance("digits")
    lam = tie(problem)
    best = min_cut(problem, lam).value  # type: ignore[arg-type]
    with pytest.warns(RuntimeWarning, match=LEFT) as told:
        found = price_sharing(problem, lam, small_core=0)  # type: ignore[arg-type]
    assert told[0].filename == __file__
    assert found.stopped is StopReason.MEMORY_LIMIT
    assert found.bound <= best <= found.value
    assert found.stats["core_usage_arcs"] > 0
    assert 0 < found.stats["core_cut_bytes"] < 125 * found.stats["core_usage_arcs"]  # 125 for each that merging leaves
    assert found.stats["iterations"] < 1000
    assert found.certificate.dual is None  # type: ignore[union-attr]
    assert check_solution(problem, found).holds
    assert f"{int(found.stats['core_splits']):,} splits are undecided" in found._card().text()


@pytest.mark.usefixtures("no_memory")
@looped("seed", range(12))
def test_gaps_at_the_memory_limit_are_true(seed: int) -> None:
    """Against the best of all prunings, at breakpoints and between them; where value and bound agree the pruning is optimal."""
    problem = random_problem(seed)
    breakpoints = pruning_path(problem).breakpoints[1:3]
    for lam in [*breakpoints, *(b * Fraction(99, 100) for b in breakpoints)]:
        best = brute_force(problem, lam).value  # type: ignore[arg-type]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = price_sharing(problem, lam, small_core=0)  # type: ignore[arg-type]
        assert found.stopped is StopReason.MEMORY_LIMIT or found.stats["core_usage_arcs"] == 0
        assert found.bound <= best + 1e-12
        assert found.value >= best - 1e-12
        assert found.status is not Status.OPTIMAL or found.value <= best + 1e-9
        assert check_solution(problem, found).holds


def test_rounds_in_vain_end_after_the_cut_would_have_been_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the core fits, it is cut, and not later than a run without memory ends; where it fits later, it is cut then."""
    problem = instance("digits")
    lam = tie(problem)
    monkeypatch.setattr(stopping, "memory_free", lambda: None)
    expected = price_sharing(problem, lam, small_core=0)  # type: ignore[arg-type]
    assert expected.stopped is StopReason.CONVERGED
    asked = iter(range(10**9))
    monkeypatch.setattr(stopping, "memory_free", lambda: 0 if next(asked) < 1 else 10**12)
    found = price_sharing(problem, lam, small_core=0)  # type: ignore[arg-type]
    assert found.stopped is StopReason.CONVERGED
    assert found.stats["iterations"] >= expected.stats["iterations"]
    np.testing.assert_array_equal(found.pruning.kept, expected.pruning.kept)  # type: ignore[union-attr]


def test_a_core_that_fits_is_waited_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a large core is worth 300 rounds of patience, and fits, the run goes on until it is cut: at a tie for 100 rounds."""
    problem = instance("digits")
    monkeypatch.setattr(stopping, "memory_free", lambda: None)
    monkeypatch.setattr(stopping, "cut_in_rounds", lambda rows: 300.0)
    at_tie = price_sharing(problem, tie(problem), small_core=0)  # type: ignore[arg-type]
    monkeypatch.setattr(stopping, "CLOSE", -1.0)
    found = price_sharing(problem, tie(problem), small_core=0)  # type: ignore[arg-type]
    assert found.stopped is at_tie.stopped is StopReason.CONVERGED
    assert 100 <= at_tie.stats["iterations"] < 300 <= found.stats["iterations"]


def test_a_gap_that_rounds_do_not_reach_is_closed_by_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 400 rounds in vain a run to a gap cuts a large core too; without memory it ends there, and says so."""
    problem = instance("digits")
    lam = tie(problem)
    monkeypatch.setattr(stopping, "SMALL_CORE", 0)
    monkeypatch.setattr(stopping, "memory_free", lambda: None)
    found = price_sharing(problem, lam, gap=1e-300)  # type: ignore[arg-type]
    assert found.stopped is StopReason.CONVERGED
    assert found.stats["arcs"] > 0
    assert found.gap == 0
    monkeypatch.setattr(stopping, "memory_free", lambda: 0)
    with pytest.warns(RuntimeWarning, match=LEFT):
        short = price_sharing(problem, lam, gap=1e-300)  # type: ignore[arg-type]
    assert short.stopped is StopReason.MEMORY_LIMIT
    assert short.bound <= found.value <= short.value


def test_a_small_core_that_the_caller_names_has_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a core of at most `SMALL_CORE` usage arcs is cut without asking for memory."""
    problem = instance("digits")
    monkeypatch.setattr(stopping, "memory_free", lambda: 0)
    assert price_sharing(problem, tie(problem)).stopped is StopReason.CONVERGED  # type: ignore[arg-type]
    monkeypatch.setattr(stopping, "SMALL_CORE", 10)
    with pytest.warns(RuntimeWarning, match=LEFT):
        found = price_sharing(problem, tie(problem), small_core=10**6)  # type: ignore[arg-type]
    assert found.stopped is StopReason.MEMORY_LIMIT


def test_workers_without_memory_are_not_asked_for_their_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the lists of all parts on one machine do not fit there together, no core is gathered; where they do, it is."""
    problem = instance("digits")
    lam, sharded = tie(problem), parted(problem, 3)
    monkeypatch.setattr(stopping, "memory_free", lambda: None)
    monkeypatch.setattr(row_shard, "memory_free", lambda: None)
    best = sharded_price_sharing(sharded, lam, small_core=0)  # type: ignore[arg-type]
    assert best.stopped is StopReason.CONVERGED
    listed = row_shard.LISTING_BYTES_PER_ARC * int(best.stats["core_usage_arcs"])
    monkeypatch.setattr(row_shard, "memory_free", lambda: listed - 1)
    with pytest.warns(RuntimeWarning, match=LEFT):
        found = sharded_price_sharing(sharded, lam, small_core=0)  # type: ignore[arg-type]
    assert found.stopped is StopReason.MEMORY_LIMIT
    assert found.bound <= best.value <= found.value
    monkeypatch.setattr(row_shard, "memory_free", lambda: listed)
    assert sharded_price_sharing(sharded, lam, small_core=0).stopped is StopReason.CONVERGED  # type: ignore[arg-type]


@pytest.mark.parametrize("free", [math.inf, 0])
def test_a_worker_lost_while_it_tells_its_memory_is_asked_again(free: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts is the memory of the worker that takes its place: with enough the core is gathered and cut, else it is not."""
    problem = instance("digits")
    lam = tie(problem)
    monkeypatch.setattr(stopping, "memory_free", lambda: None)
    monkeypatch.setattr(row_shard, "memory_free", lambda: None)
    reliable = Unreliable(recipes_of(problem, 2), set())
    best = sharded_price_sharing(joined(problem, reliable), lam, small_core=0)  # type: ignore[arg-type]
    mine = [method for i, method in reliable.asked if i == 1]
    asked = mine.index("memory_for_arcs") + 1
    workers = Unreliable(recipes_of(problem, 2), {(asked, 1)})
    monkeypatch.setattr(row_shard, "memory_free", lambda: free if workers.lost else None)
    with nullcontext() if free else pytest.warns(RuntimeWarning, match=LEFT):
        found = sharded_price_sharing(joined(problem, workers), lam, small_core=0)  # type: ignore[arg-type]
    assert workers.lost == 1
    again = [method for i, method in workers.asked if i == 1]
    assert again[: asked - 1] == mine[: asked - 1]
    told = [method for method in mine[:asked] if method in TELLS]
    assert again[asked - 1 : asked + 1 + len(told)] == ["memory_for_arcs", *told, "memory_for_arcs"]
    assert ("usage_arcs" in again) is (free > 0)
    assert found.stopped is (StopReason.CONVERGED if free else StopReason.MEMORY_LIMIT)
    assert found.bound <= best.value <= found.value
    if free:
        np.testing.assert_array_equal(found.kept, best.kept)


@pytest.mark.usefixtures("no_memory")
def test_a_driver_without_memory_ends_as_one_machine_does() -> None:
    """Rows elsewhere, the run ends after the same rounds with the same pruning; the gap is proven."""
    problem = instance("digits")
    lam = tie(problem)
    with pytest.warns(RuntimeWarning, match=LEFT) as told:
        found = sharded_price_sharing(parted(problem, 3), lam, small_core=0)  # type: ignore[arg-type]
    assert told[0].filename == __file__
    with pytest.warns(RuntimeWarning, match=LEFT):
        alone = price_sharing(problem, lam, small_core=0)  # type: ignore[arg-type]
    assert found.stopped is StopReason.MEMORY_LIMIT
    assert found.stats["iterations"] == alone.stats["iterations"]
    np.testing.assert_array_equal(found.kept, alone.pruning.kept)  # type: ignore[union-attr]
    assert found.bound <= Fraction(min_cut(problem, lam).value) + Fraction(1, 10**12)  # type: ignore[arg-type]
    assert check_solution(problem, found.on(problem)).holds
