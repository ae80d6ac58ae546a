"""Parts of the rows for workers, and an estimate of what workers bring."""

from __future__ import annotations

import pickle
import socket
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from formulations import BrokenFileError, CapacityOverflowError, CostItems, InvalidInputError, PruningProblem, SolverFailedError
from solvers.price_sharing.cluster import (
    LocalWorkers,
    ShardedProblem,
    array_parts,
    parquet_parts,
    ray_workers,
    shard_recipes,
    sharded_price_sharing,
)
from solvers.price_sharing.cluster.ray_workers import connect
from tests.solvers.cases import instance
from tests.solvers.price_sharing.cluster.parted import parted, recipes_of


def with_parts(problem: PruningProblem, sources: list[Any], costs: CostItems | None = None) -> ShardedProblem:
    costs = problem.costs if costs is None else costs
    return ShardedProblem.build(
        problem.ensemble, problem.errors, LocalWorkers(shard_recipes(problem.ensemble, costs, sources)), costs
    )


def test_array_parts_are_all_rows_in_order() -> None:
    """Parts differ by one row at most, with their weights, and too many of them are refused."""
    X, weights = np.arange(20).reshape(10, 2), np.arange(10.0)
    parts = array_parts(X, 3, weights)
    assert sorted(len(p.X) for p in parts) == [3, 3, 4]
    np.testing.assert_array_equal(np.vstack([p.X for p in parts]), X)
    np.testing.assert_array_equal(np.concatenate([p.weights for p in parts]), weights)
    for n_parts in (0, 11):
        with pytest.raises(InvalidInputError, match=f"n_parts is {n_parts}; 10 rows"):
            array_parts(X, n_parts)


@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("n_parts", [1, 2, 3, 7])
def test_a_parquet_file_is_read_in_parts(n_parts: int, tmp_path: Path) -> None:
    """Row groups go to the parts in order and about evenly; the answer is that of the array, weights included."""
    problem, lam = instance("iris, weights"), 0.02
    X = pd.DataFrame(np.asarray(problem.X), columns=["a", "b", "c", "d"])
    file = tmp_path / "rows.parquet"
    table = X.assign(omega=problem.usage.weights)[["omega", "d", "c", "b", "a"]]
    table.to_parquet(file, row_group_size=5)
    parts = parquet_parts(file, n_parts, ["a", "b", "c", "d"], "omega")
    assert [g for p in parts for g in p.groups] == list(range(8))
    assert max(len(p.groups) for p in parts) - min(len(p.groups) for p in parts) <= 1
    assert pickle.loads(pickle.dumps(parts)) == parts
    found = sharded_price_sharing(with_parts(problem, parts), lam)
    np.testing.assert_array_equal(found.kept, sharded_price_sharing(parted(problem, 2), lam).kept)
    rows, weights = parts[0]()
    np.testing.assert_array_equal(rows, X.to_numpy(np.float32)[: len(rows)])
    np.testing.assert_array_equal(weights, problem.usage.weights[: len(rows)])
    assert parquet_parts(file, n_parts, ["a"])[0]()[1] is None


def test_uneven_row_groups_leave_no_part_empty(tmp_path: Path) -> None:
    """One huge row group among small ones: every part has at least one."""
    file = tmp_path / "uneven.parquet"
    import pyarrow as pa
    from pyarrow import parquet

    for sizes in ([100, 1, 1, 1], [1, 1, 1, 100], [1, 100, 1, 1]):
        with parquet.ParquetWriter(file, pa.schema([("a", pa.float32())])) as writer:
            for size in sizes:
                writer.write_table(pa.table({"a": pa.array(np.ones(size), pa.float32())}))
        parts = parquet_parts(file, 3, ["a"])
        assert [g for p in parts for g in p.groups] == [0, 1, 2, 3]
        assert all(p.groups for p in parts)


def test_bad_files_are_named(tmp_path: Path) -> None:
    """A file that is none, a missing column, more parts than row groups, a file that is gone when its worker reads it."""
    file = tmp_path / "rows.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "text": ["x", "y"]}).to_parquet(file)
    with pytest.raises(InvalidInputError, match=r"rows\.parquet has no column 'b'"):
        parquet_parts(file, 1, ["a", "b"])
    with pytest.raises(InvalidInputError, match=r"n_parts is 2; .* has 1 row groups"):
        parquet_parts(file, 2, ["a"])
    with pytest.raises(BrokenFileError, match="cannot be read"):
        parquet_parts(file, 1, ["text"])[0]()
    part = parquet_parts(file, 1, ["a"])[0]
    file.write_bytes(b"nothing")
    with pytest.raises(BrokenFileError, match=r"rows\.parquet cannot be read as Parquet"):
        parquet_parts(file, 1, ["a"])
    with pytest.raises(BrokenFileError, match=r"rows\.parquet: row groups \(0,\) cannot be read"):
        part()


def test_any_function_is_a_source() -> None:
    """Rows alone, or a pair of rows and weights; anything else is refused, and errors name the part."""
    problem = instance("iris")
    X = np.asarray(problem.X)
    found = sharded_price_sharing(with_parts(problem, [lambda: X[:20], lambda: (X[20:], None)]), 0.02)
    np.testing.assert_array_equal(found.kept, sharded_price_sharing(parted(problem, 3), 0.02).kept)
    for sources, costs, message in (
        ([lambda: X[:20], lambda: (X, None, None)], None, "part 1: its source returned 3 things"),
        ([lambda: X[:, :3]], None, "part 0 has 3 columns"),
        ([lambda: (X[:2], [1.0, -1.0])], None, r"part 0: the weights\[1\] is -1"),
        ([], None, "no parts to work on"),
        ([lambda: X], CostItems.plain([1, 1]), "costs has prices for 2 features"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            with_parts(problem, sources, costs)


def test_what_does_not_fit_integers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are no short decimals, prices with too many digits, and parts with too many purchases."""
    problem = instance("iris")
    X = np.asarray(problem.X)
    weights = 1 + np.arange(40) / 64
    monkeypatch.setattr(sys.modules["solvers.price_sharing.cluster.sharded_problem"], "MOST_WEIGHTS", 39)
    with pytest.raises(InvalidInputError, match="more than 39 different weights"):
        with_parts(problem, [lambda: (X[:20], weights[:20]), lambda: (X[20:], weights[20:])])
    with pytest.raises(CapacityOverflowError, match="do not fit 64-bit integers exactly"):
        with_parts(problem, [lambda: X], CostItems.plain([1, 1, 1, 1 + Fraction(1, 10**15)]))
    with pytest.raises(CapacityOverflowError, match="prices and weights do not fit"):
        with_parts(problem, [lambda: (X[:3], [1e-9, 1e8, 12345678.123456789])])
    monkeypatch.setattr(sys.modules["solvers.price_sharing.cluster.row_shard"], "MOST_PURCHASES", 100)
    with pytest.raises(CapacityOverflowError, match="part 0 has 40 rows and costs 4 items: a part can number 100 pairs"):
        with_parts(problem, [lambda: X])


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray is not installed the error says how to install it."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"prunemodels\[ray\]"):
        ray_workers(recipes_of(instance("iris"), 1))


class _NoRay:
    """Ray, as far as it is needed to connect."""

    def __init__(self, connected: str | None = None, error: Exception | None = None) -> None:
        self.connected, self.error, self.asked, self.reachable = connected, error, "", True
        self.constants = SimpleNamespace(ENABLE_RAY_CLUSTERS_ENV_VAR="RAY_ENABLE_CLUSTER_IN_TESTS", ENABLE_RAY_CLUSTER=True)
        self._private = SimpleNamespace(ray_constants=self.constants)

    def is_initialized(self) -> bool:
        return self.connected is not None

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(gcs_address=self.connected)

    def init(self, *, address: str, **_: Any) -> None:
        self.asked, self.reachable = address, self.constants.ENABLE_RAY_CLUSTER
        if self.error is not None:
            raise self.error


def test_which_cluster_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connected one, the one named, that of RAY_ADDRESS, one of its own, in this order; none that Ray would find itself."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    own = _NoRay()
    assert connect(own, None)
    assert (own.asked, own.reachable, own.constants.ENABLE_RAY_CLUSTER) == ("local", False, True)
    assert connect(own, "auto")
    assert (own.asked, own.reachable) == ("auto", True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("RAY_ADDRESS", here)
        for address in (None, here):
            assert connect(own, address)
            assert own.asked == here
    for address in (None, here, "ray://127.0.0.1:none", "nonsense"):
        with pytest.raises(InvalidInputError, match=rf"address is '{address or here}', .*ray start --head"):
            connect(own, address)
    for address in (None, "auto", "a:1"):
        assert not connect(_NoRay("a:1"), address)
    with pytest.raises(InvalidInputError, match="address is 'b:1', but Ray is connected to a:1"):
        connect(_NoRay("a:1"), "b:1")
    with pytest.raises(InvalidInputError, match=r"address is 'auto', where no cluster is to be had \(none runs\)"):
        connect(_NoRay(error=ConnectionError("none runs")), "auto")
    # on a busy machine Ray ends with a bare Exception after its own limit of time
    late = _NoRay(error=Exception("The current node timed out during startup.\nSee the log."))
    with pytest.raises(SolverFailedError, match=r"Ray did not start \(The current node timed out during startup\.\); try again"):
        connect(late, "local")
