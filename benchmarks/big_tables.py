"""Large tables: seconds and peak memory of different ways to build the same instance.

    python -m benchmarks.big_tables                                    5 million rows x 28 features, 40 trees
    python -m benchmarks.big_tables --rows 1_000_000 --trees 10
    python -m benchmarks.big_tables --folder DIR                       save the table and the forest there for the next run
    python -m benchmarks.big_tables --ways "solve, on disk"            price sharing to a relative gap of 1e-4

A Parquet file holds HEPMASS-like events (`benchmarks.hepmass_like`) with their labels; the forest is grown on 100,000 other
events. Each way runs in a process of its own. *Peak* is the largest resident memory above that at the start. *Of it anonymous* is
the part that no file backs, sampled 50 times a second; pages of a scratch file count only in the first. The digest is taken of
the entire routing, so equal digests mean equal instances.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.hepmass_like import N_FEATURES, events
from prunemodels.comparison.machine import STATUS, PeakMemory
from prunemodels.tables import GivenTable, problem_from_table
from solvers.price_sharing import price_sharing

NAMES = [f"x{j}" for j in range(N_FEATURES)]
TRAINING_ROWS = 100_000
GAP = 1e-4
LAM = 0.007
"""Lambda, error per feature and row; the lambda of `python -m benchmarks.scale --data hepmass`."""

PIECE = 100_000
"""Rows that are generated at a time."""


def write_table(file: Path, n_rows: int) -> None:
    """Write events and their labels, a row group for every million, with at most one piece in memory."""
    schema = pa.schema([*((name, pa.float32()) for name in NAMES), ("signal", pa.int8())])
    with parquet.ParquetWriter(file, schema) as writer:
        held: list[pa.Table] = []
        for k, first in enumerate(range(0, n_rows, PIECE)):
            X, y = events(min(PIECE, n_rows - first), seed=1 + k)
            held.append(pa.table([*X.T, y], schema=schema))
            if len(held) == 10 or first + PIECE >= n_rows:
                writer.write_table(pa.concat_tables(held), row_group_size=10 * PIECE)
                held = []


def grow(file: Path, n_trees: int) -> None:
    """A forest on events that are not in the table."""
    X, y = events(TRAINING_ROWS, seed=0)
    forest = RandomForestClassifier(n_trees, criterion="entropy", max_features="sqrt", random_state=0)
    joblib.dump(forest.fit(pd.DataFrame(X, columns=NAMES), y), file)


def in_memory(forest: Any, table: Path) -> pm.PruningProblem:
    return pm.problem_from_forest(forest, pd.read_parquet(table, columns=NAMES), costs=1)


def in_chunks(forest: Any, table: Path) -> pm.PruningProblem:
    return problem_from_table(forest, table, costs=1)


def on_disk(forest: Any, table: Path) -> pm.PruningProblem:
    return problem_from_table(forest, table, costs=1, scratch=table.parent)


def solve_in_memory(forest: Any, table: Path) -> str:
    return _solved(in_chunks(forest, table))


def solve_on_disk(forest: Any, table: Path) -> str:
    return _solved(on_disk(forest, table))


def _solved(problem: pm.PruningProblem) -> str:
    s = price_sharing(problem, LAM, gap=GAP)
    assert s.pruning is not None
    rounds, seconds = s.stats["iterations"], s.stats["seconds"]
    return f"{rounds:.0f} rounds in {seconds:.0f} s, gap {s.relative_gap:.1e}, {_digest(s.pruning.kept)}"


def errors_in_memory(forest: Any, table: Path) -> str:
    data = pd.read_parquet(table)
    errors = pm.samples.Given(data[NAMES], data["signal"]).measure(
        forest, pm.problem_from_forest(forest, data[NAMES][:9], costs=1).ensemble
    )
    return _digest(errors.components[0].e)


def errors_in_chunks(forest: Any, table: Path) -> str:
    ensemble = problem_from_table(forest, [np.zeros((1, N_FEATURES))], costs=1).ensemble
    return _digest(GivenTable(table, "signal").measure(forest, ensemble).components[0].e)


def evaluate_in_memory(forest: Any, table: Path) -> str:
    data = pd.read_parquet(table)
    return repr(pm.evaluate(forest, data[NAMES], data["signal"], costs=1))


def evaluate_in_chunks(forest: Any, table: Path) -> str:
    return repr(pm.evaluate(forest, table, "signal", costs=1))


def path_in_memory(forest: Any, table: Path) -> str:
    data = pd.read_parquet(table)
    return _digest(pm.evaluate_path(_path(forest), data[NAMES], data["signal"]).error)


def path_in_chunks(forest: Any, table: Path) -> str:
    return _digest(pm.evaluate_path(_path(forest), table, "signal").error)


def _path(forest: Any) -> pm.PruningPath:
    """A path from few rows, since the evaluation is measured, not the path."""
    X, _ = events(2000, seed=10**6)
    return pm.pruning_path(pm.problem_from_forest(forest, pd.DataFrame(X, columns=NAMES), costs=1))


WAYS: dict[str, Callable[[Any, Path], Any]] = {
    "instance, in memory": in_memory,
    "instance, in chunks": in_chunks,
    "instance, in chunks, on disk": on_disk,
    "solve, in memory": solve_in_memory,
    "solve, on disk": solve_on_disk,
    "errors of the nodes, in memory": errors_in_memory,
    "errors of the nodes, in chunks": errors_in_chunks,
    "evaluate, in memory": evaluate_in_memory,
    "evaluate, in chunks": evaluate_in_chunks,
    "evaluate_path, in memory": path_in_memory,
    "evaluate_path, in chunks": path_in_chunks,
}


class AnonymousMemory:
    """The largest anonymous memory while a block runs, above that at its start; 0 if the system does not report it."""

    bytes = 0

    def __enter__(self) -> Self:
        self._before, self._done = _anonymous(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self.bytes = max(self.bytes, _anonymous() - self._before)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()


def _anonymous() -> int:
    if not STATUS.exists():
        return 0
    return sum(1024 * int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith("RssAnon:"))


def measure(way: str, folder: Path) -> None:
    """Run one way and print a line of the table."""
    forest, table = joblib.load(folder / "forest.joblib"), folder / "events.parquet"
    WAYS[way](forest, _warm_up(folder))
    started = time.perf_counter()
    with PeakMemory() as peak, AnonymousMemory() as anonymous:
        found = WAYS[way](forest, table)
    seconds = time.perf_counter() - started
    if isinstance(found, pm.PruningProblem):
        found = f"{found.n_usage_arcs:,} usage arcs, {_digest(found.routing.order)}"
    print(
        f"| {way} | {seconds:.1f} s | {(peak.bytes or 0) / 2**20:,.0f} MB | {anonymous.bytes / 2**20:,.0f} MB | {found} |",
        flush=True,
    )


def _warm_up(folder: Path) -> Path:
    """Run on a small table, so that compiling and importing are finished before the measurement."""
    file = folder / "few.parquet"
    if not file.exists():
        write_table(file, 1000)
    return file


def _digest(numbers: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(numbers).data).hexdigest()[:12]


def run(folder: Path, args: argparse.Namespace) -> None:
    """Make the missing files, then measure every way in a process of its own."""
    if not (folder / "events.parquet").exists():
        write_table(folder / "events.parquet", args.rows)
    if not (folder / "forest.joblib").exists():
        grow(folder / "forest.joblib", args.trees)
    rows, size = parquet.read_metadata(folder / "events.parquet").num_rows, (folder / "events.parquet").stat().st_size
    order = 4 * rows * len(joblib.load(folder / "forest.joblib"))
    print(f"{rows:,} rows x {N_FEATURES} features, {size / 2**20:,.0f} MB of Parquet; {order / 2**20:,.0f} MB of order\n")
    print("| | seconds | peak | of it anonymous | |\n| --- | ---: | ---: | ---: | --- |", flush=True)
    for way in args.ways or WAYS:
        command = [sys.executable, "-m", "benchmarks.big_tables", "--folder", str(folder), "--measure", way]
        subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--folder", type=Path, help="where the table and the forest are kept; default: a temporary folder")
    parser.add_argument("--ways", nargs="*", choices=WAYS, help="default: all")
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure, args.folder)
    elif args.folder:
        args.folder.mkdir(parents=True, exist_ok=True)
        run(args.folder, args)
    else:
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), args)


if __name__ == "__main__":
    main()
