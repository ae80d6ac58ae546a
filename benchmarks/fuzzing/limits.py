"""Limits of every kind, one to four at a time, against enumeration in fractions.

The instances are those of `benchmarks.fuzzing.answers`. Limits lie exactly at what a pruning uses, one float beside it, or at a
share of the most that any pruning uses. What a row uses is counted here by walking it down every tree. For each answer:

    uses       are within the limits exactly; floats by uses rounded to floats                                            (1)
    error      is the pruning's, the bound at most the least error within the limits, OPTIMAL said only of that           (2)
    checker    confirms the answer, by the proof that it carries                                                          (3)

Each is asked of the engine, and of `pm.solve`, without a name and with the engine's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.fuzzing import answers
from benchmarks.fuzzing.answers import Enumerated, Judge, keeps, sentences, wrong_bounded
from formulations import PruningProblem
from formulations.answers.limited_solution import LimitedSolution
from formulations.instance.limit import Limit
from solvers.within import solve_limits

MOST_LIMITS = 4

Uses = list[Fraction]  # what each pruning of an instance uses of a limit


def _calls(instance: Enumerated, rng: np.random.Generator) -> Iterator[tuple[str, Judge]]:
    limits, uses = drawn(instance, rng)
    method = str(rng.choice(["path", "best", "exact"]))
    yield f"{method}, {limits}", partial(_judge, instance, limits, uses, method)
    for options in ({}, {"method": method}):
        ask = partial(pm.solve, instance.problem, limits=limits, **options)
        yield f"pm.solve, {limits}, {options}", partial(_judge_answer, instance, limits, uses, ask)


findings = partial(answers.findings, calls=_calls)


def _judge(instance: Enumerated, limits: list[Limit], uses: list[Uses], method: str) -> Iterator[str]:
    ask = lambda: replace(solve_limits(instance.problem, limits, method=method), method=method)  # noqa: E731  # type: ignore[arg-type]
    return _judge_answer(instance, limits, uses, ask)


def _judge_answer(
    instance: Enumerated, limits: list[Limit], uses: list[Uses], ask: Callable[[], LimitedSolution]
) -> Iterator[str]:
    """(1) to (3)."""
    solution = ask()
    k = instance.number_of(solution.pruning.kept)
    for limit, of_each, stated in zip(limits, uses, solution.uses, strict=True):
        yield from sentences(
            (stated != of_each[k], f"uses {stated} of {limit.title}, recomputed {of_each[k]}"),
            (not keeps(of_each[k], limit.at_most), f"uses {of_each[k]} of {limit.title}, at most {limit.at_most!r}"),  # type: ignore[arg-type]
        )
    allowed = [all(keeps(u[j], b.at_most) for u, b in zip(uses, limits, strict=True)) for j in range(len(instance.kept))]  # type: ignore[arg-type]
    yield from wrong_bounded(instance, solution, instance.least_error(allowed.__getitem__))


def drawn(instance: Enumerated, rng: np.random.Generator) -> tuple[list[Limit], list[Uses]]:
    """One to four different limits, and what each pruning uses of them."""
    problem, names = instance.problem, instance.problem.costs.names
    rows = problem.usage.rows[rng.random(problem.usage.n_rows) < 0.5]
    rows = rows if rows.size else problem.usage.rows[:1]
    other = {name: Fraction(int(rng.integers(0, 30)), int(rng.integers(1, 8))) for name in names}
    item = str(rng.choice(names))
    kinds = [
        Limit(1),
        Limit(1, item),
        Limit(1, other, name="minutes"),
        Limit(1, rows=rows, name="group"),
        Limit(1, other, rows=rows, name="group's minutes"),
        Limit(1, each=True),
        Limit(1, other, rows=rows, each=True, name="each minute"),
        *(Limit(1, size) for size in ("splits", "leaves", "items")),
    ]
    chosen = [kinds[k] for k in rng.choice(len(kinds), int(rng.integers(1, MOST_LIMITS + 1)), replace=False)]
    uses = [_uses(instance, limit) for limit in chosen]
    one = int(rng.integers(len(instance.kept)))
    limits = [
        Limit(_at_most(of_each, one, rng), limit.of, rows=limit.rows, each=limit.each, name=limit.name)
        for limit, of_each in zip(chosen, uses, strict=True)
    ]
    return limits, uses


def _at_most(uses: Uses, k: int, rng: np.random.Generator) -> float | Fraction:
    """What pruning k uses, as a fraction, or as a float at it or beside it; or a share of the most; never below the least."""
    least, way = min(uses), rng.random()
    if way < 0.4:
        return uses[k]
    if way < 0.6:
        return float(uses[k])
    if way < 0.8:
        return max(math.nextafter(float(uses[k]), float(rng.choice([0.0, math.inf]))), float(least))
    return max(least, max(uses) * Fraction(int(rng.integers(0, 11)), 10))


def _uses(instance: Enumerated, limit: Limit) -> Uses:
    """What each pruning uses of a limit, by hand."""
    problem = instance.problem
    if limit.of in ("splits", "leaves"):
        return [Fraction(int(kept.sum()) + (problem.ensemble.n_trees if limit.of == "leaves" else 0)) for kept in instance.kept]
    if limit.of == "items":
        priced = [m for m, price in enumerate(problem.costs.prices) if price > 0]
        return [Fraction(len(_needed(problem, kept) & set(priced))) for kept in instance.kept]
    if isinstance(limit.of, str):
        shared = limit.of in problem.costs.names
        amounts = [Fraction(int(name == limit.of)) for name in problem.costs.names] if shared else list(problem.costs.prices)
    else:
        shared, amounts = False, [Fraction(limit.of.get(name, 0)) for name in problem.costs.names]
    rows = problem.usage.rows if limit.rows is None else limit.rows
    place = {int(row): i for i, row in enumerate(problem.usage.rows)}
    weight = [Fraction(repr(float(problem.usage.weights[place[int(r)]]))) for r in rows]
    found = []
    for kept in instance.kept:
        used = _row_uses(problem, kept, rows, amounts, evaluated=limit.of == "cost", everybody=not shared)
        mean = sum((w * u for w, u in zip(weight, used, strict=True)), Fraction(0)) / sum(weight, Fraction(0))
        found.append(max(used) if limit.each else mean)
    return found


def _needed(problem: PruningProblem, kept: NDArray[np.bool_]) -> set[int]:
    """The items that anybody may ask for."""
    return {m for h in np.flatnonzero(kept) for m in problem.costs.needs[int(problem.ensemble.feature[h])]}


def _row_uses(
    problem: PruningProblem,
    kept: NDArray[np.bool_],
    rows: NDArray[np.int64],
    amounts: list[Fraction],
    *,
    evaluated: bool,
    everybody: bool,
) -> Uses:
    """What each row uses, walked down every tree; with `everybody` items paid once count for every row if anybody needs them."""
    ensemble, costs = problem.ensemble, problem.costs
    X = np.asarray(problem.X, dtype=np.float32)
    for_all = {m for m in _needed(problem, kept) if costs.paid_once[m]} if everybody else set()
    found = []
    for row in rows:
        items, used = set(for_all), Fraction(0)
        for h in ensemble.roots.tolist():
            while kept[h]:
                f = int(ensemble.feature[h])
                items |= set(costs.needs[f])
                used += problem.usage.evaluation[f] if evaluated else 0
                h = int(ensemble.left[h] if X[row, f] <= ensemble.threshold[h] else ensemble.right[h])
        found.append(used + sum((amounts[m] for m in items), Fraction(0)))
    return found
