"""Hard budgets: at most k features for every row, as AFABench (Schuetz and others 2025) judges.

A method's candidates cost k, the cap, on validation; on test what the dearest row pays. So the tables show them beside the
methods whose budget is a mean. They run on the data sets of `HARD` alone, whose budgets are the caps.

    one order      columns by a greedy search, the one next that lowers the validation loss most; LightGBM on the first k of them
    densities      each class has a normal density for each column, with independent columns, and the prior shares:

                       p(y | x_S) ~ p(y) prod_{j in S} N(x_j; mu_jy, sigma_jy)                                        (1)

                   the next column is that of the largest conditional mutual information, from (1), by quadrature

                       I(y; x_j | x_S) = h(x_j | x_S) - sum_y p(y | x_S) h(x_j | y)                                   (2)

                   True densities, of data that are drawn from such ones, are the yardstick: no other greedy policy knows more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from threadpoolctl import threadpool_limits

import prunemodels as pm
from benchmarks.data.cube import MEANS, SPREAD
from benchmarks.frontier.candidate import Candidate, Method, Scouted, candidate, rounded
from benchmarks.frontier.data import HARD
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals import columns, masked_networks, policy_network, value_network
from benchmarks.frontier.rivals.acquisition import Train, of_settings, walks_of
from benchmarks.frontier.rivals.boosted import lightgbm_engine
from benchmarks.frontier.rivals.forests import grown, over_leaves

Floats = NDArray[np.float64]
TRIED = 20  # columns that a step of the search for one order tries: those that did best one step before
GRID = np.linspace(-6, 6, 241)  # of (2), in deviations of a column
LEAST_SPREAD = 0.05  # of a column in a class, in its deviations: a column that is constant there would rule out all else


def refusal(problem: Problem) -> str | None:
    return None if problem.data in HARD else f"hard budgets are run on {', '.join(HARD)}"


def capped(
    problem: Problem, k: float, valid: Floats, test: Floats, paid: float, fit_s: float, params: Mapping[str, object]
) -> Candidate:
    """A candidate that costs its cap."""
    ends = {"max_cost": "the benchmark's own"}
    return candidate(problem, {**params, "max_cost": k}, valid, test, (k, paid), fit_s, 0.0, ends)  # type: ignore[dict-item]


def cascades(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """`BudgetCascadeClassifier(max_cost=k)` as it comes, a fit for each k, on the rows of both parts."""
    X = pd.concat([problem.train.table, problem.valid.table], ignore_index=True)
    y = np.concatenate([problem.train.y, problem.valid.y])
    for k in problem.budgets:
        start = time.process_time()
        with threadpool_limits(1):
            model = pm.BudgetCascadeClassifier(costs=problem.costs, max_cost=k, random_state=problem.seed, verbose=0).fit(X, y)
            seconds = time.process_time() - start
            valid, test = (model.predict_proba(part.table) for part in (problem.valid, problem.test))
            found = capped(problem, k, valid, test, float(model.prediction_cost(problem.test.table).max()), seconds, {})
        yield replace(found, valid_error=rounded(model.held_out_error_))


def asked_forest(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """A random forest of 40 trees, of which `OnDemandPredictor(max_cost=k)` asks for the features that decide the class."""

    def fit(least: int, ends: Mapping[str, str]) -> list[Candidate]:
        forest, seconds = grown(problem, least)
        found = []
        for k in problem.budgets:
            said, paid = [], 0.0
            for part in (problem.valid, problem.test):
                supplier = pm.on_demand.from_table(pd.DataFrame(part.X))
                walk = pm.OnDemandPredictor(forest, problem.costs, supplier, early_stopping=True, max_cost=k)
                result = walk.run(len(part.X))
                said.append(np.asarray(result.probabilities))
                paid = float(result.units.max() * result.unit)
            one = capped(problem, k, said[0], said[1], paid, seconds, {"min_samples_leaf": least})
            found.append(replace(one, ends={**one.ends, **ends}))
        return found

    yield from over_leaves(problem, scouted, fit)


def one_order(problem: Problem, scouted: Scouted) -> Iterator[Candidate]:
    """One order of the columns for all rows, and boosted trees on the first k."""
    order: list[int] = []
    rest, start = list(range(problem.n_features)), time.process_time()
    setting = columns.QUICK_SMALL if problem.is_small else columns.QUICK
    for k in range(1, int(problem.budgets[-1]) + 1):

        def loss(f: int) -> float:
            model = lightgbm_engine(problem, [*order, f], setting)
            return columns.loss_of(problem, problem.valid, model.predict(problem.valid.X))

        found = {f: loss(f) for f in (rest[:TRIED] if order else rest)}
        rest = sorted(found, key=lambda f: found[f]) + rest[TRIED if order else len(rest) :]
        order.append(rest.pop(0))
        if k in problem.budgets:
            seconds = time.process_time() - start
            for c in columns._climbed(problem, order, "LightGBM", None):
                yield replace(c, valid_cost=float(k), test_cost=float(k), fit_s=c.fit_s + seconds)


def networks(problem: Problem, scouted: Scouted, *, train: Train) -> Iterator[Candidate]:
    """Networks whose rows stop after k purchases; tuned for that."""
    table = masked_networks.Table(problem)
    rows = table.rows(problem.train)

    def fitted(setting: masked_networks.Setting) -> list[Candidate]:
        start = time.process_time()
        with masked_networks.one_thread(problem.seed):
            buyer = train(table, rows, setting)
            valid, test = (walks_of(table, buyer, table.rows(part)).predictions for part in (problem.valid, problem.test))
        seconds = time.process_time() - start
        caps = [(k, int(k)) for k in problem.budgets if k < valid.shape[1]]
        return [capped(problem, k, valid[:, t], test[:, t], k, seconds, setting.params) for k, t in caps]

    yield from of_settings(problem, scouted, fitted)


def by_densities(problem: Problem, scouted: Scouted, *, true: bool) -> Iterator[Candidate]:
    """Greedy purchases by (2), with densities that are learned, or the true ones."""
    start, (X, y) = time.process_time(), problem.train
    if true:
        middle, spread = MEANS, np.full(MEANS.shape, SPREAD)
    else:
        of_class = [X[y == c] for c in range(problem.n_classes)]
        middle = np.array([some.mean(axis=0) for some in of_class], dtype=np.float64)
        least = np.maximum(LEAST_SPREAD * X.std(axis=0), 1e-6)
        spread = np.array([np.maximum(some.std(axis=0), least) for some in of_class], dtype=np.float64)
    prior = np.bincount(y, minlength=problem.n_classes) / len(y)
    most = int(problem.budgets[-1])
    valid, test = (greedy(part.X, middle, spread, prior, most) for part in (problem.valid, problem.test))
    seconds = time.process_time() - start
    for k in problem.budgets:
        yield capped(problem, k, valid[int(k)], test[int(k)], k, seconds, {})


def greedy(X: NDArray[np.float32], middle: Floats, spread: Floats, prior: Floats, most: int) -> list[Floats]:
    """p(y | x_S) of every row after 0, ..., `most` purchases. `middle`, `spread`: shape (classes, columns)."""
    n, n_columns = X.shape
    deviation = np.sqrt(prior @ (spread**2 + middle**2) - (prior @ middle) ** 2)
    points = prior @ middle + deviation * GRID[:, None]  # (grid, columns)
    density = np.exp(-0.5 * ((points - middle[:, None]) / spread[:, None]) ** 2) / (spread[:, None] * np.sqrt(2 * np.pi))
    width = deviation * (GRID[1] - GRID[0])
    own = -(density * np.log(density + 1e-300)).sum(axis=1) * width  # h(x_j | y), shape (classes, columns)
    log_p = np.tile(np.log(prior), (n, 1))
    log_density = -0.5 * ((X[:, None] - middle) / spread) ** 2 - np.log(spread)  # (n, classes, columns)
    bought = np.zeros((n, n_columns), dtype=bool)
    found = [softmax(log_p, axis=1)]
    for _ in range(most):
        worth = -found[-1] @ own
        for j in range(n_columns):
            mixed = found[-1] @ density[:, :, j]
            worth[:, j] -= (mixed * np.log(mixed + 1e-300)).sum(axis=1) * width[j]
        chosen = np.where(bought, -np.inf, worth).argmax(axis=1)
        bought[np.arange(n), chosen] = True
        log_p += log_density[np.arange(n), :, chosen]
        found.append(softmax(log_p, axis=1))
    return found


def _network_refusal(problem: Problem) -> str | None:
    return refusal(problem) or masked_networks.refusal(problem)


METHODS = [
    Method("cascade, at most k", cascades, ours=True, refusal=refusal),
    Method("forest on demand, at most k", asked_forest, ours=True, refusal=refusal),
    Method("LightGBM, one order, at most k", one_order, refusal=refusal),
    Method("policy network (GDFS), at most k", partial(networks, train=policy_network.train), refusal=_network_refusal),
    Method("value network (DIME), at most k", partial(networks, train=value_network.train), refusal=_network_refusal),
    Method("normal densities, at most k", partial(by_densities, true=False), refusal=refusal),
    Method(
        "true densities, at most k",
        partial(by_densities, true=True),
        refusal=lambda problem: None if problem.data.startswith("cube") else "only the cube's densities are known",
    ),
]
