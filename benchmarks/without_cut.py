"""What rounds of price sharing prove where no core may be cut: relative gap and open usage arcs after so many rounds.

    python -m benchmarks.without_cut --data covtype426k       BP16's setting: 40 entropy trees, 15,688 cost rows
    python -m benchmarks.without_cut --rows 3000              MiniBooNE with fewer cost rows

Lambdas are those at the longest edge of the hull, and 0.01 % and 1 % below and above it. At the breakpoint itself all that goes
there is a tie, so no round ever decides it. The gap is relative to the bound on the gain. *Ends* is the round after which a run
without memory stops, (3) of `solvers.price_sharing.stopping`.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import joblib
import numpy as np

import prunemodels as pm
from benchmarks.path import machine
from benchmarks.second_process import run_in_second_process
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.run import Run
from solvers.price_sharing.stopping import IDLE_ROUNDS, ROUNDS_PER_CHECK, without_progress

BESIDE = (Fraction(-1, 100), Fraction(-1, 10_000), Fraction(0), Fraction(1, 10_000), Fraction(1, 100))
"""Where lambda is, relative to the edge's breakpoint."""

TOLD = (20, 50, 100, 200, 400, 800, 1600)
"""Rounds after which the gap is told."""


def gaps(problem: pm.PruningProblem, lam: Fraction) -> dict[str, object]:
    """The gap and the open usage arcs after some rounds, and the round at which a run without memory ends."""
    row: dict[str, object] = {}
    started = time.process_time()
    with ThreadPoolExecutor(1) as pool:
        run = Run(LocalRows(integer_objective(problem, lam).refined(), pool), "smallest")
        idle = 0
        while run.iteration < TOLD[-1] and run.n_arcs:
            for _ in range(ROUNDS_PER_CHECK):
                run.round()
            before = run.n_arcs
            run.check()
            idle = without_progress(idle, before, run.n_arcs)
            gap = 0.0 if run.is_closed else (run.bound - run.best_value) / run.bound
            if run.iteration in TOLD:
                row[str(run.iteration)] = f"{gap:.1e}, {run.n_arcs:,}"
            if "ends" not in row and idle >= (ROUNDS_PER_CHECK if run.is_closed else IDLE_ROUNDS):
                row["ends"] = f"{run.iteration}: {gap:.1e}, {run.n_arcs:,}"
            if run.is_closed and "ends" in row:
                break
    return row | {"CPU seconds": round(time.process_time() - started, 1)}


def measure(args: argparse.Namespace) -> None:
    """A line for each lambda."""
    forest, X = joblib.load(args.measure)
    problem = pm.problem_from_forest(forest, X[: args.rows], costs=1)
    path = pm.pruning_path(problem, certificate=False)
    edge = int(np.argmax(-np.diff(np.asarray(path.cost))))
    gaps(pm.problem_from_forest(forest, X[:300], costs=1), path.breakpoints[edge + 1])  # loads compiled code
    print(f"{args.data}: {problem}\n{machine()}", flush=True)
    for beside in BESIDE:
        row = gaps(problem, path.breakpoints[edge + 1] * (1 + beside))
        print(json.dumps({"beside the edge": f"{100 * float(beside):+g} %", **row}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="miniboone", help="data set in the folder PRUNEMODELS_DATA, or a file")
    parser.add_argument("--rows", type=int, help="so many rows of the cost sample; default: all")
    run_in_second_process(parser, "benchmarks.without_cut", measure)


if __name__ == "__main__":
    main()
