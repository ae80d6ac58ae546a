"""Accuracy against dollars on medical data with real prices of tests (Turney's), with discounts for blood drawn once.

    python -m benchmarks.medical                                all six data sets, five repeats
    python -m benchmarks.medical --data pima bupa --repeats 3   some of it

A repeat trains a forest like BP16's (40 entropy trees, all features at each split; but leaves of 5) on the training part, whose
rows are the cost sample too; its errors are half in-bag, half out-of-bag. For each budget it takes the pruning of least error,
found and proven by `exact_budget`. It is measured on the test part, in true dollars. It is compared with two optimisers that know
less:

    no discounts    knows the price of each test alone, but pays the discounted price
    no prices       takes every feature to cost 1

Their own budgets are tuned, twice for each, so that the true cost on the cost sample comes close to the budget from below.

A budget is *chosen* without the test part: the smallest whose error in cross validation of the training part is at most the
unpruned forest's there plus one standard error, sqrt(p (1 - p) / n).                                                         (1)

Means and standard deviations are over repeats: random splits with 70 % to train; of ann_thyroid, which comes with a split, seeds
of the forest. *Enough* is what is paid at the smallest budget whose mean test error is at most the unpruned forest's plus one
standard error of a rate on all patients that were ever tested. It uses the test error, in the same way for all optimisers.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

import prunemodels as pm
from benchmarks.data.medical import PRICES, MedicalData, load_medical
from benchmarks.measuring import markdown
from prunemodels.comparison.machine import machine
from prunemodels.models.costs import cost_items
from solvers.budgets import best_within
from solvers.budgets.exact.solve import exact_budget

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
"""Budgets, as shares of the price of all tests."""

SHOWN = (0.25, 0.5)
"""Budgets in the table, as shares of the price of all tests; those of `SHARES` at or below them."""

TREES = 40

FOLDS = 3
"""Folds of the cross validation that chooses a budget."""

SECONDS = 2.0
"""Time limit for one budget; a pruning that is not proven within it is counted."""

Knowledge = Literal["all prices", "no discounts", "no prices"]

KNOWN: tuple[Knowledge, ...] = ("all prices", "no discounts", "no prices")


def grow(X: pd.DataFrame, y: NDArray[Any], costs: Any, seed: int) -> tuple[RandomForestClassifier, pm.PruningProblem]:
    """The forest and its instance at some prices."""
    forest = RandomForestClassifier(TREES, criterion="entropy", max_features=None, min_samples_leaf=5, random_state=seed)
    forest.fit(X, y)
    errors = pm.samples.Blend([(0.5, pm.samples.InBag()), (0.5, pm.samples.OutOfBag(X, y))])
    return forest, pm.problem_from_forest(forest, X, costs=costs, errors=errors)


@dataclass(frozen=True)
class Measured:
    """Dollars and error of a forest on examples that it was not grown on."""

    dollars: float
    error: float


@dataclass(frozen=True, eq=False)
class Repeat:
    """The measurements of one training part on its test part.

    Parameters
    ----------
    unpruned, default
        BP16's forest, and scikit-learn's default one (100 trees, sqrt(F) features at each split).
    by_budget
        for each knowledge, one a budget of `SHARES`.
    chosen
        the budget of (1), as a place in `SHARES`; len(SHARES) for the unpruned forest.
    unproven, solved
        budgets not closed in time, and all.
    """

    name: str
    seed: int
    unpruned: Measured
    default: Measured
    by_budget: Mapping[Knowledge, Sequence[Measured]]
    chosen: int
    unproven: int
    solved: int

    @property
    def at_choice(self) -> Measured:
        """The measurements at the budget of (1)."""
        return (*self.by_budget["all prices"], self.unpruned)[self.chosen]


class Optimiser:
    """Prunings of one forest within true budgets, from a problem whose prices may be wrong."""

    def __init__(self, problem: pm.PruningProblem, true: pm.PruningProblem) -> None:
        self.problem, self.true = problem, true
        self.path = pm.pruning_path(problem, certificate=False)
        # cost of the unpruned forest in the optimiser's own prices, for each true dollar
        self.exchange = pm.Pruning.unpruned(problem).exact_cost / pm.Pruning.unpruned(true).exact_cost
        self.unproven = self.solved = 0

    def within(self, budgets: Sequence[Fraction]) -> list[pm.Pruning]:
        """For each budget the pruning of least error whose true cost on the cost sample is at most the budget."""
        found = [pm.Pruning(self.true, pruning.kept) for pruning in self.path]
        blind = self.problem is not self.true
        for budget in budgets:
            own = budget * self.exchange if blind else budget
            found.append(self.solve(own))
            true_cost = found[-1].exact_cost
            if blind and true_cost:
                found.append(self.solve(own * budget / true_cost))
        return [
            min((p for p in found if p.exact_cost <= budget), key=lambda p: (p.exact_error, p.exact_cost)) for budget in budgets
        ]

    def solve(self, budget: Fraction) -> pm.Pruning:
        """The best pruning within a budget of the problem's own prices, as a pruning at true prices."""
        start = best_within(self.problem, budget, rounds=2, time_limit=SECONDS, path=self.path)
        exact = exact_budget(self.problem, budget, time_limit=SECONDS, path=self.path, incumbent=start.pruning)
        self.solved += 1
        self.unproven += exact.status is not pm.engines.Status.OPTIMAL
        return pm.Pruning(self.true, exact.pruning.kept)


def budgets_of(data: MedicalData, shares: Sequence[float]) -> list[Fraction]:
    """Shares of the price of all tests, to the cent."""
    return [Fraction(round(100 * share * data.price_of_all), 100) for share in shares]


def one_repeat(name: str, seed: int) -> Repeat:
    """Split, grow, prune for every budget, measure."""
    data = load_medical(name)
    train, test = data.split(seed)
    X, y = data.X.iloc[train], data.y[train]
    held_out = (data.X.iloc[test], data.y[test])
    forest, true = grow(X, y, data.costs, seed)
    budgets, by_budget, optimisers = budgets_of(data, SHARES), {}, {}
    for known in KNOWN:
        problem = true if known == "all prices" else _blind(true, data, known)
        optimisers[known] = Optimiser(problem, true)
        prunings = optimisers[known].within(budgets)
        by_budget[known] = [measure(pm.apply_pruning(p, forest), held_out, data) for p in prunings]
    default = RandomForestClassifier(random_state=seed).fit(X, y)
    inner = cross_validated(data, X, y, seed, SHARES)
    return Repeat(
        name,
        seed,
        measure(forest, held_out, data),
        measure(default, held_out, data),
        by_budget,
        smallest_within([m.error for m in inner[:-1]], inner[-1].error, len(y)),
        sum(o.unproven for o in optimisers.values()),
        sum(o.solved for o in optimisers.values()),
    )


def _blind(true: pm.PruningProblem, data: MedicalData, known: Knowledge) -> pm.PruningProblem:
    """The same forest, errors and cost sample at incomplete prices."""
    costs = cost_items(data.without_discounts() if known == "no discounts" else 1, true.ensemble)
    return pm.PruningProblem.build(true.ensemble, true.errors, true.X, costs)


def measure(forest: Any, held_out: tuple[pd.DataFrame, NDArray[Any]], data: MedicalData) -> Measured:
    """Dollars and error on held-out examples, at true prices."""
    seen = pm.evaluate(forest, *held_out, costs=data.costs)
    return Measured(seen.cost, seen.error)


def cross_validated(data: MedicalData, X: pd.DataFrame, y: NDArray[Any], seed: int, shares: Sequence[float]) -> list[Measured]:
    """Dollars and errors at each budget, and of the unpruned forest, over folds of the training part."""
    folds = []
    for inner, outer in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
        held_out = (X.iloc[outer], y[outer])
        forest, problem = grow(X.iloc[inner], y[inner], data.costs, seed)
        pruned = [pm.apply_pruning(p, forest) for p in Optimiser(problem, problem).within(budgets_of(data, shares))]
        folds.append(([measure(f, held_out, data) for f in (*pruned, forest)], len(outer)))
    weights = [n for _, n in folds]
    columns = zip(*(measured for measured, _ in folds), strict=True)
    return [
        Measured(*(float(np.average([getattr(m, of) for m in column], weights=weights)) for of in ("dollars", "error")))
        for column in columns
    ]


def smallest_within(errors: Sequence[float], unpruned: float, n: int) -> int:
    """The first place whose error is at most the unpruned forest's plus one standard error, see (1); else one past the last."""
    limit = unpruned + standard_error(unpruned, n)
    return next((k for k, error in enumerate(errors) if error <= limit), len(errors))


def standard_error(rate: float, n: int) -> float:
    """Standard error of an error rate measured on n examples."""
    return math.sqrt(rate * (1 - rate) / n)


@dataclass(frozen=True, eq=False)
class Summary:
    """All repeats of one data set.

    Parameters
    ----------
    tested
        patients that were in a test part.
    """

    data: MedicalData
    repeats: Sequence[Repeat]
    tested: int

    @classmethod
    def of(cls, data: MedicalData, repeats: Sequence[Repeat]) -> Summary:
        """Collect the repeats of one data set."""
        tested = np.unique(np.concatenate([data.split(r.seed)[1] for r in repeats]))
        return cls(data, repeats, len(tested))

    def dollars(self, known: Knowledge) -> NDArray[np.float64]:
        """Mean dollars paid on the test parts at each budget, shape (len(SHARES),)."""
        return np.array([[m.dollars for m in r.by_budget[known]] for r in self.repeats]).mean(axis=0)

    def errors(self, known: Knowledge) -> NDArray[np.float64]:
        """Test error of each repeat at each budget, shape (repeats, len(SHARES))."""
        return np.array([[m.error for m in r.by_budget[known]] for r in self.repeats])

    def enough(self, known: Knowledge) -> float:
        """Dollars for the unpruned error within one standard error; what the unpruned forest pays if no budget does."""
        unpruned = [r.unpruned for r in self.repeats]
        error = float(np.mean([m.error for m in unpruned]))
        place = smallest_within(self.errors(known).mean(axis=0).tolist(), error, self.tested)
        return float((*self.dollars(known), np.mean([m.dollars for m in unpruned]))[place])

    def lost(self, known: Knowledge) -> NDArray[np.float64]:
        """Error, less that with all prices known at the same budget: mean over positive budgets, one number a repeat."""
        return (self.errors(known) - self.errors("all prices"))[:, 1:].mean(axis=1)


def rate(values: Sequence[float] | NDArray[np.float64]) -> str:
    """Mean and standard deviation in percent."""
    spread = f" ± {100 * np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.1f}{spread} %"


def price(values: Sequence[float]) -> str:
    """Mean in dollars."""
    return f"${np.mean(values):.2f}"


def row(s: Summary) -> list[str]:
    """The cells of a data set in the first table."""
    columns = [max(k for k, share in enumerate(SHARES) if share <= shown) for shown in SHOWN]
    unpruned, default, chosen = ([getattr(r, what) for r in s.repeats] for what in ("unpruned", "default", "at_choice"))
    return [
        f"{s.data.name} ({s.tested:,} tested)",
        price([s.data.price_of_all]),
        f"{price([m.dollars for m in default])}: {rate([m.error for m in default])}",
        f"{price([m.dollars for m in unpruned])}: {rate([m.error for m in unpruned])}",
        *(f"{price([s.dollars('all prices')[k]])}: {rate(s.errors('all prices')[:, k])}" for k in columns),
        f"{price([m.dollars for m in chosen])}: {rate([m.error for m in chosen])}",
    ]


def knowledge_row(s: Summary) -> list[str]:
    """The cells of a data set in the second table."""
    points = [f"{100 * s.lost(k).mean():+.1f} ± {100 * s.lost(k).std(ddof=min(1, len(s.repeats) - 1)):.1f}" for k in KNOWN[1:]]
    return [s.data.name, *(price([s.enough(known)]) for known in KNOWN), *points]


def report(summaries: Sequence[Summary]) -> str:
    """Both tables and the notes below them."""
    shown = [f"budget {100 * max(x for x in SHARES if x <= share):.0f} %" for share in SHOWN]
    first = ["", "all tests", "scikit-learn's default", "unpruned", *shown, "chosen"]
    second = ["", *(f"enough, {known} known" for known in KNOWN), *(f"{known}: error, points" for known in KNOWN[1:])]
    second[2:4] = ["enough, no discounts known", "enough, no prices known"]
    solved = sum(r.solved for s in summaries for r in s.repeats)
    unproven = sum(r.unproven for s in summaries for r in s.repeats)
    tables = [markdown(first, [row(s) for s in summaries]), markdown(second, [knowledge_row(s) for s in summaries])]
    return "\n\n".join([*tables, f"budgets solved {solved:,}, not proven optimal in time {unproven}"])


def run(names: Sequence[str], repeats: int, jobs: int) -> list[Summary]:
    """All repeats of all data sets, in the given number of processes."""
    loaded = {name: load_medical(name) for name in names}  # refuses before anything is computed
    tasks = [(name, seed) for seed in range(repeats) for name in names]
    done = joblib.Parallel(n_jobs=jobs)(joblib.delayed(one_repeat)(name, k) for name, k in tasks)
    return [Summary.of(data, [r for r in done if r.name == name]) for name, data in loaded.items()]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=list(PRICES), choices=list(PRICES), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args(arguments)
    start = time.perf_counter()
    print(report(run(args.data, args.repeats, args.jobs)))
    print(f"\n{args.repeats} repeats, {time.perf_counter() - start:.0f} s, {machine()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
