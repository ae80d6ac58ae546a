"""LP1's optimum in exact numbers from a point and dual values: by hand, from the engines, and from random numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import prunemodels as pm
from formulations import Pruning
from formulations.answers.solution import Status
from formulations.programs.columns import usage_columns
from proofs_checks import check_solution
from solvers.brute_force import all_prunings
from solvers.within import linear_program_within, relaxed_optimum
from solvers.within.by_programs import best_of_levels, bound_within
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import PRESENT, instance, stump, twin_stumps
from tests.solvers.within.limits.cases import two_wards
from tests.solvers.within.test_components import agrees, lp1_budgets_of


@pytest.mark.slow
@looped("name", PRESENT)
def test_a_programs_level_sets_give_the_paths_mixture(name: str) -> None:
    """At breakpoints and between them: value and lambda* are the path's, the ends are nested and cost B together."""
    problem = instance(name)
    path = pm.pruning_path(problem)
    for budget in lp1_budgets_of(path):
        mixture = linear_program_within(problem, budget).relaxation
        agrees(float(mixture.value), float(mixture.lam), relaxed_optimum(path, budget), path)
        assert not (mixture.cheaper.kept & ~mixture.dearer.kept).any()
        weight, ends = mixture.weight, (mixture.dearer, mixture.cheaper)
        cost, error = (weight * a + (1 - weight) * b for a, b in zip(*((p.exact_cost, p.exact_error) for p in ends), strict=True))
        assert error == mixture.value
        assert cost == budget or (mixture.is_integral and cost <= budget)


def test_two_level_sets_by_hand() -> None:
    """A stump that gains .2 for 1, budget .3: three tenths of it, at .4 - .3 * .2; whole prunings spend nothing."""
    pruning, mixture = best_of_levels(stump((4, 1, 1), [1], [[0], [1]]), np.array([0.5, 0.0, 0.0]), Fraction(3, 10), 0.1)
    assert pruning.n_splits == 0
    assert (mixture.weight, mixture.lam, mixture.value) == (Fraction(3, 10), Fraction(1, 5), Fraction(34, 100))


def test_a_level_set_at_the_budget_is_taken_alone() -> None:
    """The hull has a corner at cost 1, {0, 4} of the two wards: at budget 1 it is the optimum, not a mixture around it."""
    y = np.array([0.9, 0.3, 0.0, 0.0, 0.6, 0.0, 0.0])
    _, mixture = best_of_levels(two_wards(), y, Fraction(1), 0.2)
    assert mixture.is_integral
    assert set(np.flatnonzero(mixture.dearer.kept)) == {0, 4}
    assert (mixture.value, mixture.lam) == (Fraction(1, 2), Fraction(1, 5))


@looped(("budget", "lam"), [(1, Fraction(1, 10)), (2, Fraction(0))])
def test_a_budget_for_all_has_one_level_set(budget: int, lam: Fraction) -> None:
    """Where no level set costs more than B the best of them is taken alone; beyond its cost another unit is worth nothing."""
    pruning, mixture = best_of_levels(stump((4, 1, 1), [1], [[0], [1]]), np.array([0.5, 0.0, 0.0]), Fraction(budget), 0.1)
    assert (mixture.is_integral, mixture.value, mixture.lam, pruning.n_splits) == (True, Fraction(1, 5), lam, 1)


@looped(("dual", "lam", "bound"), [((0.1, 0.1), 5, 0.3), ((0.2, 0.0), 5, 0.2), ((7.0, 7.0), 5, 0.3), ((0.1, 0.1), 4, 0.275)])
def test_bounds_of_a_shared_purchase_by_hand(dual: tuple[float, float], lam: int, bound: float) -> None:
    """Two stumps on one feature gain .1 each and pay 1 together, budget .5: at lambda 1/5 equal duals prove .4 - .2 * .5.

    If one tree bears all of it, the other gains its .1 for nothing. What is beyond the price is cut in proportion. At lambda 1/4
    the same duals leave no gain either, and the budget is worth more.
    """
    problem = twin_stumps()
    columns = usage_columns(problem, merge=True)
    assert bound_within(problem, columns, np.array(dual), Fraction(1, 2), Fraction(1, lam)) == pytest.approx(bound, abs=1e-15)


def test_a_single_user_pays_the_full_price() -> None:
    """A stump that gains .2 for 1, budget .3: whatever the dual value is, lambda 1/5 proves .4 - .2 * .3."""
    problem = stump((4, 1, 1), [1], [[0], [1]])
    columns = usage_columns(problem, merge=True)
    assert bound_within(problem, columns, np.zeros(1), Fraction(3, 10), Fraction(1, 5)) == pytest.approx(0.34, abs=1e-15)


def test_a_bound_of_nothing_is_nothing() -> None:
    """A forest that never errs: the bound was the largest float below 0, and the checker refuted that the answer is optimal."""
    problem = stump((0, 0, 0), [1], [[0], [1]])
    found = linear_program_within(problem, 0)
    assert (found.bound, found.error, found.status) == (0.0, 0.0, Status.OPTIMAL)
    assert check_solution(problem, found).holds is not False


@looped("seed", range(20))
def test_any_duals_and_lambda_bound_from_below(seed: int) -> None:
    """From dual values and a lambda drawn at random the bound stays below every pruning within the budget."""
    problem, rng = random_problem(seed, rounded=seed % 4 == 0), np.random.default_rng(seed)
    prunings, columns = [Pruning(problem, kept) for kept in all_prunings(problem).kept], usage_columns(problem, merge=True)
    for share in (Fraction(0), Fraction(1, 2), Fraction(1)):
        budget = share * max(pruning.exact_cost for pruning in prunings)
        best = min(pruning.error for pruning in prunings if pruning.exact_cost <= budget)
        for size in (1e-3, 0.1, 10.0):
            dual, lam = rng.random(columns.node.size) * size, Fraction(rng.random() * size)
            assert bound_within(problem, columns, dual, budget, lam) <= best + 1e-12
