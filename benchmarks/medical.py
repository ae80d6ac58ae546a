"""Accuracy against dollars on medical data with real prices of tests (Turney's), with discounts for blood drawn once.

    python -m benchmarks.medical                                all six data sets, five repeats
    python -m benchmarks.medical --data pima bupa --repeats 3   some of it

A repeat trains a forest like BP16's (40 entropy trees, all features at each split; but leaves of 5) on the training part, whose
rows are the cost sample too; its errors are half in-bag, half out-of-bag. For each budget it takes the pruning of least error,
found by `exact_budget`. It is measured on the test part, in true dollars. It is compared with two optimisers that know
less:

    no discounts    knows the price of each test alone, but pays the discounted price
    no prices       takes every feature to cost 1

Their own budgets are tuned, twice for each, so that the true cost on the cost sample comes close to the budget from below.

A budget is *chosen* without the test part: the smallest whose error in cross validation of the training part is at most the
unpruned forest's there plus one standard error, sqrt(p (1 - p) / n).                                                         (1)

Means and standard deviations are over repeats: random splits with 70 % to train; of ann_thyroid, which comes with a split, seeds
of the forest.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
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
from benchmarks.measuring import command_line, markdown, plus_minus
from prunemodels.comparison.processes import machine
from prunemodels.models.costs import cost_items
from solvers.within import exact_budget

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)  # budgets, as shares of the price of all tests
SHOWN = (0.25, 0.5)  # budgets in the table, as shares of the price of all tests; those of `SHARES` at or below them
TREES = 40
FOLDS = 3  # folds of the cross validation that chooses a budget
SECONDS = 2.0  # time limit for one budget
Knowledge = Literal["all prices", "no discounts", "no prices"]
KNOWN: tuple[Knowledge, ...] = ("all prices", "no discounts", "no prices")


def grow(X: pd.DataFrame, y: NDArray[Any], costs: Any, seed: int) -> tuple[RandomForestClassifier, pm.PruningProblem]:
    forest = RandomForestClassifier(TREES, criterion="entropy", max_features=None, min_samples_leaf=5, random_state=seed)
    forest.fit(X, y)
    errors = pm.samples.Blend([(0.5, pm.samples.InBag()), (0.5, pm.samples.OutOfBag(X, y))])
    return forest, pm.problem_from_forest(forest, X, costs=costs, errors=errors)


Row = dict[str, Any]
"""Dollars and error of one forest on examples that it was not grown on: ``data``, ``seed``, ``known``, ``budget``, ``dollars``,
``error``. ``known`` is what the optimiser knows, and ``budget`` a place in `SHARES`; or ``known`` is "unpruned" (BP16's forest),
"default" (scikit-learn's: 100 trees, sqrt(F) features at each split) or "chosen" (at the budget of (1)), and ``budget`` is -1."""


class Optimiser:
    """Prunings of one forest within true budgets, from a problem whose prices may be wrong."""

    def __init__(self, problem: pm.PruningProblem, true: pm.PruningProblem) -> None:
        self.problem, self.true = problem, true
        self.path = pm.pruning_path(problem, certificate=False)
        # cost of the unpruned forest in the optimiser's own prices, for each true dollar
        self.exchange = pm.Pruning.unpruned(problem).exact_cost / pm.Pruning.unpruned(true).exact_cost

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
        return pm.Pruning(self.true, exact_budget(self.problem, budget, time_limit=SECONDS, path=self.path).pruning.kept)


def budgets_of(data: MedicalData, shares: Sequence[float]) -> list[Fraction]:
    """Shares of the price of all tests, to the cent."""
    return [Fraction(round(100 * share * data.price_of_all), 100) for share in shares]


def one_repeat(name: str, seed: int) -> list[Row]:
    """Split, grow, prune for every budget, measure."""
    data = load_medical(name)
    train, test = data.split(seed)
    X, y = data.X.iloc[train], data.y[train]
    rows: list[Row] = []

    def measure(forest: Any, known: str, budget: int = -1) -> None:
        seen = pm.evaluate(forest, data.X.iloc[test], data.y[test], costs=data.costs)
        about = {"data": name, "seed": seed, "known": known, "budget": budget}
        rows.append({**about, "dollars": seen.cost, "error": seen.error})

    forest, true = grow(X, y, data.costs, seed)
    optimisers = {k: Optimiser(true if k == "all prices" else _blind(true, data, k), true) for k in KNOWN}
    for known, optimiser in optimisers.items():
        for budget, pruning in enumerate(optimiser.within(budgets_of(data, SHARES))):
            measure(pm.apply_pruning(pruning, forest), known, budget)
    measure(forest, "unpruned")
    measure(RandomForestClassifier(random_state=seed).fit(X, y), "default")
    *errors, unpruned = cross_validated(data, X, y, seed, SHARES)
    chosen = smallest_within(errors, unpruned, len(y))
    wanted = ("all prices", chosen) if chosen < len(SHARES) else ("unpruned", -1)
    at_choice = next(row for row in rows if (row["known"], row["budget"]) == wanted)
    return [*rows, {**at_choice, "known": "chosen", "budget": -1}]


def _blind(true: pm.PruningProblem, data: MedicalData, known: Knowledge) -> pm.PruningProblem:
    """The same forest, errors and cost sample at incomplete prices."""
    costs = cost_items(data.without_discounts() if known == "no discounts" else 1, true.ensemble)
    return pm.PruningProblem.build(true.ensemble, true.errors, true.X, costs)


def cross_validated(data: MedicalData, X: pd.DataFrame, y: NDArray[Any], seed: int, shares: Sequence[float]) -> list[float]:
    """The error at each budget, and of the unpruned forest, over folds of the training part; each patient counts once."""
    wrong = np.zeros(len(shares) + 1)
    for inner, outer in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
        forest, problem = grow(X.iloc[inner], y[inner], data.costs, seed)
        pruned = [pm.apply_pruning(p, forest) for p in Optimiser(problem, problem).within(budgets_of(data, shares))]
        wrong += [np.sum(f.predict(X.iloc[outer]) != y[outer]) for f in (*pruned, forest)]
    return [float(n) / len(y) for n in wrong]


def smallest_within(errors: Sequence[float], unpruned: float, n: int) -> int:
    """The first place whose error is at most the unpruned forest's plus one standard error, see (1); else one past the last."""
    limit = unpruned + standard_error(unpruned, n)
    return next((k for k, error in enumerate(errors) if error <= limit), len(errors))


def standard_error(rate: float, n: int) -> float:
    return math.sqrt(rate * (1 - rate) / n)


def means(rows: pd.DataFrame, known: str) -> tuple[list[float], list[float]]:
    """Mean dollars and mean error over repeats, a number for each budget."""
    some = rows[rows["known"] == known].groupby("budget")[["dollars", "error"]].mean()
    return some["dollars"].tolist(), some["error"].tolist()


def enough(rows: pd.DataFrame, known: str, tested: int) -> float:
    """Dollars for the unpruned error within one standard error; what the unpruned forest pays if no budget does."""
    dollars, errors = means(rows, known)
    paid, error = means(rows, "unpruned")
    return [*dollars, *paid][smallest_within(errors, error[0], tested)]


def lost(rows: pd.DataFrame, known: str) -> NDArray[np.float64]:
    """Error, less that with all prices known at the same budget: mean over positive budgets, one number a repeat."""
    wide = rows[rows["budget"] > 0].pivot_table(index="seed", columns="known", values="error", aggfunc="mean")
    return np.asarray(wide[known] - wide["all prices"])


def rate(values: Sequence[float] | NDArray[np.float64]) -> str:
    """Mean and standard deviation in percent."""
    return f"{plus_minus(100 * np.asarray(values), 1)} %"


def cell(rows: pd.DataFrame, known: str, budget: int = -1) -> str:
    """Mean dollars, mean error and its deviation."""
    some = rows[(rows["known"] == known) & (rows["budget"] == budget)]
    return f"${some['dollars'].mean():.2f}: {rate(some['error'].to_numpy())}"


def report(rows: pd.DataFrame, tested: dict[str, int], full: dict[str, float]) -> str:
    """Both tables, from the patients that were ever tested and the price of all tests, by data set."""
    columns = [max(k for k, share in enumerate(SHARES) if share <= shown) for shown in SHOWN]
    budgets = [f"budget {100 * SHARES[k]:.0f} %" for k in columns]
    first = ["", "all tests", "scikit-learn's default", "unpruned", *budgets, "chosen"]
    second = ["", "enough, all prices known", "enough, no discounts known", "enough, no prices known"]
    second += [f"{known}: error, points" for known in KNOWN[1:]]
    lines, others = [], []
    for name, some in rows.groupby("data", sort=False):
        within = [cell(some, "all prices", k) for k in columns]
        shown = [cell(some, "default"), cell(some, "unpruned"), *within, cell(some, "chosen")]
        lines.append([f"{name} ({tested[str(name)]:,} tested)", f"${full[str(name)]:.2f}", *shown])
        points = [100 * lost(some, known) for known in KNOWN[1:]]
        spreads = [f"{p.mean():+.1f} ± {p.std(ddof=min(1, len(p) - 1)):.1f}" for p in points]
        others.append([name, *(f"${enough(some, known, tested[str(name)]):.2f}" for known in KNOWN), *spreads])
    return f"{markdown(first, lines)}\n\n{markdown(second, others)}"


def run(names: Sequence[str], repeats: int, jobs: int) -> str:
    loaded = {name: load_medical(name) for name in names}  # refuses before anything is computed
    tasks = [(name, seed) for seed in range(repeats) for name in names]
    done = joblib.Parallel(n_jobs=jobs)(joblib.delayed(one_repeat)(name, k) for name, k in tasks)
    tested = {n: len(np.unique(np.concatenate([d.split(k)[1] for k in range(repeats)]))) for n, d in loaded.items()}
    rows = pd.DataFrame([row for some in done for row in some])
    return report(rows, tested, {n: d.price_of_all for n, d in loaded.items()})


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_line(__doc__)
    parser.add_argument("--data", nargs="+", default=list(PRICES), choices=list(PRICES), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args(arguments)
    start = time.perf_counter()
    print(run(args.data, args.repeats, args.jobs))
    print(f"\n{args.repeats} repeats, {time.perf_counter() - start:.0f} s, {machine()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
