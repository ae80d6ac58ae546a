"""Seconds of a round of price sharing if its blocks of rows are in a scratch folder.

    python -m benchmarks.rounds_on_disk                                a million rows, 40 trees
    python -m benchmarks.rounds_on_disk --rows 5_000_000 --folder DIR  files go there and stay

The table and forest are those of `benchmarks.big_tables`. The table is read in chunks twice, once with a scratch folder, and
rounds alternate between the two problems. Then every page of the blocks is removed from memory before each round (Linux only), so
that all of them are read from the disk.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import prunemodels as pm
from benchmarks.big_tables import LAM, grow, write_table
from formulations.instance.cost_items import exact
from formulations.instance.row_blocks import RowBlocks
from prunemodels.tables import problem_from_table
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.run import Run

PAGE_OUT = 21
"""MADV_PAGEOUT of Linux, which Python does not name."""


def evict(blocks: RowBlocks) -> bool:
    """Write the blocks' pages to the disk and drop them from memory; False if the system refuses."""
    for array in (blocks.order, blocks.start, blocks.stop):
        mapped: Any = array
        while not isinstance(mapped, np.memmap):
            mapped = mapped.base
        try:
            mapped._mmap.madvise(PAGE_OUT)  # type: ignore[attr-defined]
        except (OSError, AttributeError, ValueError):
            return False
    return True


def rounds(problems: dict[str, pm.PruningProblem], n: int) -> dict[str, list[float]]:
    """Seconds of n rounds in memory and on disk, alternating, and then of half as many with nothing in memory."""
    seconds: dict[str, list[float]] = {name: [] for name in [*problems, "on disk, nothing in memory"]}
    with ThreadPoolExecutor(1) as pool:
        runs = {
            name: Run(LocalRows(integer_objective(problem, exact(LAM, "lam")).refined(), pool), "smallest")
            for name, problem in problems.items()
        }
        for run in runs.values():
            run.round()
        for _ in range(n):
            for name, run in runs.items():
                seconds[name].append(_seconds(run))
        while len(seconds["on disk, nothing in memory"]) < (n + 1) // 2 and evict(problems["on disk"].row_blocks):
            seconds["on disk, nothing in memory"].append(_seconds(runs["on disk"]))
    return seconds


def _seconds(run: Run) -> float:
    started = time.perf_counter()
    run.round()
    return time.perf_counter() - started


def measure(folder: Path, n_rows: int, n_trees: int, n: int) -> None:
    """Make the missing files, measure, and print the table."""
    table, grown = folder / f"events-{n_rows}.parquet", folder / f"forest-{n_trees}.joblib"
    if not table.exists():
        write_table(table, n_rows)
    if not grown.exists():
        grow(grown, n_trees)
    forest = joblib.load(grown)
    problems = {
        "in memory": problem_from_table(forest, table, costs=1),
        "on disk": problem_from_table(forest, table, costs=1, scratch=folder),
    }
    blocks = problems["on disk"].row_blocks
    size = sum(part.nbytes for part in (blocks.order, blocks.start, blocks.stop))
    print(f"{problems['on disk'].n_usage_arcs:,} usage arcs, {size / 2**20:,.0f} MB of blocks\n")
    print("| blocks | seconds a round, median | least | most |\n| --- | ---: | ---: | ---: |")
    for name, took in rounds(problems, n).items():
        if took:
            print(f"| {name} | {statistics.median(took):.2f} | {min(took):.2f} | {max(took):.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--folder", type=Path, help="default: a temporary folder")
    args = parser.parse_args()
    if args.folder is not None:
        args.folder.mkdir(parents=True, exist_ok=True)
        measure(args.folder, args.rows, args.trees, args.rounds)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), args.rows, args.trees, args.rounds)


if __name__ == "__main__":
    main()
