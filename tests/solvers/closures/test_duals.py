"""Duals from dual values: within the prices whatever comes in, and as strong as the duals are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from formulations import Pruning, Solution
from formulations.programs.columns import naive_columns, usage_columns
from formulations.programs.matrix import MATRICES
from proofs_checks import check_solution
from solvers import min_cut
from solvers.brute_force import brute_force
from solvers.closures.duals import integer_duals, proven_bound, zero_duals
from solvers.closures.integer_objective import integer_objective
from solvers.programs.engines import highs
from solvers.programs.rounding import relaxation_bound
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance, lambdas

LAM = Fraction(1, 20)


@pytest.mark.parametrize("merge", [False, True])
@looped("seed", range(40))
def test_any_numbers_become_a_true_bound(seed: int, merge: bool) -> None:
    """Dual values drawn at random, negative, huge, infinite: the duals are allowed, and what they prove is below the optimum."""
    problem = random_problem(seed, rounded=bool(seed % 2))
    rng = np.random.default_rng(seed)
    best, objective = brute_force(problem, LAM).value, integer_objective(problem, LAM).refined()  # type: ignore[arg-type]
    pruning = Pruning.unpruned(problem)
    for columns in (usage_columns(problem, merge=merge), naive_columns(problem, merge=merge)):
        duals = rng.choice([-1.0, 0.0, 1e-3, 0.02, 0.3, 1e300, np.inf], columns.node.size)
        duals = integer_duals(problem, objective, columns, duals)
        bound = proven_bound(problem, objective, duals, pruning, LAM)
        assert bound <= best + 1e-12
        claimed = Solution(problem, LAM, pruning, pruning.value(float(LAM)), bound, certificate=duals)
        assert check_solution(problem, claimed).holds


@pytest.mark.parametrize("name", ["iris", "wine, groups", "breast cancer, licence", "diabetes", "papers"])
def test_the_naive_duals_prove_their_bound_and_more(name: str) -> None:
    """IP1's dual values, gathered at the splits that charge, prove at least the bound of IP1's relaxation."""
    problem, lam = instance(name), lambdas(name)[2]
    better = []
    for merge in (False, True):
        program = MATRICES["IP1"](problem, lam=lam, relax=True, merge=merge)
        answer = highs(program)
        assert answer.row_dual is not None
        duals = -answer.row_dual[program.rows.of("naive_usage")]
        objective = integer_objective(problem, Fraction(repr(lam))).refined()
        duals = integer_duals(problem, objective, naive_columns(problem, merge=merge), duals)
        proven = proven_bound(problem, objective, duals, Pruning.unpruned(problem), Fraction(repr(lam)))
        own = relaxation_bound(program, answer.row_dual)
        assert proven >= own - 1e-9 * max(1.0, abs(own))
        better.append(proven - own)
    best = min_cut(problem, lam).value
    if name != "papers":
        assert max(better) > 1e-6 * best


def test_negative_duals_charge_nothing() -> None:
    """Less than nothing is nothing: the duals of negative dual values are those of none."""
    problem = instance("papers")
    objective, columns = integer_objective(problem, LAM).refined(), usage_columns(problem)
    duals = integer_duals(problem, objective, columns, np.full(columns.node.size, -0.03))
    np.testing.assert_array_equal(duals.dual, zero_duals(problem, objective).dual)
