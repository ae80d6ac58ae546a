"""Prices, items, requests, and problems of them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import formulations.instance.cost_sample
from formulations import CapacityOverflowError, CostItems, InvalidInputError, NodeErrors, Pruning, PruningProblem
from formulations.instance.cost_items import exact
from formulations.instance.cost_sample import check_weights
from tests.instances import Node, ensemble_of, plain_errors, random_problem
from tests.loops import looped


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (7.27, Fraction(727, 100)),
        (0.1, Fraction(1, 10)),
        (1e-30, Fraction(1, 10**30)),
        (3, Fraction(3)),
        (np.int64(2**62), Fraction(2**62)),
        (np.float64(0.3), Fraction(3, 10)),
        (Decimal("5.170"), Fraction(517, 100)),
        (Fraction(1, 3), Fraction(1, 3)),
        (0.0, Fraction(0)),
        (-0.0, Fraction(0)),
    ],
)
def test_a_price_is_the_decimal_that_was_written(written, meant):
    """7.27 is 727/100, not the binary number next to it; a NumPy integer becomes a Python one, which does not wrap around."""
    price = exact(written, "price")
    assert price == meant
    assert type(price.numerator) is int


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([-1, -0.5, Fraction(-1, 3), Decimal("-2")], "lam is .*, negative; give a number >= 0"),
        (
            [float("nan"), float("inf"), Decimal("NaN"), Decimal("Infinity"), "7", None, 1j, [1]],
            "lam is .*; give a finite number",
        ),
        # at once: their fractions would have a hundred million digits
        ([Decimal("1e99999999"), Decimal("1e-99999999")], "a number that a float can hold"),
    ],
)
def test_what_is_no_price_is_refused(values, words):
    """Negative numbers, infinities, words and the like are named, with the remedy."""
    for value in values:
        with pytest.raises(InvalidInputError, match=words):
            exact(value, "lam")


def test_discounted_by_hand():
    """Blood tests at 7.27 and 5.2, of which 2.1 is drawing the blood: own items of 5.17 and 3.1, one shared of 2.1."""
    items = CostItems.discounted([7.27, 5.2, 1], [5.17, 3.1, 1], ["A", "A", None], ["chol", "fbs", "age"])
    assert dict(zip(items.names, items.prices, strict=True)) == {
        "chol": Fraction("5.17"),
        "shared:A": Fraction("2.1"),
        "fbs": Fraction("3.1"),
        "age": 1,
    }
    assert [[items.names[m] for m in needs] for needs in items.needs] == [["chol", "shared:A"], ["fbs", "shared:A"], ["age"]]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CostItems.plain([1, -2], ["a", "b"]), "the price of 'b' is -2, negative"),
        (lambda: CostItems.plain([1, 2], ["a"]), "1 names for 2 prices"),
        (lambda: CostItems(("a",), (1, 2), ((0,),)), "1 item names for 2 prices"),
        (lambda: CostItems(("a",), (1,), ((1,),)), r"feature 0 needs items \(1,\); name each of 0 to 0 at most once"),
        (lambda: CostItems(("a", "b"), (1, 1), ((0, 0),)), r"feature 0 needs items \(0, 0\)"),
        (lambda: CostItems(("a",), (1,), ((0,),), (True, False)), "`once` has 2 entries for 1 items"),
        (lambda: CostItems.from_items({"a": 1}, [("b",)]), "feature 0 needs the item 'b', which has no price"),
        (lambda: CostItems.from_items({"a": 1}, [("a",)], ["c"]), "`once` names the item 'c', which has no price"),
        (lambda: CostItems.grouped(["g", "h"], {"g": 1}), "feature 1 needs the item 'h', which has no price"),
        (lambda: CostItems.discounted([1], [2], ["A"], ["t"]), "'t' has discount_cost 2 above its cost 1"),
        (lambda: CostItems.discounted([3, 3], [1, 2], ["A", "A"]), "the discount of 'x1' is 1.0, the other features .* have 2.0"),
    ],
)
def test_refusals(build, message):
    with pytest.raises(InvalidInputError, match=message):
        build()


@pytest.mark.parametrize("price", [Fraction(1, 10**400), Decimal("1e-400"), Fraction(10**400), 10**400, Decimal("1e400")])
def test_prices_that_no_float_can_hold_are_refused(price):
    """Their floats are 0, or none at all: costs and plots would say that the item is free."""
    with pytest.raises(InvalidInputError, match=r"costs: the price of 'x0' is .*; give 0 or a number that a float can hold"):
        CostItems.plain([price])
    with pytest.raises(InvalidInputError, match=r"costs: the price of 'x0' is Decimal\('1E\+999999999'\)"):
        CostItems.plain([Decimal("1e999999999")])


@pytest.mark.parametrize("weights", [[1e308, 1e308], [1e-200, 1e-300]])
def test_weights_whose_sums_no_float_can_hold_are_refused(weights):
    """The mean cost would be 0 or NaN."""
    with pytest.raises(InvalidInputError, match=r"the largest of sample_weight is 1e.*: divide all by one number"):
        check_weights(weights, 2, "sample_weight")


def test_more_purchases_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the numbering's range the sizes are named, instead of numbers that wrap."""
    ensemble, error = ensemble_of([Node(1, 0, 0.5, Node(0), Node(0))], 3)
    sample, costs = plain_errors(ensemble, error, 1.0), CostItems.plain([1, 1, 1])
    monkeypatch.setattr(formulations.instance.cost_sample, "MOST_PURCHASES", 32)
    with pytest.raises(CapacityOverflowError, match=r"10 rows and costs 3 items: 30 possible purchases, at most 32 are"):
        PruningProblem.build(ensemble, sample, np.zeros((10, 3)), costs)
    assert PruningProblem.build(ensemble, sample, np.zeros((9, 3)), costs).usage.n_purchases == 30


@pytest.mark.slow
@looped("seed", range(40))
def test_one_tree_alone(seed: int) -> None:
    """Tree t alone has its own errors in full, its own usage, and the same rows, weights and prices."""
    problem = random_problem(seed)
    ensemble = problem.ensemble
    component = replace(problem.errors.components[0], weight=np.array([5.0, 8.0, 20.0])[: ensemble.n_trees])
    problem = PruningProblem.of(problem.usage, NodeErrors((component,)))
    for t in range(ensemble.n_trees):
        alone, nodes = problem.only_tree(t), ensemble.nodes_of(t)
        assert alone.ensemble.n_trees == 1
        np.testing.assert_allclose(alone.node_error, component.e[nodes] / component.weight[t])
        np.testing.assert_allclose(alone.usage.node_weight, problem.usage.node_weight[nodes])
        np.testing.assert_allclose(alone.usage.evaluation_price, problem.usage.evaluation_price[nodes])
        kept = np.zeros(ensemble.n_nodes, dtype=bool)
        kept[nodes] = alone.ensemble.is_split
        assert Pruning(problem, kept).cost == pytest.approx(Pruning.unpruned(alone).cost)
    with pytest.raises(InvalidInputError, match=rf"no tree {ensemble.n_trees}; it has the trees? 0"):
        problem.only_tree(ensemble.n_trees)
