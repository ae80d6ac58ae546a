"""One sweep says of every row of a path what evaluating its forest would say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import mean_absolute_error, mean_poisson_deviance

import prunemodels as pm
from formulations import PruningPath, PruningProblem
from formulations.answers.nested_prunings import NestedPrunings
from formulations.instance import usage
from prunemodels.evaluation import path as path_evaluation
from prunemodels.evaluation.evaluate import EvaluationParams
from prunemodels.evaluation.held_out import on_other_rows
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.statements.mean_bounds import standard_error
from tests.instances import Node, ensemble_of, plain_errors, random_problem, way, with_usage
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, labels, rows, targets
from tests.prunemodels.rivals.baselines.cases import random_sequence

PRICES = [1, 2.5, 3, 0, 7.27]


def two_stumps() -> PruningPath:
    """A stump on feature 0 (price 3, gain 0.2) and one on feature 1 (price 5, gain 0.1)."""
    ensemble, error = ensemble_of([Node(6, 0, 0.5, Node(1), Node(1)), Node(4, 1, 0.5, Node(1), Node(1))], 2)
    value = np.array([[0.7, 0.3], [0.9, 0.1], [0.4, 0.6], [0.4, 0.6], [0.8, 0.2], [0.1, 0.9]])
    ensemble = replace(ensemble, value=value, classes=np.array(["no", "yes"]))
    problem = PruningProblem.build(
        ensemble, plain_errors(ensemble, error, 10.0), np.zeros((1, 2)), pm.CostItems.plain([3, 5]), evaluation_cost=0.25
    )
    return pm.pruning_path(problem)


def test_two_stumps_by_hand() -> None:
    """Errors, paired differences, and costs of three rows on three examples.

    Votes for "no" and "yes", of the examples (0, 0) no, (1, 0) yes, (0, 1) yes:
    both stumps: 1.7 0.3, 1.2 0.8, 1 1 (a tie goes to "no"); stump 0 alone: 1.3 0.7, 0.8 1.2, 1.3 0.7; roots: 1.1 0.9.
    """
    seen = evaluate_path(two_stumps(), [[0, 0], [1, 0], [0, 1]], ["no", "yes", "yes"])
    np.testing.assert_allclose(seen.cost, [8.5, 3.25, 0], atol=1e-12)
    np.testing.assert_allclose(seen.cost_se, 0, atol=1e-12)
    np.testing.assert_allclose(seen.error, [2 / 3, 1 / 3, 2 / 3])
    np.testing.assert_allclose(seen.error_se, [1 / 3] * 3)  # 3/2 * 2/3 under the root, over 3
    assert seen.best == 1
    np.testing.assert_allclose(seen.increase, [0, -1 / 3, 0], atol=1e-15)
    np.testing.assert_allclose(seen.increase_se, [0, 1 / 3, 0], atol=1e-15)  # only the example (1, 0) differs
    np.testing.assert_allclose(seen.above_best, [1 / 3, 0, 1 / 3], atol=1e-15)
    np.testing.assert_allclose(seen.above_best_se, [1 / 3, 0, 1 / 3], atol=1e-15)
    assert (seen.n, seen.unpruned_cost, seen.unpruned_error) == (3, 8.5, pytest.approx(2 / 3))
    assert list(seen.to_frame().columns[:3]) == ["lambda", "cost", "cost_se"]
    assert repr(seen) == "PathEvaluation(3 examples, 3 rows: least error 0.3333 at cost 3.25, unpruned 0.6667 at 8.5)"


def test_of_equal_errors_the_cheapest_is_best() -> None:
    """Where every row errs alike, `best` is the last; also where weights leave the sums to differ by rounding."""
    path = two_stumps()
    assert evaluate_path(path, [[0, 0], [0, 0]], ["no", "no"]).best == 2
    for a, b in ((0.1, 0.2), (0.1, 0.7), (0.2, 0.4), (0.7, 0.1), (1.1, 2.2)):  # row 1 errs on c alone, the others on a and b
        seen = evaluate_path(path, [[1, 0]] * 3, ["yes", "yes", "no"], sample_weight=[a, b, round(a + b, 1)])
        assert seen.best == 2


def voting_path(seed: int, task: str, ties: Any) -> PruningPath:
    """A random instance whose nodes predict tenths, so that votes tie up to the order of their sums."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    n = problem.ensemble.n_nodes
    if task == "regression":
        ensemble = replace(problem.ensemble, value=rng.normal(size=(n, 1)), task="regression", classes=None)
    else:
        ensemble = replace(problem.ensemble, value=rng.integers(0, 8, (n, 3)) / 10, classes=np.array(["a", "b", "c"]))
    return pm.pruning_path(with_usage(problem, ensemble=ensemble), ties=ties)


def predict(path: NestedPrunings, kept: NDArray[np.bool_], X: NDArray[np.float64], vote: str) -> NDArray[Any]:
    """Walk every row down every pruned tree, and add the trees up in their order."""
    e = path.problem.ensemble
    predicted = []
    for x in X.astype(np.float32):
        total = np.zeros(e.value.shape[1])
        for root in e.roots.tolist():
            h = way(e, root, x, kept)[-1]
            total += np.eye(len(total))[e.value[h].argmax()] if vote == "majority" else e.value[h]
        mean = total / len(e.roots)
        predicted.append(mean[0] if e.task == "regression" else mean.argmax())
    return np.array(predicted)


@pytest.mark.parametrize("kind", ["smallest", "largest", "any"])
@pytest.mark.parametrize(("task", "vote"), [("classification", "mean"), ("classification", "majority"), ("regression", "mean")])
@looped("seed", range(25))
def test_every_number_is_that_of_the_definition(seed: int, task: str, vote: Any, kind: Any) -> None:
    """On random instances with items of all kinds, weights and ties, all arrays are what single rows give, one by one. Of optimal
    paths, and of any nested prunings.
    """
    path: NestedPrunings = voting_path(seed, task, "smallest" if kind == "any" else kind)
    if kind == "any":
        path = random_sequence(path.problem, seed)
    check_every_number(path, seed, task, vote)


def check_every_number(path: NestedPrunings, seed: int, task: str, vote: Any) -> None:
    rng = np.random.default_rng(seed + 1000)
    X = rng.integers(0, 5, (9, path.problem.ensemble.n_features)).astype(float)
    w = rng.choice([0.0, 0.5, 1, 3], 9)
    w[:2] = 1
    y = rng.normal(size=9) if task == "regression" else rng.choice(["a", "b", "c"], 9)
    y[0] = y[0] if task == "regression" else "a"
    others = on_other_rows(path.problem, X, w)
    counted = np.flatnonzero(w)
    losses, costs, once = [], [], []
    unpruned = path.problem.ensemble.is_split
    for kept in [unpruned, *(pruning.kept for pruning in path)]:
        predicted = predict(path, kept, X[counted], vote)
        wrong = (predicted - y[counted]) ** 2 if task == "regression" else np.array(list("abc"))[predicted] != y[counted]
        losses.append(wrong.astype(float))
        pruning = pm.Pruning(others, kept)
        costs.append(pruning.problem.usage.row_costs(pruning.kept))
        once.append(pruning.problem.usage.once_cost(kept))
    seen = evaluate_path(path, X, y, sample_weight=w, vote=vote)
    v = w[counted]
    assert [seen.unpruned_error, *seen.error] == pytest.approx([np.average(loss, weights=v) for loss in losses], abs=1e-12)
    assert [seen.unpruned_cost, *seen.cost] == pytest.approx(
        [np.average(x, weights=v) + c for x, c in zip(costs, once, strict=True)], abs=1e-12
    )
    assert seen.error_se == pytest.approx([standard_error(loss, v) for loss in losses[1:]], abs=1e-6)
    assert seen.cost_se == pytest.approx([standard_error(x, v) for x in costs[1:]], abs=1e-6)
    assert seen.increase_se == pytest.approx([standard_error(loss - losses[0], v) for loss in losses[1:]], abs=1e-6)
    best = losses[1 + seen.best]
    assert seen.above_best_se == pytest.approx([standard_error(loss - best, v) for loss in losses[1:]], abs=1e-6)
    assert seen.increase == pytest.approx(seen.error - seen.unpruned_error, abs=1e-15)
    assert seen.above_best.min() >= -1e-12
    assert seen.above_best_se[seen.best] == 0
    assert seen.n == len(counted)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("kind", KINDS)
def test_equals_evaluating_every_pruned_forest(kind: str, ties: Any) -> None:
    """For every kind of forest, errors are those of `evaluate` on the pruned forest, a classifier's bit for bit; so are costs."""
    f = fitted(kind)
    prices: dict[str, Any] = {"costs": PRICES, "evaluation_cost": 0.1}
    path = pm.pruning_path(pm.problem_from_forest(f.forest, f.X, **prices), ties=ties)
    X: Any = rows(150, seed=9, missing=0.2 if "missing values" in kind else 0)
    y = labels(X, list(f.forest.classes_), seed=3) if hasattr(f.forest, "classes_") else targets(X, 3)
    X = pd.DataFrame(X, columns=f.X.columns) if hasattr(f.X, "columns") else X
    seen = evaluate_path(path, X, y)
    exact = 0 if hasattr(f.forest, "classes_") else 1e-14
    for k in range(0, len(path), 1 + len(path) // 8):
        one = pm.evaluate(pm.apply_pruning(path[k], f.forest), X, y, **prices)
        assert seen.error[k] == pytest.approx(one.error, rel=0, abs=exact)
        assert seen.cost[k] == pytest.approx(one.cost, rel=0, abs=1e-10)
    unpruned = pm.evaluate(f.forest, X, y, **prices)
    assert seen.unpruned_error == pytest.approx(unpruned.error, rel=0, abs=exact)
    assert seen.unpruned_cost == pytest.approx(unpruned.cost, abs=1e-10)


@pytest.mark.slow
def test_ties_fall_as_the_sums_over_the_trees_round() -> None:
    """Where two classes tie up to rounding, sums in the order of the trees decide, as in scikit-learn: not what moved them there.
    0.3 + 0.2 + 0.1 is 0.6 and 0.1 + 0.2 + 0.3 is 0.6000000000000001. Sums that moved from leaf to root round otherwise.
    """
    seen = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        trees = [Node(2.0 + t, 0, 0.5, Node(0), Node(0)) for t in range(4)]
        ensemble, error = ensemble_of(trees, 1)
        first = rng.integers(1, 6, ensemble.n_nodes) / 10
        second = rng.integers(1, 6, ensemble.n_nodes) / 10
        ensemble = replace(ensemble, value=np.stack([first, second], axis=1), classes=np.array([0, 1]))
        problem = PruningProblem.build(
            ensemble, plain_errors(ensemble, error, 10.0), np.zeros((1, 1)), pm.CostItems.plain([0]), evaluation_cost=1
        )
        path = pm.pruning_path(problem)
        assert len(path) == 5
        expected = [predict(path, pruning.kept, np.zeros((1, 1)), "mean")[0] for pruning in path]
        seen.append(evaluate_path(path, np.zeros((1, 1)), [0]).error.tolist() == expected)
    assert all(seen)


def arrays(seen: PathEvaluation) -> NDArray[np.float64]:
    return seen.to_frame().to_numpy()


@pytest.mark.parametrize("kind", ["random forest, 3 string labels", "regression forest"])
def test_blocks_of_rows_add_up(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken in blocks of a few rows, from a dense or a sparse matrix, the examples give the same numbers."""
    f = fitted(kind)
    items = pm.CostItems.from_items({"a": 2, "b": 3, "licence": 5}, [["a"], ["a", "b"], ["b"], ["licence"], ["a"]], ["licence"])
    path = pm.pruning_path(pm.problem_from_forest(f.forest, f.X, costs=items, evaluation_cost=[0, 1, 0, 0.5, 0]))
    X = rows(100, seed=4)
    y = labels(X, list(f.forest.classes_)) if hasattr(f.forest, "classes_") else targets(X)
    whole = evaluate_path(path, X, y)
    routed = []
    monkeypatch.setattr(path_evaluation, "PARAMS", EvaluationParams(block_bytes=2000))
    monkeypatch.setattr(usage, "route", lambda e, block: routed.append(len(block)) or pm_route(e, block))
    for table in (X, sparse.csc_matrix(X)):
        np.testing.assert_allclose(arrays(evaluate_path(path, table, y)), arrays(whole), atol=1e-7)
    assert max(routed) < 30


pm_route = usage.route


@looped("label", ["perhaps", None, np.nan])
def test_labels_that_no_tree_knows_are_refused(label: Any) -> None:
    """Nobody can predict them."""
    path, y = two_stumps(), np.array(["no", label], dtype=object)
    with pytest.raises(pm.errors.InvalidInputError, match=rf"y\[1\] is the label {label!r}, .*leave such rows out"):
        evaluate_path(path, [[0, 0], [0, 0]], y)


def test_a_single_example_has_no_standard_error() -> None:
    """Of one example the errors are known, their standard errors are NaN."""
    seen = evaluate_path(two_stumps(), [[0, 0], [1, 1]], ["no", "yes"], sample_weight=[2, 0])
    assert seen.n == 1
    assert seen.error.tolist() == [0, 0, 0]
    assert np.isnan(seen.above_best_se).all()
    assert np.isnan(seen.cost_se).all()


NUMBERS = voting_path(3, "regression", "smallest")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": ["no"]}, r"y has shape \(1,\), X has 2 rows"),
        ({"y": [0, 1]}, r"y\[0\] is the label 0, the model was trained on \['no', 'yes'\]"),
        ({"X": [[0, 0, 0], [0, 0, 0]]}, "X has 3 columns, the forest was trained on 2 features"),
        ({"sample_weight": [1, -1]}, r"sample_weight\[1\] is -1.0"),
        ({"sample_weight": [0, 0]}, "sample_weight is 0 everywhere"),
        ({"vote": "median"}, "vote is 'median'; give one of 'mean', 'majority'"),
        ({"path": NUMBERS, "y": [1.0, 2.0], "vote": "majority"}, "vote is 'majority'; give 'mean': the forest predicts numbers"),
        ({"path": NUMBERS, "y": [1.0, np.nan]}, r"y\[1\] is nan"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    """Labels, rows, weights and votes of classes; of a regression a majority and NaN; columns in another order."""
    arguments: dict[str, Any] = {"path": two_stumps(), "X": [[0, 0], [1, 1]], "y": ["no", "yes"], **change}
    if "path" in change:
        arguments["X"] = np.zeros((2, change["path"].problem.ensemble.n_features))
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        pm.evaluate_path(**arguments)


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_regression_forests_are_judged_by_their_criterion(criterion: str) -> None:
    """Every row's error, the held-out change and `evaluate` are scikit-learn's own measure of what the pruned forest predicts."""
    X, y = rows(), targets(rows())
    forest = RandomForestRegressor(4, criterion=criterion, max_depth=4, random_state=0).fit(X[:60], y[:60])
    result = pm.prune_forest(forest, X[60:], y[60:], costs=PRICES, budget=5, errors=pm.samples.InBag(X[:60], y[:60]))
    measure = {"absolute_error": mean_absolute_error, "poisson": mean_poisson_deviance}[criterion]
    seen = evaluate_path(result.path, X, y)
    own = [measure(y, pm.apply_pruning(pruning, forest).predict(X)) for pruning in result.path]
    np.testing.assert_allclose(seen.error, own, rtol=1e-9)
    own_error = measure(y, result.estimator.predict(X))
    name = {"absolute_error": "mean absolute error", "poisson": "mean Poisson deviance"}[criterion]
    change = result.evaluate(X, y)
    assert change.error_after.mean == pytest.approx(own_error)
    assert change.measure == name
    assert name in repr(change)
    once = pm.evaluate(result.estimator, X, y, costs=PRICES)
    assert (once.error, once.measure) == (pytest.approx(own_error), name)


@pytest.mark.parametrize("classes", [2, 3])
def test_misclassification_costs_of_every_row(classes: int) -> None:
    """Every row's error, and the held-out change, are the mean cost of what the pruned forest predicts."""
    X, y = rows(), labels(rows(), ["high", "low", "mid"][:classes])
    C = np.array([[0, 8, 3], [1, 0, 2.5], [0.5, 6, 0]])[:classes, :classes]
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X[:60], y[:60])
    result = pm.prune_forest(forest, X[60:], y[60:], costs=PRICES, budget=5, misclassification_costs=C)
    code = np.searchsorted(forest.classes_, y)

    def own(pruned: Any) -> float:
        return float(C[code, np.searchsorted(forest.classes_, pruned.predict(X))].mean())

    seen = evaluate_path(result.path, X, y)
    np.testing.assert_allclose(seen.error, [own(pm.apply_pruning(pruning, forest)) for pruning in result.path], rtol=1e-12)
    change = result.evaluate(X, y)
    assert change.error_after.mean == pytest.approx(own(result.estimator))
    assert change.measure == "mean misclassification cost"
    assert "mean misclassification cost" in repr(change)
    assert "%" not in repr(change).split("mean misclassification cost")[1].split("\n")[0]
    held_out = pm.hold_out(result.pruning, forest, X, y, method="betting")
    assert held_out.error is not None
    assert held_out.error.mean == pytest.approx(own(result.estimator))
    votes = evaluate_path(result.path, X, y, vote="majority")
    assert votes.error.max() <= C.max()
