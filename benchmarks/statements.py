"""Whether cascades and exits keep their word: stated costs against called ones, budgets against what is spent.

    python -m benchmarks.statements [--fits 300]     nine small sets, splits one after another, five budgets for each fit

A fit is `BudgetCascade*` as it comes, a cascade of named stages, or the exits of a forest, in turns. Each learns from 70 % of a
set, the exits' forest from 50 %. For every budget,

    stated     `cost_` less the mean `prediction_cost` on `own_rows_` (with items paid once), which must be 0 but for rounding
    held out   (mean `prediction_cost` on the other 30 % - `held_out_cost_`) / budget: the mean over the fits, with its error;
               likewise the error there less `held_out_error_`, in % of the error of the cheapest policy
    spent      98 % of the budget, or all but a row's price; or no dearer policy is expected to err less; or nothing between is
               to be had
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prunemodels as pm
from benchmarks.frontier.data import SOURCES, load_problem
from benchmarks.frontier.problem import Problem
from benchmarks.measuring import command_line, markdown
from formulations.errors import InvalidInputError
from prunemodels.cascades.cascade import Cascade
from prunemodels.comparison.processes import machine

SHARES = (0.05, 0.15, 0.3, 0.5, 1.0)  # budgets, as shares of the price of all features
KINDS = ("sets", "named stages", "forest's exits")


class Seen(NamedTuple):
    """One budget of one fit; costs as shares of the budget, errors as shares of that of the cheapest policy."""

    kind: str
    fit: int
    stated: float
    other: float
    worse: float
    spent: float
    why: str


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--fits", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    started = time.perf_counter()
    rows = Parallel(n_jobs=given.jobs)(delayed(tried)(k) for k in range(given.fits))
    seen = pd.DataFrame([one for some in rows for one in some])
    print(machine())
    print(f"{given.fits} fits, {len(seen)} budgets, {time.perf_counter() - started:.0f} s")
    print(table(seen))


def tried(k: int) -> list[Seen]:
    small = [name for name, source in SOURCES.items() if source.is_small and name not in ("digits", "satimage", "waveform40")]
    kind, name, seed = KINDS[k % 3], small[k // 3 % len(small)], k // (3 * len(small))
    return list(judged(kind, k, load_problem(name, seed)))


def judged(kind: str, k: int, problem: Problem) -> Iterator[Seen]:
    """What is stated of five budgets, and what calling gives."""
    own, source = fitted(kind, problem)
    test = problem.test.table
    full = float(np.sum([float(price) for price in problem.costs.prices]))
    first = float(source.exit_path_.error[-1])
    for share in SHARES:
        budget = share * full
        try:
            model = source.at_cost(budget)
        except InvalidInputError:  # cheaper than the first stage
            continue
        rows = own if kind == "forest's exits" else own.iloc[model.own_rows_]
        once = float(model.stages_.once[model.policy_.last_stage])
        called, other = (float(model.prediction_cost(some).mean()) + once for some in (rows, test))
        why = "no gain" if "no dearer" in model.spending_ else "nothing between" if "next useful" in model.spending_ else "spent"
        worse = (_error(model, test, problem.test.y) - model.held_out_error_) / first
        stated = (model.cost_ - called) / budget
        yield Seen(kind, k, stated, (other - model.held_out_cost_) / budget, worse, model.cost_ / budget, why)


def _error(model: Cascade, X: pd.DataFrame, y: np.ndarray) -> float:
    """Share of wrong classes, or mean squared error."""
    told = model.predict(X)
    return float(np.mean(told != y if isinstance(model, ClassifierMixin) else (told - y) ** 2))


def fitted(kind: str, problem: Problem) -> tuple[pd.DataFrame, Cascade]:
    """The rows that the policies were learned from, and the fitted object."""
    regression = problem.task == "regression"
    if kind == "forest's exits":
        forest = (RandomForestRegressor if regression else RandomForestClassifier)(20, min_samples_leaf=4, random_state=0)
        train, valid = problem.train.table, problem.valid.table
        path = pm.pruning_path(pm.problem_from_forest(forest.fit(train, problem.train.y), valid, costs=problem.costs))
        return valid, pm.exit_path(path, valid, problem.valid.y, random_state=0)
    X = pd.concat([problem.train.table, problem.valid.table], ignore_index=True)
    y = np.concatenate([problem.train.y, problem.valid.y])
    if kind == "sets":
        finds_sets = pm.BudgetCascadeRegressor if regression else pm.BudgetCascadeClassifier
        return X, finds_sets(costs=problem.costs, lam=0, random_state=0).fit(X, y)
    last = Ridge(10) if regression else LogisticRegression(C=0.1, max_iter=500)
    line = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), last)
    order = np.argsort([float(problem.costs.price[list(needed)].sum()) for needed in problem.costs.needs], kind="stable")
    stages = [(line, order[:size].tolist()) for size in (1, (len(order) + 1) // 2, len(order))]
    kinds = pm.CascadeRegressor if regression else pm.CascadeClassifier
    return X, kinds([(None, []), *stages], problem.costs, lam=0, random_state=0).fit(X, y)


def table(seen: pd.DataFrame) -> str:
    """A row for each kind of object, and one for all."""
    head = ["fits", "budgets", "largest difference of stated and called cost", "test cost less the held-out one, % of the budget"]
    head += ["likewise the error, %", "spent", "no dearer policy errs less", "nothing between to be had"]
    lines = []
    for kind in (*KINDS, "all"):
        some = seen if kind == "all" else seen[seen["kind"] == kind]
        by_fit = 100 * some.groupby("fit")[["other", "worse"]].mean()
        mean, error = by_fit.mean(), by_fit.std(ddof=1) / np.sqrt(len(by_fit))
        over = [f"{mean[name]:+.2f} ± {error[name]:.2f}" for name in by_fit]
        spent = [list(some["why"]).count(why) for why in ("spent", "no gain", "nothing between")]
        lines.append([f"{len(by_fit)} {kind}", len(some), f"{some['stated'].abs().max():.1e}", *over, *spent])
    return markdown(head, lines)


if __name__ == "__main__":
    main()
