"""Large tables: seconds and peak memory of different ways to build the same instance.

    python -m benchmarks.big_tables                                    5 million rows x 28 features, 40 trees
    python -m benchmarks.big_tables --rows 1_000_000 --trees 10
    python -m benchmarks.big_tables --folder DIR                       save the table and the forest there for the next run
    python -m benchmarks.big_tables --ways "solve, in memory" "solve, on disk"     price sharing to a relative gap of 1e-4

A Parquet file holds HEPMASS-like events (`benchmarks.hepmass_like`); the forest is grown on 100,000 other events. Each way runs
in a process of its own. *Peak* is the largest resident memory above that at the start. *Of it anonymous* is the part that no file
backs, sampled 50 times a second; pages of a scratch file count only in the first. Equal digests mean equal answers.
"""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.hepmass_like import N_FEATURES, events
from benchmarks.measuring import apart, command_line, line, markdown
from prunemodels.comparison.processes import STATUS, PeakMemory
from prunemodels.tables import problem_from_table
from solvers.price_sharing import price_sharing

NAMES = [f"x{j}" for j in range(N_FEATURES)]
TRAINING_ROWS = 100_000
GAP = 1e-4
LAM = 0.007  # lambda, error per feature and row; the lambda of `python -m benchmarks.scale --data hepmass`
PIECE = 100_000  # rows that are generated at a time


def write_table(file: Path, n_rows: int) -> None:
    """Write events, a row group for every million, with at most ten pieces in memory."""
    schema = pa.schema([(name, pa.float32()) for name in NAMES])
    with parquet.ParquetWriter(file, schema) as writer:
        held: list[pa.Table] = []
        for k, first in enumerate(range(0, n_rows, PIECE)):
            X, _ = events(min(PIECE, n_rows - first), seed=1 + k)
            held.append(pa.table([*X.T], schema=schema))
            if len(held) == 10 or first + PIECE >= n_rows:
                writer.write_table(pa.concat_tables(held), row_group_size=10 * PIECE)
                held = []


def grow(file: Path, n_trees: int) -> None:
    """A forest on events that are not in the table."""
    X, y = events(TRAINING_ROWS, seed=0)
    forest = RandomForestClassifier(n_trees, criterion="entropy", max_features="sqrt", random_state=0)
    joblib.dump(forest.fit(pd.DataFrame(X, columns=NAMES), y), file)


in_chunks = partial(problem_from_table, costs=1)


def on_disk(forest: Any, table: Path) -> pm.PruningProblem:
    return in_chunks(forest, table, scratch=table.parent)


def solved(build: Callable[[Any, Path], pm.PruningProblem], forest: Any, table: Path) -> pm.Solution:
    return price_sharing(build(forest, table), LAM, gap=GAP)


WAYS: dict[str, Callable[[Any, Path], pm.PruningProblem | pm.Solution]] = {
    "instance, in memory": lambda forest, table: pm.problem_from_forest(forest, pd.read_parquet(table, columns=NAMES), costs=1),
    "instance, in chunks": in_chunks,
    "instance, in chunks, on disk": on_disk,
    "solve, in memory": partial(solved, in_chunks),
    "solve, on disk": partial(solved, on_disk),
}


@contextmanager
def anonymous_memory() -> Iterator[list[int]]:
    """The largest anonymous memory while a block runs, above that at its start; 0 if the system does not report it."""
    before, most, done = _anonymous(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            most[0] = max(most[0], _anonymous() - before)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def _anonymous() -> int:
    if not STATUS.exists():
        return 0
    return sum(1024 * int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith("RssAnon:"))


def measure(way: str, folder: Path) -> list[str]:
    """Run one way; the cells of a line of the table."""
    forest, few = joblib.load(folder / "forest.joblib"), folder / "few.parquet"
    if not few.exists():
        write_table(few, 1000)
    WAYS[way](forest, few)  # compiling and importing are finished before the measurement
    started = time.perf_counter()
    with PeakMemory() as peak, anonymous_memory() as anonymous:
        found = WAYS[way](forest, folder / "events.parquet")
    seconds = time.perf_counter() - started
    memory = [f"{n / 2**20:,.0f} MB" for n in ((peak.bytes or 0), *anonymous)]
    return [way, f"{seconds:.1f} s", *memory, _told(found)]


def _told(found: pm.PruningProblem | pm.Solution) -> str:
    """The size of an instance, or the rounds of a solve, with a digest that is the same for the same answer."""
    if isinstance(found, pm.PruningProblem):
        return f"{found.n_usage_arcs:,} usage arcs, {_digest(found.usage.routing.order)}"
    assert found.pruning is not None
    rounds, seconds = found.stats["iterations"], found.stats["seconds"]
    each = f"{seconds / rounds:.2f} s each" if rounds else "a cut"
    return f"{rounds:.0f} rounds, {each}, gap {found.relative_gap:.1e}, {_digest(found.pruning.kept)}"


def _digest(numbers: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(numbers).data).hexdigest()[:12]


def run(folder: Path, rows: int, trees: int, ways: Sequence[str]) -> None:
    """Make the missing files, then measure every way in a process of its own."""
    if not (folder / "events.parquet").exists():
        write_table(folder / "events.parquet", rows)
    if not (folder / "forest.joblib").exists():
        grow(folder / "forest.joblib", trees)
    held, size = parquet.read_metadata(folder / "events.parquet").num_rows, (folder / "events.parquet").stat().st_size
    print(f"{held:,} rows x {N_FEATURES} features, {size / 2**20:,.0f} MB of Parquet\n")
    print(markdown(["", "seconds", "peak", "of it anonymous", ""], []), flush=True)
    for way in ways:
        print(line(*apart(measure, way, folder)), flush=True)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--folder", type=Path, help="where the table and the forest are kept; default: a temporary folder")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS), help="default: all")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if args.folder is None else args.folder
        folder.mkdir(parents=True, exist_ok=True)
        run(folder, args.rows, args.trees, args.ways)


if __name__ == "__main__":
    main()
