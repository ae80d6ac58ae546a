"""The rounding theorem for LP1 (docs/budgets.md) on real data: what it promises at each budget, beside what the solver finds.

    python -m benchmarks.budget_rounding                 UCI data, 40 trees, up to 400 cost rows, real prices where there are any
    python -m benchmarks.budget_rounding --seconds 10    more time for branch and bound at each budget

Budgets are 1/20, 2/20, ... 19/20 of the unpruned forest's cost. Of those where LP1's optimum is a mixture the table has means of
four distances above LP1, in percent of the all-roots forest's error. *Dearest component*: lambda* times its cost, a bound for all
budgets of the same edge. *Breakpoint*: the best breakpoint's error. *Bound*: lambda* times what the rounded pruning leaves
of the budget. *Best found*: the error of `method="exact"`. *Bound reached* counts proven optima that are the rounded pruning's.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

import prunemodels as pm
from benchmarks.data.medical import load_prices
from benchmarks.instances import REAL, grown
from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.lp1_solution import LP1Solution
from prunemodels.comparison.machine import machine
from prunemodels.data_files import load_dataset
from solvers.budgets import best_breakpoint

PARTS = 20
"""Budgets are multiples of this part of the unpruned cost."""


@dataclass(frozen=True, eq=False)
class AtBudget:
    """What is promised and what is found at one budget."""

    rounding: LP1Solution
    breakpoint: BudgetSolution
    found: BudgetSolution

    def above(self, error: float) -> float:
        """How far an error is above LP1's value."""
        return error - float(self.rounding.relaxation.value)

    @property
    def reached(self) -> bool:
        """Whether the optimum is proven, and no better than the rounded pruning."""
        return self.found.status == "optimal" and self.found.pruning.exact_error == self.rounding.pruning.exact_error


def at_budgets(problem: pm.PruningProblem, path: pm.PruningPath, seconds: float) -> Iterator[AtBudget]:
    """Every budget at which LP1's optimum is a mixture, solved and rounded; the bounds are asserted."""
    for k in range(1, PARTS):
        budget = Fraction(k, PARTS) * pm.Pruning.unpruned(problem).exact_cost
        rounding = pm.budgets.solve_lp1(problem, budget, path=path)
        if rounding.relaxation.is_integral:
            continue
        found = pm.solve(problem, budget=budget, method="exact", time_limit=seconds, path=path)
        at = AtBudget(rounding, best_breakpoint(problem, budget, path=path), found)
        assert rounding.bound < rounding.largest_bound
        assert at.above(found.bound) <= float(rounding.bound) + 1e-9, "a proven bound above the theorem's"
        yield at


def line(name: str, problem: pm.PruningProblem, seconds: float) -> str:
    """A line of the table."""
    path = pm.pruning_path(problem, certificate=False)
    costs = path.exact_cost
    middles = [(a + b) / 2 for a, b in itertools.pairwise(costs)]
    edges = [pm.budgets.solve_lp1(problem, b, path=path).n_components for b in middles]
    seen = list(at_budgets(problem, path, seconds))
    roots = pm.Pruning.all_roots(problem).error
    numbers = [
        [float(at.rounding.largest_bound) for at in seen],
        [at.above(at.breakpoint.error) for at in seen],
        [float(at.rounding.bound) for at in seen],
        [at.above(at.found.error) for at in seen],
    ]
    proven = sum(at.found.status == "optimal" for at in seen)
    counts = [len(edges), sum(n == 1 for n in edges), max(edges, default=0), len(seen)]
    cells = [name, *map(str, counts), *(f"{100 * fmean(x) / roots:.2f} %" if x else "" for x in numbers), str(proven)]
    return "| " + " | ".join([*cells, str(sum(at.reached for at in seen))]) + " |"


def table(names: Sequence[str], *, trees: int, rows: int, seconds: float) -> Iterator[str]:
    """The table, line by line."""
    head = ["data", "edges", "of one component", "most components", "budgets inside an edge", "dearest component"]
    head += ["breakpoint", "bound", "best found", "proven optimal", "bound reached"]
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    for name in names:
        data, file = load_dataset(name), REAL[name]
        costs = 1 if file is None else load_prices(file)
        yield line(name, grown(data.X, data.y, trees=trees, rows=rows, costs=costs), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="LP1's rounding theorem on real data.")
    parser.add_argument("--data", nargs="*", default=list(REAL), choices=list(REAL))
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--rows", type=int, default=400, help="most rows of the cost sample")
    parser.add_argument("--seconds", type=float, default=2.0, help="for branch and bound, at each budget")
    args = parser.parse_args()
    print(machine(), flush=True)
    for text in table(args.data, trees=args.trees, rows=args.rows, seconds=args.seconds):
        print(text, flush=True)


if __name__ == "__main__":
    main()
