"""What a user does today: choose columns, train a good library's model on them, and pay for the columns.

On the first seed the number of leaves is searched for every set of columns (on large data for every third set), from 63 (on small
data from 15) up or down while the validation error falls; the other sets take the leaves found for sets of similar size. On small
data examples pay for the splits that they meet, elsewhere for all columns of the model, which is the same to two digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from benchmarks.frontier.candidate import Candidate, FunctionMethod, Value, measured
from benchmarks.frontier.problem import Problem
from benchmarks.frontier.rivals.engines import ENGINES, Boosted, Setting, trees_of
from benchmarks.frontier.rivals.sets import QUICK, QUICK_SMALL, at_budgets, by_importance, eliminated
from prunemodels.models.costs import example_costs

LEAVES = (2, 3, 5, 8, 15, 31, 63, 127, 255, 511, 1023, 2047)
"""Rungs of the search for leaves. Two leaves are the fewest possible; 2,047 are more than the rows support."""

Sets = Callable[[Problem], tuple[list[list[int]], float]]


def most_important(problem: Problem) -> tuple[list[list[int]], float]:
    """Sets of columns by their gain, per price, in a LightGBM model of all columns."""

    def gain() -> list[float]:
        setting = QUICK_SMALL if problem.is_small else QUICK
        found = ENGINES["LightGBM"](problem, range(problem.n_features), setting).gain
        return [] if found is None else found.tolist()

    kept = problem.memory.recall(f"gain-{problem.seed}", gain)
    return by_importance(problem, kept["value"]), kept["seconds"]


def retrained(problem: Problem, scouted: Sequence[Mapping[str, Value]] | None, *, engine: str, sets: Sets) -> Iterator[Candidate]:
    """Models on nested sets of columns."""
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
            if not _better(tried[rung + step], tried[rung]):
                break
            rung += step
        if rung != middle:
            break  # this side is better, so the other one need not be tried
    return list(tried.values())


def _better(a: Candidate, b: Candidate) -> bool:
    return (a.valid_error, a.valid_loss) < (b.valid_error, b.valid_loss)


def fitted(problem: Problem, columns: Sequence[int], engine: str, leaves: int) -> Candidate:
    """One model as a candidate."""
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
    FunctionMethod("LightGBM, most important columns", partial(retrained, engine="LightGBM", sets=most_important)),
    *(FunctionMethod(f"{name}, backward elimination", partial(retrained, engine=name, sets=eliminated)) for name in ENGINES),
]
