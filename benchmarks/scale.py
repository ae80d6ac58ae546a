"""Instances of price sharing at full size: seconds to a certified gap, to the optimum, of the whole path, and peak memory.

    python -m benchmarks.scale --data hepmass               1.4 million cost rows, 28 features, 40 trees grown on 100,000 rows
    python -m benchmarks.scale --data yahoo                 146,769 cost rows, 519 priced features, 140 trees grown on 60,000 rows
    python -m benchmarks.scale --data hepmass --edges 1     also the whole path, its check, and lambdas beside its longest edge
    python -m benchmarks.scale --train 3500000              forest grown on as many rows as CEGB17's on HEPMASS; not measured
    ... --out FOLDER                                        saves the forest and parts of paths; a stopped run continues
    (ulimit -v 3500000; python -m benchmarks.scale ...)     in so many kB of address space: larger cuts are not tried

Data are generated (`benchmarks.hepmass_like`, `benchmarks.yahoo_like`), forests have entropy and as many features at a split as
the root of their number. The forest is grown in one process, all else happens in another; compiled code is warmed up on the first
1,000 rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks import hepmass_like, yahoo_like
from benchmarks.hard_lambdas import hard_lambdas
from formulations.answers.pruning_path import PathShares
from proofs_checks import check_path
from prunemodels.comparison.machine import high_water, machine
from solvers.price_sharing import final_scores, price_sharing
from solvers.price_sharing.memory import memory_needed

GAP = 1e-4

PATH_GAP = 1e-6
"""Relative gap of the whole path where neither a cut fits into memory nor the proof closes it."""


@dataclass(frozen=True)
class Shape:
    """An instance: the generator of its rows, its sizes, and scaled lambdas (error counts per purchase of price 1)."""

    rows: Callable[[int, int], tuple[NDArray[np.float32], NDArray[np.int8]]]
    prices: tuple[float, ...]
    n_train: int
    n_cost: int
    trees: int
    one: float


SHAPES = {
    "hepmass": Shape(hepmass_like.events, (1.0,) * 28, 100_000, 1_400_000, 40, 0.02),
    "yahoo": Shape(yahoo_like.documents, tuple(map(float, yahoo_like.prices())), 60_000, 146_769, 140, 0.002),
}


def grow(shape: Shape, file: Path) -> None:
    """Grow the forest and save it."""
    X, y = shape.rows(shape.n_train, 0)
    forest = RandomForestClassifier(shape.trees, criterion="entropy", max_features="sqrt", n_jobs=-1, random_state=0)
    joblib.dump(forest.fit(X, y), file)


class Report:
    """Prints each figure when it is measured, and writes all of them to a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.figures: dict[str, Any] = {}

    def add(self, **figures: Any) -> None:
        """Print some figures and write all of them."""
        self.figures |= figures
        for name, figure in figures.items():
            print(f"{name.replace('_', ' ')}: {figure:,}" if isinstance(figure, int) else f"{name.replace('_', ' ')}: {figure}")
        sys.stdout.flush()
        self.file.write_text(json.dumps(self.figures, indent=1) + "\n")


def measure(name: str, shape: Shape, out: Path, n_edges: int = 0) -> dict[str, Any]:
    """All figures of one instance."""
    stem = name if shape.n_train == SHAPES[name].n_train else f"{name}-{shape.n_train}"
    report = Report(out / f"scale-{stem}.json")
    forest = joblib.load(out / forest_file(name, shape))
    nodes = sum(e.tree_.node_count for e in forest.estimators_)
    sizes = {"items": len(shape.prices), "features": len(shape.prices)}
    needs = memory_needed(rows=shape.n_cost, trees=shape.trees, nodes=nodes, **sizes)
    before = high_water() or 0
    report.add(data=name, machine=machine(), memory=str(needs), memory_predicted_mb=round((before + needs.total) / 1e6))
    started = time.perf_counter()
    X, _ = shape.rows(shape.n_cost, 1)
    report.add(seconds_to_generate=round(time.perf_counter() - started, 1))
    warm = pm.problem_from_forest(forest, X[:1000], costs=list(shape.prices))
    price_sharing(warm, 1e-9)
    started = time.perf_counter()
    problem = pm.problem_from_forest(forest, X, costs=list(shape.prices))
    report.add(seconds_to_build=round(time.perf_counter() - started, 1))
    report.add(
        training_rows=shape.n_train, cost_rows=problem.n_rows, trees=problem.ensemble.n_trees, splits=problem.ensemble.n_splits
    )
    report.add(items=problem.costs.n_items, usage_arcs=problem.n_usage_arcs)
    unit = problem.n_rows / (shape.trees * float(problem.errors.components[0].weight[0]))
    _one(problem, _short(shape.one * unit), report)
    if n_edges:
        _whole(problem, n_edges, out / f"parts-{stem}-{shape.n_cost}", report)
    report.add(peak_memory_mb=round((high_water() or 0) / 1e6))
    return report.figures


def _short(lam: float) -> float:
    """The lambda with few digits, so that integers at this lambda are exact."""
    return float(f"{lam:.4g}")


def _one(problem: pm.PruningProblem, lam: float, report: Report) -> None:
    """Solve at one lambda to the gap, then on to the optimum."""
    close = price_sharing(problem, lam, gap=GAP, progress=True)
    report.add(
        seconds_to_gap=round(close.stats["seconds"], 1), rounds_to_gap=int(close.stats["iterations"]), gap=close.relative_gap
    )
    report.add(peak_memory_at_gap_mb=round((high_water() or 0) / 1e6))
    best = price_sharing(problem, lam, start=final_scores(close, int(close.stats["iterations"])), progress=True)
    report.add(
        seconds_more_to_optimum=round(best.stats["seconds"], 1),
        rounds_to_optimum=int(best.stats["iterations"]),
        core_usage_arcs=int(best.stats["core_usage_arcs"]),
        gap_of_optimum=best.relative_gap,
        status=str(best.status),
    )


def _whole(problem: pm.PruningProblem, n_edges: int, folder: Path, report: Report) -> None:
    """The path and the check of its certificate; then the optimum beside its longest edges, each from nothing."""
    cpu, started = time.process_time(), time.perf_counter()
    path = pm.pruning_path(problem, gap=PATH_GAP, checkpoint=folder, progress=True)
    report.add(
        seconds_of_this_run_for_the_whole_path=round(time.perf_counter() - started, 1),
        cpu_seconds_of_this_run_for_the_whole_path=round(time.process_time() - cpu, 1),
        peak_memory_with_the_whole_path_mb=round((high_water() or 0) / 1e6),
        figures_of_the_whole_path={name: round(figure, 1) for name, figure in path.stats.items() if name != "seconds"},
        prunings_of_the_whole_path=len(path),
        breakpoints_with_a_gap=[float(b) for b, gap in zip(path.breakpoints, path.gaps, strict=False) if gap],
        relative_gap_of_the_whole_path=path.relative_gap,
        moves_in_the_certificate=len(path.certificate.amount) if isinstance(path.certificate, PathShares) else 0,
    )
    cpu, started = time.process_time(), time.perf_counter()
    verdict = check_path(path)
    report.add(
        check_of_the_whole_path=f"{verdict.claim}: {verdict.holds}",
        seconds_of_the_check=round(time.perf_counter() - started, 1),
        cpu_seconds_of_the_check=round(time.process_time() - cpu, 1),
        peak_memory_with_the_check_mb=round((high_water() or 0) / 1e6),
    )
    rows = []
    for name, lam in hard_lambdas(path, n_edges, 0):
        cpu = time.process_time()
        best = price_sharing(problem, float(f"{float(lam):.8g}"), progress=True)
        rows.append(
            {
                "lambda": name,
                "seconds": round(best.stats["seconds"], 1),
                "cpu seconds": round(time.process_time() - cpu, 1),
                "rounds": int(best.stats["iterations"]),
                "core": int(best.stats["core_usage_arcs"]),
                "gap": best.relative_gap,
                "as on the path": bool(np.array_equal(best.pruning.kept, path.at_lam(best.lam).kept)) if best.pruning else False,
            }
        )
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    report.add(beside_edges=rows)


def forest_file(name: str, shape: Shape) -> str:
    """The file of a grown forest."""
    return f"forest-{name}-{shape.trees}-{shape.n_train}.joblib"


def main() -> None:
    parser = argparse.ArgumentParser(description="Instances that no one has solved.")
    parser.add_argument("--data", default="hepmass", choices=sorted(SHAPES))
    parser.add_argument("--edges", type=int, default=0, help="the whole path, and lambdas beside so many of its longest edges")
    parser.add_argument("--train", type=int, metavar="ROWS", help="rows that the forest is grown on; default: the instance's")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train is not None and args.train < 1:
        parser.error(f"--train is {args.train}; give at least 1")
    shape = SHAPES[args.data] if args.train is None else replace(SHAPES[args.data], n_train=args.train)
    if args.measure:
        measure(args.data, shape, args.out, args.edges)
        return
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) if args.out is None else args.out
        out.mkdir(parents=True, exist_ok=True)
        if not (out / forest_file(args.data, shape)).exists():
            grow(shape, out / forest_file(args.data, shape))
        command = ["--data", args.data, "--edges", str(args.edges), "--out", str(out), "--measure"]
        command += [] if args.train is None else ["--train", str(args.train)]
        raise SystemExit(subprocess.run([sys.executable, "-m", "benchmarks.scale", *command], check=False).returncode)


if __name__ == "__main__":
    main()
