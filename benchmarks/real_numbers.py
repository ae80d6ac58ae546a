"""Weights, prices and errors that are real numbers: what rounding costs, in seconds, bytes, and in the answers themselves.

    python -m benchmarks.real_numbers                       108 instances, two skewed ones, and boosted models; about half an hour
    python -m benchmarks.real_numbers --rows 500 --quick    three lambdas each; a minute or two
    python -m benchmarks.real_numbers --out FOLDER          also writes a line for each instance: real_numbers.csv

Forests of 10 trees with 32 leaves each, grown on 1,000 rows of 10 features; errors are the trees' own. `TASKS` x cost rows x
`PRICES` x `WEIGHTS`. Of each instance:

    path, s; peak, MB     `pruning_path` with its certificate; the peak above what the process held
    states                the relative gap that the path itself states
    above                 value of the path at a lambda less that of `solve`, the largest of some, relative to it     (1)
    below                 the same the other way round: where `solve` is worse                                           (2)
    solve, path: off      their values less the optimum, both recounted in fractions, relative to it                     (3)
    budgets               three, one of them a breakpoint's cost: answers of `solve` that are worse than the best breakpoint
                          within, and those that are proven optimal                                                      (4)
    refused, failed       `CapacityOverflowError`, wherever it is raised; any other error of ours

The optimum of (3) is a minimum cut of this module's own in Python's unlimited integers, so it is found for `EXACT_ROWS` cost rows
at most. It starts from `proofs_checks.optimality.recount`, which shares no code with the engines. Lambdas are breakpoints as
floats, and numbers between two of them.
"""

from __future__ import annotations

import ctypes
import gc
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.datasets import make_friedman1, make_regression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import prunemodels as pm
from benchmarks.measuring import Peak, apart, cell, command_line, markdown, warm_up, write_text
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status
from formulations.errors import CapacityOverflowError, PruneModelsError
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.recount import Recount
from prunemodels.comparison.processes import machine

N_FEATURES, N_TREES, LEAVES, TRAIN_ROWS = 10, 10, 32, 1000
EXACT_ROWS = 500  # cost rows up to which the optimum is found in Python's integers as well
LAMBDAS, EXACT_LAMBDAS = 10, 3  # how many lambdas (1), (2) and (3) are measured at
SKEWED_ROWS, SKEWED_LAMBDAS = 5000, 60

Rows = NDArray[np.float64]

TASKS = ("regression", "classification", "balanced classes")


@dataclass(frozen=True)
class Data:
    """A forest, and a cost sample with its targets."""

    forest: Any
    X: Rows
    y: NDArray[Any]


def _plain(data: Data, rng: np.random.Generator) -> None:
    return None


def _balanced(data: Data, rng: np.random.Generator) -> Rows:
    """One over the size of the class, or of the tenth of the target, that the row belongs to."""
    group = data.y if data.y.dtype.kind in "iu" else np.searchsorted(np.quantile(data.y, np.linspace(0.1, 0.9, 9)), data.y)
    _, of_row, size = np.unique(group, return_inverse=True, return_counts=True)
    balanced: Rows = len(data.y) / (len(size) * size[of_row])
    return balanced


def _lognormal(data: Data, rng: np.random.Generator) -> Rows:
    return rng.lognormal(0.0, 1.0, len(data.y))


def _survey(data: Data, rng: np.random.Generator) -> Rows:
    """Post-stratification: N_h / n_h of eight strata, times a factor for who did not answer; four decimals, as published."""
    stratum = np.minimum((data.X[:, 0] * 8).astype(int), 7)
    population = rng.uniform(2e4, 9e5, 8).round()
    sampled = np.maximum(np.bincount(stratum, minlength=8), 1)
    answered = rng.uniform(0.35, 0.95, (8, 3)).round(3)[stratum, rng.integers(0, 3, len(data.y))]
    weights: Rows = (population / sampled)[stratum] / answered
    return weights.round(4)


WEIGHTS: dict[str, Callable[[Data, np.random.Generator], Rows | None]] = {
    "none": _plain,
    "balanced": _balanced,
    "lognormal": _lognormal,
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


def instances(task: str, rows: int) -> Iterator[tuple[dict[str, object], Build]]:
    """The instances of a task and a number of cost rows, with what they are told by."""
    data = grown(task, rows)
    for k, (price, weight) in enumerate(product(PRICES, WEIGHTS)):
        rng = np.random.default_rng(k)
        costs, weights = PRICES[price](rng), WEIGHTS[weight](data, rng)

        def build(costs: list[float] = costs, weights: Rows | None = weights) -> PruningProblem:
            return pm.problem_from_forest(data.forest, data.X, costs=costs, sample_weight=weights)

        yield {"task": task, "rows": rows, "prices": price, "weights": weight}, build


def skewed() -> Iterator[tuple[dict[str, object], Build]]:
    """5 % of the rows weigh 100 u, the rest 0.01 u, u uniform: where prices that are rounded with their weights lose the most."""
    for depth in (4, 6):
        X, y = make_regression(2 * SKEWED_ROWS, N_FEATURES, n_informative=N_FEATURES, noise=10.0, random_state=0)
        forest, rng = RandomForestRegressor(N_TREES, max_depth=depth, random_state=0), np.random.default_rng(0)
        forest.fit(X[:SKEWED_ROWS], y[:SKEWED_ROWS])
        u = rng.random(SKEWED_ROWS)
        weights = np.where(rng.random(SKEWED_ROWS) < 0.05, 100 * u, 0.01 * u)

        def build(forest: Any = forest, X: Rows = X[SKEWED_ROWS:], weights: Rows = weights) -> PruningProblem:
            costs = [float(p + 1) for p in range(N_FEATURES)]
            return pm.problem_from_forest(forest, X, costs=costs, sample_weight=weights)

        yield {"task": "regression, skewed", "rows": SKEWED_ROWS, "prices": "1 to 10", "weights": "skewed"}, build


def measured(task: str, rows: int, n_lambdas: int) -> list[dict[str, object]]:
    """All instances of one task and size, or the skewed one; meant for a process of its own."""
    warm_up()
    some, count = (skewed(), SKEWED_LAMBDAS) if task == "skewed" else (instances(task, rows), n_lambdas)
    return [{**what, **figures(build, count)} for what, build in some]


def figures(build: Build, n_lambdas: int) -> dict[str, object]:
    """What the module's docstring lists, of one instance."""
    found: dict[str, object] = {"refused": "", "failed": "", "message": ""}
    with refusals(found, "build"):
        problem = build()
        found |= {"arcs": problem.n_usage_arcs, "splits": problem.ensemble.n_splits}
    if found["refused"] or found["failed"]:
        return found
    _give_back_memory()
    path = None
    with refusals(found, "path"), Peak() as peak:
        started = time.perf_counter()
        path = pm.pruning_path(problem)
        found |= {"path_s": time.perf_counter() - started, "prunings": len(path), "states": path.relative_gap}
    found["peak_mb"] = peak.extra / 1e6
    with refusals(found, "lambda"):
        found |= at_lambdas(problem, path, n_lambdas)
    with refusals(found, "budget"):
        found |= within_budgets(problem, path)
    return found


@contextmanager
def refusals(found: dict[str, object], place: str) -> Iterator[None]:
    """Note where an instance was refused, or an engine failed, and with which words."""
    try:
        yield
    except PruneModelsError as error:
        key = "refused" if isinstance(error, CapacityOverflowError) else "failed"
        found[key] = f"{found[key]} {place}".strip()
        found["message"] = f"{found['message']} {place}: {type(error).__name__}: {error}".strip()


def _give_back_memory() -> None:
    """What earlier instances left with the allocator goes back to the system, so that a peak is this instance's own."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def at_lambdas(problem: PruningProblem, path: PruningPath | None, n_lambdas: int) -> dict[str, float]:
    """(1) to (3), and the seconds of `solve`."""
    lams = [0.001, 0.01, 0.1] if path is None else lambdas(path, n_lambdas)
    above = below = of_solve = of_path = 0.0
    optima = ExactOptima(problem) if problem.usage.n_rows <= EXACT_ROWS else None
    exactly = {lams[k] for k in np.linspace(0, len(lams) - 1, EXACT_LAMBDAS).astype(int)} if lams and optima else set()
    started, optimal = time.perf_counter(), 0
    found = [pm.solve(problem, lam=lam) for lam in lams]
    seconds = (time.perf_counter() - started) / max(1, len(lams))
    for lam, solution in zip(lams, found, strict=True):
        assert solution.pruning is not None
        optimal += solution.status is Status.OPTIMAL
        pruning = None if path is None else path.at_lam(lam)
        if pruning is not None:
            share = float((pruning.value(lam) - solution.value) / solution.value) if solution.value else 0.0
            above, below = max(above, share), max(below, -share)
        if optima is not None and lam in exactly:
            best = optima.at(lam)
            of_solve = max(of_solve, optima.off(solution.pruning.kept, lam, best))
            of_path = max(of_path, 0.0 if pruning is None else optima.off(pruning.kept, lam, best))
    whole = {"solve_s": seconds, "lambdas": len(lams), "optimal": optimal}
    of_all = whole if path is None else {**whole, "above": above, "below": below}
    return of_all | ({"solve_off": of_solve} | ({} if path is None else {"path_off": of_path}) if optima else {})


def lambdas(path: PruningPath, count: int) -> list[float]:
    """Breakpoints as floats, and numbers between them, in turns along the path; without 0."""
    ends = [float(b) for b in path.breakpoints if b > 0]
    picked = np.unique(np.linspace(0, len(ends) - 1, count).astype(int)) if ends else []
    return [ends[k] if j % 2 else (ends[k] + ends[max(k - 1, 0)]) / 2 for j, k in enumerate(picked)]


def within_budgets(problem: PruningProblem, path: PruningPath | None) -> dict[str, float]:
    """(4), of shares of the unpruned cost, and of a breakpoint's cost; costs are recounted as fractions."""
    unpruned, rows = pm.Pruning.unpruned(problem).cost, [] if path is None else list(path)
    budgets = [unpruned * share for share in (0.35, 0.75)] + [float(row.exact_cost) for row in rows[len(rows) // 2 :][:1]]
    started = time.perf_counter()
    answers = pm.solve(problem, budget=budgets)
    seconds = time.perf_counter() - started
    worse = broken = optimal = 0
    loss = 0.0
    for budget, answer in zip(budgets, answers, strict=True):
        within = [row.error for row in rows if row.cost <= budget * (1 + 1e-13)]
        best = min(within, default=math.inf)
        loss = max(loss, (answer.error - best) / best if best else 0.0)
        worse += answer.error > best * (1 + 1e-9)
        broken += float(answer.pruning.exact_cost) > budget
        optimal += answer.status is Status.OPTIMAL
    asked = {"budgets": len(budgets), "budgets_s": seconds}
    return {**asked, "worse": worse, "worse_by": loss, "broken": broken, "budgets_optimal": optimal}


class ExactOptima:
    """The optimum at a lambda, by a minimum cut in Python's integers, which are as long as they have to be.

        optimum  =  error of all roots  -  (sum of what splits earn  -  minimum cut)                                     (5)

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
        """(5); a float is the shortest decimal that denotes it."""
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


BOOSTED: dict[str, Callable[[], Any]] = {
    "GradientBoostingRegressor": lambda: GradientBoostingRegressor(n_estimators=30, random_state=0),
    "GradientBoostingClassifier": lambda: GradientBoostingClassifier(n_estimators=15, random_state=0),
    "HistGradientBoostingRegressor": lambda: HistGradientBoostingRegressor(max_iter=30, max_leaf_nodes=8, random_state=0),
    "HistGradientBoostingClassifier": lambda: HistGradientBoostingClassifier(max_iter=15, max_leaf_nodes=8, random_state=0),
}


def boosted(rows: int = 1000) -> list[dict[str, object]]:
    """`prune_boosted` with lognormal weights, and a price of 1e-5 beside others; 4.1 in all."""
    warm_up()
    prices = [1e-5, 0.9, 0.7, 0.6, 0.5, 0.4, 0.4, 0.3, 0.2, 0.09999]
    X, target = make_friedman1(2 * rows, n_features=N_FEATURES, noise=1.0, random_state=0)
    found = []
    for name, model in BOOSTED.items():
        y = target if name.endswith("Regressor") else (target > np.median(target)).astype(int)
        weights = np.random.default_rng(0).lognormal(0.0, 1.0, rows)
        fitted = model().fit(X[:rows], y[:rows])
        for given in ({"lam": 0.01}, {"budget": 2.0}):
            row: dict[str, object] = {"model": name, "asked": "{} = {:g}".format(*next(iter(given.items()))), "refused": ""}
            started = time.perf_counter()
            try:
                answer = pm.prune_boosted(fitted, X[rows:], y[rows:], costs=prices, sample_weight=weights, **given)
                row |= {"loss": answer.loss, "cost": answer.cost, "splits": answer.n_splits}
            except CapacityOverflowError as error:
                row |= {"refused": "yes", "message": str(error)}
            found.append({**row, "seconds": time.perf_counter() - started})
    return found


COLUMNS: dict[str, Callable[[pd.DataFrame], object]] = {
    "instances": len,
    "refused": lambda some: int((some["refused"] != "").sum()),
    "failed": lambda some: int((some["failed"] != "").sum()),
    "path, s: median": lambda some: some["path_s"].median(),
    "max": lambda some: some["path_s"].max(),
    "peak, MB": lambda some: some["peak_mb"].max(),
    "states": lambda some: some["states"].max(),
    "above": lambda some: some["above"].max(),
    "below": lambda some: some["below"].max(),
    "solve: off": lambda some: some["solve_off"].max(),
    "path: off": lambda some: some["path_off"].max(),
    "budgets: worse": lambda some: f"{some['worse'].sum():.0f} of {some['budgets'].sum():.0f}",
    "broken": lambda some: int(some["broken"].sum()),
    "optimal": lambda some: int(some["budgets_optimal"].sum()),
}
"""What the table has of the instances of one line: the worst, unless it says otherwise."""


MEASURED = ("path_s", "peak_mb", "states", "above", "below", "solve_off", "path_off")
MEASURED += ("budgets", "worse", "broken", "budgets_optimal")
"""What `COLUMNS` read, which may be missing where everything was refused."""


def summary(frame: pd.DataFrame, by: Iterable[str]) -> str:
    """A table with a line for each combination of some columns."""
    names = list(by)
    frame = frame.reindex(columns=[*frame.columns, *(name for name in MEASURED if name not in frame)])
    lines = [
        [*(key if isinstance(key, tuple) else (key,)), *(cell(of(some)) for of in COLUMNS.values())]
        for key, some in frame.groupby(names, sort=False)
    ]
    return markdown([*names, *COLUMNS], lines)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[500, 5000, 50_000], help="cost rows (default: 500 5000 50000)")
    parser.add_argument("--quick", action="store_true", help="three lambdas instead of ten, and no boosted models")
    parser.add_argument("--out", type=Path, help="folder for a line of each instance")
    given = parser.parse_args()
    print(machine(), flush=True)
    n_lambdas = EXACT_LAMBDAS if given.quick else LAMBDAS
    jobs = [("skewed", SKEWED_ROWS), *product(TASKS, given.rows)]
    found: list[dict[str, object]] = []
    for task, rows in jobs:
        found += apart(measured, task, rows, n_lambdas)
        print(f"{task}, {rows:,} rows: done", flush=True)
    frame = pd.DataFrame(found)
    if given.out:
        write_text(given.out / "real_numbers.csv", frame.to_csv(index=False, float_format="%.4g"))
    for by in (("task", "rows"), ("weights",), ("prices",)):
        print(f"\n{summary(frame, by)}", flush=True)
    if not given.quick:
        models = pd.DataFrame(apart(boosted))
        print("\n" + markdown(list(models.columns), [map(cell, row) for row in models.itertuples(index=False)]))


if __name__ == "__main__":
    main()
