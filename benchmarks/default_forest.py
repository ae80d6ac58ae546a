"""The forest that everyone has: scikit-learn's default, 100 trees grown out on 150,000 rows of Covertype with seven classes.

    python -m benchmarks.default_forest                        10,000 cost rows: what is left after the reduction, seconds, bytes
    python -m benchmarks.default_forest --rows 100000 --only budget

Every feature costs 1. The forest is grown in one process, and each job measured in another, so that neither training nor other
jobs affect the peak memory. Compiled code is warmed up on a small instance.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.measuring import apart, command_line, line, markdown, warm_up
from prunemodels.comparison.processes import PeakMemory
from prunemodels.data_files import load_dataset

TRAIN_ROWS = 150_000  # the rows that the forest is grown on, the first ones; the cost sample comes after them

JOBS: dict[str, Callable[[pm.PruningProblem, argparse.Namespace], object]] = {
    "one lambda": lambda problem, given: pm.solve(problem, lam=given.lam),
    "path, certificate": lambda problem, _: pm.pruning_path(problem),
    "budget": lambda problem, given: pm.solve(problem, budget=given.budget),
}
"""What is measured, by name."""


def rows_of(first: int, count: int) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Some rows of Covertype and their classes."""
    data = load_dataset("covtype426k")
    return np.asarray(data.X, dtype=np.float32)[first : first + count], data.y[first : first + count]


def left(problem: pm.PruningProblem) -> dict[str, int]:
    """What the reduction leaves: splits, those with usage arcs, groups, those with usage arcs."""
    reduced = problem.reduced().core
    return {
        "splits": problem.ensemble.n_splits,
        "with arcs": int((problem.usage.arcs_per_node > 0).sum()),
        "groups": reduced.ensemble.n_splits,
        "groups with arcs": int((reduced.usage.arcs_per_node > 0).sum()),
    }


def measured(file: Path, job: str, given: argparse.Namespace) -> dict[str, float]:
    """Seconds of the instance and of a job, and the process's peak above what it held before."""
    warm_up()
    with PeakMemory() as peak:
        started = time.perf_counter()
        forest, X = joblib.load(file), rows_of(TRAIN_ROWS, given.rows)[0]
        problem = pm.problem_from_forest(forest, X, costs=1)
        built, worked = time.perf_counter(), time.process_time()
        JOBS[job](problem, given)
        ended, worked = time.perf_counter(), time.process_time() - worked
    seconds = {"instance": built - started, "seconds": ended - built, "cpu": worked}
    return {**seconds, "bytes": (peak.bytes or 0), **left(problem)}


def grow(file: Path, trees: int) -> None:
    joblib.dump(RandomForestClassifier(trees, n_jobs=-1, random_state=0).fit(*rows_of(0, TRAIN_ROWS)), file)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="cost rows")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--lam", type=float, default=0.005)
    parser.add_argument("--budget", type=float, default=12)
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.joblib"
        apart(grow, file, given.trees)
        head = ["job", "instance, s", "seconds", "CPU s", "peak, GB", "splits", "with arcs", "groups", "groups with arcs"]
        print(markdown(head, []))
        for job in given.only:
            found = apart(measured, file, job, given)
            taken = [f"{found[name]:.1f}" for name in ("instance", "seconds", "cpu")]
            sizes = [f"{found[name]:,}" for name in ("splits", "with arcs", "groups", "groups with arcs")]
            print(line(job, *taken, f"{found['bytes'] / 1e9:.2f}", *sizes), flush=True)


if __name__ == "__main__":
    main()
