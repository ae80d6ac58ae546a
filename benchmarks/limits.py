"""Three limits at once on BP16's MiniBooNE forest: closures, seconds, and how close a pruning comes.

    python -m benchmarks.limits                      40 entropy trees, 15,000 cost rows, 5.2 million usage arcs

Currencies: 1 for each feature, 1 to 19, and 0 or 5; limits at 35, 40 and 30 % of what the unpruned forest uses of them. The
relative gap is (value - bound) / (error of the all-roots forest - bound). One cut at the final multipliers is the yardstick.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import prunemodels as pm
from benchmarks.instances import bp16
from formulations.programs.limit_rows import limit_rows
from prunemodels.comparison.machine import machine
from solvers.budgets.limits.oracle import LagrangianOracle
from solvers.budgets.limits.relaxation import relax
from solvers.closures.min_cut import closure_at

SHARES = {"cost": Fraction(35, 100), "minutes": Fraction(40, 100), "ml": Fraction(30, 100)}


def measure(data: str, seconds: float) -> None:
    """Print closures, seconds and gaps."""
    forest, X = bp16(data)
    n = X.shape[1]
    costs = pm.CostItems.plain([1] * n).with_currency("minutes", [1 + 7 * f % 19 for f in range(n)])
    costs = costs.with_currency("ml", [0 if f % 3 else 5 for f in range(n)])
    problem = pm.problem_from_forest(forest, X, costs=costs)
    whole = limit_rows(problem, [pm.Limit(1, name) for name in SHARES]).uses(pm.Pruning.unpruned(problem))
    limits = [pm.Limit(share * use, name) for (name, share), use in zip(SHARES.items(), whole, strict=True)]
    print(f"{problem}\n{machine()}\n")
    rows = limit_rows(problem, limits)
    relax(LagrangianOracle(rows))  # compiles
    oracle = LagrangianOracle(rows)
    started, cpu = time.perf_counter(), time.process_time()
    relaxed = relax(oracle)
    found = (time.perf_counter() - started, time.process_time() - cpu)
    objective, _ = oracle.objective(relaxed.mu)
    started, cpu = time.perf_counter(), time.process_time()
    closure_at(oracle.problem, objective, "smallest")
    cut = (time.perf_counter() - started, time.process_time() - cpu)
    span = float(oracle.roots) - relaxed.bound
    reached = (relaxed.value - relaxed.bound) / span
    print(f"relaxation: {relaxed.rounds} closures, relative gap {reached:.1e}, {found[0]:.1f} s ({found[1]:.1f} s CPU)")
    print(f"one cut: {cut[0]:.1f} s ({cut[1]:.1f} s CPU); {found[1] / cut[1]:.1f} cuts in all")
    solution = pm.solve(problem, limits=limits, time_limit=seconds)
    above = (solution.error - solution.bound) / span
    print(f"pruning within {seconds:g} s: {above:.2%} of the gain open (error {solution.error:.6f})")


def main() -> None:
    parser = argparse.ArgumentParser(description="Three limits at once.")
    parser.add_argument("--data", default="miniboone", choices=("covtype426k", "miniboone"))
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()
    measure(args.data, args.seconds)


if __name__ == "__main__":
    main()
