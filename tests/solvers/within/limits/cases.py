"""Instances by hand, limits drawn at random, and a slow count of what examples use."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations import CostItems, Pruning, PruningProblem
from formulations.instance.limit import Limit
from formulations.programs.limit_rows import limit_rows
from tests.instances import Node, problem_of, way


def two_wards(**options: object) -> PruningProblem:
    """Feature 0 parts rows 0, 1 (left, x = 0) from 2, 3 (right, x = 1), free; left asks feature 1 at 6, right feature 2 at 2.
    Each of the two lower splits gains 3 of 10; the root by itself gains nothing. Feature 1 takes 1 minute, feature 2 takes 5.
    """
    left, right = Node(4, 1, 0.5, Node(0), Node(1)), Node(4, 2, 0.5, Node(1), Node(0))
    X = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]], dtype=float)
    costs = CostItems.plain([0, 6, 2], ["ward", "scan", "blood"]).with_currency("minutes", {"scan": 1, "blood": 5})
    return problem_of([Node(8, 0, 0.5, left, right)], costs, X, **options)  # type: ignore[arg-type]


def chain(evaluation_cost: float = 0) -> PruningProblem:
    """Features 0, 1, 2 of price 1 each, one below the other on the right; each split gains 1 of 10, the last one 4."""
    last = Node(5, 2, 0.5, Node(1), Node(0))
    middle = Node(7, 1, 0.5, Node(1), last)
    X = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=float)
    costs = CostItems.plain([1, 1, 1])
    return problem_of([Node(9, 0, 0.5, Node(1), middle)], costs, X, evaluation_cost=evaluation_cost)


def slow_uses(
    problem: PruningProblem, kept: NDArray[np.bool_], amounts: dict[str, Fraction], *, evaluated: bool
) -> list[Fraction]:
    """What each row of positive weight uses by walking it down every tree, items paid once in full where anybody needs them."""
    ensemble, costs = problem.ensemble, problem.costs
    X = np.asarray(problem.X, dtype=np.float32)[problem.usage.rows]
    needed = {m for h in np.flatnonzero(kept) for m in costs.needs[int(ensemble.feature[h])]}
    fixed = sum((amounts.get(costs.names[m], Fraction(0)) for m in needed if costs.paid_once[m]), Fraction(0))
    found = []
    for x in X:
        mine, used = set[int](), fixed
        for h in ensemble.roots.tolist():
            for f in ensemble.feature[way(ensemble, h, x, kept)[:-1]].tolist():
                mine |= set(costs.needs[f])
                used += problem.usage.evaluation[f] if evaluated else 0
        found.append(used + sum((amounts.get(costs.names[m], Fraction(0)) for m in mine if not costs.paid_once[m]), Fraction(0)))
    return found


def prices(problem: PruningProblem) -> dict[str, Fraction]:
    """By item."""
    return dict(zip(problem.costs.names, problem.costs.prices, strict=True))


def mean(problem: PruningProblem, amounts: list[Fraction], members: NDArray[np.int64]) -> Fraction:
    """The weighted mean over some rows of positive weight."""
    weight = [Fraction(repr(float(problem.usage.weights[i]))) for i in members]
    return sum((w * amounts[i] for w, i in zip(weight, members, strict=True)), Fraction(0)) / sum(weight, Fraction(0))


def drawn(problem: PruningProblem, rng: np.random.Generator) -> list[Limit]:
    """One to four different limits, each a share of what the unpruned forest uses."""
    names = problem.costs.names
    mask = rng.random(len(problem.X)) < 0.5  # type: ignore[arg-type]
    mask[problem.usage.rows[0]] = True
    other = {names[-1]: Fraction(3, 7), names[0]: Fraction(1, 5)}
    kinds = [Limit(1), Limit(1, names[0]), Limit(1, rows=mask), Limit(1, each=True), Limit(1, other, rows=mask, each=True)]
    kinds += [Limit(1, of) for of in ("leaves", "items", "splits")]
    chosen = [kinds[k] for k in rng.choice(len(kinds), rng.integers(1, 5), replace=False)]
    least = [Fraction(problem.ensemble.n_trees if limit.of == "leaves" else 0) for limit in chosen]
    rows = limit_rows(problem, [Limit(10**9, limit.of, rows=limit.rows, each=limit.each) for limit in chosen])
    uses = rows.uses(Pruning.unpruned(problem))
    most = [max(use for use, row in zip(uses, rows.rows, strict=True) if row.limit == k) for k in range(len(chosen))]
    shares = [Fraction(int(rng.integers(0, 11)), 10) for _ in chosen]
    limits = [a + s * (b - a) for a, b, s in zip(least, most, shares, strict=True)]
    return [Limit(b, limit.of, rows=limit.rows, each=limit.each) for b, limit in zip(limits, chosen, strict=True)]
