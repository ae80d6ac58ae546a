"""The exact optimum where it is hardest: at lambdas beside the longest edges of the hull, each engine against one raw cut.

    python -m benchmarks.hard_lambdas                              BP16's MiniBooNE setting: 40 entropy trees, 15,000 cost rows
    python -m benchmarks.hard_lambdas --data covtype426k           the same on Covertype
    python -m benchmarks.hard_lambdas --rows 3000 --edges 2        a smaller instance, fewer edges

An edge of the hull is a breakpoint at which much of the cost goes at once. The exact path finds the six longest. Near a
breakpoint two very different prunings are worth nearly the same, so an engine that closes a gap has to close nearly all of it.
Lambdas are 0.01 %, 0.1 %, 1 % and 5 % below and above each edge, and others, evenly spread by their logarithms over the path.

The engines take turns at each lambda, in one process, compiled code warmed up; the raw cut of `benchmarks.suite.raw_cut` is one
of them. Its arrays are made outside the clock, and it proves nothing. Ratios are those of CPU seconds (all threads), and of
seconds by the clock, which other work on the machine distorts. Outside the clock every answer's certificate is checked by
`proofs_checks.check_solution`, and every pruning is compared with the raw cut's.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import prunemodels as pm
from benchmarks.path import machine, warm_up
from benchmarks.second_process import run_in_second_process
from benchmarks.suite.raw_cut import raw_cut
from proofs_checks import check_solution
from solvers.automatic import optimal_pruning

BESIDE = (Fraction(1, 10_000), Fraction(1, 1_000), Fraction(1, 100), Fraction(1, 20))
"""How far below and above an edge's breakpoint, relative to it."""

ENGINES: dict[str, Callable[..., pm.Solution]] = {
    "price_sharing": pm.engines.price_sharing,
    "min_cut": pm.engines.min_cut,
    "optimal_pruning": optimal_pruning,
}


def hard_lambdas(path: pm.PruningPath, edges: int, others: int) -> list[tuple[str, Fraction]]:
    """Names and lambdas: beside the longest edges, then others over the range of breakpoints."""
    dropped = -np.diff(np.asarray(path.cost))
    longest = np.argsort(-dropped, kind="stable")[:edges]
    lams = [
        (
            f"edge of {100 * dropped[k] / float(path.cost[0]):.1f} %, {100 * sign * float(beside):+g} %",
            path.breakpoints[k + 1] * (1 + sign * beside),
        )
        for k in longest
        for beside in BESIDE
        for sign in (-1, 1)
    ]
    least, most = float(path.breakpoints[1]), float(path.breakpoints[-1])
    spread = np.geomspace(least, most, others + 2)[1:-1]
    return lams + [(f"lambda {lam:.3g}", Fraction(f"{lam:.6g}")) for lam in spread.tolist()]


def seconds_of(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU seconds of all threads, seconds by the clock, and the answer."""
    cpu, clock = time.process_time(), time.perf_counter()
    answer = work()
    return round(time.process_time() - cpu, 3), round(time.perf_counter() - clock, 3), answer


def measured(problem: pm.PruningProblem, lam: Fraction, engines: list[str], *, check: bool) -> dict[str, Any]:
    """CPU and clock seconds of the raw cut and of each engine at one lambda; rounds and core of price sharing.

    Raises
    ------
    AssertionError
        where an answer is not the optimum, or its certificate does not prove it.
    """
    cut = raw_cut(problem, lam)
    cpu, clock, kept = seconds_of(cut)
    row: dict[str, Any] = {"raw cut": (cpu, clock)}
    for name in engines:
        cpu, clock, solution = seconds_of(lambda engine=ENGINES[name]: engine(problem, lam))
        row[name] = (cpu, clock)
        assert solution.gap == 0.0, f"{name} left a gap of {solution.gap} at {lam}"
        assert np.array_equal(solution.pruning.kept, kept), f"{name} and the raw cut disagree at {lam}"
        if check:
            assert check_solution(problem, solution).holds, f"{name} did not prove its answer at {lam}"
        if name == "price_sharing":
            row |= {"rounds": int(solution.stats["iterations"]), "core": int(solution.stats["core_usage_arcs"])}
    return row


def print_ratios(rows: list[dict[str, Any]], engines: list[str]) -> None:
    """Median and worst ratios to the raw cut, and of the automatic choice to the better engine."""
    for k, kind in ((0, "CPU"), (1, "clock")):
        for name in engines:
            ratios = np.array([row[name][k] / row["raw cut"][k] for row in rows])
            print(f"{name} / raw cut, {kind}: median {np.median(ratios):.3g}, worst {ratios.max():.3g}")
        if {"price_sharing", "min_cut", "optimal_pruning"} <= set(engines):
            best = np.array([row["optimal_pruning"][k] / min(row["price_sharing"][k], row["min_cut"][k]) for row in rows])
            print(f"optimal_pruning / the better engine, {kind}: median {np.median(best):.3g}, worst {best.max():.3g}")
    if "price_sharing" in engines:
        for what in ("rounds", "core"):
            counts = np.array([row[what] for row in rows])
            print(f"{what}: median {int(np.median(counts)):,}, most {counts.max():,}")


def measure(args: argparse.Namespace) -> None:
    """A line for each lambda, then the ratios."""
    forest, X = joblib.load(args.measure)
    problem = pm.problem_from_forest(forest, X[: args.rows], costs=1)
    warm_up()
    path = pm.pruning_path(problem, certificate=False)
    lams = hard_lambdas(path, args.edges, args.others)
    engines = args.engines.split(",")
    measured(problem, lams[-1][1], engines, check=False)  # loads compiled code for these sizes
    print(f"{args.data}: {problem}\n{machine()}", flush=True)
    rows = []
    for name, lam in lams:
        row = measured(problem, lam, engines, check=not args.unchecked)
        rows.append({"lambda": name, **row})
        print(
            json.dumps({key: [round(x, 3) for x in v] if isinstance(v, tuple) else v for key, v in rows[-1].items()}), flush=True
        )
    print_ratios(rows, engines)
    if args.out is not None:
        args.out.write_text(json.dumps(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="miniboone", help="data set in the folder PRUNEMODELS_DATA, or a file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, help="so many rows of the cost sample; default: all")
    parser.add_argument("--edges", type=int, default=6)
    parser.add_argument("--others", type=int, default=12, help="lambdas that are not beside an edge")
    parser.add_argument("--engines", default=",".join(ENGINES), help="comma-separated")
    parser.add_argument("--unchecked", action="store_true", help="do not check the certificates")
    parser.add_argument("--out", type=Path, help="a JSON file for the rows")
    run_in_second_process(parser, "benchmarks.hard_lambdas", measure)


if __name__ == "__main__":
    main()
