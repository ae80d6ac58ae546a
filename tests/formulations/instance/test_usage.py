"""What kept splits cost, without errors."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations import CostItems, ErrorComponent, NodeErrors, PruningProblem, Usage
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from tests.instances import Node, ensemble_of, random_problem


def small() -> Usage:
    """Root on feature 0; its right child on feature 1, which needs an item of each row and a licence paid once."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0, 1, 0.5, Node(0), Node(0)))], 2)
    costs = CostItems.from_items({"a": 2, "licence": 10, "b": 3}, [["a"], ["licence", "b"]], ["licence"])
    X = np.array([[0.0, 0], [1, 1], [1, 0], [1, 1]])
    return Usage.build(ensemble, costs, X, sample_weight=[1, 0, 2, 1], evaluation_cost=[0.5, 0.25])


def test_rows_pay_for_the_splits_that_they_pass() -> None:
    """Row 0 passes the root alone, rows 2 and 3 both splits; the row of weight 0 pays nothing; the licence is paid once."""
    usage, root = small(), np.array([True, False, False, False, False])
    both = usage.ensemble.is_split
    assert usage.row_costs(both).tolist() == [2.5, 5.75, 5.75]
    assert usage.row_costs(root).tolist() == [2.5, 2.5, 2.5]
    assert usage.largest_row_cost(both) == 5.75
    assert (usage.bill(both).feature_cost, usage.bill(both).evaluation_cost) == (
        (2 * 4 + 3 * 3) / 4 + 10,
        (0.5 * 4 + 0.25 * 3) / 4,
    )
    assert usage.cost(root) == 2.5
    assert usage.cost(np.zeros(5, dtype=bool)) == 0
    assert (usage.once_cost(both), usage.once_cost(root)) == (10, 0)
    assert usage.counting_features().cost(both) == (1 + 2 * 2 + 2) / 4


@pytest.mark.parametrize(
    ("prices", "evaluation"), [([1e308, 1e308], 0), ([1, 1], 1e308), ([Fraction(10) ** 400, 1], 0), (["1", "2"], [10**309, 0])]
)
def test_prices_whose_sum_is_no_float_are_refused(prices: list[Price], evaluation: Price) -> None:
    """Costs are floats: a sum beyond their range is named before anything is computed. Just below it is a cost."""
    ensemble = small().ensemble
    with pytest.raises(InvalidInputError, match=r"together cost more than 1.8e\+308, the largest float|to 1.8e\+308 in size"):
        Usage.build(ensemble, CostItems.plain([Fraction(p) for p in prices]), np.zeros((1, 2)), evaluation_cost=evaluation)
    dear = Usage.build(ensemble, CostItems.plain([8e307, 8e307]), np.ones((1, 2)))
    assert dear.largest_row_cost(ensemble.is_split) == 1.6e308


def test_a_row_pays_in_the_first_stage_that_needs_an_item() -> None:
    """The root from stage 1 on, the other split from stage 2: nothing is paid in stage 0 and nothing twice."""
    stage = np.array([1, 3, 2, 3, 3], dtype=np.int32)
    assert small().stage_costs(stage, 3).tolist() == [[0, 0, 0], [2.5, 2.5, 2.5], [0, 3.25, 3.25]]
    assert small().first_stage_by_row(stage, 3).tolist() == [[1, 1, 1], [3, 3, 3], [3, 2, 2]]
    assert small().first_stage_once(stage, 3).tolist() == [3, 2, 3]


def test_bills_of_different_rows_add_up() -> None:
    """The sum of the bills of two parts of the rows is the bill of all of them."""
    usage, both = small(), small().ensemble.is_split
    X = np.asarray(usage.X)
    total = usage.on(X[:1]).bill(both) + usage.on(X[1:], [0, 2, 1]).bill(both)
    assert total.cost == usage.cost(both) == 14.9375
    assert (total.payers.tolist(), total.once.tolist()) == ([4, 0, 3], [False, True, False])


@pytest.mark.parametrize("seed", range(8))
def test_prices_in_integers_need_no_errors(seed: int) -> None:
    """They are those of the problem whose errors are all 0."""
    problem = random_problem(seed)
    n, trees = problem.ensemble.n_nodes, problem.ensemble.n_trees
    without = PruningProblem.of(problem.usage, NodeErrors((ErrorComponent(np.zeros(n), np.ones(trees)),))).integers
    alone = problem.usage.in_integers()
    assert not alone.gain.any()
    for name in ("price", "weight", "evaluation"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(without, name))
    assert (alone.price_unit, alone.cost_rounding) == (without.price_unit, without.cost_rounding)


def test_problems_with_other_errors_share_the_usage() -> None:
    """Nothing is routed again, and what the usage holds is there for both."""
    problem = random_problem(1)
    other = PruningProblem.of(problem.usage, replace(problem.errors))
    assert other.row_blocks is problem.row_blocks
    assert other.routing is problem.routing
