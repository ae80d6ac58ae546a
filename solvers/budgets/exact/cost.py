"""Exact costs, and the room that a budget leaves."""

from __future__ import annotations

from fractions import Fraction

from formulations.answers.pruning import Pruning
from formulations.instance.problem import PruningProblem


def exact_cost(pruning: Pruning) -> Fraction:
    """The real cost as a fraction, from prices and weights as they were given, even if the instance was rounded."""
    problem = pruning.problem
    if problem.integers.cost_rounding == 0:
        return pruning.exact_cost
    weight = [Fraction(repr(float(w))) for w in problem.weights]
    total = sum(weight)
    paid = Fraction(0)
    for price, bought in zip(problem.costs.prices, pruning.bought, strict=True):
        if price:
            paid += price * sum((weight[i] for i in bought.nonzero()[0].tolist()), Fraction(0)) / total
    for m in pruning.bought_once.nonzero()[0].tolist():
        paid += problem.costs.prices[m]
    return paid + _evaluation(pruning, weight) / total


def _evaluation(pruning: Pruning, weight: list[Fraction]) -> Fraction:
    """Sum over kept splits of a_f |S_h|."""
    problem = pruning.problem
    routing, ensemble = problem.routing, problem.ensemble
    paid = Fraction(0)
    for h in pruning.kept.nonzero()[0].tolist():
        a = problem.evaluation[int(ensemble.feature[h])]
        if a:
            rows = routing.order[ensemble.tree_of[h], routing.start[h] : routing.stop[h]]
            paid += a * sum((weight[i] for i in rows.tolist()), Fraction(0))
    return paid


def room(problem: PruningProblem, budget: Fraction) -> int:
    """The largest integer cost that certainly fits the budget, whatever the rounding errors of the instance are."""
    spare = budget - Fraction(problem.integers.cost_rounding)
    return int(spare // problem.integers.price_unit) if spare >= 0 else -1
