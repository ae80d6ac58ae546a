"""The forest that everyone has: scikit-learn's default, 100 trees grown out on 150,000 rows of Covertype with seven classes.

    python -m benchmarks.default_forest                        10,000 cost rows: what is left after the reduction, seconds, bytes
    python -m benchmarks.default_forest --rows 100000 --only budget
    python -m benchmarks.default_forest --left                 what is left of other forests, smaller ones; no engine runs
    python -m benchmarks.default_forest --steps                all that a user does: read, prune, judge, save, ask

Every feature costs 1. The forest is grown in one process, and each job measured in another, so that neither training nor other
jobs affect the peak memory. Compiled code is warmed up on a small instance. `before` is the same job without the reduction and
with cuts where the proof can tell. Quote the ratios, since machines differ.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from benchmarks.measuring import Peak, apart, line, markdown, warm_up
from prunemodels.data_files import load_dataset
from solvers.path.pruning_path import PathOptions, core_path

TRAIN_ROWS = 150_000  # the rows that the forest is grown on, the first ones; the cost sample comes after them

JOBS: dict[str, Callable[[pm.PruningProblem, argparse.Namespace], object]] = {
    "one lambda": lambda problem, given: pm.solve(problem, lam=given.lam),
    "path": lambda problem, _: pm.pruning_path(problem, certificate=False),
    "path before": lambda problem, _: core_path(problem, PathOptions(certificate=False, cuts=True)),
    "path, certificate": lambda problem, _: pm.pruning_path(problem),
    "path, certificate before": lambda problem, _: core_path(problem, PathOptions(cuts=True)),
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
    with Peak() as peak:
        started = time.perf_counter()
        forest, X = joblib.load(file), rows_of(TRAIN_ROWS, given.rows)[0]
        problem = pm.problem_from_forest(forest, X, costs=1)
        built, worked = time.perf_counter(), time.process_time()
        JOBS[job](problem, given)
        ended, worked = time.perf_counter(), time.process_time() - worked
    seconds = {"instance": built - started, "seconds": ended - built, "cpu": worked}
    return {**seconds, "bytes": peak.extra, **left(problem)}


def steps(file: Path, given: argparse.Namespace) -> None:
    """The table of `--steps`: CPU seconds and peak of each step, in the order in which a user takes them."""
    warm_up()
    forest, X = joblib.load(file), rows_of(TRAIN_ROWS, given.rows)[0]
    X_test, y_test = rows_of(TRAIN_ROWS + given.rows, 20_000)
    ask, folder = pm.on_demand.from_table(X_test), Path(tempfile.mkdtemp(dir=file.parent))

    def timed(name: str, work: Callable[[], Any]) -> Any:
        with Peak() as peak:
            started = time.process_time()
            answer = work()
            seconds = time.process_time() - started
        print(line(name, f"{seconds:.2f}", f"{peak.extra / 1e9:.2f}"), flush=True)
        return answer

    print(markdown(["step", "CPU s", "peak, GB"], []))
    timed("`read_forest`", lambda: pm.read_forest(forest))
    problem = timed("`problem_from_forest`", lambda: pm.problem_from_forest(forest, X, costs=1))
    timed("reduction", problem.reduced)
    solution = timed(f"`solve(lam={given.lam})`", lambda: pm.solve(problem, lam=given.lam))
    pruned = timed("`apply_pruning`", lambda: pm.apply_pruning(solution.pruning, forest))
    timed("`evaluate`, 20,000 rows", lambda: pm.evaluate(pruned, X_test, y_test, costs=1))
    timed("scikit-learn's `predict`, 20,000 rows", lambda: forest.predict(X_test))
    for ending in (".joblib", ".skops"):
        place = folder / f"forest{ending}"
        timed(f"`save_forest`, {ending}", lambda place=place: pm.save_forest(pruned, place))
        name = f"`load_forest`, {ending}, {place.stat().st_size / 1e6:.0f} MB"
        timed(name, lambda place=place: pm.load_forest(place, trust_pickle=True))
    for early in (False, True):
        predictor = timed(
            f"`OnDemandPredictor(early_stopping={early})`",
            lambda early=early: pm.OnDemandPredictor(forest, 1, ask, early_stopping=early),
        )
        timed("its first 100 rows", lambda predictor=predictor: predictor.run(100))


def other_forests() -> Iterator[tuple[str, BaseEstimator, NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Forests of several kinds: their name, the forest, its rows and labels, and cost rows."""
    X, y = rows_of(0, 30_000)
    cost_rows = rows_of(TRAIN_ROWS, 5_000)[0]
    for trees in (20, 100, 500):
        yield f"{trees} trees", RandomForestClassifier(trees, n_jobs=-1, random_state=0), X, y, cost_rows
    for leaf in (5, 20):
        kind = RandomForestClassifier(100, min_samples_leaf=leaf, n_jobs=-1, random_state=0)
        yield f"100 trees, leaves of {leaf} rows", kind, X, y, cost_rows
    yield "100 trees, two classes", RandomForestClassifier(100, n_jobs=-1, random_state=0), X, y == 2, cost_rows
    for name, load, kind in (
        ("digits, ten classes", load_digits, RandomForestClassifier),
        ("diabetes, regression", load_diabetes, RandomForestRegressor),
    ):
        X, y = load(return_X_y=True)
        yield f"100 trees, {name}", kind(100, random_state=0), X[::2], y[::2], X[1::2]


def print_left() -> None:
    print(markdown(["forest", "splits", "with arcs", "groups", "groups with arcs"], []))
    for name, forest, X, y, cost_rows in other_forests():
        found = left(pm.problem_from_forest(forest.fit(X, y), cost_rows, costs=1))
        print(line(name, *(f"{count:,}" for count in found.values())), flush=True)


def grow(file: Path, trees: int, rows: int) -> None:
    joblib.dump(RandomForestClassifier(trees, n_jobs=-1, random_state=0).fit(*rows_of(0, rows)), file)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.default_forest", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="cost rows")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--train-rows", type=int, default=TRAIN_ROWS)
    parser.add_argument("--lam", type=float, default=0.005)
    parser.add_argument("--budget", type=float, default=12)
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--left", action="store_true")
    parser.add_argument("--steps", action="store_true")
    given = parser.parse_args()
    if given.left:
        print_left()
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.joblib"
        apart(grow, file, given.trees, given.train_rows)
        if given.steps:
            apart(steps, file, given)
            return
        head = ["job", "instance, s", "seconds", "CPU s", "peak, GB", "splits", "with arcs", "groups", "groups with arcs"]
        print(markdown(head, []))
        for job in given.only:
            found = apart(measured, file, job, given)
            taken = [f"{found[name]:.1f}" for name in ("instance", "seconds", "cpu")]
            sizes = [f"{found[name]:,}" for name in ("splits", "with arcs", "groups", "groups with arcs")]
            print(line(job, *taken, f"{found['bytes'] / 1e9:.2f}", *sizes), flush=True)


if __name__ == "__main__":
    main()
