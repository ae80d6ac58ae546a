"""Answers within limits are accepted by a stranger, and forged ones are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations.answers.limits_solution import LimitProof, LimitsSolution
from formulations.answers.solution import ItemDuals, SharedPrices
from formulations.instance.limit import Limit
from formulations.programs.limit_rows import limit_rows
from proofs_checks import check_limits_solution
from solvers.budgets import solve_limits
from solvers.budgets.limits import solve as solve_module
from solvers.budgets.limits.oracle import Oracle
from solvers.budgets.limits.relaxation import relax
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.budgets.limits.cases import drawn, two_wards


def answer(**changes: Any) -> LimitsSolution:
    """Within 5 for the left rows and 1 for the right ones: nothing but the root; the relaxation has a part of both splits."""
    limits = [Limit(5, rows=[0, 1], name="left"), Limit(1, rows=[2, 3], name="right")]
    return replace(solve_limits(two_wards(), limits, method="path"), **changes)


def forged(**changes: Any) -> LimitsSolution:
    """The same with another proof."""
    found = answer()
    assert found.proof is not None
    return replace(found, proof=replace(found.proof, **changes))


def test_what_is_true_is_accepted() -> None:
    """The bound is the multipliers': .05 and .15 leave .8 - .25 - .15 = .4, and no error lies between that and .5."""
    verdict = check_limits_solution(two_wards(), answer())
    assert verdict.holds is True
    assert verdict.certificate["proven"] == pytest.approx(0.4)


@looped("seed", range(12))
def test_proofs_by_price_sharing_are_accepted(seed: int) -> None:
    """Scores, decided splits and a flow prove the same bound as one flow does."""
    problem = random_problem(seed + 60)
    rows = limit_rows(problem, drawn(problem, np.random.default_rng(seed)))
    oracle = Oracle(rows)
    oracle.shares_prices = True
    relaxed = relax(oracle)
    plain = solve_limits(problem, list(rows.limits), method="path")
    proof = solve_module._proof(rows, relaxed.proof)
    assert isinstance(proof.certificate, SharedPrices)
    verdict = check_limits_solution(problem, replace(plain, proof=proof, bound=min(plain.bound, proof.bound)))
    assert verdict.holds is True, str(verdict)


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        (lambda: answer(uses=(Fraction(1), Fraction(0))), "the pruning uses 0.0 of left, not 1.0"),
        (lambda: answer(at_most=(Fraction(6), Fraction(1))), "the limit of left is 5, not 6.0"),
        (lambda: answer(error=0.4, bound=0.3), "the pruning's error is 0.8, not 0.4"),
        (lambda: answer(uses=(Fraction(0),)), "1 uses are stated for 2 limits"),
        (lambda: forged(bound=0.45), "the multipliers prove the bound 0.3999"),
        (lambda: forged(multipliers=((0, None, Fraction(1, 20)),)), "the duals on 'blood' by row 2 are more than its price"),
        (lambda: forged(multipliers=((0, None, Fraction(-1)),)), "it must be a fraction >= 0"),
        (lambda: forged(multipliers=((0, None, Fraction(1)), (0, None, Fraction(1)))), "has two multipliers"),
        (lambda: forged(multipliers=((2, None, Fraction(1)),)), "there is no such row"),
        (lambda: forged(multipliers=((0, 3, Fraction(1)),)), "there is no such row"),
    ],
)
def test_forged_answers_are_refused(solution: Any, message: str) -> None:
    """Uses, limits, errors, bounds and multipliers that are not what they are said to be."""
    verdict = check_limits_solution(two_wards(), solution())
    assert verdict.holds is False
    assert message in str(verdict.certificate)


def test_a_pruning_beyond_a_limit_is_refused() -> None:
    """Its use is stated truly, and is more than there is."""
    generous = solve_limits(two_wards(), [Limit(6, rows=[0, 1], name="left"), Limit(2, rows=[2, 3], name="right")])
    found = answer(pruning=generous.pruning, uses=generous.uses, error=generous.error, bound=0.1)
    verdict = check_limits_solution(two_wards(), found)
    assert verdict.holds is False
    assert "the pruning uses 6.0 of left, more than 5.0" in str(verdict.certificate)


def test_duals_of_another_unit_are_refused() -> None:
    """Twice the unit charges purchases twice their prices."""
    proof = answer().proof
    assert isinstance(proof, LimitProof)
    assert isinstance(proof.certificate, ItemDuals)
    verdict = check_limits_solution(two_wards(), forged(certificate=replace(proof.certificate, unit=2 * proof.certificate.unit)))
    assert verdict.holds is False


def test_multipliers_of_single_examples() -> None:
    """A limit on every example names the example of each multiplier; one that it is not about is refused."""
    problem = two_wards()
    found = solve_limits(problem, [Limit(5, rows=[0, 1, 2], each=True, name="each")], method="path")
    assert check_limits_solution(problem, found).holds is True
    assert found.proof is not None
    assert {row for _, row, _ in found.proof.multipliers} <= {0, 1, 2}
    strange = tuple((k, 3, mu) for k, _, mu in found.proof.multipliers[:1])
    verdict = check_limits_solution(problem, replace(found, proof=replace(found.proof, multipliers=strange)))
    assert verdict.holds is False
    assert "is not about row 3" in str(verdict.certificate)


def test_what_nobody_proves_is_undecided() -> None:
    """Without multipliers, and above them."""
    assert check_limits_solution(two_wards(), answer(proof=None)).holds is None
    assert check_limits_solution(two_wards(), answer(bound=0.8)).holds is None
