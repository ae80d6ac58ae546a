"""Exits along the optimal path of one forest, also at the end of a pipeline."""

from __future__ import annotations

import itertools
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm
from formulations import CostItems, PruningProblem
from proofs_checks import check_closure_path
from prunemodels.cascades.exit_path import ExitPath
from prunemodels.cascades.forest_exits import path_stages
from prunemodels.cascades.learning import HeldOutPolicies
from prunemodels.cascades.params import CascadeParams
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.reading import read_forest
from prunemodels.on_demand import from_table
from prunemodels.stages.stages import table_of
from tests.instances import Node, problem_of
from tests.prunemodels.cascades.tables import ITEMS, tally
from tests.prunemodels.forest_kinds import labels, rows, targets
from tests.prunemodels.on_demand.test_pipelines import X, random_pipeline, y

LABELS = {"two": ["no", "yes"], "three": ["high", "low", "middle"]}
QUICK: dict[str, Any] = {"n_stages": 4, "n_levels": 4, "random_state": 0}


@cache
def trained(kind: str, prices: str) -> tuple[Any, Any, Any, Any]:
    """A forest, its optimal path, and rows and labels that it has not seen."""
    X = rows(240)
    y = targets(X) if kind == "numbers" else labels(X, LABELS[kind])
    forest: Any = RandomForestRegressor if kind == "numbers" else RandomForestClassifier
    forest = forest(3, max_depth=3, random_state=0).fit(X[:120], y[:120])
    problem = pm.problem_from_forest(forest, X[:120], costs=ITEMS[prices], evaluation_cost=0.05)
    return forest, pm.pruning_path(problem), X[120:], y[120:]


@pytest.mark.slow_cases("numbers-auto-once", "three-learned-discounts")
@pytest.mark.parametrize(
    ("kind", "doubt", "prices"),
    [
        ("two", "margin", "plain"),
        ("three", "margin", "groups"),
        ("two", "margin", "discounts"),
        ("three", "margin", "once"),
        ("three", "learned", "discounts"),
        ("numbers", "auto", "once"),
    ],
)
def test_every_policy_is_proven_and_does_what_the_path_says(kind: str, doubt: Any, prices: str) -> None:
    """A stranger proves the path; by margins, cost and error are those of the rows sent through, counted by a plain loop. No row
    pays more than the unpruned forest asks of it, and the answer at a budget keeps it.
    """
    forest, path, X, y = trained(kind, prices)
    w = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    cascade = pm.exit_path(path, X, y, sample_weight=w, stack=doubt == "learned", doubt=doubt, **QUICK)
    exits = cascade.exit_path_
    assert check_closure_path(exits.closures).holds is True
    assert len(exits) > 1
    table_cost = exits.stages.costs(X)
    truth = y if kind == "numbers" else np.searchsorted(forest.classes_, y)
    whole = example_costs(read_forest(forest), X, ITEMS[prices], evaluation_cost=0.05)
    np.testing.assert_allclose(table_cost[-1], whole)
    for k in range(0, len(exits), max(1, len(exits) // 4)):
        model = cascade.at_row(k)
        assert (model.prediction_cost(X) <= whole + 1e-9).all()
        if doubt == "margin":
            table = table_of(exits.stages, X)
            policy = exits.policy(k)
            error, cost = tally(table, truth, w, policy.go, model.stop_stages(X).tolist())
            assert (exits.error[k], exits.cost[k]) == (pytest.approx(error), pytest.approx(cost))
    budget = float((exits.cost[0] + exits.cost[-1]) / 2)
    assert cascade.at_cost(budget).cost_ <= budget


def test_stages_are_nested_prunings_from_the_path_to_the_unpruned_forest() -> None:
    """At least as many as asked for where the path has them; costs rise by no more than a tenth of the unpruned cost. A larger
    step is a single split: nothing lies between.
    """
    path = trained("two", "plain")[1]
    stages = path_stages(path, 4)
    cost = stages.costs(np.asarray(path.problem.X)).mean(axis=1)
    assert stages.n_stages >= 4
    assert (np.diff(cost) >= 0).all()
    assert cost[-1] == pytest.approx(pm.Pruning.unpruned(path.problem).cost)
    steps = np.array([(stages.first_stage == s).sum() for s in range(1, stages.n_stages)])
    assert (steps[np.diff(cost) > CascadeParams.longest_gap * cost[-1] + 1e-9] == 1).all()


def chain(n: int) -> PruningProblem:
    """One tree: n splits below each other on n features of price 1, of which the last alone saves errors; all rows pass all."""
    tree = Node(0)
    for f in reversed(range(n)):
        tree = Node(9, f, 0.5, Node(0), tree)
    return problem_of([tree], [1] * n, np.ones((4, n)), weight=9)


def test_long_edges_are_filled_where_something_lies_between() -> None:
    """The path of such a chain is nothing or all, for a single edge. Of 20 features of price 1 stages stand a tenth apart; of
    three features of price 1, 8 and 1 the gap of 8 stays.
    """
    for prices, steps in ([1] * 20, {2}), ([1, 8, 1], {1, 8}):
        problem, rows = chain(len(prices)), np.ones((4, len(prices)))
        problem = PruningProblem.build(problem.ensemble, problem.errors, rows, CostItems.plain(prices))
        path = pm.pruning_path(problem)
        assert path.cost.tolist() == [sum(prices), 0]
        cost = path_stages(path, 3).costs(rows)[:, 0].tolist()
        assert (cost[0], cost[-1]) == (0, sum(prices))
        assert {b - a for a, b in itertools.pairwise(cost)} == steps


QUICK_OF_PIPELINES: dict[str, Any] = {"n_stages": 4, "n_levels": 8, "random_state": 0}


def exits_of(seed: int) -> tuple[Any, pm.CostItems, Any]:
    """A random pipeline, prices of its raw columns, and exits along its path."""
    pipe, items = random_pipeline(seed)
    errors = pm.samples.Given(X, y)
    path = pm.pruning_path(pm.problem_from_forest(pipe, X, costs=items, errors=errors, evaluation_cost=0.01))
    return pipe, items, pm.exit_path(path, X, y, doubt="margin", **QUICK_OF_PIPELINES)


@pytest.mark.slow_cases("2")
@pytest.mark.parametrize("seed", range(3))
def test_raw_rows_are_predicted_and_paid_as_by_hand(seed: int) -> None:
    """Predictions and costs are those of the last step's path on transformed rows at the prices of what they are made from."""
    pipe, items, exits = exits_of(seed)
    model = exits.at_lam(1e-3)
    rows, of_made = pipe[:-1].transform(X), items.of_made(pm.read_forest(pipe).made.sources)
    errors = pm.samples.Given(rows, y)
    by_hand = pm.pruning_path(pm.problem_from_forest(pipe[-1], rows, costs=of_made, errors=errors, evaluation_cost=0.01))
    other = pm.exit_path(by_hand, rows, y, doubt="margin", **QUICK_OF_PIPELINES).at_lam(1e-3)
    assert np.array_equal(model.predict_proba(X), other.predict_proba(rows))
    assert np.array_equal(model.prediction_cost(X), other.prediction_cost(rows))
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert pm.evaluate(model, X, y, costs=items).cost == pytest.approx(model.prediction_cost(X).mean())


@pytest.mark.parametrize("cap", [None, 6])
def test_on_demand_raw_columns_are_bought(cap: int | None) -> None:
    """Suppliers are asked for raw columns; classes and costs are those on full data, and no row pays more than a cap."""
    _, items, exits = exits_of(0)
    model = exits.at_lam(1e-3)
    asked: set[str] = set()

    def lab(request: Any) -> Any:
        asked.update(request.features)
        return from_table(X)(request)

    bought = pm.OnDemandPredictor(model, items, lab, max_cost=cap).run(X.index)
    assert asked <= set(X.columns)
    if cap is None:
        assert np.array_equal(bought.predictions, model.predict(X))
        assert np.allclose(bought.cost, model.prediction_cost(X))
    else:
        assert bought.cost.max() <= cap
        assert bought.capped.any()


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_of_policies_that_err_alike_the_cheapest_is_the_best(order: list[int]) -> None:
    """Three rows lose 0.3, 0.2 and 0.1 by the dearest policy, 0.1, 0.2 and 0.3 by the next one, 0.1, 0.2 and 0.4 by the cheapest.

    The last errs more than the second by more than a standard error, not so than the first. Of floats, 0.1 + 0.2 + 0.3 is more
    than 0.3 + 0.2 + 0.1.
    """
    loss, ones = np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3], [0.1, 0.2, 0.4]])[:, order], np.ones(3)
    path = SimpleNamespace(
        cross_fitted=SimpleNamespace(curve=tuple(HeldOutPolicies(ones, row, row, ones) for row in loss), lam=np.arange(3.0)),
        sample=SimpleNamespace(weights=ones),
        row_at_lam=int,
    )
    assert ExitPath.row_by(cast("ExitPath", path), "one_se") == 1
