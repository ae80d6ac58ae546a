"""Nested sets of columns, one chain by backward elimination and one by importance per price.

Elimination begins with all columns. While there are many, a fifth of the columns is dropped at once, those with the least
increase of the loss per price; the increase is measured by shuffling a column of validation rows, with a quick LightGBM model
that is trained again after each step. From `FEW_COLUMNS` columns on, the model is trained without each of them in turn, and the
column is dropped whose absence costs least per price saved. A price is what the *set* saves, so items that other columns still
need do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.frontier.candidate import error_and_loss
from benchmarks.frontier.problem import Part, Problem
from benchmarks.frontier.rivals.engines import Setting, lightgbm_engine

FEW_COLUMNS = 9
QUICK = Setting(leaves=31, rate=0.2, rounds=80)
QUICK_SMALL = Setting(leaves=7, rate=0.1, rounds=80)
LEAST_INCREASE = 1e-3
"""An increase of the loss counts as at least this share of the loss."""

SHUFFLED_ROWS = 3000
"""Largest number of validation rows on which shuffled columns are judged."""


def eliminated(problem: Problem) -> tuple[list[list[int]], float]:
    """Sets from all columns to a single one, and the CPU seconds of the search; kept in the problem's memory."""
    kept = problem.memory.recall(f"elimination-{problem.seed}", lambda: _chain(problem))
    return kept["value"], kept["seconds"]


def _chain(problem: Problem) -> list[list[int]]:
    setting = QUICK_SMALL if problem.is_small else QUICK
    chain = [list(range(problem.n_features))]
    while len(chain[-1]) > 1:
        chain += _fewer(problem, chain[-1], setting)
    return chain


def _fewer(problem: Problem, columns: list[int], setting: Setting) -> list[list[int]]:
    """The next sets after this one."""
    price = problem.price_of(columns)
    saved = {f: price - problem.price_of([g for g in columns if g != f]) for f in columns}
    if len(columns) <= FEW_COLUMNS:
        loss = _loss(problem, problem.valid, lightgbm_engine(problem, columns, setting).predict(problem.valid.X))
        rest = [f for f in columns if saved[f] > 0] or columns
        without = {f: _loss_without(problem, columns, f, setting) for f in rest}
        order = sorted(rest, key=lambda f: (max(without[f] - loss, LEAST_INCREASE * loss) / max(saved[f], 1e-9), without[f]))
        return [[g for g in columns if g != order[0]]]
    harm = shuffled_harm(problem, columns, setting)
    order = sorted(columns, key=lambda f: max(harm[f], 1e-9) / max(saved[f], 1e-9))
    sets, rest = [], list(columns)
    for f in order[: max(1, len(columns) // 5)]:
        if len(rest) <= FEW_COLUMNS:
            break
        rest = [g for g in rest if g != f]
        sets.append(rest)
    return sets


def _loss(problem: Problem, part: Part, predictions: Any) -> float:
    return error_and_loss(problem, part.y, predictions)[1]


def _loss_without(problem: Problem, columns: Sequence[int], f: int, setting: Setting) -> float:
    rest = [g for g in columns if g != f]
    return _loss(problem, problem.valid, lightgbm_engine(problem, rest, setting).predict(problem.valid.X))


def shuffled_harm(problem: Problem, columns: Sequence[int], setting: Setting) -> dict[int, float]:
    """How much the validation loss grows if one column's cells are shuffled."""
    model, rng = lightgbm_engine(problem, columns, setting), np.random.default_rng(problem.seed)
    some = Part(problem.valid.X[:SHUFFLED_ROWS], problem.valid.y[:SHUFFLED_ROWS])
    before, harm = _loss(problem, some, model.predict(some.X)), {}
    for f in columns:
        X = some.X.copy()
        X[:, f] = rng.permutation(X[:, f])
        harm[f] = _loss(problem, some, model.predict(X)) - before
    return harm


def by_importance(problem: Problem, gain: Any) -> list[list[int]]:
    """Sets of the best columns by gain per price, with all columns that then cost nothing more."""
    order = sorted(range(problem.n_features), key=lambda f: -(gain[f] + 1e-12) / max(problem.alone[f], 1e-9))
    sets: list[list[int]] = []
    for k in range(1, problem.n_features + 1):
        bought = problem.price_of(order[:k])
        along = [f for f in order[k:] if problem.price_of([*order[:k], f]) <= bought]
        sets.append(sorted([*order[:k], *along]))
    return sets


def at_budgets(problem: Problem, sets: Sequence[Sequence[int]]) -> list[list[int]]:
    """The largest of the nested sets within each budget, each once, the cheapest first; on small problems all sets."""
    distinct = sorted({tuple(sorted(s)) for s in sets}, key=lambda s: (problem.price_of(s), len(s)))
    if problem.is_small and len(distinct) <= 25:
        return [list(s) for s in distinct]
    found: list[list[int]] = []
    for budget in problem.budgets:
        within = [s for s in distinct if problem.price_of(s) <= budget]
        if within and list(within[-1]) not in found:
            found.append(list(within[-1]))
    return found
