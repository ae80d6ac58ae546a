"""One forest at all budgets: dollars and error of its prunings, by what the optimisation knows of the prices.

A repeat trains a forest like BP16's (40 entropy trees, all features at each split; but leaves of 5) on the training part, whose
rows are the cost sample too, and for each budget takes the pruning of least error, found and proven by `exact_budget`. It is
measured on the test part, in true dollars. It is compared with two optimisers that know less:

    no discounts    knows the price of each test alone, but pays the discounted price
    no prices       takes every feature to cost 1

Their own budgets are tuned, twice for each, so that the true cost on the cost sample comes close to the budget from below.

A budget is chosen without the test part: the smallest whose error in cross validation of the training part is at most the
unpruned forest's there plus one standard error, sqrt(p (1 - p) / n).                                                         (1)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split

import prunemodels as pm
from benchmarks.data.medical import MedicalData, load_medical
from prunemodels.models.costs import cost_items
from solvers.budgets import best_within
from solvers.budgets.exact.solve import exact_budget

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
"""Budgets, as shares of the price of all tests."""

TREES = 40

FOLDS = 3
"""Folds of the cross validation that chooses a budget."""

SECONDS = 2.0
"""Time limit for one budget; a pruning that is not proven within it is counted."""

Sample = Literal["in-bag", "out-of-bag", "blend", "validation"]
Knowledge = Literal["all prices", "no discounts", "no prices"]

KNOWN: tuple[Knowledge, ...] = ("all prices", "no discounts", "no prices")


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a forest is grown and where its errors are measured.

    Parameters
    ----------
    leaf
        least number of examples in a leaf.
    sample
        the error sample; "validation" keeps 30 % of the rows from the trees: cost sample, and half of the errors.
    """

    leaf: int = 5
    sample: Sample = "blend"

    def grow(self, X: pd.DataFrame, y: NDArray[Any], costs: Any, seed: int) -> tuple[RandomForestClassifier, pm.PruningProblem]:
        """The forest and its instance at some prices."""
        forest = RandomForestClassifier(
            TREES, criterion="entropy", max_features=None, min_samples_leaf=self.leaf, random_state=seed
        )
        if self.sample == "validation":
            X, X_kept, y, y_kept = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
            forest.fit(X, y)
            errors: Any = pm.samples.Blend([(0.5, pm.samples.InBag()), (0.5, pm.samples.Given(X_kept, y_kept))])
            return forest, pm.problem_from_forest(forest, X_kept, costs=costs, errors=errors)
        forest.fit(X, y)
        out = pm.samples.OutOfBag(X, y)
        samples: dict[str, Any] = {
            "in-bag": pm.samples.InBag(),
            "out-of-bag": out,
            "blend": pm.samples.Blend([(0.5, pm.samples.InBag()), (0.5, out)]),
        }
        return forest, pm.problem_from_forest(forest, X, costs=costs, errors=samples[self.sample])


@dataclass(frozen=True)
class Measured:
    """Dollars and error of a forest on examples that it was not grown on; `promised` are the dollars on the cost sample."""

    dollars: float
    error: float
    promised: float


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


def one_repeat(name: str, seed: int, recipe: Recipe) -> Repeat:
    """Split, grow, prune for every budget, measure."""
    data = load_medical(name)
    train, test = data.split(seed)
    X, y = data.X.iloc[train], data.y[train]
    held_out = (data.X.iloc[test], data.y[test])
    forest, true = recipe.grow(X, y, data.costs, seed)
    budgets, by_budget, optimisers = budgets_of(data, SHARES), {}, {}
    for known in KNOWN:
        problem = true if known == "all prices" else _blind(true, data, known)
        optimisers[known] = Optimiser(problem, true)
        prunings = optimisers[known].within(budgets)
        by_budget[known] = [measure(pm.apply_pruning(p, forest), held_out, data, p.cost) for p in prunings]
    default = RandomForestClassifier(random_state=seed).fit(X, y)
    inner = cross_validated(data, X, y, seed, recipe, SHARES)
    return Repeat(
        name,
        seed,
        measure(forest, held_out, data, pm.Pruning.unpruned(true).cost),
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


def measure(forest: Any, held_out: tuple[pd.DataFrame, NDArray[Any]], data: MedicalData, promised: float = math.nan) -> Measured:
    """Dollars and error on held-out examples, at true prices."""
    seen = pm.evaluate(forest, *held_out, costs=data.costs)
    return Measured(seen.cost, seen.error, promised)


def cross_validated(
    data: MedicalData, X: pd.DataFrame, y: NDArray[Any], seed: int, recipe: Recipe, shares: Sequence[float]
) -> list[Measured]:
    """Dollars and errors at each budget, and of the unpruned forest, over folds of the training part."""
    folds = []
    for inner, outer in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y):
        held_out = (X.iloc[outer], y[outer])
        forest, problem = recipe.grow(X.iloc[inner], y[inner], data.costs, seed)
        pruned = [pm.apply_pruning(p, forest) for p in Optimiser(problem, problem).within(budgets_of(data, shares))]
        folds.append(([measure(f, held_out, data) for f in (*pruned, forest)], len(outer)))
    weights = [n for _, n in folds]
    return [
        Measured(
            float(np.average([m.dollars for m in column], weights=weights)),
            float(np.average([m.error for m in column], weights=weights)),
            math.nan,
        )
        for column in zip(*(measured for measured, _ in folds), strict=True)
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

    def overrun(self) -> float:
        """What is paid on the test parts for a dollar on the cost samples, mean over budgets; NaN where none buys anything."""
        pairs = [m for r in self.repeats for m in r.by_budget["all prices"]]
        promised = sum(m.promised for m in pairs)
        return sum(m.dollars for m in pairs) / promised if promised else math.nan

    def lost(self, known: Knowledge) -> NDArray[np.float64]:
        """Error, less that with all prices known at the same budget: mean over positive budgets, one number a repeat."""
        return (self.errors(known) - self.errors("all prices"))[:, 1:].mean(axis=1)
