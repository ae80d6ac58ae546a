"""Seconds of evaluating a path on held-out rows, of cross-validating many budgets, and of predictions of pruned forests.

    python -m benchmarks.in_use     MiniBooNE: 40 entropy trees, 35,000 rows to train, 15,000 for costs, the rest held out

*Sweep*: `evaluate_path`, all rows of the path, against `evaluate` of one forest. *Cross-validation*: processor seconds of one
budget, of fifty, and of GridSearchCV with five of them; the scores of those five must be the same. *At work*: files and latencies
of the forest before and after pruning, in scikit-learn and in onnxruntime, in turns; and labels that differ between the two.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.instances import parts
from formulations.answers.pruning_path import PruningPath
from prunemodels.comparison.machine import machine


def sweep(forest: Any, path: PruningPath, X: NDArray[Any], y: NDArray[Any]) -> str:
    """Seconds of the sweep and of one evaluation, which must agree."""
    pm.evaluate_path(path, X[:100], y[:100])  # compiles
    started = time.perf_counter()
    found = pm.evaluate_path(path, X, y)
    seconds = time.perf_counter() - started
    row = len(path) // 4
    pruned = pm.apply_pruning(path[row], forest)
    started = time.perf_counter()
    one = pm.evaluate(pruned, X, y, costs=1)
    single = time.perf_counter() - started
    assert one.error == found.error[row]
    assert abs(one.cost - found.cost[row]) < 1e-9 * max(1.0, one.cost)
    return f"sweep: {len(path):,} rows of the path on {len(y):,} examples {seconds:.1f} s; one evaluate {single:.1f} s"


def at_work(forest: Any, pruned: Any, X: NDArray[Any], repeats: int) -> str:
    """File sizes, latencies, and labels that differ between scikit-learn and ONNX."""
    measured = pm.deployment.measure_deployment(forest, pruned, X, onnx=True, repeats=repeats)
    agreements = [pm.deployment.compare_onnx(pm.deployment.to_onnx(f), f, X) for f in (forest, pruned)]
    assert all(a.agrees for a in agreements)
    lines = [f"ONNX {when}: {a}" for when, a in zip(("before", "after"), agreements, strict=True)]
    return "\n".join([str(measured), *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description="Judging, choosing and deploying.")
    parser.add_argument("--data", default="miniboone", choices=("miniboone", "covtype426k"))
    parser.add_argument("--budget", type=float, default=15.0)
    args = parser.parse_args()
    data = parts(args.data)
    forest, X, y = data.forest().set_params(n_jobs=None), data.X[data.test], data.y[data.test]
    path = pm.pruning_path(pm.problem_from_forest(forest, data.X[data.cost], costs=1), certificate=False)
    print(f"{machine()}\n{path}")
    print(sweep(forest, path, X, y), flush=True)
    print(at_work(forest, pm.apply_pruning(path.at_cost(args.budget), forest), X, 100))


if __name__ == "__main__":
    main()
