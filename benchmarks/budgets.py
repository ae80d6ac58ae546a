"""Budgets inside long edges of the hull: how far solutions come from the best breakpoint towards LP1's bound.

    python -m benchmarks.budgets                       Covertype: 40 entropy trees, all features at each split, 15,688 cost rows
    python -m benchmarks.budgets --exact-seconds 0     without the exact method

Budgets are at 25, 50 and 75 % of the three longest edges. *Closed* is (error of the best breakpoint - error found) / (error of
the best breakpoint - LP1's bound); *raised* is the part of that distance by which the exact method's bound exceeds LP1's, *open*
the part that remains between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import prunemodels as pm
from benchmarks.instances import bp16
from benchmarks.measuring import command_line, line, markdown
from formulations import PruningPath
from formulations.answers.limited_solution import LimitedSolution
from prunemodels.comparison.processes import machine
from solvers.within import best_breakpoint, best_within, exact_budget

EDGES, SECONDS = 3, 30.0  # how many edges, and for the method best
SHARES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def middles(path: PruningPath) -> Iterator[tuple[float, Fraction, Fraction]]:
    """The longest edges (as a share of the full cost) with budgets inside of them."""
    cost = path.exact_cost
    longest = sorted(range(len(path) - 1), key=lambda k: cost[k + 1] - cost[k])[:EDGES]
    for k in longest:
        for share in SHARES:
            yield float((cost[k] - cost[k + 1]) / cost[0]), share, cost[k + 1] + share * (cost[k] - cost[k + 1])


def closed(found: LimitedSolution, start: LimitedSolution) -> float:
    """The closed part of the distance from the best breakpoint to LP1's bound."""
    return (start.error - found.error) / (start.error - float(start.relaxation.value))


def cells_of(problem: pm.PruningProblem, path: PruningPath, budget: Fraction, exact_seconds: float) -> list[str]:
    """What is found within a budget, and how much of the distance to LP1's bound that closes."""
    start = best_breakpoint(problem, budget, path=path)
    best = best_within(problem, budget, time_limit=SECONDS, path=path)
    cells = [f"{start.error:.5f}", f"{start.bound:.5f}", f"{best.error:.5f}", f"{100 * closed(best, start):.0f} %"]
    if exact_seconds:
        exact = exact_budget(problem, budget, time_limit=exact_seconds, path=path)
        raised, left = ((x / (start.error - start.bound)) for x in (exact.bound - start.bound, exact.gap))
        cells += [f"{exact.error:.5f}", f"{100 * closed(exact, start):.0f} %", f"{100 * raised:.2f} %", f"{100 * left:.2f} %"]
    return cells


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--exact-seconds", type=float, default=300.0, help="for the method exact; 0: leave it out")
    args = parser.parse_args()
    forest, X = bp16("covtype426k")
    problem = pm.problem_from_forest(forest, X, costs=1.0)
    path = pm.pruning_path(problem, certificate=False)
    print(f"{problem}\n{machine()}\n")
    head = ["edge", "budget", "best breakpoint", "LP1", f"best, {SECONDS:g} s: error", "closed"]
    head += [f"exact, {args.exact_seconds:g} s: error", "closed", "raised", "open"] if args.exact_seconds else []
    print(markdown(head, []), flush=True)
    for length, share, budget in middles(path):
        found = cells_of(problem, path, budget, args.exact_seconds)
        print(line(f"{100 * length:.1f} %", f"{100 * float(share):.0f} %: {float(budget):.2f}", *found), flush=True)


if __name__ == "__main__":
    main()
