"""Price sharing on an instance whose routing is in a scratch folder: the same answer, in less memory."""

from __future__ import annotations

import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.ensemble import RandomForestClassifier

from prunemodels.tables import ChunkedTable, problem_from_table
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing import final_scores, price_sharing
from solvers.price_sharing.remaining import all_open
from tests.formulations.instance.test_routing import mapped

N_TREES = 6
LAM = 0.004


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A forest and a Parquet file of more rows than a block has."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70_000, 5)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 0
    forest = RandomForestClassifier(N_TREES, max_depth=7, random_state=0).fit(X[:3000], y[:3000])
    file = tmp_path_factory.mktemp("table") / "rows.parquet"
    names = [f"x{j}" for j in range(5)]
    parquet.write_table(pa.table(list(X.T), names=names), file, row_group_size=9000)
    return forest, ChunkedTable(file, columns=names, chunk_rows=9000)


@pytest.mark.slow
def test_price_sharing_on_disk_is_that_in_memory(made, tmp_path):
    """Bit for bit: value, bound, splits, scores of every stage, rounds; with a gap and to the optimum. Nothing stays behind."""
    forest, table = made
    here = problem_from_table(forest, table, costs=[1, 2, 3, 1, 1])
    there = problem_from_table(forest, table, costs=[1, 2, 3, 1, 1], scratch=tmp_path)
    for gap in (1e-2, 0.0):
        one, other = (price_sharing(p, LAM, gap=gap, small_core=0) for p in (here, there))
        assert (one.value, one.bound, one.status, one.stopped) == (other.value, other.bound, other.status, other.stopped)
        assert np.array_equal(one.pruning.kept, other.pruning.kept)
        assert np.array_equal(final_scores(one).score, final_scores(other).score)
        assert one.stats["iterations"] == other.stats["iterations"] > 0
    assert 0 < one.pruning.n_splits < here.ensemble.n_splits
    assert there.usage.row_blocks.n_blocks == 2
    for part in ("order", "start", "stop"):
        assert mapped(getattr(there.usage.row_blocks, part))
        assert not mapped(getattr(here.usage.row_blocks, part))
    assert list(tmp_path.iterdir()) == []


def test_memory_on_disk_does_not_grow_with_the_trees(made, tmp_path):
    """Three numbers a row stay in memory, nothing for a tree: neither of the order nor of its blocks."""
    forest, table = made
    held = {}
    for scratch in (None, tmp_path):
        tracemalloc.start()
        try:
            problem = problem_from_table(forest, table, costs=1, scratch=scratch)
            problem.usage.row_blocks  # noqa: B018
            held[scratch] = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    n = problem.usage.n_rows
    of_nodes = 8 * problem.ensemble.n_nodes * problem.usage.row_blocks.n_blocks
    assert held[None] - held[tmp_path] > 6 * N_TREES * n + of_nodes - 50_000
    assert held[tmp_path] < 24 * n + 600_000


def test_purchases_of_an_instance_on_disk_are_there_too(made, tmp_path):
    """Which are paid, in a run and of a pruning: the same as in memory, none of it in memory."""
    forest, table = made
    here = problem_from_table(forest, table, costs=[1, 2, 3, 1, 1])
    there = problem_from_table(forest, table, costs=[1, 2, 3, 1, 1], scratch=tmp_path)
    kept = here.ensemble.is_split & (here.ensemble.depth < 4)
    found = []
    for problem in (here, there):
        left = all_open(integer_objective(problem, Fraction(1, 250)).refined(), problem.ensemble.is_split)
        found.append((problem.usage.paid_by(kept), left.fixed(kept[left.nodes], ~kept[left.nodes]).paid))
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype == np.bool_
        assert one.any()
        assert not one.all()
        assert np.array_equal(one, other)
        assert (mapped(one), mapped(other)) == (False, True)


def test_an_instance_on_disk_can_be_pickled(made, tmp_path):
    """It is opened in memory, with the same answer."""
    forest, table = made
    problem = problem_from_table(forest, table, costs=1, scratch=tmp_path)
    opened = pickle.loads(pickle.dumps(problem))
    assert not mapped(opened.usage.row_blocks.order)
    assert price_sharing(opened, LAM, gap=1e-2).bound == price_sharing(problem, LAM, gap=1e-2).bound
