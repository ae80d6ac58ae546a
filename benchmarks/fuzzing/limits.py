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

import prunemodels as pm
from benchmarks.fuzzing import answers
from benchmarks.fuzzing.answers import Enumerated, Judge, keeps, sentences, wrong_bounded
from formulations.answers.limited_solution import LimitedSolution
from formulations.instance.limit import Limit
from solvers.within import solve_limits
from tests.instances import with_usage
from tests.solvers.within.limits.cases import mean, prices, slow_uses

MOST_LIMITS = 4
Uses = list[Fraction]  # what each pruning of an instance uses of a limit


def _calls(instance: Enumerated, rng: np.random.Generator) -> Iterator[tuple[str, Judge]]:
    limits, uses = drawn(instance, rng)
    method = str(rng.choice(["path", "best", "exact"]))
    engine = lambda: replace(solve_limits(instance.problem, limits, method=method), method=method)  # noqa: E731  # type: ignore[arg-type]
    yield f"{method}, {limits}", partial(_judge_answer, instance, limits, uses, engine)
    for options in ({}, {"method": method}):
        ask = partial(pm.solve, instance.problem, limits=limits, **options)
        yield f"pm.solve, {limits}, {options}", partial(_judge_answer, instance, limits, uses, ask)


findings = partial(answers.findings, calls=_calls)


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
    problem, costs = instance.problem, instance.problem.costs
    if limit.of in ("splits", "leaves"):
        return [Fraction(int(kept.sum()) + (problem.ensemble.n_trees if limit.of == "leaves" else 0)) for kept in instance.kept]
    if limit.of == "items":
        needs = [{m for m in items if costs.prices[m] > 0} for items in costs.needs]
        return [Fraction(len(set().union(*(needs[f] for f in problem.ensemble.feature[kept])))) for kept in instance.kept]
    amounts = prices(problem) if limit.of == "cost" else {}
    if limit.of in costs.names:  # the share of the rows that ask for the item, also if it is paid once for all
        amounts = {str(limit.of): Fraction(1)}
        problem = with_usage(problem, costs=replace(costs, once=None))
    elif not isinstance(limit.of, str):
        amounts = {name: Fraction(amount) for name, amount in limit.of.items()}
    members = np.arange(problem.usage.n_rows) if limit.rows is None else np.flatnonzero(np.isin(problem.usage.rows, limit.rows))
    used = [slow_uses(problem, kept, amounts, evaluated=limit.of == "cost") for kept in instance.kept]
    return [max(of_rows[i] for i in members) if limit.each else mean(problem, of_rows, members) for of_rows in used]
