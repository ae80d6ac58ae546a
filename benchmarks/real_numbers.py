"""Weights, prices and errors that are real numbers: what rounding costs, in seconds, bytes, and in the answers themselves.

    python -m benchmarks.real_numbers                       108 instances; about half an hour
    python -m benchmarks.real_numbers --rows 500 --quick    three lambdas each; a minute or two

Forests of 10 trees with 32 leaves each, grown on 1,000 rows of 10 features; errors are the trees' own. `TASKS` x cost rows x
`PRICES` x `WEIGHTS`. Of each instance:

    path, s; peak, MB     `pruning_path` with its certificate; the peak above what the process held
    states                the relative gap that the path itself states
    path - solve          the values of the path and of `solve` at a lambda, the largest difference of some, relative     (1)
    off                   their values less the optimum, both recounted in fractions, relative to it                     (2)
    budgets               three, one of them a breakpoint's cost: no answer is worse than the best breakpoint within       (3)
    refused               `CapacityOverflowError`, wherever it is raised

The optimum of (2) is a minimum cut of this module's own in Python's unlimited integers, so it is found for `EXACT_ROWS` cost rows
at most. It starts from `proofs_checks.optimality.recount`, which shares no code with the engines. Lambdas are breakpoints as
floats, and numbers between two of them.
"""

from __future__ import annotations

import ctypes
import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from benchmarks.measuring import apart, cell, command_line, markdown, warm_up
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status
from formulations.errors import CapacityOverflowError, SolverFailedError
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.recount import Recount
from prunemodels.comparison.processes import PeakMemory, machine

N_FEATURES, N_TREES, LEAVES, TRAIN_ROWS = 10, 10, 32, 1000
EXACT_ROWS = 500  # cost rows up to which the optimum is found in Python's integers as well
LAMBDAS, EXACT_LAMBDAS = 10, 3  # how many lambdas (1) and (2) are measured at
Rows = NDArray[np.float64]
TASKS = ("regression", "classification", "balanced classes")


@dataclass(frozen=True)
class Data:
    """A forest, and a cost sample with its targets."""

    forest: Any
    X: Rows
    y: NDArray[Any]


def _balanced(data: Data, rng: np.random.Generator) -> Rows:
    """One over the size of the class, or of the tenth of the target, that the row belongs to."""
    group = data.y if data.y.dtype.kind in "iu" else np.searchsorted(np.quantile(data.y, np.linspace(0.1, 0.9, 9)), data.y)
    _, of_row, size = np.unique(group, return_inverse=True, return_counts=True)
    balanced: Rows = len(data.y) / (len(size) * size[of_row])
    return balanced


def _survey(data: Data, rng: np.random.Generator) -> Rows:
    """Post-stratification: N_h / n_h of eight strata, times a factor for who did not answer; four decimals, as published."""
    stratum = np.minimum((data.X[:, 0] * 8).astype(int), 7)
    population = rng.uniform(2e4, 9e5, 8).round()
    sampled = np.maximum(np.bincount(stratum, minlength=8), 1)
    answered = rng.uniform(0.35, 0.95, (8, 3)).round(3)[stratum, rng.integers(0, 3, len(data.y))]
    weights: Rows = (population / sampled)[stratum] / answered
    return weights.round(4)


WEIGHTS: dict[str, Callable[[Data, np.random.Generator], Rows | None]] = {
    "none": lambda data, rng: None,
    "balanced": _balanced,
    "lognormal": lambda data, rng: rng.lognormal(0.0, 1.0, len(data.y)),
    "survey": _survey,
}

PRICES: dict[str, Callable[[np.random.Generator], list[float]]] = {
    "1 to 10": lambda rng: [float(p) for p in rng.permutation(N_FEATURES) + 1],
    "cents": lambda rng: rng.uniform(0.5, 20.0, N_FEATURES).round(2).tolist(),
    "five decades": lambda rng: (10.0 ** rng.uniform(-4, 1, N_FEATURES)).tolist(),
}


def grown(task: str, rows: int, seed: int = 0) -> Data:
    """The forest of a task, and its cost sample."""
    X, target = make_friedman1(TRAIN_ROWS + rows, n_features=N_FEATURES, noise=1.0, random_state=seed)
    options: dict[str, Any] = {"n_estimators": N_TREES, "max_leaf_nodes": LEAVES, "random_state": seed}
    forest: BaseEstimator
    if task == "regression":
        y, forest = target, RandomForestRegressor(**options)
    else:  # 60, 30 and 10 % of the rows
        y = np.searchsorted(np.quantile(target, [0.6, 0.9]), target)
        forest = RandomForestClassifier(class_weight="balanced" if task == TASKS[2] else None, **options)
    return Data(forest.fit(X[:TRAIN_ROWS], y[:TRAIN_ROWS]), X[TRAIN_ROWS:], y[TRAIN_ROWS:])


Build = Callable[[], PruningProblem]


def instances(task: str, rows: int) -> Iterator[Build]:
    """The instances of a task and a number of cost rows."""
    data = grown(task, rows)
    for k, (price, weight) in enumerate(product(PRICES, WEIGHTS)):
        rng = np.random.default_rng(k)
        costs, weights = PRICES[price](rng), WEIGHTS[weight](data, rng)

        def build(costs: list[float] = costs, weights: Rows | None = weights) -> PruningProblem:
            return pm.problem_from_forest(data.forest, data.X, costs=costs, sample_weight=weights)

        yield build


def measured(task: str, rows: int, n_lambdas: int) -> list[dict[str, float]]:
    """All instances of one task and size; meant for a process of its own."""
    warm_up()
    return [{"rows": rows, **figures(build, n_lambdas)} for build in instances(task, rows)]


def figures(build: Build, n_lambdas: int) -> dict[str, float]:
    """What the module's docstring lists, of one instance."""
    try:
        problem = build()
        _give_back_memory()
        with PeakMemory() as peak:
            started = time.perf_counter()
            path = pm.pruning_path(problem)
            seconds = time.perf_counter() - started
        found = {"refused": 0.0, "path_s": seconds, "peak_mb": (peak.bytes or 0) / 1e6, "states": path.relative_gap}
        return found | at_lambdas(problem, path, n_lambdas) | within_budgets(problem, path)
    except CapacityOverflowError:
        return {"refused": 1.0}


def _give_back_memory() -> None:
    """What earlier instances left with the allocator goes back to the system, so that a peak is this instance's own."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def at_lambdas(problem: PruningProblem, path: PruningPath, n_lambdas: int) -> dict[str, float]:
    """(1) and (2)."""
    lams = lambdas(path, n_lambdas)
    optima = ExactOptima(problem) if problem.usage.n_rows <= EXACT_ROWS else None
    exactly = {lams[k] for k in np.linspace(0, len(lams) - 1, EXACT_LAMBDAS).astype(int)} if lams and optima else set()
    apart_by, off, optimal = 0.0, 0.0 if optima else math.nan, 0
    for lam in lams:
        solution, pruning = pm.solve(problem, lam=lam), path.at_lam(lam)
        assert solution.pruning is not None
        optimal += solution.status is Status.OPTIMAL
        difference = abs(float(pruning.value(lam)) - solution.value)
        apart_by = max(apart_by, difference / solution.value if solution.value else 0.0)
        if optima is not None and lam in exactly:
            best = optima.at(lam)
            off = max(off, *(optima.off(p.kept, lam, best) for p in (solution.pruning, pruning)))
    return {"lambdas": len(lams), "optimal": optimal, "apart": apart_by, "off": off}


def lambdas(path: PruningPath, count: int) -> list[float]:
    """Breakpoints as floats, and numbers between them, in turns along the path; without 0."""
    ends = [float(b) for b in path.breakpoints if b > 0]
    picked = np.unique(np.linspace(0, len(ends) - 1, count).astype(int)) if ends else []
    return [ends[k] if j % 2 else (ends[k] + ends[max(k - 1, 0)]) / 2 for j, k in enumerate(picked)]


def within_budgets(problem: PruningProblem, path: PruningPath) -> dict[str, float]:
    """(3), of shares of the unpruned cost, and of a breakpoint's cost; costs are recounted as fractions."""
    unpruned, rows = pm.Pruning.unpruned(problem).cost, list(path)
    budgets = [*(unpruned * share for share in (0.35, 0.75)), float(rows[len(rows) // 2].exact_cost)]
    optimal = 0
    for budget, answer in zip(budgets, pm.solve(problem, budget=budgets), strict=True):
        best = min((row.error for row in rows if row.cost <= budget * (1 + 1e-13)), default=math.inf)
        if answer.error > best * (1 + 1e-9) or float(answer.pruning.exact_cost) > budget:
            raise SolverFailedError(
                f"within {budget!r}: error {answer.error!r} and cost {answer.cost!r}, a breakpoint errs {best!r}"
            )
        optimal += answer.status is Status.OPTIMAL
    return {"budgets": len(budgets), "budgets_optimal": optimal}


class ExactOptima:
    """The optimum at a lambda, by a minimum cut in Python's integers, which are as long as they have to be.

        optimum  =  error of all roots  -  (sum of what splits earn  -  minimum cut)                                     (4)

    A split earns its gain less lambda times its evaluation; what has equal users is one purchase. Numbers are put on a common
    denominator first.
    """

    def __init__(self, problem: PruningProblem) -> None:
        self.recount = recount = Recount(problem)
        users: dict[int, list[int]] = {}
        price: dict[int, int] = {}
        for m, priced in enumerate(recount.priced):
            if not priced:
                continue
            of_item, first = recount.prices(m), recount.by_item(m).start
            for splits, places in recount.users(m):
                for h, i in zip(splits.tolist(), places.tolist(), strict=True):
                    users.setdefault(first + i, []).append(h)
                    price[first + i] = int(of_item[i])
        self.merged: dict[tuple[int, ...], int] = {}
        for bought, splits in users.items():
            key = tuple(sorted(splits))
            self.merged[key] = self.merged.get(key, 0) + price[bought]

    def at(self, lam: float) -> Fraction:
        """(4); a float is the shortest decimal that denotes it."""
        recount, rate = self.recount, Fraction(repr(lam)) * self.recount.cost_unit
        scale = recount.error_unit.denominator * rate.denominator
        per_error, per_price = int(recount.error_unit * scale), int(rate * scale)
        earns = {h: recount.gain(h) * per_error - recount.evaluation[h] * per_price for h in recount.splits}
        prices = {key: amount * per_price for key, amount in self.merged.items()}
        taken = sum(e for e in earns.values() if e > 0) - minimum_cut(earns, recount.parent, prices)
        return recount.roots_error() * recount.error_unit - Fraction(taken, scale)

    def off(self, kept: NDArray[np.bool_], lam: float, best: Fraction) -> float:
        """The value of a pruning less the optimum, relative to the optimum."""
        error, cost = self.recount.objective(kept)
        more = error + Fraction(repr(lam)) * cost - best
        assert more >= 0, "below the optimum: the cut of this module is wrong"
        return float(more / best) if best else float(more)


def minimum_cut(earns: dict[int, int], parent: list[int], prices: dict[tuple[int, ...], int]) -> int:
    """The value of the minimum cut of a closure: a split requires its parent and pays for purchases that it is a user of."""
    graph = nx.DiGraph()
    graph.add_nodes_from(("source", "sink"))
    for h, e in earns.items():
        if e:
            graph.add_edge(*(("source", h) if e > 0 else (h, "sink")), capacity=abs(e))
        if parent[h] >= 0:
            graph.add_edge(h, parent[h])  # arcs without a capacity are unlimited
    for users, price in prices.items():
        graph.add_edge(users, "sink", capacity=price)
        graph.add_edges_from((h, users) for h in users)
    return int(nx.minimum_cut_value(graph, "source", "sink"))


def of(counted: str, everything: str) -> Callable[[pd.DataFrame], str]:
    return lambda some: f"{some[counted].sum():.0f} of {some[everything].sum():.0f}"


LINES: dict[str, Callable[[pd.DataFrame], object]] = {
    "refused": lambda some: int(some["refused"].sum()),
    "path with certificate, s: median; max": lambda some: f"{cell(some['path_s'].median())}; {cell(some['path_s'].max())}",
    "peak memory of the path, MB": lambda some: cell(some["peak_mb"].max()),
    "states": lambda some: cell(some["states"].max()),
    "path - solve": lambda some: cell(some["apart"].max()),
    "off": lambda some: cell(some["off"].max()),
    "lambdas proven optimal": of("optimal", "lambdas"),
    "budgets proven optimal": of("budgets_optimal", "budgets"),
}
"""What the table has of the instances of one size: the worst, unless it says otherwise."""


def summary(frame: pd.DataFrame) -> str:
    """A table with a column for each number of cost rows."""
    sizes = [some for _, some in frame.groupby("rows", sort=False)]
    lines = [[name, *(figure(some) for some in sizes)] for name, figure in LINES.items()]
    return markdown(["cost rows", *(f"{some['rows'].iloc[0]:,}" for some in sizes)], lines)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[500, 5000, 50_000], help="cost rows (default: 500 5000 50000)")
    parser.add_argument("--quick", action="store_true", help="three lambdas instead of ten")
    given = parser.parse_args()
    print(machine(), flush=True)
    n_lambdas = EXACT_LAMBDAS if given.quick else LAMBDAS
    found: list[dict[str, float]] = []
    for task, rows in product(TASKS, given.rows):
        found += apart(measured, task, rows, n_lambdas)
        print(f"{task}, {rows:,} rows: done", flush=True)
    print(f"\n{summary(pd.DataFrame(found))}")


if __name__ == "__main__":
    main()
