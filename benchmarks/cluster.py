"""Price sharing on two Ray workers of this machine: seconds of a round, with rows and without, and memory.

    python -m benchmarks.cluster                      400,000 rows on two workers
    python -m benchmarks.cluster --rows 20000         fewer

Forest and rows are those of `benchmarks.scale --data hepmass`: 40 trees, 225,352 splits. A round without data is a call of each
worker that does nothing; its seconds are what Ray takes, the least of many. The run goes to a certified gap of 1e-4. There was no
cluster of more than one machine.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks import hepmass_like, scale
from benchmarks.measuring import apart, best_of, command_line, line, markdown
from prunemodels.comparison.processes import machine
from solvers.price_sharing.cluster import ShardedProblem, ray_workers, shard_recipes, sharded_price_sharing
from solvers.price_sharing.cluster.ray_workers import connect, ray_package

GAP = 1e-4


class Idle:
    """A worker without work."""

    def nothing(self) -> None:
        """An empty call."""


@dataclass(frozen=True)
class Events:
    """Rows that the worker generates itself."""

    n: int
    seed: int

    def __call__(self) -> NDArray[np.float32]:
        return hepmass_like.events(self.n, self.seed)[0]


def empty_round(workers: int, repeats: int) -> float:
    """Seconds of a round without data for workers that share the cores of this machine."""
    with ray_workers([Idle] * workers, cpus=min(1.0, 2 / workers)) as crowd:
        crowd.ask("nothing")
        return best_of(repeats, partial(crowd.ask, "nothing"))[0]


def whole_run(forest: Any, rows: int) -> dict[str, float]:
    """A run on two workers, from their start to a certified gap."""
    problem = pm.problem_from_forest(forest, hepmass_like.events(1000, 1)[0], costs=1)  # trees and errors, for any rows
    unit = rows / (problem.ensemble.n_trees * float(problem.errors.components[0].weight[0]))
    sources = [Events(rows // 2, seed) for seed in (1, 2)]
    with ray_workers(shard_recipes(problem.ensemble, problem.costs, sources)) as workers:
        sharded = ShardedProblem.build(problem.ensemble, problem.errors, workers, problem.costs)
        found = sharded_price_sharing(sharded, float(f"{0.02 * unit:.4g}"), gap=GAP)
        memory = max(memory_of(process) for process in workers.processes)
    seconds, rounds = found.stats["seconds"], max(1.0, found.stats["iterations"])
    return {
        "to the gap, s": seconds,
        "rounds": found.stats["iterations"],
        "a round with its part of the checks, s": seconds / rounds,
        "relative gap": found.relative_gap,
        "memory of a worker, MB": memory / 1e6,
    }


def memory_of(process: int) -> int:
    """Bytes of a process of this machine, without shared libraries and shared memory."""
    status = dict(text.split(":", 1) for text in Path(f"/proc/{process}/status").read_text().splitlines())
    now, file, shared = (1024 * int(status[k].split()[0]) for k in ("VmRSS", "RssFile", "RssShmem"))
    return now - file - shared


def measure(forest: Any, rows: int, repeats: int) -> None:
    print(f"{machine()}, ray {ray_package().__version__}\n\n{markdown(['', f'{rows:,} rows, two workers'], [])}")
    for workers in (1, 2, 4, 8):
        print(line(f"a round without data, {workers} workers, ms", f"{1e3 * empty_round(workers, repeats):.3g}"), flush=True)
    for what, figure in whole_run(forest, rows).items():
        print(line(what, f"{figure:.3g}"), flush=True)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--repeats", type=int, default=400, help="rounds without data")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.joblib"
        apart(scale.grow, scale.SHAPES["hepmass"], file)
        forest = joblib.load(file)
    ray = ray_package()
    connect(ray, "local")
    try:
        measure(forest, args.rows, args.repeats)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    from benchmarks import cluster

    cluster.main()  # workers find its classes by the name of the module, which is not __main__
