"""`pm.solve`: each kind of question goes to the engine that the method names, and comes back unchanged."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import Solution
from formulations.answers.limited_solution import LimitedSolution
from formulations.instance.papers import two_trees
from prunemodels import solving
from solvers import optimal_pruning
from solvers.closures.min_cut import min_cut
from solvers.within import BUDGET_SOLVERS, best_breakpoint, solve_limits
from tests.instances import random_problem


def same(found: Any, expected: Any) -> None:
    """The same pruning and the same bound."""
    assert np.array_equal(found.pruning.kept, expected.pruning.kept)
    assert found.bound == expected.bound
    assert found.status is expected.status


@pytest.mark.parametrize("seed", range(3))
def test_a_lambda_goes_to_the_engine_that_the_size_asks_for(seed: int) -> None:
    """The default is `optimal_pruning`, and the solution names the engine."""
    problem = random_problem(seed)
    found = pm.solve(problem, lam=0.125)
    same(found, optimal_pruning(problem, 0.125))
    assert isinstance(found, Solution)
    assert found.method == "min_cut"
    assert found.certificate is not None


def test_a_registered_engine_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine of one's own needs a line in the registry, nothing else; all of its options may be given."""

    def mine(problem: pm.PruningProblem, lam: float, **options: Any) -> Solution:
        assert options == {"time_limit": 3.0, "colour": "red"}
        return min_cut(problem, lam)

    monkeypatch.setitem(solving.SOLVERS, "mine", mine)  # type: ignore[arg-type]
    assert pm.solve(two_trees(), lam=0.2, method="mine", time_limit=3.0, colour="red").method == "mine"


def test_options_reach_the_engine() -> None:
    """The largest optimum is another one where there is a tie."""
    problem = two_trees()
    lam = pm.pruning_path(problem).breakpoints[1]
    for ties in ("smallest", "largest"):
        same(pm.solve(problem, lam=lam, ties=ties), min_cut(problem, lam, ties=ties))  # type: ignore[arg-type]
    fewer, more = (pm.solve(problem, lam=lam, ties=ties).pruning for ties in ("smallest", "largest"))
    assert fewer is not None
    assert more is not None
    assert fewer.n_splits < more.n_splits


def test_no_time_limit_is_the_default_for_a_lambda(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the caller gives is passed on, nothing given is no limit."""
    limits = []

    def recorded(problem: pm.PruningProblem, lam: float, *, time_limit: float) -> Solution:
        limits.append(time_limit)
        return min_cut(problem, lam)

    monkeypatch.setattr(solving, "optimal_pruning", recorded)
    monkeypatch.setitem(solving.SOLVERS, "recorded", recorded)  # type: ignore[arg-type]
    pm.solve(two_trees(), lam=0.2)
    pm.solve(two_trees(), lam=0.2, time_limit=7)
    pm.solve(two_trees(), lam=0.2, method="recorded")
    assert limits == [math.inf, 7, math.inf]


@pytest.mark.parametrize(("method", "name"), [("auto", "best"), ("path", "path"), ("best", "best"), ("exact", "exact")])
def test_a_budget_goes_to_its_engine(method: str, name: str) -> None:
    """The default is "best"."""
    problem = random_problem(4)
    budget = pm.Pruning.unpruned(problem).cost / 2
    found = pm.solve(problem, budget=budget, method=method)
    assert isinstance(found, LimitedSolution)
    same(found, BUDGET_SOLVERS[name](problem, budget))
    assert found.method == name
    assert found.cost <= budget


@pytest.mark.parametrize("method", ["brute_force", "highs_lp1"])
def test_a_budget_goes_to_the_engine_of_that_name(method: str) -> None:
    """So do the other names of `BUDGET_SOLVERS`."""
    problem = two_trees()
    found = pm.solve(problem, budget=2, method=method)
    same(found, pm.BUDGET_SOLVERS[method](problem, 2))
    assert found.method == method


def test_the_time_limit_of_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing given is no limit of time: engines choose their own, of work."""
    limits = []

    def recorded(problem: pm.PruningProblem, budget: float, *, time_limit: float = -1) -> LimitedSolution:
        limits.append(time_limit)
        return best_breakpoint(problem, budget)

    monkeypatch.setitem(solving.BUDGET_SOLVERS, "best", recorded)  # type: ignore[arg-type]
    monkeypatch.setitem(solving.BUDGET_SOLVERS, "recorded", recorded)  # type: ignore[arg-type]
    for method in ("auto", "recorded"):
        pm.solve(two_trees(), budget=2, method=method)
        pm.solve(two_trees(), budget=2, method=method, time_limit=5)
    assert limits == [-1, 5, -1, 5]


@pytest.mark.parametrize("method", ["auto", "path", "best", "exact"])
def test_limits(method: str) -> None:
    """Limits go to their engine, and one plain limit is a budget."""
    problem = random_problem(5)
    limits = [pm.Limit(1.5, rows=[0, 2]), pm.Limit(2, rows=np.array([False, True, False]))]
    found = pm.solve(problem, limits=limits, method=method)
    same(found, solve_limits(problem, limits, method="best" if method == "auto" else method))  # type: ignore[arg-type]
    assert found.method == ("best" if method == "auto" else method)
    assert all(use <= most for use, most in zip(found.uses, found.at_most, strict=True))
    one, plain = pm.solve(problem, limits=[pm.Limit(1)], method=method), pm.solve(problem, budget=1, method=method)
    assert (one.error, one.bound) == (plain.error, plain.bound)


def test_errors_fall_with_the_budget() -> None:
    """Budgets of one list, in any order, share what they find: a tiny limit leaves no larger budget with a worse pruning."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(8, max_depth=7, random_state=0).fit(X[:800], y[:800])
    problem = pm.problem_from_forest(forest, X[800:900], costs=1.0)
    path = pm.pruning_path(problem, certificate=False)
    budgets = [float(share * path.exact_cost[0] / 40) for share in (17, 6, 25, 11, 18, 19)]
    found = pm.solve(problem, budget=budgets, work=0.02, path=path)
    for budget, one in zip(budgets, found, strict=True):
        assert isinstance(one, LimitedSolution)
        assert one.cost <= budget
        assert one.method == "best"
        assert one.error <= pm.solve(problem, budget=budget, work=0.02, path=path).error
        assert one.bound >= pm.solve(problem, budget=budget, work=0.02, path=path).bound
    ordered = sorted(found, key=lambda one: one.at_most)
    for less, more in pairwise(ordered):
        assert more.error <= less.error
        assert more.bound <= less.bound
    assert pm.solve(two_trees(), budget=[2], method="brute_force")[0].error == pm.solve(two_trees(), budget=2).error


@pytest.mark.parametrize("budgets", [[2, 0.5], (2, 0.5), np.array([2, 0.5]), pd.Series([2, 0.5], index=["a", "b"])])
def test_budgets_may_be_any_array(budgets: Any) -> None:
    """A list, a tuple, an array or a Series: a tuple of answers in its order."""
    found = pm.solve(two_trees(), budget=budgets)
    assert isinstance(found, tuple)
    assert [one.budget for one in found] == [2, Fraction(1, 2)]
    with pytest.raises(pm.errors.InvalidInputError, match=r"budget has shape \(1, 2\)"):
        pm.solve(two_trees(), budget=np.array([[2, 0.5]]))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "neither lam, budget nor limits is given; give lam, error per unit of cost, budget"),
        ({"lam": 0.1, "budget": 2}, "lam is 0.1 and budget is 2; give only one of them"),
        ({"lam": 0.1, "limits": [pm.Limit(2)]}, "lam is 0.1 and limits is [Limit(cost <= 2)]; give only one of them"),
        ({"budget": {"all": ([0], 2)}}, "budget"),
        ({"budget": []}, "budget is an empty list"),
        ({"budget": [2, -1]}, "budget[1] is -1, negative"),
        ({"lam": -1}, "lam is -1, negative"),
        ({"lam": math.nan}, "lam is nan"),
        ({"budget": -1}, "budget is -1, negative"),
        ({"budget": "cheap"}, "budget is 'cheap'"),
        ({"lam": 0.1, "method": "best"}, "there is no method 'best' for lam; there are auto, min_cut, price_sharing"),
        ({"budget": 2, "method": "min_cut"}, "there is no method 'min_cut' for budget; there are auto, path, best, exact"),
        (
            {"limits": [pm.Limit(2)], "method": "round"},
            "there is no method 'round' for limits; there are auto, path, best, exact",
        ),
        ({"lam": 0.1, "gap": 0.1}, "the method 'auto' has no option 'gap'; it has ties"),
        ({"lam": 0.1, "method": "brute_force", "gap": 0.1}, "the method 'brute_force' has no option 'gap'; it has none"),
        (
            {"lam": 0.1, "method": "highs_ip3", "formulation": "IP1"},
            "the method 'highs_ip3' has no option 'formulation'; it has engine",
        ),
        ({"budget": 2, "ties": "largest"}, "the method 'auto' has no option 'ties'; it has work, path, incumbent, progress"),
        ({"limits": [pm.Limit(2)], "rounds": 3}, "the method 'auto' has no option 'rounds'; it has work, path, incumbent"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], message: str) -> None:
    """Errors say what was given and what there is."""
    with pytest.raises(pm.errors.InvalidInputError, match=re.escape(message)):
        pm.solve(two_trees(), **arguments)
