"""Numbers of an instance, in integers or as they are, and purchases with the same users."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations import CapacityOverflowError, CostItems, ErrorComponent, NodeErrors, PruningProblem
from formulations.answers.pruning import Pruning
from formulations.answers.solution import Status
from formulations.instance.numbers import PRODUCT_BITS
from formulations.instance.usage_arcs import merge_purchases
from proofs_checks import check_path
from solvers import min_cut, pruning_path
from tests.instances import Node, ensemble_of, plain_errors, problem_of, random_tree
from tests.proofs_checks.optimality.slow_recount import SlowRecount
from tests.prunemodels.forest_kinds import random_pruning


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
    for ours, theirs in ((problem.purchase_price(), _purchase_price(problem, exact)), (numbers.evaluation, exact.evaluation)):
        for float_price, real in zip(ours.tolist(), theirs.tolist(), strict=True):
            assert abs(Fraction(float_price) - int(real) * exact.price_unit) <= Fraction(float_price) / 2**48


def _purchase_price(problem: PruningProblem, exact: Any) -> Any:
    """The price of every purchase in exact numbers, as `PruningProblem.purchase_price`."""
    return problem.usage.by_purchase(exact.price, exact.weight, exact.price * exact.weight.sum())


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


def test_gains_smaller_than_the_errors_last_digits():
    """Gains that are themselves rounding errors of much larger errors are not claimed to be known better."""
    problem = stump_problem(errors=(0.3, 0.1, 0.2))
    check(problem, np.random.default_rng(0))
    assert not problem.numbers.exact


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


REAL = [0.1234567890123456, 9.876543210987654e12]
"""Weights that no small unit has as multiples: prices are then floats."""


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


def test_free_items_and_pure_leaves():
    """No price and no gain at all: everything is 0 and exact."""
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
