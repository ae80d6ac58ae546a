"""What a report says is proven."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import prunemodels as pm
from formulations.instance.papers import two_trees
from proofs_checks.verdict import Verdict
from prunemodels.report_page import report_page
from prunemodels.report_page.evidence import evidence_of, figures_of, lam_interval, row_of
from solvers import pruning_path
from tests.prunemodels.report_page.cases import Page, classifier


@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_a_row_is_optimal_on_its_interval(ties: str) -> None:
    """At both ends of its interval, and in the middle, no other row is better; the intervals cover all lambda >= 0."""
    path = pruning_path(classifier().path.problem, ties=ties)
    reached = Fraction(0)
    for k in range(len(path)):
        first, last = lam_interval(path, k)
        assert first == (0 if k == 0 else reached)
        for lam in (first, first + 1 if last is None else (first + last) / 2, first if last is None else last):
            values = [e + lam * c for e, c in zip(path.exact_error, path.exact_cost, strict=True)]
            assert values[k] == min(values)
        if last is not None:
            reached = last
    assert last is None


def test_a_row_of_the_path_is_verified() -> None:
    """With its row, its interval and its exact cost; nothing is compared with a budget."""
    case = classifier()
    evidence = evidence_of(case.path, case.some, None)
    k = len(case.path) // 2
    assert (evidence.row, evidence.holds, evidence.hidden) == (k, True, 0.0)
    assert evidence.lams == (case.path.breakpoints[k], case.path.breakpoints[k + 1])
    assert (evidence.cost, evidence.error) == (case.path.exact_cost[k], case.path.exact_error[k])
    assert (evidence.solution, len(evidence.verdicts)) == (None, 1)


def test_a_budget_is_verified_with_its_gap() -> None:
    """The path, the answer with its gap, and LP1's relaxation; a bound that the answer's proof does not reach is refuted."""
    case = classifier()
    solution = pm.solve(case.path.problem, budget=3, method="path", path=case.path)
    evidence = evidence_of(case.path, solution.pruning, solution)
    assert evidence.holds is True
    assert evidence.solution is solution
    _, answer, relaxed = evidence.verdicts
    assert answer.certificate["gap"] == solution.gap > 0
    assert relaxed.certificate["relaxation"] == float(solution.relaxation.value)
    higher = replace(solution, bound=solution.error)
    assert evidence_of(case.path, higher.pruning, higher).holds is False


@pytest.mark.slow
def test_one_gap_whoever_prints_it() -> None:
    """The page, the command line and the solution give the same gap; a bound that its proof does not reach is told as wrong."""
    case = classifier()
    solution = pm.solve(case.path.problem, budget=3, method="path", path=case.path)
    higher = replace(solution, bound=(float(solution.relaxation.value) + solution.error) / 2)
    assert "A check found something wrong" in report_page(case.path, case.forest, case.X, case.y, chosen=higher)
    gap = f"{100 * solution.gap:.2f} %"
    page = Page(report_page(case.path, case.forest, case.X, case.y, chosen=solution)).text().replace("\u00a0", " ")
    section = page.split("In exact numbers")[0].split("the optimisation on the samples")[1].split("Cost and error on future")[0]
    assert gap in section
    assert f"{solution.bound!r}, {solution.gap!r}" in page
    # what the command line prints
    assert f"between {100 * solution.bound:.2f} % and {100 * solution.error:.2f} %" in solution.in_words()


def test_another_pruning_is_measured_at_its_own_cost() -> None:
    """One that is no row: compared with LP1's relaxation at exactly its cost, its gap above 0."""
    case = classifier()
    problem = case.path.problem
    kept = problem.ensemble.is_split.copy()
    inner = problem.ensemble.left
    top = problem.ensemble.roots[0]
    kept[problem.ensemble.nodes_of(0)] = False  # a whole tree gone, the others whole
    assert inner[top] >= 0
    pruning = pm.Pruning(problem, kept)
    assert row_of(case.path, pruning) is None
    evidence = evidence_of(case.path, pruning, None)
    assert evidence.row is evidence.lams is None
    assert evidence.solution.budget == pruning.exact_cost
    assert evidence.solution.gap == pytest.approx(pruning.error - float(evidence.solution.relaxation.value))
    assert evidence.solution.gap > 0
    assert evidence.holds is True


def test_a_wrong_path_is_refuted_and_one_without_a_certificate_undecided() -> None:
    """Levels that are not those of the instance: the verdict says no, whatever the row says."""
    path = replace(classifier().path, certificate=None)
    assert evidence_of(path, path[2], None).holds is None
    problem = two_trees()
    path = pruning_path(problem)
    wrong = replace(path, level=np.where(path.level > 0, path.level - 1, path.level).astype(np.int32))
    evidence = evidence_of(wrong, wrong[len(wrong) - 1], None)
    assert evidence.holds is False


def test_figures_of_a_verdict() -> None:
    """A mapping in words, a sentence as it is, nothing for nothing."""
    assert figures_of(Verdict("c", True, "m", {"rows": 3, "gap": 0.123456789})) == "rows 3, gap 0.123457"
    assert figures_of(Verdict("c", False, "m", "row 2 is wrong")) == "row 2 is wrong"
    assert figures_of(Verdict("c", True, "m")) == ""
