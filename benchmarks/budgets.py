"""Budgets inside long edges of the hull: how far solutions come from the best breakpoint towards LP1's bound.

    python -m benchmarks.budgets                       Covertype: 40 entropy trees, all features at each split, 15,688 cost rows
    python -m benchmarks.budgets --exact-seconds 0     without the exact method

Budgets are at 25, 50 and 75 % of the three longest edges. *Closed* is (error of the best breakpoint - error found) / (error of
the best breakpoint - LP1's bound); *raised* is the part of that distance by which the exact method's bound exceeds LP1's, *open*
the part that remains between the two.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import joblib

import prunemodels as pm
from benchmarks.path import machine
from benchmarks.second_process import run_in_second_process
from formulations import PruningPath
from formulations.answers.budget_solution import BudgetSolution
from solvers.budgets import best_breakpoint, best_within, solve_budget

SHARES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def middles(path: PruningPath, edges: int) -> Iterator[tuple[float, Fraction, Fraction]]:
    """The longest edges (as a share of the full cost) with budgets inside of them."""
    cost = path.exact_cost
    longest = sorted(range(len(path) - 1), key=lambda k: cost[k + 1] - cost[k])[:edges]
    for k in longest:
        for share in SHARES:
            yield float((cost[k] - cost[k + 1]) / cost[0]), share, cost[k + 1] + share * (cost[k] - cost[k + 1])


def closed(found: BudgetSolution, start: BudgetSolution) -> float:
    """The closed part of the distance from the best breakpoint to LP1's bound."""
    return (start.error - found.error) / (start.error - float(start.relaxation.value))


def measure(file: Path, seconds: float, exact_seconds: float, edges: int) -> None:
    """Print the table for a forest that was grown before."""
    forest, X = joblib.load(file)
    problem = pm.problem_from_forest(forest, X, costs=1.0)
    path = pm.pruning_path(problem, certificate=False)
    print(f"{problem}\n{machine()}\n")
    head = ["edge", "budget", "best breakpoint", "LP1", f"best, {seconds:g} s: error", "closed"]
    head += [f"exact, {exact_seconds:g} s: error", "closed", "raised", "open"] if exact_seconds else []
    print("| " + " | ".join(head) + " |\n| ---: |" + " ---: |" * (len(head) - 1), flush=True)
    shares = []
    for length, share, budget in middles(path, edges):
        start = best_breakpoint(problem, budget, path=path)
        best = best_within(problem, budget, time_limit=seconds, path=path)
        assert best.pruning.exact_cost <= budget
        shares.append(closed(best, start))
        cells = [f"{100 * length:.1f} %", f"{100 * float(share):.0f} %: {float(budget):.2f}", f"{start.error:.5f}"]
        cells += [f"{start.bound:.5f}", f"{best.error:.5f}", f"{100 * shares[-1]:.0f} %"]
        if exact_seconds:
            exact = solve_budget(problem, budget, method="exact", time_limit=exact_seconds, path=path)
            raised = (exact.bound - start.bound) / (start.error - start.bound)
            cells += [f"{exact.error:.5f}", f"{100 * closed(exact, start):.0f} %", f"{100 * raised:.2f} %"]
            cells.append(f"{100 * exact.gap / (start.error - start.bound):.2f} %")
        print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\nclosed by best: mean {100 * sum(shares) / len(shares):.0f} %, least {100 * min(shares):.0f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description="Budgets inside long hull edges.")
    parser.add_argument("--data", default="covtype426k", choices=("covtype426k", "miniboone"))
    parser.add_argument("--seconds", type=float, default=30.0, help="for the method best")
    parser.add_argument("--exact-seconds", type=float, default=300.0, help="for the method exact; 0: leave it out")
    parser.add_argument("--edges", type=int, default=3)
    run_in_second_process(
        parser, "benchmarks.budgets", lambda args: measure(args.measure, args.seconds, args.exact_seconds, args.edges)
    )


if __name__ == "__main__":
    main()
