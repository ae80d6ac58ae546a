"""A budget needs no path: the edge of the hull around it is that of the whole path, and the answer is as good."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from solvers.budgets import solve
from solvers.budgets.by_path import relaxed_optimum
from solvers.budgets.solve import solve_budget
from solvers.path import large_parts
from solvers.path import pruning_path as pruning_path_module
from solvers.path.pruning_path import divide_and_conquer, pruning_path
from solvers.price_sharing.run import Run
from tests.loops import looped
from tests.solvers.cases import instance

NAMES = ("iris", "wine, groups", "wine, evaluation", "breast cancer, licence", "breast cancer, discounts", "iris, weights")


@looped("name", NAMES)
def test_the_rows_around_a_cost_are_those_of_the_path(name: str) -> None:
    """The same mixture at costs between rows, at rows, and at the ends; elsewhere rows may be missing, and none is wrong."""
    problem = instance(name)
    path = pruning_path(problem)
    costs = path.exact_cost
    fewest = len(path)
    between = ((a + 2 * b) / 3 for a, b in pairwise(costs))
    for cost in (Fraction(0), *costs[:: max(1, len(costs) // 5)], *between, 2 * costs[0]):
        near = divide_and_conquer(problem, largest=0, around=cost)
        fewest = min(fewest, len(near))
        one, other = relaxed_optimum(near, cost), relaxed_optimum(path, cost)
        assert (one.value, one.lam, one.weight) == (other.value, other.lam, other.weight)
        np.testing.assert_array_equal(one.cheaper.kept, other.cheaper.kept)
        np.testing.assert_array_equal(one.dearer.kept, other.dearer.kept)
        assert set(near.exact_cost) <= set(costs)
    assert fewest < len(path)


@looped("name", NAMES)
def test_the_answer_without_a_path_is_that_with_one(name: str) -> None:
    """Small instances are solved whole: prunings, errors and bounds are the same to the last bit."""
    problem = instance(name)
    path = pruning_path(problem)
    for share in (0.2, 0.5, 0.8):
        budget = float(path.cost[0]) * share
        one, other = solve_budget(problem, budget), solve_budget(problem, budget, path=path)
        assert (one.error, one.bound, one.cost) == (other.error, other.bound, other.cost)
        np.testing.assert_array_equal(one.pruning.kept, other.pruning.kept)


def test_the_gap_of_an_edge_that_is_not_proven_lowers_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds that stop early leave a gap; the bound is below that of the proven edge by no more than that, and true."""
    problem = instance("breast cancer, licence")
    path = pruning_path(problem)
    for setting, value in (("LIKELY", 10.0), ("QUICK_CUT", -1), ("SMALL_CORE", 0)):
        monkeypatch.setattr(large_parts, setting, value)
    monkeypatch.setattr(Run, "_take_if_better", lambda run, keep, value: None)
    monkeypatch.setattr(pruning_path_module, "MOST_ARCS_AROUND", -1)
    whole = divide_and_conquer
    monkeypatch.setattr(solve, "divide_and_conquer", lambda *args, **named: whole(*args, **named, largest=0))
    gaps = []
    for share in (0.3, 0.6, 0.9):
        budget = float(path.cost[0]) * share
        found = solve_budget(problem, budget, method="path")
        true = solve_budget(problem, budget, method="path", path=path)
        gaps.append(true.bound - found.bound)
        assert found.bound <= true.bound + 1e-12
        assert found.cost <= budget
    assert max(gaps) > 0
