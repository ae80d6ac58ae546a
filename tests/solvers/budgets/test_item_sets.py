"""Prunings within a budget by sets of items, for edges that are too large for a cut."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.answers.pruning import Pruning
from solvers.budgets import search
from solvers.budgets.item_sets import kept_by_items
from solvers.budgets.search import best_within
from solvers.path.pruning_path import pruning_path
from tests.loops import looped
from tests.solvers.cases import instance

NAMES = ("iris", "wine, groups", "wine, evaluation", "breast cancer, licence", "breast cancer, discounts", "iris, weights")


@looped("name", NAMES)
def test_the_pruning_is_between_the_ends_and_within_the_budget(name: str) -> None:
    """For budgets from nothing to all; where all fits it is the outer end."""
    problem = instance(name)
    path = pruning_path(problem)
    outer, inner = path[0], path[len(path) - 1]
    gains = []
    for share in (0.0, 0.3, 0.6, 0.9, 1.0):
        most = inner.integer_cost + int(share * (outer.integer_cost - inner.integer_cost))
        found = Pruning(problem, kept_by_items(problem, outer.kept, inner.kept, most))
        assert (inner.kept <= found.kept).all()
        assert (found.kept <= outer.kept).all()
        assert found.integer_cost <= most
        gains.append(found.integer_gain)
    assert gains[0] < gains[-2]
    assert gains[-1] == outer.integer_gain


def test_an_edge_that_is_too_large_for_a_cut_is_filled_by_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer is no worse than the cheaper end, keeps the relaxation's bound, and makes no part of the edge."""
    problem = instance("breast cancer, licence")
    path = pruning_path(problem)
    costs = np.array([float(c) for c in path.exact_cost])
    row = int(np.argmax(costs[:-1] - costs[1:])) + 1
    budget = float(costs[row] + costs[row - 1]) / 2
    monkeypatch.setattr(search, "SMALL_EDGE", 0.0)
    monkeypatch.setattr(search, "open_part", None)
    found = best_within(problem, budget, path=path, work=1e-6)
    assert found.cost <= budget
    assert found.bound <= found.error <= path.error[row]
    assert found.bound == best_within(problem, budget, path=path, work=0).bound
