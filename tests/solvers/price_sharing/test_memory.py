"""What price sharing holds in memory, and how it keeps to a limit."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.hepmass_like import events
from formulations import PruningProblem, Status, StopReason
from formulations import memory as free_memory
from formulations.instance.routing import BLOCK_ROWS
from formulations.memory import memory_free
from proofs_checks import check_solution
from solvers import min_cut, pruning_path
from solvers.brute_force import brute_force
from solvers.price_sharing import loop, memory, price_sharing
from solvers.price_sharing.cluster import row_shard, sharded_price_sharing
from solvers.price_sharing.memory import memory_needed, memory_of_run
from solvers.price_sharing.params import ClusterParams, SharingParams
from tests.instances import random_problem, with_usage
from tests.loops import looped
from tests.solvers.cases import instance
from tests.solvers.price_sharing.cluster.parted import parted


@pytest.mark.slow
def test_the_prediction_is_what_is_allocated() -> None:
    """From the table to the solution NumPy allocates what was predicted, within a quarter; of merged lists at most as much."""
    X, y = events(80_000, 0)  # rows of HEPMASS's shape
    forest = RandomForestClassifier(10, max_features="sqrt", random_state=0).fit(X[:4000], y[:4000])
    price_sharing(pm.problem_from_forest(forest, X[:100], costs=1.0), 0.01)  # compiled
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    problem = pm.problem_from_forest(forest, X, costs=1.0)
    made = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    run = memory_of_run(problem)
    price_sharing(problem, 0.01, rounds=30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    needs = memory_needed(rows=80_000, trees=10, nodes=problem.ensemble.n_nodes, items=28, features=28)
    assert needs.table == X.nbytes
    assert made - before == pytest.approx(needs.routing + needs.nodes, rel=0.25)
    assert run == needs.blocks + needs.run
    lists = min(SharingParams.most_bytes, 2 * 80_000 * 10 * 28)
    assert 0.75 * (run - lists) < peak - made < run
    assert 0.75 * (needs.total - needs.table - lists) < peak - before < needs.total - needs.table


def test_the_formula_by_hand() -> None:
    """Seven rows, three trees, eleven nodes, two items, five features: (1) term by term; and a second block of rows."""
    needs = memory_needed(rows=7, trees=3, nodes=11, items=2, features=5)
    assert (needs.table, needs.routing, needs.nodes) == (4 * 35, 4 * 21 + 168, 105 * 11)
    assert (needs.blocks, needs.run) == (2 * 21 + 88 + 28, 51 * 11 + 42 + 84)
    assert needs.total == 140 + 252 + 1155 + 158 + 687
    assert memory_needed(rows=7, trees=3, nodes=11, items=2).table == 0
    one, two = (memory_needed(rows=n, trees=1, nodes=100, items=1).blocks for n in (BLOCK_ROWS, BLOCK_ROWS + 1))
    assert two - one == 2 + 800 + 4


def test_on_disk_only_rows_and_nodes_are_counted(tmp_path: Path) -> None:
    """Neither trees times rows nor items times rows are in memory; a run sees by the routing where it is."""
    needs = memory_needed(rows=7, trees=3, nodes=11, items=2, on_disk=True)
    assert (needs.routing, needs.nodes, needs.blocks, needs.run) == (168, 105 * 11, 28, 51 * 11 + 84)
    problem = instance("iris")
    routing = problem.usage.routing
    there = with_usage(problem, routing=replace(routing, scratch=tmp_path))
    arcs = problem.usage.n_rows * problem.ensemble.n_trees * problem.costs.n_items
    expected = 51 * problem.ensemble.n_nodes + 4 * problem.usage.n_rows + 2 * arcs
    assert memory_of_run(there) == expected < memory_of_run(with_usage(problem))


def test_too_little_memory_is_said_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it will not fit a run warns with both figures, and try all the same; where nobody knows they do not."""
    problem = instance("iris")
    monkeypatch.setattr(memory, "memory_free", lambda: memory_of_run(problem) - 1)
    with pytest.warns(RuntimeWarning, match=r"needs 0 MB for PruningProblem.*, 0 MB are free.*fewer cost rows") as told:
        found = pm.engines.price_sharing(problem, 0.01)
    assert found.relative_gap == 0
    assert told[0].filename == __file__
    for enough in (memory_of_run(problem), None):
        monkeypatch.setattr(memory, "memory_free", lambda enough=enough: enough)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            price_sharing(problem, 0.01)


def test_free_memory_is_the_least_that_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the system says is available, or what the control group still allows; neither known: None."""
    monkeypatch.setattr(free_memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(free_memory, "CGROUP", tmp_path)
    assert memory_free() is None
    assert str(memory_needed(rows=1, trees=1, nodes=1, items=1)) == "needs 0 MB"
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\n")
    assert memory_free() is None
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    assert memory_free() == 5000 * 1024
    (tmp_path / "memory.current").write_text("1000000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_free() == 5000 * 1024
    (tmp_path / "memory.max").write_text("3000000\n")
    assert memory_free() == 2_000_000
    (tmp_path / "memory.max").write_text("900000\n")
    assert memory_free() == 0
    (tmp_path / "memory.max").write_text("3000000000\n")
    (tmp_path / "meminfo").write_text("MemAvailable:    2500000 kB\n")
    assert str(memory_needed(rows=1_400_000, trees=40, nodes=450_744, items=28, features=28)) == "needs 863 MB, 2.6 GB free"
    assert str(memory_needed(rows=10**8, trees=40, nodes=450_744, items=28)).startswith("needs 40.8 GB")


LEFT = r"stopped at the memory limit: [\d,]+ splits are undecided\. .* cut their [\d,]+ usage arcs, which takes some \d+ MB"


def tie(problem: PruningProblem) -> Any:
    """A breakpoint: what goes there is in some optima and not in others, so rounds never decide it."""
    return pruning_path(problem).breakpoints[-2]


def test_a_core_that_fits_no_memory_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """After at most 400 rounds without progress, with a bound that is true and proven, and what is left in figures and words."""
    monkeypatch.setattr(loop, "too_large", lambda n_bytes: "too large")
    problem = instance("digits")
    lam = tie(problem)
    best = min_cut(problem, lam).value
    with pytest.warns(RuntimeWarning, match=LEFT) as told:
        found = pm.engines.price_sharing(problem, lam, small_core=0)
    assert told[0].filename == __file__
    assert found.stopped is StopReason.MEMORY_LIMIT
    assert found.bound <= best <= found.value
    assert found.stats["core_usage_arcs"] > 0
    assert 0 < found.stats["core_cut_bytes"] < 125 * found.stats["core_usage_arcs"]  # 125 for each that merging leaves
    assert found.stats["iterations"] < 1000
    assert found.certificate.dual is None  # type: ignore[union-attr]
    assert check_solution(problem, found).holds
    assert f"{int(found.stats['core_splits']):,} splits are undecided" in found._card().text()


@looped("seed", range(12))
def test_gaps_at_the_memory_limit_are_true(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the best of all prunings, at breakpoints and between them; where value and bound agree the pruning is optimal."""
    monkeypatch.setattr(loop, "too_large", lambda n_bytes: "too large")
    problem = random_problem(seed)
    breakpoints: Any = pruning_path(problem).breakpoints[1:3]
    for lam in [*breakpoints, *(b * Fraction(99, 100) for b in breakpoints)]:
        best = brute_force(problem, lam).value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = price_sharing(problem, lam, small_core=0)
        assert found.stopped is StopReason.MEMORY_LIMIT or found.stats["core_usage_arcs"] == 0
        assert found.bound <= best + 1e-12
        assert found.value >= best - 1e-12
        assert found.status is not Status.OPTIMAL or found.value <= best + 1e-9
        assert check_solution(problem, found).holds


def test_a_gap_that_rounds_do_not_reach_is_closed_by_the_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 400 rounds in vain a run to a gap cuts a large core too; without memory it ends there, and says so."""
    problem = instance("digits")
    lam = tie(problem)
    params = SharingParams(small_core=0)
    monkeypatch.setattr(loop, "too_large", lambda n_bytes: None)
    found = price_sharing(problem, lam, gap=1e-300, params=params)
    assert found.stopped is StopReason.CONVERGED
    assert found.stats["arcs"] > 0
    assert found.gap == 0
    monkeypatch.setattr(loop, "too_large", lambda n_bytes: "too large")
    with pytest.warns(RuntimeWarning, match=LEFT):
        short = price_sharing(problem, lam, gap=1e-300, params=params)
    assert short.stopped is StopReason.MEMORY_LIMIT
    assert short.bound <= found.value <= short.value


def test_a_small_core_that_the_caller_names_has_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a core of at most `SharingParams.small_core` usage arcs is cut without asking for memory."""
    problem = instance("digits")
    monkeypatch.setattr(loop, "too_large", lambda n_bytes: "too large")
    assert price_sharing(problem, tie(problem)).stopped is StopReason.CONVERGED
    with pytest.warns(RuntimeWarning, match=LEFT):
        found = price_sharing(problem, tie(problem), small_core=10**6, params=SharingParams(small_core=10))
    assert found.stopped is StopReason.MEMORY_LIMIT


def test_workers_without_memory_are_not_asked_for_their_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the lists of all parts on one machine do not fit there together, no core is gathered; where they do, it is."""
    problem = instance("digits")
    lam, sharded = tie(problem), parted(problem, 3)
    monkeypatch.setattr(loop, "too_large", lambda n_bytes: None)
    monkeypatch.setattr(row_shard, "memory_free", lambda: None)
    best = sharded_price_sharing(sharded, lam, small_core=0)
    assert best.stopped is StopReason.CONVERGED
    listed = ClusterParams.listing_bytes_per_arc * int(best.stats["core_usage_arcs"])
    monkeypatch.setattr(row_shard, "memory_free", lambda: listed - 1)
    with pytest.warns(RuntimeWarning, match=LEFT):
        found = sharded_price_sharing(sharded, lam, small_core=0)
    assert found.stopped is StopReason.MEMORY_LIMIT
    assert found.bound <= best.value <= found.value
    monkeypatch.setattr(row_shard, "memory_free", lambda: listed)
    assert sharded_price_sharing(sharded, lam, small_core=0).stopped is StopReason.CONVERGED
