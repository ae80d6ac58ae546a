"""Price sharing on a cluster: constants measured on one machine, and an estimate from them for 10^9 rows on 100 workers.

    python -m benchmarks.cluster                      a million rows on two Ray workers of this machine
    python -m benchmarks.cluster --rows 100000        fewer
    ... --forests FOLDER                              reads the grown forest from there, or saves it there
    ... --out FILE                                    also writes JSON

Forest and rows are those of `benchmarks.scale --data hepmass`: 40 trees, 225,352 splits. The measured quantities are: rounds
without data for 1 to 8 workers, sending and gathering vectors of 10^4 to 10^7 numbers, the driver's own work, a worker's pass
over its rows while the other worker is idle or busy, and memory. Then a full run to a gap of 1e-4 is compared with the estimate
of `benchmarks.cluster_estimate` for it. The tables at the end are computed, not measured: there was no cluster of more than one
machine, and the speed of the network is an assumption.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import prunemodels as pm
from benchmarks import hepmass_like, scale
from benchmarks.cluster_estimate import HEPMASS, Constants, Shape, cluster_estimate, scaling_table
from benchmarks.cluster_rounds import Canned, Events, Exchange, Timed, empty_rounds, exchanges, least, memory_of, seconds
from formulations import PruningProblem
from formulations.instance.routing import route
from prunemodels.comparison.machine import machine
from solvers.price_sharing.cluster import LocalWorkers, ShardedProblem, Workers, ray_workers, shard_recipes, sharded_price_sharing
from solvers.price_sharing.cluster.ray_workers import connect, ray_package
from solvers.price_sharing.cluster.sharded_problem import Shards
from solvers.price_sharing.cluster.sharded_rows import ShardedRows, sharded_objective
from solvers.price_sharing.run import Run

GAP = 1e-4

LENGTHS = (10_000, 100_000, HEPMASS.splits, 1_000_000, 10_000_000)

ROUNDS, CHECKS = 20, 2
"""Rounds and checks to a gap of 1e-4 on the instance of `benchmarks.scale`, 1.4 million rows, counted there."""

STRONG = [(1e9, w) for w in (10, 30, 100, 300, 1000, 3000)]
WEAK = [(1e7 * w, w) for w in (1, 10, 100, 1000, 3000)]


def problem_on(forest: Any, rows: int) -> PruningProblem:
    """The forest with a few cost rows; trees and errors do not depend on their number."""
    return pm.problem_from_forest(forest, hepmass_like.events(rows, 1)[0], costs=1)


def lam_of(problem: PruningProblem, rows: int) -> float:
    """The lambda whose lambda' is 0.02, as in `benchmarks.scale`."""
    return float(f"{0.02 * rows / (problem.ensemble.n_trees * float(problem.errors.components[0].weight[0])):.4g}")


def joined(problem: PruningProblem, workers: Workers) -> ShardedProblem:
    return ShardedProblem.build(problem.ensemble, problem.errors, workers, problem.costs)


def driver_constants(problem: PruningProblem, repeats: int) -> dict[str, float]:
    """Seconds for each split at the driver: for its own work, and for adding the charges of each worker."""
    workers = LocalWorkers(shard_recipes(problem.ensemble, problem.costs, [Events(1000, 1)]))
    sharded = joined(problem, workers)
    rate = Fraction(repr(lam_of(problem, 1000)))
    with ThreadPoolExecutor(1) as pool:
        rows = ShardedRows(sharded, sharded_objective(sharded, rate), pool)
        run = Run(rows, "smallest")
        charge, taken = workers.objects[0].charges(run.score), {}
        for n in (1, 17):
            rows.shards = Shards(Canned(charge, n))
            taken[n] = least(run.round, repeats)
    k = run.remaining.nodes.size
    adding = max(0.0, taken[17] - taken[1]) / 16 / k
    return {"adding": adding, "tree": taken[1] / k - adding}


def worker_constants(problem: PruningProblem, rows: int, repeats: int) -> dict[str, float]:
    """Constants of two workers that have half of the rows each; seconds of a pass if one works, and if both do."""
    X = hepmass_like.events(100_000, 2)[0]
    routing = min(seconds(lambda: route(problem.ensemble, X), 3, time.process_time)) / len(X) / problem.ensemble.n_trees
    empty = _shards(problem, 1000)
    with ray_workers(empty) as workers:
        joined(problem, workers)
        process = memory_of(workers.processes[0])[0]
    with ray_workers(_shards(problem, rows)) as workers:
        sharded = joined(problem, workers)
        with ThreadPoolExecutor(1) as pool:
            objective = sharded_objective(sharded, Fraction(repr(lam_of(problem, rows))))
            run = Run(ShardedRows(sharded, objective, pool), "smallest")
            arcs, score = run.n_arcs / len(workers), workers.share((run.score,))[0]
            alone = workers.wait(workers.submit(0, "seconds_of", ("charges", score)))
            both = max(workers.ask("seconds_of", "charges", run.score))
            # every split is in some level set: a pass over all arcs, which is the most expensive case
            level = np.random.default_rng(0).integers(1, 6, run.remaining.nodes.size, dtype=np.int32)
            check = max(workers.ask("seconds_of", "integer_charges", run.score))
            check += max(workers.ask("seconds_of", "level_bills", level, 5))
            rounds = least(run.round, max(3, repeats // 10))
        memory = [memory_of(p) for p in workers.processes]
    return {
        "route": routing,
        "process": float(process),
        "open splits": float(run.remaining.nodes.size),
        "arcs a row": arcs * len(workers) / rows,
        "arc, one of two works": alone / arcs,
        "arc": both / arcs,
        "checks": check / both,
        "a round, s": rounds,
        "memory": float(max(m[0] for m in memory)),
        "peak memory": float(max(m[1] for m in memory)),
    }


def _shards(problem: PruningProblem, rows: int) -> list[Any]:
    sources = [Events(rows // 2, seed) for seed in (1, 2)]
    return [partial(Timed, recipe) for recipe in shard_recipes(problem.ensemble, problem.costs, sources)]


def whole_run(problem: PruningProblem, rows: int) -> dict[str, float]:
    """Seconds, rounds and checks of a run on two Ray workers, from their start to a certified gap."""
    began = time.perf_counter()
    with ray_workers(shard_recipes(problem.ensemble, problem.costs, [Events(rows // 2, seed) for seed in (1, 2)])) as workers:
        sharded = joined(problem, workers)
        started = time.perf_counter()
        found = sharded_price_sharing(sharded, lam_of(problem, rows), gap=GAP)
    return {
        "start, s": started - began,
        "to the gap, s": found.stats["seconds"],
        "rounds": found.stats["iterations"],
        "checks": found.stats["checks"],
        "relative gap": found.relative_gap,
        "workers lost": found.stats["workers_lost"],
    }


def constants_of(
    empty: dict[int, float], lengths: Sequence[Exchange], worker: dict[str, float], driver: dict[str, float], network: float
) -> Constants:
    """Constants of the estimate: calls by a line through all numbers of workers; bytes at the length nearest to the forest's."""
    call, at_zero = np.polyfit(list(empty), list(empty.values()), 1)
    near = min(lengths, key=lambda e: abs(math.log(e.n / HEPMASS.splits)))
    return Constants(
        arc=worker["arc"],
        checks=worker["checks"],
        route=worker["route"],
        empty=max(0.0, float(at_zero)),
        call=float(call),
        out=max(0.0, near.out - empty[2]) / (2 * 4 * near.n),
        into=max(0.0, near.into - empty[2]) / (2 * 8 * near.n),
        adding=driver["adding"],
        tree=driver["tree"],
        process=worker["process"],
        network=network,
    )


def report(measured: dict[str, Any], constants: Constants, shape: Shape, rows: int) -> None:
    """Print all figures as tables."""
    print("\n| workers | round without data, ms |\n| ---: | ---: |")
    for n, value in measured["empty"].items():
        print(f"| {n} | {1e3 * value:.3g} |")
    print("\n| numbers | scores to two workers, ms | charges from two workers, ms | ns a byte out | ns a byte in |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for e in measured["exchanges"]:
        out, into = (1e9 * (t - measured["empty"][2]) / (2 * b * e["n"]) for t, b in ((e["out"], 4), (e["into"], 8)))
        print(f"| {e['n']:,} | {1e3 * e['out']:.3g} | {1e3 * e['into']:.3g} | {out:.2f} | {into:.2f} |")
    print("\n| | |\n| --- | ---: |")
    for name, value in {**measured["worker"], **measured["driver"]}.items():
        print(f"| {name} | {_plain(value)} |")
    this_machine = replace(constants, network=math.inf)
    e = cluster_estimate(rows, 2, this_machine, replace(shape, arcs=measured["worker"]["arcs a row"]))
    print(
        f"\n{rows:,} rows on two workers of this machine, measured and estimated:\n\n"
        "| | measured | estimated |\n| --- | ---: | ---: |"
    )
    run = measured["run"]
    mb = {k: f"{measured['worker'][k] / 1e6:,.0f}" for k in ("memory", "peak memory")}
    print(f"| a round, s | {measured['worker']['a round, s']:.3g} | {e.round:.3g} |")
    print(f"| memory of a worker, MB | {mb['memory']} | {e.memory / 1e6:,.0f} |")
    print(f"| its peak, reading its rows included, MB | {mb['peak memory']} | {e.reading / 1e6:,.0f} |")
    full = int(run["rounds"]) * e.round + int(run["checks"]) * e.check
    print(f"| to a gap of {run['relative gap']:.1g}: {run['rounds']:.0f} rounds, s | {run['to the gap, s']:.3g} | {full:.3g} |")
    for name, cases in (("Strong scaling", STRONG), ("Weak scaling", WEAK)):
        print(f"\n{name}, {ROUNDS} rounds and {CHECKS} checks; nothing of it was run:\n")
        print(scaling_table(cases, constants, ROUNDS, CHECKS, shape))
    print(f"\nW* at 10^9 rows: {cluster_estimate(1e9, 100, constants, shape).balance:,.0f} workers")


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def measure(
    forest: Any, rows: int, repeats: int, network: float, lengths: Sequence[int] = LENGTHS, keep: Path | None = None
) -> dict[str, Any]:
    """Measure all constants and the run; write the figures after each step."""
    problem = problem_on(forest, 1000)
    measured: dict[str, Any] = {"command": f"python -m benchmarks.cluster --rows {rows} --repeats {repeats}", "rows": rows}
    measured |= {"machine": f"{machine()}, ray {ray_package().__version__}", "load": {}}

    def add(name: str, figures: Any) -> None:
        measured[name] = figures
        measured["load"][name] = round(os.getloadavg()[0], 1)
        print(f"{name} measured, load {measured['load'][name]}", file=sys.stderr, flush=True)
        if keep is not None:
            keep.write_text(json.dumps(measured, indent=1) + "\n")

    add("driver", driver_constants(problem, repeats))
    add("empty", empty_rounds((1, 2, 4, 8), 20 * repeats))
    lines = exchanges(lengths, repeats)
    add("exchanges", [asdict(e) for e in lines])
    add("worker", worker_constants(problem, rows, repeats))
    constants = constants_of(measured["empty"], lines, measured["worker"], measured["driver"], network)
    add("constants", asdict(constants))
    add("run", whole_run(problem, rows))
    n = problem.ensemble
    shape = Shape(n.n_trees, n.n_splits, n.n_nodes, problem.costs.n_items, n.n_features, measured["worker"]["arcs a row"])
    print(measured["machine"], f"load average {max(measured['load'].values())}", sep="\n")
    report(measured, constants, shape, rows)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description="Price sharing on a cluster.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--network", type=float, default=10.0, help="Gbit/s at the driver, assumed for the tables")
    parser.add_argument("--forests", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shape = scale.SHAPES["hepmass"]
        file = (args.forests or Path(folder)) / scale.forest_file("hepmass", shape)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            scale.grow(shape, file)
        forest = joblib.load(file)
    ray = ray_package()
    connect(ray, "local")
    try:
        measure(forest, args.rows, args.repeats, args.network * 1e9 / 8, keep=args.out)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
