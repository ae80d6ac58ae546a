"""Answers within budgets and limits are accepted, forged ones refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.search_proof import Closed, SearchProof
from formulations.answers.solution import SharedPrices
from formulations.instance.limit import Limit
from formulations.instance.papers import two_trees
from proofs_checks import Verdict, check_solution
from solvers.within import BUDGET_SOLVERS, METHODS, best_breakpoint, call, solve_limits
from solvers.within.oracle import LagrangianOracle
from solvers.within.params import WithinParams
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.within.limits.cases import drawn, two_wards


def answer(**changes: Any) -> LimitedSolution:
    """Within 5 for the left rows and 1 for the right ones: nothing but the root; the relaxation has a part of both splits."""
    limits = [Limit(5, rows=[0, 1], name="left"), Limit(1, rows=[2, 3], name="right")]
    return unchecked(solve_limits(two_wards(), limits, method="path"), **changes)


def unchecked(found: LimitedSolution, **changes: Any) -> LimitedSolution:
    """With fields changed, past the constructor, which refuses a bound above the error."""
    wrong = replace(found)
    for name, value in changes.items():
        object.__setattr__(wrong, name, value)
    return wrong


def refuted(found: LimitedSolution, message: str) -> None:
    """That the answer is refused, and why."""
    verdict = check_solution(found.problem, found)
    assert verdict.holds is False, verdict
    assert message in verdict.certificate


def test_what_is_true_is_accepted() -> None:
    """The multipliers .05 and .15 leave .8 - .25 - .15 = .4; no error lies between that and .5."""
    verdict = check_solution(two_wards(), answer())
    assert verdict.holds is True
    assert verdict.certificate["proven"] == pytest.approx(0.5)
    assert verdict.certificate["leaves"] == 1


@pytest.mark.slow
@looped("seed", range(30))
@pytest.mark.parametrize("method", METHODS)
def test_true_answers_hold(seed: int, method: str) -> None:
    """At breakpoints' costs and between them; what is told is the answer's."""
    problem = random_problem(seed)
    path = pm.pruning_path(problem)
    for cost in path.exact_cost:
        for budget in (cost, cost * Fraction(2, 3), cost + Fraction(1, 10)):
            found = BUDGET_SOLVERS[method](problem, budget)
            verdict = check_solution(problem, found)
            assert verdict.holds is True, str(verdict)
            assert verdict.certificate["uses"] == (found.cost,)
            assert (verdict.certificate["error"], verdict.certificate["bound"]) == (found.error, found.bound)


@looped("seed", range(12))
def test_proofs_by_price_sharing_are_accepted(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores, decided splits and a flow prove the bound of the relaxation as one flow does."""
    problem = random_problem(seed + 60)
    limits = drawn(problem, np.random.default_rng(seed))

    def sharing(rows: Any, params: WithinParams) -> LagrangianOracle:
        oracle = LagrangianOracle(rows, params)
        oracle.shares_prices = True
        return oracle

    with monkeypatch.context() as patched:
        patched.setattr(call, "LagrangianOracle", sharing)
        found = solve_limits(problem, limits, method="path")
    assert found.proof is not None
    (step,) = found.proof.steps
    assert isinstance(step, Closed)
    assert isinstance(step.priced.payments, SharedPrices)
    verdict = check_solution(problem, found)
    assert verdict.holds is True, str(verdict)


BEYOND = {"uses": (Fraction(6), Fraction(2)), "error": 0.2, "bound": 0.1}
"""What the pruning of generous limits uses, and its error."""

FORGED: dict[str, tuple[dict[str, Any], str]] = {
    "a use": ({"uses": (Fraction(1), Fraction(0))}, "the pruning uses 0.0 of left, not 1.0"),
    "a limit": ({"at_most": (Fraction(6), Fraction(1))}, "the limit of left is 5, not 6.0"),
    "an error": ({"error": 0.4, "bound": 0.3}, "the pruning's error is 0.8, not 0.4"),
    "no error": ({"error": float("nan")}, "the pruning's error is 0.8, not nan"),
    "uses missing": ({"uses": (Fraction(0),)}, "2 limits and 1 uses are stated for 2 limits"),
    "limits missing": ({"at_most": (Fraction(5),)}, "1 limits and 2 uses are stated for 2 limits"),
    "a bound above the error": ({"bound": 0.9}, "the bound 0.9 is above the pruning's own error 0.8"),
    "no bound": ({"bound": float("inf")}, "the bound inf is above the pruning's own error 0.8"),
    "a bound above the proof's": ({"bound": 0.7}, "the proof's leaves prove the bound 0.5, not 0.7"),
    "a proof of nothing": ({"proof": SearchProof(())}, "the proof ends with 1 branches open"),
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_answers_are_refused(what: str) -> None:
    """Uses, limits, errors and bounds that are not what they are said to be."""
    changes, message = FORGED[what]
    refuted(answer(**changes), message)
    assert check_solution(two_wards(), answer())


def test_a_pruning_beyond_a_limit_is_refused() -> None:
    """Its use is stated truly, and is more than there is."""
    generous = solve_limits(two_wards(), [Limit(6, rows=[0, 1], name="left"), Limit(2, rows=[2, 3], name="right")])
    found = answer(pruning=generous.pruning, uses=generous.uses, error=generous.error, bound=0.1)
    refuted(found, "the pruning uses 6.0 of left, more than 5.0")


def test_a_mixture_that_is_none_is_refused() -> None:
    """Weights, what it uses, and its value, of several limits and of a budget."""
    several = answer()
    budget = best_breakpoint(two_trees(), 2.5)
    assert check_solution(budget.problem, budget)
    for found, title in ((several, "left"), (budget, "cost")):
        relaxation = found.relaxation
        (first, weight), *others = relaxation.mixture
        dearest = max(relaxation.mixture, key=lambda part: part[0].exact_cost)[0]
        for mixture, value, message in (
            (((first, weight / 2), *others), relaxation.value, "do not sum to 1"),
            (((first, -weight), *others), relaxation.value, "are not >= 0"),
            ((), relaxation.value, "are not >= 0 or do not sum to 1"),
            (((dearest, Fraction(1)),), dearest.exact_error, f"the relaxation's mixture uses {float(found.uses[0]):g}"),
            (relaxation.mixture, relaxation.value * 2, "the relaxation's value is"),
        ):
            wrong = replace(found, relaxation=replace(relaxation, mixture=mixture, value=value))
            verdict = check_solution(found.problem, wrong)
            assert verdict.holds is False
            if "uses" in message:
                assert f"of {title}, more than" in verdict.certificate
            else:
                assert message in verdict.certificate


def test_an_answer_that_says_optimal_is_held_to_it() -> None:
    """A status is made of error and bound; a subclass that says more is refused."""

    class Boasting(LimitedSolution):
        @property
        def status(self) -> pm.engines.Status:
            return pm.engines.Status.OPTIMAL

    found = best_breakpoint(two_trees(), 2.5)
    boast = Boasting(**{name: getattr(found, name) for name in found.__dataclass_fields__})
    refuted(boast, "the solution says optimal, but 0.0625 lie between error and bound")


def test_multipliers_of_single_examples() -> None:
    """A limit on every example names the example of each multiplier; one that it is not about is refused."""
    problem = two_wards()
    found = solve_limits(problem, [Limit(5, rows=[0, 1, 2], each=True, name="each")], method="path")
    assert check_solution(problem, found).holds is True
    assert found.proof is not None
    *before, step = found.proof.steps
    assert isinstance(step, Closed)
    assert {row for _, row, _ in step.priced.multipliers} <= {0, 1, 2}
    for row, message in ((3, "limits[0] is not about row 3"), (None, "there is no such row")):
        strange = tuple((k, row, mu) for k, _, mu in step.priced.multipliers[:1])
        forged = replace(step, priced=replace(step.priced, multipliers=strange))
        refuted(replace(found, proof=SearchProof((*before, forged))), message)


def test_what_nobody_proves_is_undecided() -> None:
    """Without a proof."""
    verdict = check_solution(two_wards(), answer(proof=None))
    assert verdict.holds is None
    assert verdict.certificate["undecided"] == "the solution carries no proof of its bound"
    assert check_solution(two_trees(), BUDGET_SOLVERS["brute_force"](two_trees(), 2.5)).holds is None


def budget_verdict(**changes: Any) -> Verdict:
    """On an answer for the papers' trees within 2.5, changed."""
    found = best_breakpoint(two_trees(), 2.5)
    return check_solution(found.problem, unchecked(found, **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"at_most": (Fraction(3, 2),)}, "the limit of cost is 2.5, not 1.5"),
        ({"limits": (Limit(1.5),), "at_most": (Fraction(3, 2),)}, "the pruning uses 2.0 of cost, more than 1.5"),
        ({"error": 0.2}, "the pruning's error is"),
        ({"bound": 0.3}, "above the pruning's own error"),
    ],
)
def test_tampered_answers_are_refuted(changes: dict[str, Any], message: str) -> None:
    """Budget, error and bound."""
    assert budget_verdict()
    verdict = budget_verdict(**changes)
    assert verdict.holds is False
    assert message in verdict.certificate
