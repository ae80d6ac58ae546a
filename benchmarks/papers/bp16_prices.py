"""Prices that differ by feature, made from a linear SVM: Figure 5 of BP16.

    X_f  scaled so that every feature's column has the same l2 norm                                                      (1)
    w    weights of a linear SVM on that; c_f = |w_f| rounded, in [1, 40]                                                (2)
    c    divided by its mean: the prices add up to the number of features                                                (3)

(1) to (3) are the paper's. It does not say how |w| was scaled to [1, 40] (weights scale with the norm of (1) and with the SVM's
C). Here the largest weight is scaled to 40, and what rounds to 0 costs 1. C = 1, the squared hinge and columns of mean square 1
are our choice too.
With more than two classes |w_f| is the largest over the classes. The SVM sees the training part.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

import prunemodels as pm
from benchmarks.papers.bp16_figure2 import ALIKE, budgets_of
from benchmarks.papers.budget_curves import by_budget, curve_rows, error_at, figures
from benchmarks.papers.data import parts
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit
from benchmarks.papers.forests import Grown, grown
from benchmarks.papers.methods import CCP, OPTIMAL, prunings
from benchmarks.papers.published import BP16_FIGURE_5, NAMES, SUBSETS

LARGEST = 40.0
"""Price of the dearest feature before (3)."""

METHODS = (OPTIMAL, CCP)

UNIFORM, SVM = "uniform", "non-uniform"


def svm_prices(X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.float64]:
    """(1) to (3): shape (F,), adding up to F."""
    rows = np.asarray(X, dtype=np.float64)
    norm = np.sqrt(np.mean(rows**2, axis=0))
    scaled = rows / np.where(norm > 0, norm, 1.0)
    weights = np.abs(LinearSVC(dual=False, max_iter=10_000).fit(scaled, y).coef_).max(axis=0)
    prices = np.maximum(np.round(weights * (LARGEST / weights.max())), 1.0)
    return np.asarray(prices * (prices.size / prices.sum()))


def units(scope: Scope) -> list[Unit]:
    return [
        Unit("bp16_prices", data, seed, f"{method} ({prices})", {"trees": 40}, scope.rows)
        for data, seed in scope.groups()
        for prices in (UNIFORM, SVM)
        for method in METHODS
    ]


@lru_cache(maxsize=1)
def repriced(data: str, seed: int, rows: int | None) -> Grown:
    """The same forest at the SVM's prices."""
    forest, p = grown(data, seed, rows), parts(data, seed, rows)
    prices = [round(float(price), 6) for price in svm_prices(p.X_train, p.y_train)]
    return Grown(forest.forest, p, pm.problem_from_forest(forest.forest, p.X_valid, costs=prices))


def run(unit: Unit) -> list[Row]:
    method, prices = unit.method.split(" (")
    make = repriced if prices == f"{SVM})" else grown
    forest = make(unit.data, unit.seed, unit.rows)
    return curve_rows(prunings(method, forest), forest.parts)


def losses(reached: pd.DataFrame) -> pd.DataFrame:
    """Error that the prices add to each pruning: mean test error at equal budgets, non-uniform less uniform, in points."""
    rows = []
    for (data, budget), at in reached.groupby(["data", "budget"], sort=False):
        error = dict(zip(at["method"], at["error"], strict=True))
        names = {m: [f"{m} ({p})" for p in (UNIFORM, SVM)] for m in METHODS}
        if all(name in error for pair in names.values() for name in pair):
            rows.append({"data": data, "budget": budget, **{m: 100 * (error[b] - error[a]) for m, (a, b) in names.items()}})
    return pd.DataFrame(rows, columns=["data", "budget", *METHODS])


def present(frame: pd.DataFrame, scope: Scope) -> Presentation:
    reached = by_budget(frame, {data: budgets_of(data) for data in frame["data"].unique()})
    lost = losses(reached)
    notes = [_sentence(str(data), at) for data, at in lost.groupby("data", sort=False)]
    shown = {data: budgets_of(data)[1::2] for data in reached["data"].unique()}
    tables = {"test_error": error_at(reached, shown), "lost_by_prices": lost}
    return Presentation(tables, figures(reached), notes, {"curves": reached})


def _sentence(data: str, at: pd.DataFrame) -> str:
    means = {m: float(at[m].mean()) for m in METHODS}
    less = int((at[OPTIMAL] < at[CCP]).sum())
    return (
        f"{NAMES.get(data, data)}: within the same budget, mean of {len(at)}, at the SVM's prices BudgetPrune errs "
        f"{means[OPTIMAL]:+.2f} points more than at uniform ones, CCP {means[CCP]:+.2f}; BudgetPrune loses less at {less} of them"
    )


def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
    lost = losses(by_budget(frame, {data: budgets_of(data) for data in frame["data"].unique()}))
    at = lost[lost["data"] == "miniboone"]
    if at.empty:
        return []
    held = int((at[OPTIMAL] <= 100 * ALIKE).sum())
    ours = (
        f"mean loss {at[OPTIMAL].mean():+.2f} points of BudgetPrune (at most 0.1 at {held} of {len(at)} budgets), "
        f"{at[CCP].mean():+.2f} points of CCP"
    )
    holds = held == len(at) and bool((at[CCP] > at[OPTIMAL]).all())
    return [Comparison("MiniBooNE: non-uniform prices against uniform", BP16_FIGURE_5, ours, holds=holds)]


EXPERIMENT = Experiment(
    name="bp16_prices",
    source="BP16, Figure 5",
    title="BudgetPrune and CCP at uniform prices and at prices from a linear SVM's weights",
    takes="about 3 min; --full about 15 min",
    data=("miniboone",),
    repeats=2,
    full_repeats=10,
    units=units,
    run=run,
    present=present,
    compare=compare,
    why=SUBSETS + "; the SVM's scale and C are ours",
)
