"""What a report says is proven, and what it measures: usage, held-out change, items, payments and requests."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import prunemodels as pm
from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.instance.tree_loss import TreeLoss
from proofs_checks.verdict import Verdict
from prunemodels.evaluation.evaluate import item_costs
from prunemodels.evaluation.held_out import held_out_change, on_other_rows
from prunemodels.report_page import report_page
from prunemodels.report_page.evidence import evidence_of, figures_of, lam_interval, row_of
from prunemodels.report_page.facts import UsageCounts, usage_counts
from prunemodels.report_page.payers import Answers, Payers, payers
from prunemodels.statements.change import SampleCost, change_of
from prunemodels.statements.mean_bounds import paired_interval
from solvers import pruning_path
from tests.prunemodels.forest_kinds import fitted, random_pruning
from tests.prunemodels.report_page.cases import Page, classifier, regressor


def slow_counts(forest, kept_forest, X):
    """Trees that use each feature for each row, from scikit-learn's decision paths."""
    ensemble = pm.read_forest(kept_forest)
    counts = np.zeros((len(X), ensemble.n_features), dtype=int)
    trees = getattr(kept_forest, "estimators_", [kept_forest])
    columns = getattr(kept_forest, "estimators_features_", [np.arange(ensemble.n_features)] * len(trees))
    rows = X.to_numpy() if hasattr(X, "to_numpy") else X
    for tree, own in zip(trees, columns, strict=True):
        visited = tree.decision_path(rows[:, own].astype(np.float32)).toarray().astype(bool)
        for i in range(len(rows)):
            nodes = np.flatnonzero(visited[i] & (tree.tree_.children_left >= 0))
            counts[i, np.unique(np.asarray(own)[tree.tree_.feature[nodes]])] += 1
    return counts


@pytest.mark.parametrize("kind", ["random forest", "bag, some columns", "random forest, missing values", "tree"])
def test_usage_is_what_decision_paths_say(kind: str) -> None:
    """Shares of pairs by number of trees, of a pruned forest, weighted, against scikit-learn's own paths."""
    case = fitted(kind)
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    pruning = random_pruning(problem)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(case.X))
    seen = usage_counts(problem.ensemble, pruning.kept, case.X, weights)
    expected = slow_counts(case.forest, pm.apply_pruning(pruning, case.forest), case.X)
    for k in range(problem.ensemble.n_trees + 1):
        share = weights @ (expected == k).sum(axis=1) / (weights.sum() * expected.shape[1])
        assert seen.share[k] == pytest.approx(share, abs=1e-12)
    assert seen.share.sum() == pytest.approx(1)
    assert seen.features == pytest.approx(weights @ (expected > 0).sum(axis=1) / weights.sum())


def test_the_bins_of_table_1() -> None:
    """No use, 1 to 7 trees, more than 7: of 9 trees shares 0.1 each, 1 to 7 is 0.7 and more than 7 0.2."""
    assert UsageCounts(np.full(10, 0.1), 0.0).bins == pytest.approx((0.1, 0.7, 0.2))
    assert UsageCounts(np.array([0.25, 0.75]), 0.0).bins == (0.25, 0.75, 0.0)


def test_before_and_after_are_what_evaluate_says() -> None:
    """Cost and error on held-out rows, of both forests; broken and mended predictions counted one by one."""
    for case in (classifier(), regressor()):
        problem, pruning = case.path.problem, case.some
        pruned = pm.apply_pruning(pruning, case.forest)
        seen = held_out_change(on_other_rows(problem, case.X), pruning.kept, case.forest, case.y, 0.9)
        for forest, cost, error in (
            (case.forest, seen.cost_before, seen.error_before),
            (pruned, seen.cost_after, seen.error_after),
        ):
            price = [float(a) for a in problem.usage.evaluation]
            known = pm.evaluate(forest, case.X, case.y, costs=problem.costs, evaluation_cost=price)
            assert cost.mean == pytest.approx(known.cost)
            assert error.mean == pytest.approx(known.error)
            assert cost.low <= cost.mean <= cost.high
        assert seen.saving.mean == pytest.approx(seen.cost_before.mean - seen.cost_after.mean)
        assert seen.increase.mean == pytest.approx(seen.error_after.mean - seen.error_before.mean)
        assert seen.n == len(case.y)
        right = [forest.predict(case.X) == case.y for forest in (case.forest, pruned)]
        if case is classifier():
            assert (seen.broken, seen.mended) == ((right[0] & ~right[1]).sum(), (~right[0] & right[1]).sum())
            assert seen.broken != seen.mended
        else:
            assert seen.broken is seen.mended is None


def test_the_paired_interval_is_students() -> None:
    """As scipy's paired t-test has it; with weights that are all the same number too."""
    rng = np.random.default_rng(0)
    d = rng.normal(0.3, 1, 40)
    known = stats.ttest_1samp(d, 0.0).confidence_interval(0.9)
    for w in (np.ones(40), np.full(40, 2.5)):
        seen = paired_interval(d, w, 0.9)
        assert (seen.mean, seen.low, seen.high) == pytest.approx((d.mean(), known.low, known.high))
    assert paired_interval(np.array([1.0, 3.0]), np.array([3.0, 1.0]), 0.9).mean == 1.5


def test_rows_of_weight_zero_do_not_count() -> None:
    """Neither in costs nor in errors: as if they were not there."""
    case = classifier()
    pruning, keep = case.some, np.arange(80) % 3 > 0
    weighted = on_other_rows(case.path.problem, case.X, keep.astype(float))
    fewer = on_other_rows(case.path.problem, case.X[keep])
    one = held_out_change(weighted, pruning.kept, case.forest, case.y, 0.95)
    assert one == held_out_change(fewer, pruning.kept, case.forest, case.y[keep], 0.95)
    with pytest.raises(pm.errors.InvalidInputError, match=r"y has shape \(80,\), X has 53 rows"):
        held_out_change(fewer, pruning.kept, case.forest, case.y, 0.95)


def test_what_is_paid_once_is_saved_once() -> None:
    """Two trees, the second item a licence: without its tree the licence is saved, by every row and without error."""
    trees = two_trees()
    costs = pm.CostItems.from_items({"a": 1, "b": 8, "c": 1}, [["a"], ["b"], ["c"]], once=["b"])
    X = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    problem = on_other_rows(trees, X)
    problem = type(problem).build(problem.ensemble, problem.errors, X, costs)
    nothing = Pruning.all_roots(problem)
    paid = tuple(SampleCost.of(problem.usage, p.kept) for p in (Pruning.unpruned(problem), nothing))
    seen = change_of(paid, (np.zeros(2), np.zeros(2)), problem.usage.weights, 0.95, loss=TreeLoss("zero_one"))
    assert seen.cost_after.mean == 0
    assert seen.saving.mean == pytest.approx(Pruning.unpruned(problem).cost)
    assert seen.cost_before.mean == pytest.approx(Pruning.unpruned(problem).cost)
    assert seen.saving.mean > 8


def test_items_add_up_to_the_cost() -> None:
    """Shares times prices, and the evaluation, are the costs before and after; the dearest first, the evaluation last."""
    case = classifier()
    problem = on_other_rows(case.path.problem, case.X)
    kept = (problem.ensemble.is_split, case.some.kept)
    rows = item_costs(problem.usage, kept, problem.ensemble.column_names)
    assert sum(r.before for r in rows) == pytest.approx(Pruning.unpruned(problem).cost)
    assert sum(r.after for r in rows) == pytest.approx(Pruning(problem, case.some.kept).cost)
    assert [r.name for r in rows][-1] == "evaluation of splits"
    assert {r.name for r in rows[:-1]} == {"<lab>", "own & only", "licence", "last"}  # "free" has no price
    assert [r.before for r in rows[:-1]] == sorted((r.before for r in rows[:-1]), reverse=True)
    licence = next(r for r in rows if r.name == "licence")
    assert (licence.once, licence.bought_before, licence.before) == (True, 1.0, 0.125)
    lab = next(r for r in rows if r.name == "<lab>")
    assert lab.features == tuple(case.X.columns[:2])
    assert lab.before == pytest.approx(2 * lab.bought_before)
    assert 0 < lab.bought_before <= 1


ITEMS = pm.CostItems.plain([1, 5], ["visit", "scan"])
TRUTH = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])  # places of the labels
BEFORE = Answers(np.array([0, 0, 0, 0, 1, 1, 1, 1, 0]), np.full(9, 6.0), np.ones((2, 9), dtype=bool))
AFTER = Answers(
    np.array([0, 0, 1, 1, 0, 1, 0, 0, 1]),
    np.array([1.0, 1, 1, 1, 1, 6, 1, 6, 6]),
    np.array([[1] * 9, [0, 0, 0, 0, 0, 1, 0, 1, 1]], dtype=bool),
)


def compared(classes: tuple[str, ...]) -> Payers | None:
    """The nine examples: four of the second class."""
    known = np.array(classes)
    answers = [replace(answer, said=known[answer.said]) for answer in (BEFORE, AFTER)]
    return payers(known, known[TRUTH], np.ones(9), answers, ITEMS)


def test_payments_and_requests_by_group() -> None:
    """The ill paid 6 and pay 4.75 now, in the middle 6; of them three in four have a scan, of the well none."""
    found = compared(("well", "ill"))
    assert found is not None
    assert found.positive == "ill"
    groups = {group.name: group for group in found.groups}
    assert groups["“ill”"].after == (4.75, 6, 6)
    assert groups["“well”"].after == (1, 1, 1)
    assert groups["called “ill”"].n == 4
    scan, visit = found.items
    assert (scan.label, scan.positive, scan.other) == ("scan", (1, 0.75), (1, 0))
    assert (visit.label, visit.positive, visit.other) == ("visit", (1, 1), (1, 1))
    assert compared(("well", "ill", "unsure")) is None


def test_a_page_on_numbers_has_no_classes() -> None:
    """Naming a positive class there is refused."""
    case = regressor()
    with pytest.raises(InvalidInputError, match="positive is 'ill', and the model predicts numbers"):
        report_page(case.path, case.forest, case.X, case.y, chosen=case.some, positive="ill")


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


def test_figures_of_a_verdict() -> None:
    """A mapping in words, a sentence as it is, nothing for nothing."""
    assert figures_of(Verdict("c", True, "m", {"rows": 3, "gap": 0.123456789})) == "rows 3, gap 0.123457"
    assert figures_of(Verdict("c", False, "m", "row 2 is wrong")) == "row 2 is wrong"
    assert figures_of(Verdict("c", True, "m")) == ""
