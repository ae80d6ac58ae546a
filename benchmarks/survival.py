"""What pruning a survival forest loses and saves on held-out patients, against retraining on fewer columns.

    python -m benchmarks.survival                GBSG2, ten random splits
    python -m benchmarks.survival --repeats 2    fewer

GBSG2 (German Breast Cancer Study Group 2: 686 patients, eight columns, 44 % with an event) comes with scikit-survival. Half of
the patients grow the forest, a quarter is the validation sample, a quarter the test sample. Prices are made up: 1 for what the
patient tells, 5 for the size of the tumour, 10 for what a laboratory finds. Forests try some of the features at each split, as
scikit-survival does by default (``sqrt``), or all.

*Pruned*: within the budget on the validation sample; errors are in-bag.
*Retrained*: of all sets of columns within the budget to which no column can be added, the forest of least error on the validation
sample. Error is the integrated Brier score of the forest on the test sample; *against unpruned* is its mean difference from the
unpruned forest of the same kind, with the standard deviation over the splits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.measuring import command_line, markdown
from formulations.extras import package
from prunemodels.comparison.machine import machine

PRICES = {"age": 1, "menostat": 1, "horTh": 1, "tsize": 5, "tgrade": 10, "pnodes": 10, "estrec": 10, "progrec": 10}

BUDGETS = (12, 24)

TREES = 50

TRIED = {"sqrt": "sqrt", "all": None}  # how many features a forest tries at a split: scikit-survival's ``max_features``

Figures = dict[tuple[str, str, float], tuple[float, float]]
"""Cost and error on the test sample, by what is tried at a split, the way, and the budget."""

SECONDS = 0.5  # for the search within one budget


@dataclass(frozen=True, eq=False)
class Patients:
    """Columns as numbers, and events with their times."""

    X: pd.DataFrame
    y: NDArray[Any]

    def take(self, rows: NDArray[np.int64]) -> Patients:
        return Patients(self.X.iloc[rows], self.y[rows])


def load() -> Patients:
    """GBSG2 with its grades in order and its two yes-or-no columns as 0 and 1."""
    X, y = package("sksurv.datasets").load_gbsg2()
    codes = {"horTh": {"no": 0, "yes": 1}, "menostat": {"Pre": 0, "Post": 1}, "tgrade": {"I": 1, "II": 2, "III": 3}}
    coded = X.assign(**{name: X[name].astype(str).map(code) for name, code in codes.items()})
    return Patients(coded[list(PRICES)].astype(float), y)


def parts(patients: Patients, seed: int) -> tuple[Patients, Patients, Patients]:
    """Half to train, a quarter to validate, a quarter to test."""
    n = len(patients.y)
    order = np.random.default_rng(seed).permutation(n)
    train, valid, test = np.split(order, [n // 2, 3 * n // 4])
    return patients.take(train), patients.take(valid), patients.take(test)


def grow(train: Patients, columns: Sequence[str], tried: str, trees: int, seed: int) -> Any:
    """A forest on some columns."""
    settings = {"min_samples_leaf": 15, "max_features": TRIED[tried], "random_state": seed}
    return package("sksurv.ensemble").RandomSurvivalForest(trees, **settings).fit(train.X[list(columns)], train.y)


def column_sets(budget: float) -> Iterator[tuple[str, ...]]:
    """Sets of columns within the budget to which no other column can be added."""
    for size in range(1, len(PRICES) + 1):
        for chosen in combinations(PRICES, size):
            left = budget - sum(PRICES[name] for name in chosen)
            if left >= 0 and all(PRICES[name] > left for name in PRICES if name not in chosen):
                yield chosen


def judge(forest: Any, columns: Sequence[str], sample: Patients) -> tuple[float, float]:
    """Cost and error on a sample."""
    prices = {name: PRICES[name] for name in columns}
    seen = pm.evaluate(forest, sample.X[list(columns)], sample.y, costs=prices)
    return seen.cost, seen.error


def one_split(patients: Patients, seed: int, trees: int, budgets: Sequence[float]) -> Figures:
    train, valid, test = parts(patients, seed)
    found: Figures = {}
    for tried in TRIED:
        forest = grow(train, list(PRICES), tried, trees, seed)
        found[tried, "unpruned", np.inf] = judge(forest, list(PRICES), test)
        errors = pm.samples.InBag(train.X, train.y)
        path = pm.pruning_path(pm.problem_from_forest(forest, valid.X, costs=PRICES, errors=errors))
        for budget in budgets:
            pruning = pm.solve(path.problem, budget=budget, path=path, time_limit=SECONDS).pruning
            found[tried, "pruned, errors in-bag", budget] = judge(pm.apply_pruning(pruning, forest), list(PRICES), test)
        for budget in budgets:
            grown = {columns: grow(train, columns, tried, trees, seed) for columns in column_sets(budget)}
            scores = {columns: judge(other, columns, valid)[1] for columns, other in grown.items()}
            best = min(scores, key=scores.__getitem__)
            found[tried, "retrained on fewer columns", budget] = judge(grown[best], best, test)
    return found


def table(splits: Sequence[Figures]) -> str:
    lines = []
    for key in sorted(splits[0], key=lambda key: (list(TRIED).index(key[0]), -key[2], key[1])):
        tried, way, budget = key
        cost, error = np.array([split[key] for split in splits]).T
        rise = error - [split[tried, "unpruned", np.inf][1] for split in splits]
        spread = f" ± {rise.std(ddof=1):.4f}" if len(rise) > 1 else ""
        against = "" if way == "unpruned" else f"{rise.mean():+.4f}{spread}"
        limit = "" if budget == np.inf else f"{budget:g}"
        lines.append([tried, way, limit, f"{cost.mean():.1f}", f"{error.mean():.4f}", against])
    return markdown(["features tried", "", "budget", "cost", "integrated Brier score", "against unpruned"], lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_line(__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="random splits")
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--budgets", type=float, nargs="+", default=BUDGETS)
    args = parser.parse_args(arguments)
    start, patients = time.perf_counter(), load()
    print(table([one_split(patients, seed, args.trees, args.budgets) for seed in range(args.repeats)]))
    print(f"\n{args.repeats} splits, {time.perf_counter() - start:.0f} s, {machine()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
