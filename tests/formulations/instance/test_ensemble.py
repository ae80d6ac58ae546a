"""Trees as arrays, errors of their nodes, and what predictions pay."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations import CostItems, Ensemble, ErrorComponent, InvalidInputError, NodeErrors, PruningProblem, Usage
from formulations.instance.cost_items import Price
from formulations.instance.node_errors import errors_on_sample
from formulations.instance.numbers import engine_numbers
from formulations.instance.routing import as_rows, route
from tests.instances import Node, ensemble_of, random_problem


def arrays(**changes):
    """A split over a split and three leaves, then a tree of one leaf."""
    columns = {
        "tree_start": np.array([0, 5, 6]),
        "left": np.array([1, -1, 3, -1, -1, -1], dtype=np.int32),
        "right": np.array([2, -1, 4, -1, -1, -1], dtype=np.int32),
        "feature": np.array([0, -1, 1, -1, -1, -1], dtype=np.int32),
        "threshold": np.zeros(6),
        "missing_left": np.zeros(6, dtype=bool),
        "value": np.ones((6, 1)),
    }
    columns.update({name: np.asarray(new, dtype=columns[name].dtype) for name, new in changes.items()})
    return Ensemble(**columns, n_features=2, task="regression")


def test_by_hand():
    """Parents, depths, roots and trees follow from the children."""
    ensemble = arrays()
    assert ensemble.parent.tolist() == [-1, 0, 0, 2, 2, -1]
    assert ensemble.depth.tolist() == [0, 1, 1, 2, 2, 0]
    assert ensemble.roots.tolist() == [0, 5]
    assert ensemble.tree_of.tolist() == [0, 0, 0, 0, 0, 1]
    assert ensemble.is_split.tolist() == [True, False, True, False, False, False]
    assert (ensemble.n_nodes, ensemble.n_trees, ensemble.n_splits) == (6, 2, 2)


def test_deep_chain():
    """A chain of 5000 splits needs no recursion."""
    n = 10_001
    left, right = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    left[: n - 2 : 2], right[: n - 2 : 2] = np.arange(1, n - 1, 2), np.arange(2, n, 2)
    feature = np.where(left >= 0, 0, -1).astype(np.int32)
    ensemble = Ensemble(
        np.array([0, n]), left, right, feature, np.zeros(n), np.zeros(n, dtype=bool), np.zeros((n, 1)), 1, "regression"
    )
    assert ensemble.depth.max() == 5000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold": np.zeros(5)}, "threshold has 5 entries, left has 6"),
        ({"value": np.zeros((7, 1))}, "value has 7 entries, left has 6"),
        ({"left": [1, -1, 0, -1, -1, -1]}, "a child must stand behind its parent"),
        ({"right": [2, -1, 5, -1, -1, -1]}, "a child must stand behind its parent, in the same tree"),
        ({"right": [2, -1, 9, -1, -1, -1]}, "a child must stand behind its parent"),
        ({"right": [2, -1, 3, -1, -1, -1]}, "every node but a root must have exactly one parent"),
        ({"right": [2, -1, -1, -1, -1, -1]}, "a child must stand behind its parent"),
        ({"feature": [0, -1, 2, -1, -1, -1]}, "node 2 tests feature 2, the forest has features 0 to 1"),
        ({"feature": [-1, -1, 1, -1, -1, -1]}, "node 0 tests feature -1"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(changes, message):
    """Wrong lengths, children before parents or in other trees, lost or shared nodes, and unknown features."""
    with pytest.raises(InvalidInputError, match=message):
        arrays(**changes)


def stump(value, task):
    """One split of the only column at 0.5."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)
    classes = None if task == "regression" else np.arange(np.shape(value)[1])
    return replace(ensemble, value=np.asarray(value, dtype=float), task=task, classes=classes)


def measured(ensemble, X, y, w):
    return errors_on_sample(ensemble, route(ensemble, as_rows(X, 1)), np.asarray(y), np.asarray(w, dtype=float))


def test_errors_by_hand():
    """The root says 1 and errs on the first row, left says 0 and errs on the second, right says 1 and is right."""
    ensemble = stump([[0.4, 0.6], [0.9, 0.1], [0.2, 0.8]], "classification")
    errors = measured(ensemble, [[0], [0], [1]], [0, 1, 1], [1, 2, 4])
    assert errors.e.tolist() == [1, 2, 0]
    assert errors.weight.tolist() == [7]
    # a class index of -1 is wrong at every node that it reaches
    assert measured(ensemble, [[0]], [-1], [1]).e.tolist() == [1, 1, 0]
    # of equal fractions the first class is predicted, as by scikit-learn
    tied = stump([[0.5, 0.5], [0.5, 0.5], [0, 1]], "classification")
    assert measured(tied, [[0], [0], [1]], [0, 1, 0], [1, 1, 1]).e.tolist() == [1, 1, 1]
    # every tree may weigh the rows differently
    two, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))] * 2, 1)
    errors = measured(two, [[0], [1]], [-1, -1], [[1, 2], [0, 5]])
    assert (errors.e.tolist(), errors.weight.tolist()) == ([3, 1, 2, 5, 0, 5], [3, 5])
    # regression: weighted squared distances to the nodes' values 1, 0 and 3
    errors = measured(stump([[1.0], [0.0], [3.0]], "regression"), [[0], [1]], [2.0, 5.0], [3, 1])
    np.testing.assert_allclose(errors.e, [3 * 1 + 16, 3 * 4, 4])


def test_per_node_by_hand():
    """Share e / (T W): two trees, weights 2 and 5, shares 1/4 and 3/4."""
    ensemble, _ = ensemble_of([Node(0), Node(0)], 1)
    weight = np.array([2.0, 5.0])
    errors = NodeErrors(
        (
            ErrorComponent(np.array([1.0, 0.0]), weight, Fraction(1, 4), "in-bag"),
            ErrorComponent(np.array([2.0, 3.0]), weight, Fraction(3, 4), "given"),
        )
    )
    np.testing.assert_allclose(errors.per_node(ensemble), [(1 / 4 + 3 / 2) / 4, 9 / 4 / 10])
    assert errors.source == "0.25 in-bag + 0.75 given"


@pytest.mark.parametrize(
    ("components", "message"),
    [
        ([([1.0], [1.0], Fraction(1, 2))], r"the shares of a blend are \[0.5\]; they must sum to 1"),
        ([([-1.0], [1.0], Fraction(1))], r"errors \(given\): node 0 has error -1.0"),
        ([([np.nan], [1.0], Fraction(1))], "node 0 has error nan"),
        ([([1.0], [0.0], Fraction(1))], "tree 0 has an error sample of weight 0.0; every tree needs at least one example"),
        ([([1.0], [np.inf], Fraction(1))], "tree 0 has an error sample of weight inf"),
        ([], "the shares of a blend are"),
    ],
)
def test_refusals(components, message):
    """Shares that do not sum to 1, negative or undefined errors, and empty samples."""
    with pytest.raises(InvalidInputError, match=message):
        NodeErrors(tuple(ErrorComponent(np.array(e), np.array(w), share) for e, w, share in components))


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
    free = Usage.build(small().ensemble, CostItems((), (), ((), ())), np.zeros((4, 2)))
    assert free.first_stage_by_row(stage, 3).shape == (0, 4)  # where nothing needs an item


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
    without = PruningProblem.of(problem.usage, NodeErrors((ErrorComponent(np.zeros(n), np.ones(trees)),))).numbers
    alone = engine_numbers(problem.usage, None)
    assert not alone.gain.any()
    for name in ("price", "weight", "evaluation"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(without, name))
    assert alone.price_unit == without.price_unit
    other = PruningProblem.of(problem.usage, replace(problem.errors))  # nothing is routed again
    assert other.usage.row_blocks is problem.usage.row_blocks
    assert other.usage.routing is problem.usage.routing
