"""Dantzig-Wolfe decomposition: the textbook's scheme against a bundle master, to a relative gap of 1e-6.

    python -m benchmarks.dantzig_wolfe                           four data sets, up to 300 s each for the textbook's scheme
    python -m benchmarks.dantzig_wolfe --data sonar heart_statlog
    python -m benchmarks.dantzig_wolfe --parts                   other masters, other pricing
    python -m benchmarks.dantzig_wolfe --quick                   a few trees on iris, in seconds

Fully grown entropy trees on 90 % of the rows, all features at every split; the same rows are the cost sample, every feature
costs 1. lam = lambda' N / (T W_t), lambda' being error counts per purchase. Both schemes price tree by tree through OR-Tools
and begin without price sharing. The textbook's: one coupling row for each usage, no smoothing, two columns a tree to start from
(unpruned, single leaf), one new column a tree and round, HiGHS from the last basis. All runs of an instance follow one another
in this process, warmed up. Values and bounds are checked against the minimum cut.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.path import machine
from formulations.programs.columns import usage_columns
from prunemodels.data_files import load_dataset
from solvers.column_generation import BUNDLE, PLAIN, Scheme, dantzig_wolfe
from solvers.column_generation.pricing import PricingMethod

GAP = 1e-6


@dataclass(frozen=True)
class Setting:
    """A data set, the number of trees, and lambda'."""

    data: str
    trees: int
    rate: Fraction


SETTINGS = (
    Setting("sonar", 90, Fraction(1)),
    Setting("ann_thyroid", 40, Fraction(1, 5)),
    Setting("pima", 90, Fraction(1)),
    Setting("heart_statlog", 90, Fraction(2)),
)
QUICK = (Setting("iris", 5, Fraction(1)),)

Schemes = dict[str, tuple[Scheme, PricingMethod]]

SCHEMES: Schemes = {"textbook": (PLAIN, "shortest paths"), "bundle": (BUNDLE, "shortest paths")}
PARTS: Schemes = {
    **SCHEMES,
    "textbook, rows merged": (Scheme(master="linear program", look=False), "shortest paths"),
    "rows merged, smoothing": (Scheme(master="linear program", smoothing=0.5), "shortest paths"),
    "bundle, pricing by our tree pass": (BUNDLE, "tree pass"),
}


def instance(setting: Setting) -> tuple[pm.PruningProblem, Fraction]:
    """The problem and its lambda."""
    if setting.data == "iris":
        X, y = load_iris(return_X_y=True)
    else:
        data = load_dataset(setting.data)
        X, y = np.asarray(data.X, dtype=np.float32), data.y
    rows = np.random.default_rng(0).permutation(len(y))[: int(0.9 * len(y))]
    forest = RandomForestClassifier(setting.trees, criterion="entropy", max_features=None, random_state=0)
    problem = pm.problem_from_forest(forest.fit(X[rows], y[rows]), X[rows], costs=1)
    # N = W_t, since each tree's bootstrap sample has as many rows as the cost sample
    return problem, setting.rate / setting.trees


def run(problem: pm.PruningProblem, lam: Fraction, schemes: Schemes, limit: float) -> dict[str, pm.Solution]:
    """Run each scheme on one instance; values and bounds are checked against the minimum cut."""
    cut, found = pm.engines.min_cut(problem, lam), {}
    for name, (scheme, pricing) in schemes.items():
        solution = dantzig_wolfe(problem, lam, gap=GAP, scheme=scheme, pricing=pricing, time_limit=limit)  # type: ignore[arg-type]
        assert solution.bound <= cut.value * (1 + 1e-12), name
        assert solution.value >= cut.value * (1 - 1e-12), name
        found[name] = solution
        print(f"  {name}: {seconds_and_gap(solution)}", file=sys.stderr)
    return found


def seconds_and_gap(solution: pm.Solution) -> str:
    """Seconds, and the gap if it is above the requested one."""
    seconds = f"{solution.stats['seconds']:.2f}"
    return seconds if solution.relative_gap <= GAP else f"> {seconds} (gap {solution.relative_gap:.1g})"


def lines(setting: Setting, problem: pm.PruningProblem, found: dict[str, pm.Solution]) -> list[str]:
    """One line of the table a scheme."""
    merged = usage_columns(problem, merge=True).node.size
    base = found["textbook"].stats["seconds"]
    table = []
    for name, solution in found.items():
        s = solution.stats
        what = f"{setting.data}, T = {setting.trees}, lambda' = {float(setting.rate):g}"
        size = f"{problem.n_usage_arcs:,} | {merged:,} | {s['rows']:,.0f}"
        work = f"{s['rounds']:.0f} | {s['columns']:,.0f} | {s['iterations']:,.0f}"
        seconds = (
            f"{seconds_and_gap(solution)} | {s['start_seconds']:.2f} | {s['master_seconds']:.2f} | {s['pricing_seconds']:.3f}"
        )
        table.append(f"| {what} | {name} | {size} | {work} | {seconds} | {base / s['seconds']:.1f} |")
    return table


HEADER = (
    "| instance | scheme | usage arcs | merged | rows of the last master | rounds | columns | simplex iterations "
    "| seconds | start | master | pricing | times faster than the textbook |\n| --- | --- |" + " ---: |" * 11
)


def table(settings: Sequence[Setting], schemes: Schemes, limit: float) -> str:
    """The table of all instances; absent data sets are reported and left out."""
    out = [HEADER]
    for setting in settings:
        try:
            problem, lam = instance(setting)
        except pm.errors.BrokenFileError as error:
            print(f"{setting.data} is left out: {error}", file=sys.stderr)
            continue
        print(f"{setting.data}: {problem!r}", file=sys.stderr)
        out += lines(setting, problem, run(problem, lam, schemes, limit))
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few trees on iris")
    parser.add_argument("--parts", action="store_true", help="also other masters and pricing")
    parser.add_argument("--data", nargs="+", choices=[s.data for s in SETTINGS], help="these data sets only")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds for each scheme and instance")
    args = parser.parse_args()
    warm, lam = instance(QUICK[0])
    run(warm, lam, SCHEMES, math.inf)
    settings = QUICK if args.quick else [s for s in SETTINGS if not args.data or s.data in args.data]
    print(f"{machine()}; relative gap {GAP:g}; limit {args.time_limit:g} s")
    print(table(settings, PARTS if args.parts else SCHEMES, args.time_limit))


if __name__ == "__main__":
    main()
