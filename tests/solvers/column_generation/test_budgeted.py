"""Dantzig-Wolfe under a budget: against the path's mixture, and its parts by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations import InvalidInputError, Pruning
from formulations.answers.solution import StopReason
from solvers.brute_force import all_prunings
from solvers.budgets import relaxed_optimum
from solvers.column_generation.budgets.coupling import BudgetCoupling, BudgetPricing
from solvers.column_generation.budgets.incumbent import BudgetIncumbent
from solvers.column_generation.budgets.solve import dantzig_wolfe_budget
from solvers.column_generation.full_master import FullMaster
from solvers.column_generation.scheme import BUNDLE, Scheme
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.budgets.limits.cases import two_wards
from tests.solvers.budgets.test_rounding import REAL, agrees
from tests.solvers.budgets.test_rounding import lp1_budgets_of as budgets_of
from tests.solvers.cases import PRESENT, instance, stump, twin_stumps

SCHEMES = {"bundle": BUNDLE, "linear program": Scheme(master="linear program", smoothing=0.5)}


@looped(("name", "scheme"), [*((name, "bundle") for name in PRESENT), *((name, "linear program") for name in REAL)])
def test_columns_give_the_paths_mixture(name: str, scheme: str) -> None:
    """Value, lambda* and mixture are the path's at breakpoints and between them, with both masters; bounds never above.

    The mixture is of nested prunings on either side of the budget, costs B and is worth the relaxation; the best is within.
    Weights of each tree's columns sum to 1, and weighted errors to the value; nothing else is mixed.
    """
    problem = instance(name)
    path = pm.pruning_path(problem)
    for budget in budgets_of(path, 2):
        hull = relaxed_optimum(path, budget)
        found = dantzig_wolfe_budget(problem, budget, scheme=SCHEMES[scheme], tolerance=1e-9)
        agrees(found.value, found.lam, hull, path)
        assert found.stopped is StopReason.CONVERGED
        size = max(1.0, float(hull.value))
        spare = 1e-12 * size + 2e-12 * (1 + found.lam)
        assert float(hull.value) - 1e-8 * size - spare <= found.bound <= float(hull.value) + spare
        assert (found.history["bound"] <= float(hull.value) + 1e-9 * size).all()
        mixture, mu = found.mixture, found.mixture.weight
        assert not (mixture.cheaper.kept & ~mixture.dearer.kept).any()
        cost = mu * mixture.dearer.exact_cost + (1 - mu) * mixture.cheaper.exact_cost
        assert cost == found.budget or (mu == 1 and cost <= found.budget)
        assert float(mixture.value) == pytest.approx(float(hull.value), rel=1e-8, abs=1e-8)
        error = float(mu) * mixture.dearer.error + float(1 - mu) * mixture.cheaper.error
        assert error == pytest.approx(float(mixture.value), rel=1e-9, abs=1e-9)
        assert found.pruning.exact_cost <= found.budget
        assert found.pruning.integer_gain >= mixture.cheaper.integer_gain or mu == 0 or not problem.numbers.exact > 0
        assert len(found.columns) == problem.ensemble.n_trees
        total = 0.0
        for t, mixed in enumerate(found.columns):
            nodes = problem.ensemble.nodes_of(t)
            assert sum(weight for _, weight in mixed) == pytest.approx(1.0)
            for column, weight in mixed:
                kept = np.zeros(problem.ensemble.n_nodes, dtype=bool)
                kept[column.kept] = True
                mine = Pruning(problem, kept).is_leaf[nodes]
                assert column.tree == t
                assert column.cost == pytest.approx(problem.node_error[nodes][mine].sum(), abs=1e-12)
                total += weight * column.cost
        assert total == pytest.approx(found.value, abs=1e-8)


def test_signs_by_hand() -> None:
    """A stump that gains .2 for a price of 1, budget .3: master value .34, lambda .2 and convexity dual .4.

    With lambda = .2 both columns price out at the same: .4 for the single leaf, .2 + .2 * 1 for the split, which is the convexity
    dual, and the Lagrangian bound is .4 - .2 * .3.
    """
    problem = stump((4, 1, 1), [1], [[0], [1]])
    coupling = BudgetCoupling.build(problem, Fraction(3, 10))
    incumbent = BudgetIncumbent(Pruning.all_roots(problem), coupling.budget)
    master = FullMaster(coupling.unit, incumbent.offer_levels, coupling.limit)
    both = [*coupling.columns_of(np.zeros(3, dtype=bool)), *coupling.columns_of(problem.ensemble.is_split)]
    assert [c.cost for c in both] == pytest.approx([0.4, 0.2])
    master.add(both)
    answer = master.solve(np.inf)
    assert answer.value == pytest.approx(0.34)
    assert master.lam == pytest.approx(0.2)
    assert answer.charge[-1] == pytest.approx(0.2)
    assert answer.convexity == pytest.approx([0.4])
    pricing = BudgetPricing(coupling, incumbent)
    assert pricing.reduced_costs(both, answer) == pytest.approx([0.0, 0.0])
    assert pricing.price(np.append(answer.charge[:-1], 0.2)).bound == pytest.approx(0.34)
    assert pricing.price(np.append(answer.charge[:-1], 0.05)).bound == pytest.approx(0.25 - 0.05 * 0.3)
    assert coupling.proven_bound(answer.charge[:-1], Fraction(1, 5)) == pytest.approx(0.34)
    assert coupling.proven_bound(answer.charge[:-1], Fraction(1, 4)) == pytest.approx(0.4 - 0.25 * 0.3)
    assert incumbent.mixture.weight == Fraction(3, 10)
    assert incumbent.mixture.lam == Fraction(1, 5)
    assert incumbent.pruning.n_splits == 0


def test_a_shared_purchase_by_hand() -> None:
    """Two stumps on one feature gain .1 each and pay 1 together: the coupling rows' charges share lambda = .2, .1 each."""
    problem = twin_stumps()
    found = dantzig_wolfe_budget(problem, 0.5)
    assert found.value == pytest.approx(0.3)
    assert found.lam == pytest.approx(0.2)
    assert found.bound == pytest.approx(0.3)
    assert found.mixture.weight == Fraction(1, 2)
    coupling = BudgetCoupling.build(problem, Fraction(1, 2))
    assert coupling.unit.n_rows == 2
    assert coupling.proven_bound(np.array([0.1, 0.1]), Fraction(1, 5)) == pytest.approx(0.3)
    # one tree bearing all of it: that tree's .1 is not worth .2, the other's is free: .4 - .1 - .2 * .5
    assert coupling.proven_bound(np.array([0.2, 0.0]), Fraction(1, 5)) == pytest.approx(0.2)
    # charges beyond the price are cut in proportion, whatever they are
    assert coupling.proven_bound(np.array([7.0, 7.0]), Fraction(1, 5)) == pytest.approx(0.3)


def test_a_level_set_at_the_budget_is_taken_alone() -> None:
    """The hull has a corner at cost 1, {0, 4} of the two wards: at budget 1 it is the optimum, not a mixture around it."""
    problem = two_wards()
    incumbent = BudgetIncumbent(Pruning.all_roots(problem), Fraction(1))
    y = np.array([0.9, 0.3, 0.0, 0.0, 0.6, 0.0, 0.0])
    assert incumbent.offer_levels(y, 0.2) == pytest.approx(0.5)
    assert incumbent.mixture.is_integral
    assert set(np.flatnonzero(incumbent.mixture.dearer.kept)) == {0, 4}
    assert incumbent.mixture.lam == Fraction(1, 5)
    # where no level set costs more than B the best of them is taken alone, at lambda 0
    problem = stump((4, 1, 1), [1], [[0], [1]])
    for budget in (1, 2):
        incumbent = BudgetIncumbent(Pruning.all_roots(problem), Fraction(budget))
        assert incumbent.offer_levels(np.array([0.5, 0.0, 0.0]), 0.1) == pytest.approx(0.2)
        assert incumbent.mixture.is_integral
        assert incumbent.pruning.n_splits == 1
    assert incumbent.mixture.lam == 0


@looped("seed", range(20))
def test_any_charges_and_lambda_bound_from_below(seed: int) -> None:
    """From charges and a lambda drawn at random the proven bound, and pricing's, stay below every pruning within the budget."""
    problem = random_problem(seed, rounded=seed % 4 == 0)
    rng = np.random.default_rng(seed)
    every = all_prunings(problem)
    cost = np.array([float(c * problem.numbers.price_unit) for c in every.cost])
    for share in (0.0, 0.5, 1.0):
        budget = Fraction(repr(float(share * cost.max())))
        best = min(Pruning(problem, kept).error for kept, c in zip(every.kept, cost, strict=True) if c <= float(budget))
        coupling = BudgetCoupling.build(problem, budget)
        pricing = BudgetPricing(coupling, BudgetIncumbent(Pruning.all_roots(problem), budget))
        for size in (1e-3, 0.1, 10.0):
            charge = rng.random(coupling.unit.n_rows) * size
            lam = float(rng.random() * size)
            assert coupling.proven_bound(charge, Fraction(repr(lam))) <= best + 1e-12
            assert pricing.price(np.append(charge, lam)).bound <= best + 1e-12


def test_limits_leave_what_is_proven() -> None:
    """No time, or one round: a true bound and a pruning within the budget, no claim to have converged; no other limits."""
    problem = instance("digits")
    path = pm.pruning_path(problem)
    budget = (path.exact_cost[3] + path.exact_cost[4]) / 2
    value = float(relaxed_optimum(path, budget).value)
    none = dantzig_wolfe_budget(problem, budget, time_limit=0)
    assert none.stopped is StopReason.TIME_LIMIT
    assert none.history["gap"].size == 0
    assert none.bound <= value <= none.value + 1e-12
    assert none.pruning.exact_cost <= budget
    assert none.bound == pytest.approx(float(path.error[0]))  # that of no budget at all
    one = dantzig_wolfe_budget(problem, budget, rounds=1, tolerance=0)
    assert one.stopped is StopReason.ITERATION_LIMIT
    assert one.bound <= value <= one.value + 1e-12
    assert len(one.history["gap"]) == 1
    wrong: tuple[dict[str, Any], ...] = ({"time_limit": -1}, {"tolerance": float("nan")}, {"rounds": -2}, {"pricing": "guess"})
    for options in wrong:
        [(name, given)] = options.items()
        with pytest.raises(InvalidInputError, match=f"{name} is {given!r}"):
            dantzig_wolfe_budget(twin_stumps(), 1, **options)
