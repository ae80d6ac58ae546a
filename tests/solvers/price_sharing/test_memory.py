"""Memory predicted from sizes: against what is really allocated, and said in time."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.hepmass_like import events
from formulations import memory as free_memory
from formulations.instance.row_blocks import BLOCK
from formulations.memory import memory_free
from solvers.price_sharing import memory, price_sharing
from solvers.price_sharing.memory import memory_needed, memory_of_run
from solvers.price_sharing.merged_usage import MOST_BYTES
from tests.instances import with_usage
from tests.solvers.cases import instance


@cache
def grown() -> tuple[NDArray[np.float32], RandomForestClassifier]:
    """Rows of HEPMASS's shape, and a forest of the first of them."""
    X, y = events(80_000, 0)
    return X, RandomForestClassifier(10, max_features="sqrt", random_state=0).fit(X[:4000], y[:4000])


def test_the_prediction_is_what_is_allocated() -> None:
    """From the table to the solution NumPy allocates what was predicted, within a quarter; of merged lists at most as much."""
    X, forest = grown()
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
    lists = min(MOST_BYTES, 2 * 80_000 * 10 * 28)
    assert 0.75 * (run - lists) < peak - made < run
    assert 0.75 * (needs.total - needs.table - lists) < peak - before < needs.total - needs.table


def test_the_formula_by_hand() -> None:
    """Seven rows, three trees, eleven nodes, two items, five features: (1) term by term; and a second block of rows."""
    needs = memory_needed(rows=7, trees=3, nodes=11, items=2, features=5)
    assert (needs.table, needs.routing, needs.nodes) == (4 * 35, 4 * 21 + 168, 105 * 11)
    assert (needs.blocks, needs.run) == (2 * 21 + 88 + 28, 51 * 11 + 42 + 84)
    assert needs.total == 140 + 252 + 1155 + 158 + 687
    assert memory_needed(rows=7, trees=3, nodes=11, items=2).table == 0
    one, two = (memory_needed(rows=n, trees=1, nodes=100, items=1).blocks for n in (BLOCK, BLOCK + 1))
    assert two - one == 2 + 800 + 4


def test_on_disk_only_rows_and_nodes_are_counted(tmp_path: Path) -> None:
    """Neither trees times rows nor items times rows are in memory; a run sees by the routing where it is."""
    needs = memory_needed(rows=7, trees=3, nodes=11, items=2, on_disk=True)
    assert (needs.routing, needs.nodes, needs.blocks, needs.run) == (168, 105 * 11, 28, 51 * 11 + 84)
    problem = instance("iris")
    routing = problem.routing
    there = with_usage(problem, routing=replace(routing, scratch=tmp_path))
    arcs = problem.n_rows * problem.ensemble.n_trees * problem.costs.n_items
    expected = 51 * problem.ensemble.n_nodes + 4 * problem.n_rows + 2 * arcs
    assert memory_of_run(there) == expected < memory_of_run(with_usage(problem))


def test_blocks_that_are_there_are_not_counted_twice() -> None:
    """Once the blocks of rows were made a run needs less by them."""
    problem = instance("iris")
    problem.usage.__dict__.pop("row_blocks", None)
    first = memory_of_run(problem)
    assert problem.row_blocks.n_blocks == 1
    assert (
        first - memory_of_run(problem)
        == memory_needed(rows=problem.n_rows, trees=problem.ensemble.n_trees, nodes=problem.ensemble.n_nodes, items=4).blocks
    )


def test_too_little_memory_is_said_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it will not fit a run warns with both figures, and try all the same; where nobody knows they do not."""
    problem = instance("iris")
    monkeypatch.setattr(memory, "memory_free", lambda: memory_of_run(problem) - 1)
    with pytest.warns(RuntimeWarning, match=r"needs 0 MB for PruningProblem.*, 0 MB are free.*fewer cost rows") as told:
        found = price_sharing(problem, 0.01)
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
