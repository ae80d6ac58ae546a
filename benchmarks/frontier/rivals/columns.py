"""What a user does today: choose columns, train a good library's model on them, and pay for the columns.

Sets of columns are nested, one chain by backward elimination and one by importance per price. Elimination begins with all
columns. While there are many, a fifth of the columns is dropped at once, those with the least increase of the loss per price; the
increase is measured by shuffling a column of validation rows, with a quick LightGBM model that is trained again after each step.
From `FEW_COLUMNS` columns on, the model is trained without each of them in turn, and the column is dropped whose absence costs
least per price saved. A price is what the *set* saves, so items that other columns still need do not count.

On the first seed the number of leaves is searched for every set of columns (on large data for every third set), from 63 (on small
data from 15) up or down while the validation error falls; the other sets take the leaves found for sets of similar size. On small
data examples pay for the splits that they meet, elsewhere for all columns of the model, which is the same to two digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.frontier.candidate import Candidate, Method, Scouted, Value, error_and_loss, measured
from benchmarks.frontier.problem import Part, Problem
from benchmarks.frontier.rivals.boosted import ENGINES, LEAVES, Boosted, Setting, lightgbm_engine, trees_of
from prunemodels.models.costs import example_costs

FEW_COLUMNS = 9
QUICK = Setting(leaves=31, rate=0.2, rounds=80)
QUICK_SMALL = Setting(leaves=7, rate=0.1, rounds=80)
LEAST_INCREASE = 1e-3  # an increase of the loss counts as at least this share of the loss
SHUFFLED_ROWS = 3000  # largest number of validation rows on which shuffled columns are judged


def eliminated(problem: Problem) -> tuple[list[list[int]], float]:
    """Sets from all columns to a single one, and the CPU seconds of the search; kept in the problem's memory."""

    def chain() -> list[list[int]]:
        sets = [list(range(problem.n_features))]
        while len(sets[-1]) > 1:
            sets += _fewer(problem, sets[-1], QUICK_SMALL if problem.is_small else QUICK)
        return sets

    kept = problem.memory.recall(f"elimination-{problem.seed}", chain)
    return kept["value"], kept["seconds"]


def _fewer(problem: Problem, columns: list[int], setting: Setting) -> list[list[int]]:
    price = problem.price_of(columns)
    saved = {f: price - problem.price_of([g for g in columns if g != f]) for f in columns}
    if len(columns) <= FEW_COLUMNS:

        def trained(some: list[int]) -> float:
            return loss_of(problem, problem.valid, lightgbm_engine(problem, some, setting).predict(problem.valid.X))

        loss = trained(columns)
        rest = [f for f in columns if saved[f] > 0] or columns
        without = {f: trained([g for g in columns if g != f]) for f in rest}
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


def loss_of(problem: Problem, part: Part, predictions: Any) -> float:
    return error_and_loss(problem, part.y, predictions)[1]


def shuffled_harm(problem: Problem, columns: Sequence[int], setting: Setting) -> dict[int, float]:
    """How much the validation loss grows if one column's cells are shuffled."""
    model, rng = lightgbm_engine(problem, columns, setting), np.random.default_rng(problem.seed)
    some = Part(problem.valid.X[:SHUFFLED_ROWS], problem.valid.y[:SHUFFLED_ROWS])
    before, harm = loss_of(problem, some, model.predict(some.X)), {}
    for f in columns:
        X = some.X.copy()
        X[:, f] = rng.permutation(X[:, f])
        harm[f] = loss_of(problem, some, model.predict(X)) - before
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


Sets = Callable[[Problem], tuple[list[list[int]], float]]


def most_important(problem: Problem) -> tuple[list[list[int]], float]:
    """Sets of columns by their gain, per price, in a LightGBM model of all columns."""

    def gain() -> list[float]:
        setting = QUICK_SMALL if problem.is_small else QUICK
        found = ENGINES["LightGBM"](problem, range(problem.n_features), setting).gain
        return [] if found is None else found.tolist()

    kept = problem.memory.recall(f"gain-{problem.seed}", gain)
    return by_importance(problem, kept["value"]), kept["seconds"]


def retrained(problem: Problem, scouted: Scouted, *, engine: str, sets: Sets) -> Iterator[Candidate]:
    found, seconds = sets(problem)
    known: list[Mapping[str, Value]] = list(scouted or ())
    for place, columns in enumerate(at_budgets(problem, found)):
        rungs = _leaves_near(known, len(columns)) if scouted or (place % 3 and not problem.is_small) else None
        models = _climbed(problem, columns, engine, rungs)
        known += [] if scouted else [min(models, key=lambda c: (c.valid_error, c.valid_loss)).params]
        for c in models:
            yield Candidate(**{**vars(c), "fit_s": c.fit_s + seconds})
            seconds = 0.0  # the search for sets counts only once


def _leaves_near(scouted: Sequence[Mapping[str, Value]], k: int) -> list[int] | None:
    """The leaves that were chosen for the most similar number of columns."""
    if not scouted:
        return None
    nearest = min(scouted, key=lambda params: abs(int(params["columns"]) - k))
    return [LEAVES.index(int(nearest["leaves"]))]


def _climbed(problem: Problem, columns: Sequence[int], engine: str, rungs: Sequence[int] | None) -> list[Candidate]:
    if rungs is not None:
        return [fitted(problem, columns, engine, LEAVES[r]) for r in rungs]
    middle = LEAVES.index(15 if problem.is_small else 63)
    tried = {middle: fitted(problem, columns, engine, LEAVES[middle])}
    for step in (1, -1):
        rung = middle
        while 0 <= rung + step < len(LEAVES):
            tried[rung + step] = fitted(problem, columns, engine, LEAVES[rung + step])
            new, old = tried[rung + step], tried[rung]
            if (new.valid_error, new.valid_loss) >= (old.valid_error, old.valid_loss):
                break
            rung += step
        if rung != middle:
            break  # this side is better, so the other one need not be tried
    return list(tried.values())


def fitted(problem: Problem, columns: Sequence[int], engine: str, leaves: int) -> Candidate:
    rate = 0.2 if problem.n_classes > 3 else 0.1
    model = ENGINES[engine](problem, columns, Setting(leaves, rate))
    params: dict[str, Value] = {"columns": len(columns), "leaves": leaves, "rounds": model.rounds}
    ends = {"columns": "one column, or all, or what the least budget buys"}
    if leaves in (LEAVES[0], LEAVES[-1]):
        ends["leaves"] = "a tree has two leaves at least, and so many at most that each has its least rows"
    if model.stopped_early:
        ends["rounds"] = "the validation loss rose"
    return measured(problem, params, model.predict, costs_of(problem, columns, model), model.fit_s, ends)


def costs_of(problem: Problem, columns: Sequence[int], model: Boosted) -> tuple[float, float]:
    """Mean cost on the validation and the test part."""
    flat = problem.price_of(columns)
    ensemble = trees_of(model, columns, problem.n_features) if problem.is_small else None
    if ensemble is None:
        return flat, flat
    paid = [float(example_costs(ensemble, part.X, problem.costs).mean()) for part in (problem.valid, problem.test)]
    return paid[0], paid[1]


METHODS = [
    Method("LightGBM, most important columns", partial(retrained, engine="LightGBM", sets=most_important)),
    *(Method(f"{name}, backward elimination", partial(retrained, engine=name, sets=eliminated)) for name in ENGINES),
]
