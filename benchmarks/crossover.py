"""What a cut and a round of price sharing cost at which size, and which engine is faster: what `solvers.automatic` uses.

    python -m benchmarks.crossover                        BP16's MiniBooNE forest with 50 to 15,000 cost rows
    python -m benchmarks.crossover --data covtype426k     the same on Covertype

Each size is solved between the breakpoints next to 85, 50 and 15 % of the unpruned cost; CPU seconds of all threads, the best of
three runs, proof included, compiled code warmed up. Then a cut of the whole instance, the first round, which merges purchases,
and a later one, with all splits open; and what they cost for each usage arc and each split, by least squares of the ratios.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import joblib
import numpy as np

import prunemodels as pm
from benchmarks.path import machine, warm_up
from benchmarks.second_process import run_in_second_process
from formulations.instance.cost_items import exact
from solvers.automatic import predicted_seconds
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.run import Run

ROWS = (50, 150, 500, 1500, 5000, 15_000)
SHARES = (0.85, 0.5, 0.15)


def measure(args: argparse.Namespace) -> None:
    """A line for each number of rows and each lambda."""
    forest, X = joblib.load(args.measure)
    warm_up()
    print(f"{args.data}, seed {args.seed}; {machine()}")
    print("   rows  usage arcs  share of cost   min_cut, s  predicted   price_sharing, s  predicted  rounds")
    parts = []
    for rows in ROWS:
        problem = pm.problem_from_forest(forest, X[:rows], costs=1)
        path = pm.pruning_path(problem, certificate=False)
        cut_predicted, sharing_predicted = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits)
        for share in SHARES:
            k = min(int(np.abs(path.cost - share * path.cost[0]).argmin()), len(path) - 2)
            lam = float((path.breakpoints[k] + path.breakpoints[k + 1]) / 2)
            cut, _ = cpu_seconds(args.repeats, partial(pm.engines.min_cut, problem, lam))
            sharing, solution = cpu_seconds(args.repeats, partial(pm.engines.price_sharing, problem, lam))
            print(
                f"{rows:7,}{problem.n_usage_arcs:12,}{share:15.2f}{cut:13.4f}{cut_predicted:11.4f}"
                f"{sharing:19.4f}{sharing_predicted:11.4f}{solution.stats['iterations']:8.0f}"
            )
        parts.append((problem, *seconds_of_parts(problem, lam)))
    print("\n   rows  usage arcs   splits   cut, s  first round, ms  later, ms")
    for problem, cut, first, later in parts:
        sizes = f"{problem.n_rows:7,}{problem.n_usage_arcs:12,}{problem.ensemble.n_splits:9,}"
        print(f"{sizes}{cut:9.4f}{1e3 * first:17.2f}{1e3 * later:11.2f}")
    sizes = np.array([[problem.n_usage_arcs, problem.ensemble.n_splits] for problem, *_ in parts])
    for name, seconds in zip(("a cut", "the first round", "a later round"), list(zip(*parts, strict=True))[1:], strict=True):
        ratios = sizes / np.array(seconds)[:, None]
        (arc, split), *_ = np.linalg.lstsq(ratios, np.ones(len(parts)))
        print(f"{name}: {1e9 * arc:.3g} ns a usage arc, {1e9 * split:.3g} ns a split")


def seconds_of_parts(problem: pm.PruningProblem, lam: float) -> tuple[float, float, float]:
    """CPU seconds of a cut of all splits that are open at first, of the first round, and of a later one."""
    objective = integer_objective(problem, exact(lam, "lam")).refined()
    with ThreadPoolExecutor(1) as pool:
        firsts = []
        for _ in range(2):  # the first time, compiled code is loaded
            run = Run(LocalRows(objective, pool), "smallest")
            firsts.append(cpu_seconds(1, run.round)[0])
        later, _ = cpu_seconds(5, run.round)
        cut, _ = cpu_seconds(2, partial(run.rows.solve_core, run.score_at_lowest, "smallest"))
    return cut, min(firsts), later


def cpu_seconds(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The least CPU seconds of some runs, all threads together, and what the last one returned."""
    least = math.inf
    for _ in range(repeats):
        started = time.process_time()
        answer = work()
        least = min(least, time.process_time() - started)
    return least, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="miniboone", help="data set in the folder PRUNEMODELS_DATA, or a file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    run_in_second_process(parser, "benchmarks.crossover", measure)


if __name__ == "__main__":
    main()
