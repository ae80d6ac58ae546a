"""The checkers accept true certificates, of every kind and size, and refuse forged answers within budgets and limits."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from formulations import PruningProblem, Solution
from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.search_proof import Closed, SearchProof
from formulations.answers.solution import FixingStage, ItemDuals, SharedPrices, StopReason
from formulations.instance.cost_items import exact
from formulations.instance.limit import Limit
from formulations.instance.papers import two_trees
from proofs_checks import check_path, check_solution
from proofs_checks.optimality.recount import Recount
from proofs_checks.optimality.solution_optimality import _Decisions
from proofs_checks.verdict import DEFAULTS
from prunemodels.data_files import FOLDER_VARIABLE, load_dataset
from solvers import min_cut, pruning_path
from solvers.brute_force import all_prunings
from solvers.price_sharing import price_sharing
from solvers.within import BUDGET_SOLVERS, METHODS, best_breakpoint, solve, solve_limits
from solvers.within.params import WithinParams
from solvers.within.prover import LagrangianOracle
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.proofs_checks.optimality.slow_recount import SlowRecount, true_gaps
from tests.solvers.within.limits.cases import drawn, two_wards


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("seed", range(24))
def test_one_dual_state_proves_the_whole_path(seed: int, ties: str) -> None:
    """The flows of the breakpoints' cuts, put together, prove every row; and no pruning is better at any breakpoint."""
    path = pruning_path(random_problem(seed), ties=ties)  # type: ignore[arg-type]
    verdict = check_path(path)
    assert verdict.holds, str(verdict)
    assert verdict.certificate == {"rows": len(path), "largest gap": 0}
    assert max(true_gaps(path)) == 0


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("seed", range(20))
def test_paths_of_real_numbers_hold_within_their_gap(seed: int, ties: str) -> None:
    """Of real numbers no row is off by more than the gap that the verdict states, which is next to nothing."""
    path = pruning_path(random_problem(seed, rounded=True), ties=ties)  # type: ignore[arg-type]
    verdict = check_path(path)
    assert verdict
    assert verdict.certificate["largest gap"] <= 1e-11 * float(path.problem.roots_error)
    slow = SlowRecount(path.problem)
    every = [slow.objective(Pruning(path.problem, kept)) for kept in all_prunings(path.problem).kept[:200]]
    for lam, pruning in zip(path.breakpoints, path, strict=False):
        error, cost = slow.objective(pruning)
        assert float(error + lam * cost - min(e + lam * c for e, c in every)) <= verdict.certificate["largest gap"] + 1e-300


def solutions(problem: PruningProblem) -> list[Solution]:
    """Flows and scores, of finished runs and of some that were cut short, for three lambdas."""
    found = []
    for lam in (0.003, 0.05, 1 / 3):
        found += [min_cut(problem, lam), price_sharing(problem, lam), price_sharing(problem, lam, small_core=0)]
        found += [price_sharing(problem, lam, rounds=r, small_core=0) for r in (0, 3, 10, 20)]
    return found


@pytest.mark.slow
@looped("seed", range(16))
def test_values_are_exact_and_bounds_lie_between_the_engine_s_and_the_optimum(seed: int) -> None:
    """The value is that of fractions; the proven bound is no lower than the engine's, and no optimum is below it. Of a finished
    run both are the optimum.
    """
    problem = random_problem(seed, rounded=seed % 4 == 0)
    slow = SlowRecount(problem)
    every = [slow.objective(Pruning(problem, kept)) for kept in all_prunings(problem).kept[:400]]
    for solution in solutions(problem):
        verdict = check_solution(problem, solution)
        assert verdict.holds, str(verdict)
        assert solution.pruning is not None
        lam = exact(solution.lam, "lam")
        error, cost = slow.objective(solution.pruning)
        assert verdict.certificate["value"] == float(error + lam * cost)
        least = min(error + lam * cost for error, cost in every)
        slack = 1e-12 * float(slow.objective(Pruning.all_roots(problem))[0])
        assert solution.bound - slack <= verdict.certificate["bound"] <= float(least)
        if solution.stopped is StopReason.CONVERGED and problem.numbers.exact:
            assert verdict.certificate["bound"] == pytest.approx(verdict.certificate["value"], abs=slack)


def scored(nodes: list[int], score: list[float], kept: list[int] = (), out: list[int] = ()) -> FixingStage:  # type: ignore[assignment]
    """A stage by hand."""
    ids = [np.array(list(x), dtype=np.int32) for x in (nodes, kept, out)]
    return FixingStage(ids[0], np.array(score, dtype=np.float32), ids[1], ids[2])


def by_hand(problem: PruningProblem, lam: Fraction, kept: list[int], proof: SharedPrices) -> Solution:
    """A solution that keeps some splits and says that it is optimal."""
    pruning = Pruning(problem, np.isin(np.arange(problem.ensemble.n_nodes), kept))
    value = pruning.value(float(lam))
    return Solution(problem, lam, pruning, value, value, certificate=replace(proof, lam=lam))


def stumps(*trees: Node) -> PruningProblem:
    """Trees on one feature of price 1, one row."""
    return problem_of(list(trees), [1])


def test_what_is_paid_is_not_charged_again() -> None:
    """Once a split is fixed in, its purchases are paid: neither scores nor duals may charge them to another split.

    Stumps of gains .1 and .05 share a purchase of .08. Keeping the first alone is worth .33, both .28. With the whole price on
    the second, being without the first is worth nothing, so it is fixed in. Charged again, the second would look worthless.
    """
    problem = stumps(Node(4, 0, 0.5, Node(1), Node(1)), Node(3, 0, 0.5, Node(1), Node(1)))
    lam, stage = Fraction(8, 100), scored([0, 3], [0, 200], kept=[0])
    second = np.array([3], dtype=np.int32)
    honest = SharedPrices((stage,), second, np.zeros(1, dtype=np.float32), None, Fraction(1), lam)
    verdict = check_solution(problem, by_hand(problem, lam, [0], honest))
    assert verdict.holds is False
    assert verdict.certificate == "the certificate proves the bound 0.28, not 0.33"
    assert check_solution(problem, by_hand(problem, lam, [0, 3], honest))
    again = replace(honest, dual=np.array([8]), unit=Fraction(1, 100))
    assert "is paid already" in check_solution(problem, by_hand(problem, lam, [0], again)).certificate
    assert check_solution(problem, by_hand(problem, lam, [0, 3], replace(again, dual=np.array([0]))))


def test_below_a_split_that_is_out_all_is_out() -> None:
    """A root that does not pay is fixed out, and with it a child that would, for nothing, if it could be had alone."""
    child = Node(3, 0, 0.5, Node(0), Node(1))
    problem, lam = stumps(Node(4, 0, 0.5, child, Node(1))), Fraction(3, 10)
    nothing = np.zeros(0, dtype=np.int32)
    proof = SharedPrices((scored([0], [0], out=[0]),), nothing, np.zeros(0, dtype=np.float32), None, Fraction(1), lam)
    assert check_solution(problem, by_hand(problem, lam, [], proof)).certificate["bound"] == 0.4


def test_a_tie_decides_nothing() -> None:
    """A split that neither gains nor costs anything cannot be fixed, in or out: the other way is as good."""
    problem = stumps(Node(2, 0, 0.5, Node(1), Node(1)))
    none, lam = np.zeros(0, dtype=np.int32), Fraction(0)
    for kept, stage in (([], scored([0], [0], out=[0])), ([0], scored([0], [0], kept=[0]))):
        proof = SharedPrices((stage,), none, np.zeros(0, dtype=np.float32), None, Fraction(1), lam)
        assert "could be as good" in check_solution(problem, by_hand(problem, lam, kept, proof)).certificate


@looped("seed", range(20))
def test_shares_never_exceed_the_price(seed: int) -> None:
    """Whatever the scores, what sixty splits pay of one purchase is at most its price, exactly, and all but 10^-12 of it."""
    problem = stumps(*(Node(4, 0, 0.5, Node(1), Node(1)) for _ in range(60)))
    score = np.random.default_rng(seed).normal(0, 10.0 ** (seed % 4), 60).astype(np.float32)
    for lam in (Fraction(1, 3), Fraction(10**300), Fraction(1, 10**300)):
        charges = _Decisions(Recount(problem), lam).charges(problem.usage.splits, score)
        total, price = Fraction(sum(charges.values()), DEFAULTS.charge_units), min(lam, Fraction(DEFAULTS.largest_price))
        assert total <= price
        assert total >= price * (1 - Fraction(1, 10**12)) - Fraction(60, DEFAULTS.charge_units)


def test_a_certificate_for_a_smaller_lambda_is_a_bound_too() -> None:
    """Optima rise with lambda, so duals for a smaller one prove what they prove there, and no more."""
    problem = two_trees()
    best, before = min_cut(problem, 0.25), min_cut(problem, 0.2)
    later = replace(best, certificate=before.certificate, bound=before.bound)
    assert check_solution(problem, later)
    assert check_solution(problem, replace(later, bound=best.bound)).holds is False


def test_sums_beyond_64_bits_are_exact() -> None:
    """Duals near 2^62 in a tiny unit, whose sums pass 2^63, are added up and compared exactly."""
    problem = two_trees()
    plain = min_cut(problem, 0.25)
    proof = plain.certificate
    assert isinstance(proof, ItemDuals)
    times = (2**62 - 1) // int(proof.dual.max())
    fine = replace(proof, dual=proof.dual * times, unit=proof.unit / times)
    assert int(fine.dual.astype(object).sum()) > 2**63
    assert check_solution(problem, replace(plain, certificate=fine)).certificate["gap"] == 0
    over = fine.dual.copy()
    over[np.argmax(over)] += 1
    assert "more than its price" in check_solution(problem, replace(plain, certificate=replace(fine, dual=over))).certificate


def test_missing_certificate_is_undecided() -> None:
    """Without a pruning or a certificate the checkers neither accept nor refute."""
    solution = min_cut(two_trees(), 0.25)
    assert check_solution(solution.problem, replace(solution, certificate=None)).holds is None
    assert check_solution(solution.problem, replace(solution, pruning=None)).holds is None
    assert check_path(replace(pruning_path(two_trees()), certificate=None)).holds is None
    verdict = check_solution(two_wards(), answer(proof=None))
    assert verdict.holds is None
    assert verdict.certificate["undecided"] == "the solution carries no proof of its bound"
    assert check_solution(two_trees(), BUDGET_SOLVERS["brute_force"](two_trees(), 2.5)).holds is None


def test_regression_forests_are_proven_up_to_their_rounding() -> None:
    """Squared errors are real numbers: paths and cuts of a regression forest hold, with what rounding can hide stated."""
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(4, max_depth=6, random_state=0).fit(X[:300], y[:300])
    problem = pm.problem_from_forest(forest, X[300:], costs=1.0, evaluation_cost=0.01)
    path = pruning_path(problem)
    verdict = check_path(path)
    assert verdict, str(verdict)
    assert 0 < verdict.certificate["largest gap"] < 1e-6 * path.error[-1]
    for k in (1, len(path) // 2, len(path) - 2):
        for engine in (min_cut, price_sharing):
            assert check_solution(problem, engine(problem, float(path.lam[k])))


def miniboone() -> PruningProblem:
    """A dozen trees on MiniBooNE, 5,000 cost rows; skipped visibly where the data are not named."""
    if FOLDER_VARIABLE not in os.environ or not (Path(os.environ[FOLDER_VARIABLE]) / "miniboone.csv.gz").is_file():
        pytest.skip(f"needs miniboone.csv.gz; name its folder in {FOLDER_VARIABLE}")
    data = load_dataset("miniboone")
    X = np.asarray(data.X[:15_000], dtype=np.float32)
    forest = RandomForestClassifier(12, criterion="entropy", max_features=0.3, random_state=0).fit(X[:8_000], data.y[:8_000])
    return pm.problem_from_forest(forest, X[10_000:], costs=1.0)


@pytest.mark.slow
def test_real_sizes_are_checked() -> None:
    """On a real forest with hundreds of thousands of usage arcs the whole path, a cut and price sharing are proven, gap 0."""
    problem = miniboone()
    path = pruning_path(problem)
    assert check_path(path).certificate == {"rows": len(path), "largest gap": 0.0}
    lam = float(path.lam[len(path) // 2])
    for solution in (min_cut(problem, lam), price_sharing(problem, lam), price_sharing(problem, lam, small_core=0)):
        verdict = check_solution(problem, solution)
        assert verdict.holds, str(verdict)
        assert verdict.certificate["bound"] == pytest.approx(verdict.certificate["value"], rel=1e-12)
    assert Fraction(path.breakpoints[0]) == 0


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
        patched.setattr(solve, "LagrangianOracle", sharing)
        found = solve_limits(problem, limits, method="path")
    assert found.proof is not None
    (step,) = found.proof.steps
    assert isinstance(step, Closed)
    assert isinstance(step.priced.payments, SharedPrices)
    verdict = check_solution(problem, found)
    assert verdict.holds is True, str(verdict)


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
