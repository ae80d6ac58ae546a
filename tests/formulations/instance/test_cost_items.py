"""Prices, items, requests, and problems of them; numbers of an instance, in integers or as they are."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import formulations.instance.cost_sample
from formulations import CapacityOverflowError, CostItems, ErrorComponent, InvalidInputError, NodeErrors, Pruning, PruningProblem
from formulations.answers.solution import Status
from formulations.instance.cost_items import exact
from formulations.instance.cost_sample import check_weights
from formulations.instance.numbers import PRODUCT_BITS
from formulations.instance.usage_arcs import merge_purchases
from proofs_checks import check_path
from solvers import min_cut, pruning_path
from tests.instances import Node, ensemble_of, plain_errors, problem_of, random_problem, random_tree
from tests.loops import looped
from tests.proofs_checks.optimality.slow_recount import SlowRecount
from tests.prunemodels.forest_kinds import random_pruning


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


def check(problem, rng):
    """What is stated of random prunings is exact, and engines' integers fit a cut, or their floats are the numbers to 49 bits."""
    numbers, exact, slow = problem.numbers, problem.exact_numbers, SlowRecount(problem)
    roots = Pruning.all_roots(problem)
    for pruning in (Pruning.unpruned(problem), *(random_pruning(problem, int(rng.integers(99))) for _ in range(2)), roots):
        real_error, real_cost = slow.objective(pruning)
        assert (pruning.exact_error, pruning.exact_cost) == (real_error, real_cost)
        assert pruning.cost == pytest.approx(float(real_cost), rel=1e-12, abs=1e-15)
        assert pruning.error == pytest.approx(float(real_error), rel=1e-12, abs=1e-15)
    priced = [m for m, p in enumerate(problem.costs.prices) if p]
    assert (numbers.price[priced] > 0).all()
    assert (numbers.weight > 0).all()
    if numbers.exact:
        most_gain = sum(abs(int(g)) for g in numbers.gain)
        assert most_gain.bit_length() + Pruning.unpruned(problem).integer_cost.bit_length() <= PRODUCT_BITS + 1
        return
    assert exact.gain.dtype == object
    lost = problem.gain_lost.tolist()
    for h, (gain, real) in enumerate(zip(numbers.gain.tolist(), exact.gain.tolist(), strict=True)):
        assert abs(Fraction(gain) - int(real) * exact.gain_unit) <= Fraction(lost[h]), h
    price = problem.usage.by_purchase(exact.price, exact.weight, exact.price * exact.weight.sum())  # in exact numbers
    for ours, theirs in ((problem.purchase_price(), price), (numbers.evaluation, exact.evaluation)):
        for float_price, real in zip(ours.tolist(), theirs.tolist(), strict=True):
            assert abs(Fraction(float_price) - int(real) * exact.price_unit) <= Fraction(float_price) / 2**48


def stump_problem(errors=(2, 0, 1), prices=(1,), X=((0,), (1,)), **options):
    rows = np.resize(np.array(X, dtype=float), (len(X), len(prices)))
    return problem_of([Node(errors[0], 0, 0.5, Node(errors[1]), Node(errors[2]))], prices, rows, weight=4.0, **options)


def test_by_hand():
    """Errors 2, 0, 1 of weight 4 and a price of 7.27 for two rows: one gain of 1/4, one price of 7.27 / 2 a row."""
    problem = stump_problem(prices=(7.27,))
    ints = problem.numbers
    assert ints.exact
    assert ints.gain.tolist() == [1, 0, 0]
    assert ints.gain_unit == Fraction(1, 4)
    assert ints.price.tolist() == [1]
    assert ints.price_unit == Fraction(727, 200)
    assert ints.lam_unit == Fraction(1, 4) / Fraction(727, 200)
    assert Pruning.unpruned(problem).exact_cost == Fraction("7.27")


def test_decimals_share_their_common_unit():
    """Prices 7.27, 1 and 102.9 and an evaluation price of 0.05 are multiples of 0.01."""
    problem = stump_problem(prices=(7.27, 1, 102.9), evaluation_cost=0.05)
    assert problem.numbers.price.tolist() == [727, 100, 10290]
    assert problem.numbers.price_unit * 2 == Fraction(1, 100)
    assert Pruning.unpruned(problem).exact_cost == Fraction("7.27") + Fraction("0.05")


@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.booleans())
@settings(deadline=None)
def test_real_numbers_everywhere(seed, real_errors, real_prices, real_weights):
    """Real errors, prices, weights and evaluation prices, of several orders of magnitude."""
    rng = np.random.default_rng(seed)
    ensemble, e = ensemble_of([random_tree(rng, 3, int(rng.integers(1, 6)), 20) for _ in range(3)], 3)
    e = e + rng.random(len(e)) if real_errors else e
    sample = rng.uniform(0.5, 20, 3) if real_errors else np.array([7.0, 11.0, 13.0])
    n = int(rng.integers(2, 30))
    prices = np.exp(rng.uniform(-3, 3, 3)) if real_prices else rng.choice([0, 1, 7.27], 3)
    rows, weights = rng.integers(0, 5, (n, 3)), np.exp(rng.uniform(-6, 3, n)) if real_weights else None
    evaluation = float(rng.random()) if real_prices else 0.5
    errors, costs = NodeErrors((ErrorComponent(e, sample),)), CostItems.plain(prices)
    check(PruningProblem.build(ensemble, errors, rows, costs, sample_weight=weights, evaluation_cost=evaluation), rng)


def test_blends_of_counts_are_exact():
    """A blend of two counted samples, with shares 3/10 and 7/10 and different weights, is not rounded."""
    ensemble, e = ensemble_of([Node(5, 0, 0.5, Node(1), Node(2)), Node(4, 0, 0.5, Node(0), Node(1))], 1)
    errors = NodeErrors(
        (
            ErrorComponent(e, np.array([7.0, 7.0]), Fraction(3, 10)),
            ErrorComponent(e[::-1].copy(), np.array([5.0, 9.0]), Fraction(7, 10)),
        )
    )
    problem = PruningProblem.build(ensemble, errors, [[0.0], [1.0]], CostItems.plain([1]))
    assert problem.numbers.exact
    check(problem, np.random.default_rng(1))


def test_many_trees_with_weights_of_their_own():
    """Two thousand trees whose weights have a common multiple beyond every float."""
    rng = np.random.default_rng(0)
    ensemble, _ = ensemble_of([Node(3, 0, 0.5, Node(1), Node(1))] * 2000, 1)
    e = rng.integers(0, 100, ensemble.n_nodes).astype(float)
    weight = rng.integers(5000, 9000, 2000).astype(float)
    assert math.lcm(*(int(w) for w in weight)) > 10**400
    problem = PruningProblem.build(ensemble, NodeErrors((ErrorComponent(e, weight),)), [[0.0]], CostItems.plain([1]))
    assert not problem.numbers.exact
    check(problem, rng)


def test_equal_gains_stay_equal_beside_real_prices():
    """Whole gains that take many bits, beside real prices: as floats, each rounded once."""
    rng = np.random.default_rng(0)
    ensemble, _ = ensemble_of([Node(3, 0, 0.5, Node(1), Node(1))] * 3, 2)
    e = rng.integers(0, 3000, ensemble.n_nodes).astype(float)
    weight = np.array([5501.0, 5503.0, 5507.0])  # primes: gains are multiples of their products
    problem = PruningProblem.build(
        ensemble, NodeErrors((ErrorComponent(e, weight),)), rng.random((15_000, 2)), CostItems.plain(rng.uniform(1, 100, 2))
    )
    assert not problem.numbers.exact
    check(problem, rng)


@pytest.mark.parametrize("n", [1000, 15_000])
def test_real_weights_of_many_rows(n):
    """Thousands of examples with arbitrary weights, and regression errors beside them: the lightest row still pays its part."""
    rng = np.random.default_rng(0)
    ensemble, e = ensemble_of([Node(3, 0, 0.5, Node(1), Node(1, 1, 0.5, Node(0.3), Node(0.4)))] * 20, 2)
    weights = rng.uniform(0.001, 1, n)
    weights[0] = 1e-12
    problem = PruningProblem.build(
        ensemble,
        plain_errors(ensemble, e + rng.random(len(e)), 7.3),
        rng.random((n, 2)),
        CostItems.plain([1, 102.9]),
        sample_weight=weights,
    )
    pruning = random_pruning(problem)
    assert not problem.numbers.exact
    assert problem.numbers.weight.min() > 0
    assert float(pruning.exact_cost) == pytest.approx(pruning.cost, rel=1e-14)


REAL = [0.1234567890123456, 9.876543210987654e12]  # weights that no small unit has as multiples: prices are then floats


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"prices": (1e-200, 1e200)}, r"a price of 1e-200 .* more than 10\^240 times below the price of 1e\+200"),
        ({"prices": (1e-290,), "sample_weight": REAL}, r"a price of 1e-290 .* is below 1e-240, too little"),
        (
            {"prices": (1e-230,), "sample_weight": [1e-12, 1e12]},
            r"a price of 1e-230 for an example of weight 1e-12 is 1e-24 of it",
        ),
        ({"prices": (1e250,), "sample_weight": REAL}, r"a price of 1e\+250 and errors of 0\.5 are more than 10\^240 apart"),
    ],
)
def test_numbers_that_do_not_go_together_are_refused(options, named):
    """At the door, by the two numbers, where their products or ratios leave the range of floats."""
    with pytest.raises(CapacityOverflowError, match=named):
        stump_problem(**options)


@pytest.mark.parametrize("prices", [(1e-30, 1e30), (1e-100, 1e100), (1e-200,)])
@pytest.mark.parametrize("weights", [None, [1e-12, 1e12]])
def test_numbers_far_apart_are_right(prices, weights):
    """Prices over 200 decades, weights over 24: the path is the one that fractions give."""
    problem = stump_problem(prices=prices, sample_weight=weights)
    path = pruning_path(problem)
    whole = Pruning.unpruned(problem)
    assert path.breakpoints == (0, Fraction(1, 4) / whole.exact_cost)
    assert check_path(path).holds
    found = min_cut(problem, float(path.breakpoints[1]) / 2)
    assert (found.status, found.pruning.n_splits) == (Status.OPTIMAL, 1)


def test_free_items_pure_leaves_and_gains_below_the_last_digits():
    """No price and no gain at all: everything is 0 and exact. Gains that are rounding errors of larger errors are not."""
    problem = stump_problem(errors=(0.3, 0.1, 0.2))
    check(problem, np.random.default_rng(0))
    assert not problem.numbers.exact
    problem = stump_problem(errors=(0, 0, 0), prices=(0, 0))
    assert problem.numbers.exact
    assert not problem.numbers.gain.any()
    assert Pruning.unpruned(problem).integer_cost == 0


@given(st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=30))
def test_groups_are_the_equal_user_sets(users: list[set[int]]) -> None:
    """Two purchases get the same representative exactly if their users are the same; prices add up, arcs stay in order."""
    arcs = sorted((u, j) for j, mine in enumerate(users) for u in mine)
    tail, head = (np.array(column, dtype=np.int32) for column in zip(*arcs, strict=True))
    price = np.arange(1, len(users) + 1)
    merged = merge_purchases(tail, head, price)
    groups: dict[frozenset[int], list[int]] = defaultdict(list)
    for j, mine in enumerate(users):
        groups[frozenset(mine)].append(j)
    for members in groups.values():
        assert set(merged.representative[members]) == {members[0]}
        assert merged.price[members[0]] == sum(j + 1 for j in members)
        assert all(merged.price[j] == 0 for j in members[1:])
    first = {members[0] for members in groups.values()}
    assert merged.arc.tolist() == [k for k, (_, j) in enumerate(arcs) if j in first]
