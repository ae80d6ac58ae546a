"""Price sharing on a cluster: its constants, measured on one machine, and what they say of 10^9 rows on 100 workers.

    python -m benchmarks.cluster                 constants in one process and through Ray, on a seeded HEPMASS-like sample
    python -m benchmarks.cluster --no-ray        without Ray

The first lines are one pass over a part's usage arcs (both sweeps of a round) by one thread; then what a round costs the driver:
the pass over all trees, and adding one worker's charges. A round of two workers has a hundred rows each, so that hardly anything
but the exchange is timed, on vectors of the length given. All seconds are the least of several repetitions, so other work on the
machine hardly counts. The extrapolation is arithmetic on these, printed line by line; nothing of it was run.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.hepmass_like import events
from benchmarks.path import best_of, machine
from formulations import PruningProblem
from solvers.cluster import LocalWorkers, ShardedProblem, array_parts, ray_workers, shard_recipes, sharded_price_sharing
from solvers.cluster.driver_run import DriverRun, sharded_whole
from solvers.cluster.row_shard import RowShard
from solvers.cluster.workers import Workers
from solvers.shared_prices.trees import best_closures

ROWS, WORKERS, ROUNDS, CHECKS = 1_000_000_000, 100, 60, 6
"""The extrapolation's: HEPMASS needs 20 to 30 rounds to a gap of 1e-4, and a check costs about two rounds."""

FULL_SIZE = {"trees": 40, "splits": 225_352, "arcs a row": 437.6, "features": 28}
"""The forest of benchmarks.scale: 40 entropy trees grown on 100,000 rows, 612,651,973 usage arcs for 1.4 million rows."""

NETWORK = 1.25e9
"""Bytes a second between driver and workers that the extrapolation assumes: 10 Gbit/s. Not measured."""


def instance(rows: int, trees: int) -> tuple[PruningProblem, np.ndarray]:
    """A forest grown on 20,000 events, and its instance on others."""
    X, y = events(rows + 20_000, 0)
    forest = RandomForestClassifier(trees, criterion="entropy", max_features="sqrt", random_state=0).fit(X[:20_000], y[:20_000])
    return pm.problem_from_forest(forest, X[20_000:], costs=1), X[20_000:]


def joined(problem: PruningProblem, workers: Workers) -> ShardedProblem:
    return ShardedProblem.build(problem.ensemble, problem.errors, workers, problem.costs)


def least(repeats: int, work: Callable[[], Any]) -> float:
    """Least seconds of several runs."""
    work()
    return best_of(repeats, work)[0]


def lam_of(problem: PruningProblem) -> float:
    """The lambda whose lambda' is 0.02, as at full size."""
    return 0.02 * problem.n_rows / (problem.ensemble.n_trees * float(problem.errors.components[0].weight[0]))


def shard_constants(problem: PruningProblem, X: np.ndarray, repeats: int) -> dict[str, float]:
    """Of one part in this process, and of the driver."""
    workers = LocalWorkers(shard_recipes(problem.ensemble, problem.costs, array_parts(X, 1)))
    sharded = joined(problem, workers)
    shard: RowShard = workers.objects[0]
    with ThreadPoolExecutor(1) as pool:
        run = DriverRun(sharded, sharded_whole(sharded, Fraction(repr(lam_of(problem)))), "smallest", None, pool)
        for _ in range(3):
            run.round()
        k, score = run.left.nodes.size, run.score
        charge = shard.charges(score)
        keep, worth = np.zeros(k, dtype=bool), np.empty(k)

        def trees() -> None:
            np.subtract(run.left.profit, charge, out=worth)
            best_closures(run.left, worth, keep)

        own = np.zeros(k)
        seconds = least(repeats, lambda: shard.charges(score))
        level = np.zeros(k, dtype=np.int32)
        check = least(repeats, lambda: (shard.whole_charges(score), shard.levels(level, 5)))
        tree_pass = least(5 * repeats, trees)
        adding = least(5 * repeats, lambda: np.add(own, charge, out=own))
    routing, blocks = shard.routing, shard.problem.row_blocks  # type: ignore[union-attr]
    per_row = (routing.order.nbytes + blocks.order.nbytes + shard.weights.nbytes + 8 * problem.n_rows) / problem.n_rows
    return {
        "arcs": float(run.n_arcs),
        "open splits": float(k),
        "ns an arc and round, one thread": 1e9 * seconds / run.n_arcs,
        "a check in rounds": check / seconds,
        "tree pass, ns a split": 1e9 * tree_pass / k,
        "adding charges, ns a split and worker": 1e9 * adding / k,
        "bytes a row and tree": per_row / problem.ensemble.n_trees,
        "bytes a node and block": blocks.start.nbytes * 2 / blocks.start.size,
    }


def ray_constants(problem: PruningProblem, X: np.ndarray, repeats: int) -> dict[str, float]:
    """A round's exchange, what a lost worker costs, and the answers side by side."""
    began = time.perf_counter()
    with ray_workers(shard_recipes(problem.ensemble, problem.costs, array_parts(X[:200], 2))) as workers:
        start = time.perf_counter() - began
        sharded = joined(problem.__class__.build(problem.ensemble, problem.errors, X[:200], problem.costs), workers)
        with ThreadPoolExecutor(1) as pool:
            run = DriverRun(sharded, sharded_whole(sharded, Fraction(1, 10**6)), "smallest", None, pool)
            nothing = least(repeats, lambda: workers.ask("levels", np.zeros(run.left.nodes.size, dtype=np.int32), 5))
            exchange = least(repeats, lambda: workers.ask("charges", run.score))
        alone = workers.recipes[0]()
        alone.join(Fraction(1))
        alone.price(run.whole.item_price, problem.ensemble.is_split)
        nodes = np.random.default_rng(0).standard_normal(alone.left.nodes.size).astype(np.float32)
        work = least(repeats, lambda: alone.charges(nodes))
    return {
        "Ray and two workers start, s": start,
        "a round of two workers, ms": 1e3 * exchange,
        "of it work, ms": 1e3 * work,
        "a check's sums, ms": 1e3 * nothing,
        "splits in that round": float(run.left.nodes.size),
    }


def answers(problem: PruningProblem, X: np.ndarray, *, with_ray: bool) -> dict[str, float]:
    """Seconds to the exact optimum, in one place, in two parts in one process, and on two Ray workers: the same answer."""
    lam = lam_of(problem)
    recipes = shard_recipes(problem.ensemble, problem.costs, array_parts(X, 2))
    pm.price_sharing(problem, lam, rounds=3, small_core=0)
    seconds, local = best_of(1, lambda: pm.price_sharing(problem, lam))
    found = {"price_sharing, s": seconds, "rounds": local.stats["iterations"]}
    kinds: dict[str, Callable[[], Workers]] = {"two parts, one process": lambda: LocalWorkers(recipes)}
    if with_ray:
        kinds["two Ray workers"] = lambda: ray_workers(recipes)
    for name, kind in kinds.items():
        with kind() as workers:
            sharded = joined(problem, workers)
            found[f"{name}, s"], sharing = best_of(1, lambda s=sharded: sharded_price_sharing(s, lam))  # type: ignore[misc]
            solution = sharing.on(problem)
            assert solution.value == local.value
            assert solution.bound == local.bound
            assert (sharing.kept == local.pruning.kept).all()  # type: ignore[union-attr]
    return found


def extrapolate(shard: dict[str, float], latency: float) -> list[tuple[str, str]]:
    """10^9 rows on 100 workers, from the constants."""
    part, splits = ROWS / WORKERS, FULL_SIZE["splits"]
    blocks = math.ceil(part / 2**16)
    memory = {
        "routing": part * FULL_SIZE["trees"] * shard["bytes a row and tree"],
        "ranges in blocks": blocks * 2 * splits * shard["bytes a node and block"],
        "paid purchases": part * FULL_SIZE["features"],
    }
    table = part * FULL_SIZE["features"] * 4
    work = part * FULL_SIZE["arcs a row"] * shard["ns an arc and round, one thread"] * 1e-9
    each = 12 * splits / NETWORK + splits * shard["adding charges, ns a split and worker"] * 1e-9 + latency
    fixed = splits * shard["tree pass, ns a split"] * 1e-9
    total = (work + WORKERS * each + fixed) * (ROUNDS + CHECKS * shard["a check in rounds"])
    stops = math.sqrt(work * WORKERS / each)
    lines = [(f"memory a worker, {name}", f"{size / 1e9:.2f} GB") for name, size in memory.items()]
    return [
        *lines,
        ("memory a worker in all", f"{sum(memory.values()) / 1e9:.2f} GB (and {table / 1e9:.2f} GB while its rows are routed)"),
        ("bytes a round, driver to and from all workers", f"{12 * splits * WORKERS / 1e6:.0f} MB"),
        ("a worker's pass, one core", f"{work:.1f} s"),
        ("the driver for all workers: network, adding, latency", f"{WORKERS * each:.2f} s"),
        ("the driver's tree pass", f"{fixed * 1e3:.1f} ms"),
        (f"{ROUNDS} rounds and {CHECKS} checks", f"{total / 60:.0f} min"),
        (
            "workers beyond which a round gets no shorter",
            f"{stops:.0f}, at {work * WORKERS / stops + stops * each + fixed:.1f} s a round",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Price sharing on a cluster.")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--no-ray", action="store_true")
    args = parser.parse_args()
    problem, X = instance(args.rows, args.trees)
    print(f"{problem}\n{machine()}\n")
    shard = shard_constants(problem, X, args.repeats)
    ray = {} if args.no_ray else ray_constants(problem, X, args.repeats)
    both = answers(problem, X, with_ray=not args.no_ray)
    print("| | |\n| --- | ---: |")
    for name, value in {**shard, **ray, **both}.items():
        print(f"| {name} | {value:,.4g} |")
    latency = 1e-3 * (ray["a round of two workers, ms"] - ray["of it work, ms"]) / 2 if ray else 1e-3
    print(
        f"\n{ROWS:.0e} rows on {WORKERS} workers, {FULL_SIZE['splits']:,} splits; nothing of it was run:\n\n| | |\n| --- | ---: |"
    )
    for name, text in extrapolate(shard, latency):
        print(f"| {name} | {text} |")


if __name__ == "__main__":
    main()
