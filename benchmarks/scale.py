"""Instances of price sharing at full size: seconds to a certified gap, to the optimum, of the whole path, and peak memory.

    python -m benchmarks.scale --data hepmass               1.4 million cost rows, 28 features, 40 trees grown on 100,000 rows
    python -m benchmarks.scale --data yahoo                 146,769 cost rows, 519 priced features, 140 trees grown on 60,000 rows
    python -m benchmarks.scale --data hepmass --edges 1     also the whole path, its check, and lambdas beside its longest edge
    python -m benchmarks.scale --cost 10000                 a smaller instance
    ... --out FOLDER                                        saves the forest and parts of paths; a stopped run continues
    (ulimit -v 3500000; python -m benchmarks.scale ...)     in so many kB of address space: larger cuts are not tried

Data are generated (`benchmarks.hepmass_like`, `benchmarks.yahoo_like`), forests have entropy and as many features at a split as
the root of their number. The forest is grown in one process, all else happens in another; compiled code is warmed up on the first
1,000 rows.
"""

from __future__ import annotations

import json
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
from benchmarks.instances import hard_lambdas
from benchmarks.measuring import apart, command_line
from proofs_checks import check_path
from prunemodels.comparison.processes import high_water, machine
from solvers.price_sharing import final_scores, price_sharing

GAP = 1e-4
PATH_GAP = 1e-6  # relative gap of the whole path where neither a cut fits into memory nor the proof closes it


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
    X, y = shape.rows(shape.n_train, 0)
    forest = RandomForestClassifier(shape.trees, criterion="entropy", max_features="sqrt", n_jobs=-1, random_state=0)
    joblib.dump(forest.fit(X, y), file)


Say = Callable[..., None]  # prints figures by name, and keeps them


def measure(name: str, shape: Shape, out: Path, n_edges: int = 0) -> dict[str, Any]:
    """All figures of one instance; each is printed as it is measured, and the file is written anew."""
    figures: dict[str, Any] = {}

    def say(**more: Any) -> None:
        figures.update(more)
        for what, figure in more.items():
            print(f"{what.replace('_', ' ')}: {figure:,}" if isinstance(figure, int) else f"{what.replace('_', ' ')}: {figure}")
        sys.stdout.flush()
        (out / f"scale-{name}.json").write_text(json.dumps(figures, indent=1) + "\n")

    forest = joblib.load(out / forest_file(name, shape))
    say(data=name, machine=machine())
    X, _ = shape.rows(shape.n_cost, 1)
    warm = pm.problem_from_forest(forest, X[:1000], costs=list(shape.prices))
    price_sharing(warm, 1e-9)
    started = time.perf_counter()
    problem = pm.problem_from_forest(forest, X, costs=list(shape.prices))
    say(seconds_to_build=round(time.perf_counter() - started, 1), training_rows=shape.n_train, cost_rows=problem.usage.n_rows)
    say(trees=problem.ensemble.n_trees, splits=problem.ensemble.n_splits, usage_arcs=problem.n_usage_arcs)
    unit = problem.usage.n_rows / (shape.trees * float(problem.errors.components[0].weight[0]))
    _one(problem, float(f"{shape.one * unit:.4g}"), say)  # few digits, so that integers at this lambda are exact
    if n_edges:
        _whole(problem, n_edges, out / f"parts-{name}-{shape.n_cost}", say)
    say(peak_memory_mb=_mb())
    return figures


def _mb() -> int:
    """The largest resident memory so far."""
    return round((high_water() or 0) / 1e6)


def _one(problem: pm.PruningProblem, lam: float, say: Say) -> None:
    """Solve at one lambda to the gap, then on to the optimum."""
    close = price_sharing(problem, lam, gap=GAP, progress=True)
    rounds = int(close.stats["iterations"])
    say(seconds_to_gap=round(close.stats["seconds"], 1), rounds_to_gap=rounds, gap=close.relative_gap)
    say(peak_memory_at_gap_mb=_mb())
    best = price_sharing(problem, lam, start=final_scores(close, rounds), progress=True)
    say(seconds_more_to_optimum=round(best.stats["seconds"], 1), core_usage_arcs=int(best.stats["core_usage_arcs"]))
    say(gap_of_optimum=best.relative_gap, status=str(best.status))


def _whole(problem: pm.PruningProblem, n_edges: int, folder: Path, say: Say) -> None:
    """The path and the check of its certificate; then the optimum beside its longest edges, each from nothing."""
    cpu, started = time.process_time(), time.perf_counter()
    path = pm.pruning_path(problem, gap=PATH_GAP, checkpoint=folder, progress=True)
    say(
        seconds_of_this_run_for_the_whole_path=round(time.perf_counter() - started, 1),
        cpu_seconds_of_this_run_for_the_whole_path=round(time.process_time() - cpu, 1),
        peak_memory_with_the_whole_path_mb=_mb(),
        prunings_of_the_whole_path=len(path),
        relative_gap_of_the_whole_path=path.relative_gap,
    )
    started = time.perf_counter()
    verdict = check_path(path)
    say(check_of_the_whole_path=str(verdict.holds), seconds_of_the_check=round(time.perf_counter() - started, 1))
    rows = []
    for name, lam in hard_lambdas(path, n_edges, 0):
        best = price_sharing(problem, float(f"{float(lam):.8g}"), progress=True)
        same = best.pruning is not None and np.array_equal(best.pruning.kept, path.at_lam(best.lam).kept)
        rows.append(
            {"lambda": name, "seconds": round(best.stats["seconds"], 1), "gap": best.relative_gap, "as on the path": bool(same)}
        )
    say(beside_edges=rows)


def forest_file(name: str, shape: Shape) -> str:
    return f"forest-{name}-{shape.trees}-{shape.n_train}.joblib"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--data", default="hepmass", choices=sorted(SHAPES))
    parser.add_argument("--edges", type=int, default=0, help="the whole path, and lambdas beside so many of its longest edges")
    parser.add_argument("--cost", type=int, metavar="ROWS", help="rows of the cost sample; default: the instance's")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    shape = SHAPES[args.data]
    shape = replace(shape, n_cost=args.cost or shape.n_cost)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) if args.out is None else args.out
        out.mkdir(parents=True, exist_ok=True)
        if not (out / forest_file(args.data, shape)).exists():
            apart(grow, shape, out / forest_file(args.data, shape))
        measure(args.data, shape, out, args.edges)


if __name__ == "__main__":
    main()
