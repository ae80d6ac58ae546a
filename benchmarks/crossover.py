"""The size from which price sharing is faster than a minimum cut; `solvers.automatic` uses these figures.

    python -m benchmarks.crossover                        BP16's MiniBooNE forest with 50 to 15,000 cost rows
    python -m benchmarks.crossover --data covtype426k     the same on Covertype

Each size is solved between the breakpoints next to 85, 50 and 15 % of the unpruned cost; seconds are the best of three
runs, proof included, compiled code warmed up.
"""

from __future__ import annotations

import argparse
from functools import partial

import joblib
import numpy as np

import prunemodels as pm
from benchmarks.path import best_of, machine, warm_up
from benchmarks.second_process import run_in_second_process
from solvers.automatic import predicted_seconds

ROWS = (50, 150, 500, 1500, 5000, 15_000)
SHARES = (0.85, 0.5, 0.15)


def measure(args: argparse.Namespace) -> None:
    """A line for each number of rows and each lambda."""
    forest, X = joblib.load(args.measure)
    warm_up()
    print(f"{args.data}, seed {args.seed}; {machine()}")
    print("   rows  usage arcs  share of cost   min_cut, s  predicted   price_sharing, s  predicted  rounds")
    for rows in ROWS:
        problem = pm.problem_from_forest(forest, X[:rows], costs=1)
        path = pm.pruning_path(problem, certificate=False)
        cut_predicted, sharing_predicted = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits)
        for share in SHARES:
            k = min(int(np.abs(path.cost - share * path.cost[0]).argmin()), len(path) - 2)
            lam = float((path.breakpoints[k] + path.breakpoints[k + 1]) / 2)
            cut, _ = best_of(args.repeats, partial(pm.engines.min_cut, problem, lam))
            sharing, solution = best_of(args.repeats, partial(pm.engines.price_sharing, problem, lam))
            print(
                f"{rows:7,}{problem.n_usage_arcs:12,}{share:15.2f}{cut:13.4f}{cut_predicted:11.4f}"
                f"{sharing:19.4f}{sharing_predicted:11.4f}{solution.stats['iterations']:8.0f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="miniboone", help="data set in the folder PRUNEMODELS_DATA, or a file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    run_in_second_process(parser, "benchmarks.crossover", measure)


if __name__ == "__main__":
    main()
