"""Price sharing against one cut: seconds to the exact optimum with proof, rounds, core, bytes a usage arc.

    python -m benchmarks.price_sharing                      BP16's MiniBooNE setting: 40 entropy trees, 15,000 cost rows
    python -m benchmarks.price_sharing --data covtype426k   the same on Covertype

*Plain cut* is one OR-Tools cut of the whole, unreduced network without a proof; *min_cut* is the package's engine, with its
proof. The forest is grown in one process and measured in another. Compiled code is warmed up. Seconds are the best of --repeats
in one process. Bytes are the peak that Python allocates during a solve, NumPy's arrays included; the routing is allocated before.
"""

from __future__ import annotations

import argparse
import json
import sys
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import joblib
import numpy as np

import prunemodels as pm
from benchmarks.path import best_of, machine
from benchmarks.second_process import run_in_second_process
from formulations import PruningProblem
from formulations.instance.papers import two_trees
from solvers.closures.cut import best_closure
from solvers.closures.integer_objective import integer_objective
from solvers.closures.subproblem import subproblem
from solvers.price_sharing import final_scores, price_sharing

LAMBDAS = {"miniboone": (0.05, 0.2, 0.5, 1.0), "covtype426k": (0.3, 0.8, 1.2, 1.5, 2.0)}
"""Scaled lambda', in error counts per purchase: lam = lambda' N / (T W_t)."""


def plain_cut(problem: PruningProblem, lam: float) -> Callable[[], np.ndarray]:
    """A function that makes one cut of the whole, unreduced network; its inputs are prepared before."""
    objective, arcs, splits = integer_objective(problem, Fraction(repr(lam))), problem.usage_arcs(), problem.splits

    def cut() -> np.ndarray:
        part = subproblem(problem.ensemble.parent, splits, arcs.tail, arcs.head, problem.n_purchases)
        closure = best_closure(part.closure_problem(objective.profits(splits), objective.prices()[part.purchases]))
        return np.asarray(closure.keep)

    return cut


def python_bytes(problem: PruningProblem, lam: float) -> int:
    """Peak of what Python allocates during one run, above what it held before."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    price_sharing(problem, lam)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


def measure(name: str, file: Path, repeats: int) -> None:
    """Print the table for a forest that was grown before."""
    forest, X = joblib.load(file)
    problem = pm.problem_from_forest(forest, X, costs=1.0)
    for engine in (price_sharing, pm.engines.min_cut):
        engine(two_trees(), 0.1)
    unit = problem.n_rows / (problem.ensemble.n_trees * float(problem.errors.components[0].weight[0]))
    start, rows = None, []
    price_sharing(problem, 0.5 * unit)  # loads compiled code for these sizes
    for scaled in LAMBDAS[name]:
        lam = scaled * unit
        shared_s, shared = best_of(repeats, lambda lam=lam: price_sharing(problem, lam))  # type: ignore[misc]
        warm_s, warm = best_of(repeats, lambda lam=lam, start=start: price_sharing(problem, lam, start=start))  # type: ignore[misc]
        cut_s, cut = best_of(repeats, lambda lam=lam: pm.engines.min_cut(problem, lam))  # type: ignore[misc]
        plain_s, keep = best_of(repeats, plain_cut(problem, lam))
        start = final_scores(warm)
        assert shared.pruning is not None
        assert cut.pruning is not None
        row = {
            "lambda'": scaled,
            "price sharing, s": round(shared_s, 2),
            "rounds": int(shared.stats["iterations"]),
            "core, usage arcs": int(shared.stats["core_usage_arcs"]),
            "from the last lambda, s": round(warm_s, 2),
            "min_cut, s": round(cut_s, 2),
            "plain cut, s": round(plain_s, 2),
            "price sharing / min_cut": round(shared_s / cut_s, 2),
            "price sharing / plain cut": round(shared_s / plain_s, 2),
            "same pruning": bool((shared.pruning.kept == cut.pruning.kept).all())
            and bool((keep == cut.pruning.kept[problem.splits]).all()),
            "gap": shared.relative_gap,
            "bytes a usage arc": round(python_bytes(problem, lam) / problem.n_usage_arcs, 2),
        }
        rows.append(row)
        print(json.dumps(row), file=sys.stderr)
    print(f"{name}: {problem}")
    print(f"{machine()}\n")
    print("| | " + " | ".join(str(row["lambda'"]) for row in rows) + " |\n| --- |" + " ---: |" * len(rows))
    for key in list(rows[0])[1:]:
        print(f"| {key} | " + " | ".join(f"{row[key]:,}" if isinstance(row[key], int) else str(row[key]) for row in rows) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description="Price sharing against one cut.")
    parser.add_argument("--data", default="miniboone", choices=sorted(LAMBDAS))
    parser.add_argument("--repeats", type=int, default=3)
    run_in_second_process(parser, "benchmarks.price_sharing", lambda args: measure(args.data, args.measure, args.repeats))


if __name__ == "__main__":
    main()
