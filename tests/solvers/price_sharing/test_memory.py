"""The compiled passes against sums over usage arcs; what price sharing holds in memory, and how it keeps to a limit."""

from __future__ import annotations

import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.hepmass_like import events
from formulations import PruningProblem, Status, StopReason
from formulations import memory as free_memory
from formulations.instance.routing import BLOCK_ROWS, row_blocks, row_order
from formulations.instance.usage_arcs import merge_purchases
from formulations.memory import memory_free
from proofs_checks import check_solution
from solvers import min_cut, pruning_path
from solvers.brute_force import brute_force
from solvers.closures.cut import PredictedSeconds
from solvers.closures.integer_objective import integer_objective
from solvers.closures.tree_pass import forced
from solvers.price_sharing import core as core_module
from solvers.price_sharing import loop, merged_usage, price_sharing, shares, solve
from solvers.price_sharing.cluster import row_shard, sharded_price_sharing
from solvers.price_sharing.core import solve_core
from solvers.price_sharing.loop import cut_fits_memory, cut_in_rounds, without_progress
from solvers.price_sharing.params import ClusterParams, SharingParams
from solvers.price_sharing.remaining import Remaining, all_open
from solvers.price_sharing.rows import LocalRows, closure_value
from solvers.price_sharing.run import Run, best_level
from solvers.price_sharing.shares import ROWS_PER_ARC, Sharing, paid_at
from solvers.price_sharing.solve import memory_needed, memory_of_run
from tests.instances import random_problem, with_usage
from tests.loops import looped
from tests.solvers.cases import instance, leaves_only
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
    monkeypatch.setattr(solve, "memory_free", lambda: memory_of_run(problem) - 1)
    with pytest.warns(RuntimeWarning, match=r"needs 0 MB for PruningProblem.*, 0 MB are free.*fewer cost rows") as told:
        found = pm.engines.price_sharing(problem, 0.01)
    assert found.relative_gap == 0
    assert told[0].filename == __file__
    for enough in (memory_of_run(problem), None):
        monkeypatch.setattr(solve, "memory_free", lambda enough=enough: enough)
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


def blocked(problem: PruningProblem, size: int | None, monkeypatch: pytest.MonkeyPatch) -> PruningProblem:
    """The problem with its rows put in order, in blocks of so many."""
    if size is not None:
        order = row_order(problem.usage.routing, problem.ensemble)
        blocks = row_blocks(problem.usage.routing, problem.ensemble.tree_of, size, order)
        monkeypatch.setitem(problem.usage.__dict__, "row_blocks", blocks)
    return problem


def whole_and_partly_fixed(problem: PruningProblem, rng: np.random.Generator) -> tuple[Remaining, Remaining]:
    """All that is open, and the instance with some splits at the tops of trees fixed in, and everything deep fixed out."""
    left = all_open(integer_objective(problem, Fraction(1, 150)).refined(), problem.ensemble.is_split)
    depth = problem.ensemble.depth[left.nodes]
    kept = (rng.random(left.nodes.size) < 0.7) & (depth < 6)
    for h in range(kept.size):
        kept[h] &= left.parent[h] < 0 or kept[left.parent[h]]
    return left, left.fixed(kept, ~kept & (depth > 6))


NAMES = ("digits", "breast cancer, licence", "breast cancer, discounts", "wine, groups", "wine, evaluation", "iris, weights")


def charges_of_arcs(left: Remaining, score: NDArray[np.float32]) -> NDArray[np.float64]:
    """(1) of `solvers.price_sharing.shares`, arc by arc."""
    problem = left.objective.problem
    arcs = problem.usage.arcs(left.nodes)
    place = np.full(problem.ensemble.n_nodes, -1)
    place[left.nodes] = np.arange(left.nodes.size)
    weight = np.exp(score.astype(float) - max(float(score.max(initial=-np.inf)), -1e300))[place[arcs.tail]]
    total = np.bincount(arcs.head, weight, problem.usage.n_purchases)
    price = left.objective.prices(np.arange(problem.usage.n_purchases, dtype=np.int32)).astype(float)
    if left.paid is not None:
        price[left.paid] = 0.0
    return np.bincount(place[arcs.tail], price[arcs.head] * weight / total[arcs.head], left.nodes.size)


def many_rows(weights: str) -> PruningProblem:
    """600 cost rows at equal, whole or real weights; prices are kept by row, for real ones purchase by purchase."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(6, random_state=0).fit(X[:900], y[:900])
    random = np.random.default_rng(3)
    omega = {"equal": None, "whole": random.integers(1, 9, 600).astype(float), "real": random.random(600)}[weights]
    problem = pm.problem_from_forest(forest, X[900:1500], costs=1.0, sample_weight=omega)
    assert (integer_objective(problem, Fraction(1, 150)).refined().grid is None) == (weights != "real")
    return problem


@pytest.mark.parametrize("size", [None, 3, 50])
@looped("name", (*NAMES, "equal", "whole", "real"))
def test_charges_are_those_of_the_arcs(name: str, size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after splits are fixed, where an item has few arcs in a block and where many, charges are the arcs' sums. With
    many rows, a block's few arcs that others have paid charge nothing, and those of other blocks do.
    """
    problem = blocked(instance(name) if name in NAMES else many_rows(name), size, monkeypatch)
    rng = np.random.default_rng(0)
    few = many = 0
    with ThreadPoolExecutor(1) as pool:
        for left in whole_and_partly_fixed(problem, rng):
            score = (3 * rng.standard_normal(left.nodes.size)).astype(np.float32)
            unmerged = SharingParams(most_bytes=0)
            ways = (unmerged, SharingParams(), replace(unmerged, one_thread_arcs=0))
            charged = [Sharing(left, pool, params).charges(score) for params in ways]
            np.testing.assert_allclose(charged, [charges_of_arcs(left, score)] * 3, rtol=1e-11)
            rows = (problem.usage.row_blocks.stop - problem.usage.row_blocks.start)[:, left.nodes]
            for m in np.unique(left.slices.item):
                arcs = rows[:, left.slices.split[left.slices.item == m]].sum(axis=1)
                sparse = arcs * ROWS_PER_ARC < np.minimum(problem.usage.row_blocks.size, problem.usage.n_rows)
                few, many = few + int((sparse & (arcs > 0)).sum()), many + int((~sparse).sum())
    assert many > 0
    assert few > 0 or name != "digits" or size == 3


@pytest.mark.parametrize("size", [None, 50])
@pytest.mark.parametrize("kind", ["keys", "codes that collide", "two threads"])
@looped("name", NAMES)
def test_merged_purchases_pay_and_are_cut_as_all_of_them(
    name: str, kind: str, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bills of levels to the last digit, and charges, are those of all usage arcs, whatever the keys are.

    Without collisions there are as many arcs as where `merge_purchases` compares the users themselves, or more in several blocks.
    Cuts of both find the same closure; the flow, divided among all usage arcs, proves it and exceeds no price.
    """
    problem = blocked(instance(name), size, monkeypatch)
    if kind == "codes that collide":
        monkeypatch.setattr(merged_usage, "keys_of", lambda n: np.ones(n, dtype=np.uint64))
        monkeypatch.setattr(core_module, "keys_of", lambda n: np.ones(n, dtype=np.uint64))
    params = SharingParams(one_thread_arcs=0, most_left=1.0) if kind == "two threads" else SharingParams()
    rng = np.random.default_rng(4)
    with ThreadPoolExecutor(1) as pool:
        for left in whole_and_partly_fixed(problem, rng):
            sharing = Sharing(left, pool, params)
            level = rng.integers(0, 5, left.nodes.size, dtype=np.int32)
            assert sharing.level_bills(level, 4) == paid_at(left, level, 4)
            score = rng.standard_normal(left.nodes.size).astype(np.float32)
            np.testing.assert_allclose(sharing.charges(score), charges_of_arcs(left, score), rtol=1e-11)
            assert sharing.merged is not None
            n_arcs = sum(part.place.size for part in sharing.merged)
            arcs = problem.usage.arcs(left.nodes)
            price = left.unpaid_prices(np.arange(problem.usage.n_purchases, dtype=np.int32))
            priced = price[arcs.head] > 0
            least = merge_purchases(arcs.tail[priced], arcs.head[priced], price).arc.size
            assert least <= n_arcs <= priced.sum()
            # users of several items could be merged across items there
            assert n_arcs == least or kind == "codes that collide" or size is not None or name == "wine, groups"
            place = np.searchsorted(left.nodes, arcs.tail)
            for lists in (sharing.merged, None):
                core = solve_core(left, lists, np.zeros(left.nodes.size, dtype=np.float32), "smallest")
                dual = core.duals()
                assert core.value == closure_value(left, core.keep)
                assert dual.min(initial=0) == 0
                charge, shared = np.zeros(left.nodes.size, dtype=np.int64), np.zeros_like(price)
                np.add.at(charge, place, dual)
                np.add.at(shared, arcs.head, dual)
                assert (shared <= price).all()
                assert forced(left.parent, left.profit - charge).best == core.value


@pytest.mark.parametrize("size", [None, 3, 50])
@looped("name", NAMES)
def test_values_are_those_of_prunings(name: str, size: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fixed splits earn, and what a closure of the rest adds, make the value of the pruning; the best level's too."""
    problem = blocked(instance(name), size, monkeypatch)
    rng = np.random.default_rng(1)
    for left in whole_and_partly_fixed(problem, rng):
        fixed_in = problem.ensemble.is_split & (problem.ensemble.depth < 6)
        fixed_in[left.nodes] = False
        log_level = rng.normal(0, 0.02, left.nodes.size).astype(np.float32)
        for h in range(log_level.size):
            if left.parent[h] >= 0:
                log_level[h] = min(log_level[h], log_level[left.parent[h]])
        for keep in (log_level >= 0.02, log_level >= 0.0, log_level >= -1.0, log_level > 2.0):
            assert left.base + closure_value(left, keep) == value_of(left, fixed_in, keep)
        best, worth = best_level(left.parent, left.profit, log_level, partial(paid_at, left))
        assert left.base + worth == value_of(left, fixed_in, best)


def value_of(left: Remaining, fixed_in: NDArray[np.bool_], keep: NDArray[np.bool_]) -> Fraction:
    """Gain less cost of the pruning that keeps what is fixed in and some open splits, in units of the integers."""
    problem, kept = left.objective.problem, fixed_in.copy()
    kept[left.nodes[keep]] = True
    pruning = pm.Pruning(problem, kept)
    return (pruning.integer_gain * problem.numbers.gain_unit - left.objective.lam * pruning.exact_cost) / left.objective.unit


def test_a_core_of_few_arcs_a_split_is_cut_sooner() -> None:
    """A cut costs some 170 rounds where arcs outweigh splits, some 35 where splits outweigh arcs, never less than two checks."""
    problem, params = instance("digits"), SharingParams()
    with ThreadPoolExecutor(1) as pool:
        rows = LocalRows(integer_objective(problem, Fraction(1, 150)).refined(), pool, params)
        Run(rows, "smallest")
        a, k = rows.n_arcs, rows.remaining.nodes.size
        cut = params.core_arc * rows.cut_arcs + params.cut_seconds.for_split * k
        expected = cut / (params.round_seconds(a, k))
        assert 0 < expected < params.core_arc / params.round_seconds.for_arc
        assert cut_in_rounds(rows) == pytest.approx(expected)
        rows.params = replace(params, large_core=rows.cut_arcs / 3)
        assert cut_in_rounds(rows) == pytest.approx(3 * expected)
        rows.params = replace(params, core_arc=0.0, cut_seconds=PredictedSeconds(0.0, params.round_seconds.for_split))
        assert cut_in_rounds(rows) == 20
        bare = Run(LocalRows(integer_objective(leaves_only(), Fraction(1, 7)).refined(), pool, params), "smallest")
    assert (bare.n_arcs, cut_in_rounds(bare.rows)) == (0, 20)


@pytest.mark.parametrize(
    ("rounds", "before", "after", "expected"),
    [(0, 1000, 1000, 10), (90, 1000, 1000, 100), (100, 1000, 900, 70), (50, 1000, 600, 0), (30, 0, 0, 40), (0, 1000, 950, 0)],
)
def test_rounds_without_progress_by_hand(rounds: int, before: int, after: int, expected: int) -> None:
    """Ten more rounds without progress, less 40 rounds for each 10 % by which the core shrank."""
    assert without_progress(SharingParams(), rounds, before, after) == expected


@pytest.mark.parametrize("merges", [True, False])
def test_a_core_is_cut_only_where_there_is_memory(merges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut takes 125 bytes for each arc that merging leaves, or 85 for each usage arc of the core, and has to find them free."""
    problem = instance("digits")
    lam = pm.pruning_path(problem).breakpoints[-2]  # a tie: what goes there is never fixed
    monkeypatch.setattr(shares, "MOST_TREES", 10**6 if merges else 0)
    with ThreadPoolExecutor(1) as pool:
        run = Run(LocalRows(integer_objective(problem, lam).refined(), pool, SharingParams()), "smallest")
    needed = 125 * run.rows.cut_arcs if merges else 85 * run.n_arcs
    assert (run.rows.cut_arcs < run.n_arcs) is merges
    for free, fits in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr(loop, "too_large", lambda n_bytes, free=free: "too large" if n_bytes > free else None)
        assert cut_fits_memory(run.rows) is fits
