"""What is left to decide, numbered from 0."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.errors import CapacityOverflowError
from solvers.closures.subproblem import ParametricSubproblem, parametric_subproblem, subproblem
from tests.instances import random_problem


def ids(*values: int) -> NDArray[np.int32]:
    """Ids as subproblems have them."""
    return np.array(values, dtype=np.int32)


def three_splits() -> ParametricSubproblem:
    """Splits 0 <- 1 and 2; purchases 0 and 2 have the same users."""
    return ParametricSubproblem(
        nodes=ids(4, 6, 9),
        parent=ids(-1, 0, -1),
        tail=ids(0, 0, 0, 1, 2, 2),
        head=ids(0, 1, 2, 1, 0, 2),
        purchases=ids(70, 30, 50),
        gain=np.array([5, 7, 1]),
        evaluation=np.array([1, 0, 2]),
        price=np.array([10, 20, 30]),
    )


def test_splits_and_purchases_are_numbered_from_0() -> None:
    """Parents outside count as none; purchases come as they occur, or sorted where there is no table."""
    parent = ids(-1, 0, 1, 0, 3)
    arcs = ids(1, 1, 2, 4), ids(9, 3, 9, 5)
    found = subproblem(parent, ids(1, 2, 4), *arcs, 10)
    assert (found.parent.tolist(), found.tail.tolist()) == ([-1, 0, -1], [0, 0, 1, 2])
    assert (found.purchases.tolist(), found.head.tolist()) == ([9, 3, 5], [0, 1, 0, 2])
    by_sorting = subproblem(parent, ids(1, 2, 4), *arcs, None)
    assert (by_sorting.purchases.tolist(), by_sorting.head.tolist()) == ([3, 5, 9], [2, 0, 2, 1])
    assert by_sorting.head.dtype == np.int32


def test_prices_and_gains_at_a_lambda() -> None:
    """At 2 / 3 a profit is three gains less two evaluation prices, a price counts twice; what does not fit is refused."""
    part = three_splits()
    problem = part.at(Fraction(2, 3))
    assert (problem.profit.tolist(), problem.price.tolist()) == ([13, 21, -1], [20, 40, 60])
    assert (part.total_gain, part.total_cost) == (13, 63)
    assert part.cost_of(np.array([True, True, False])) == 61
    with pytest.raises(CapacityOverflowError, match=r"gains and prices multiply to .*; use prices with fewer digits"):
        part.at(Fraction(2**57))


def test_some_splits_with_some_arcs() -> None:
    """Splits below a removed one are tops; only purchases that an arc leads to are still there."""
    rest, still = three_splits().restricted(np.array([False, True, True]), np.array([False, False, False, False, True, True]))
    assert (rest.nodes.tolist(), rest.parent.tolist(), rest.tail.tolist(), rest.head.tolist()) == (
        [6, 9],
        [-1, -1],
        [1, 1],
        [0, 1],
    )
    assert (rest.purchases.tolist(), rest.price.tolist(), still.tolist()) == ([70, 50], [10, 30], [0, 2])
    assert (rest.gain.tolist(), rest.evaluation.tolist()) == ([7, 1], [0, 2])


def test_purchases_with_the_same_users_become_one() -> None:
    """The first of them stands for all, at the sum of their prices."""
    merged, group, arcs = three_splits().merged()
    assert (merged.purchases.tolist(), merged.price.tolist()) == ([70, 30], [40, 20])
    assert (group.tolist(), arcs.tolist()) == ([0, 1, 0], [0, 1, 3, 4])
    assert (merged.tail.tolist(), merged.head.tolist()) == ([0, 0, 1, 2], [0, 1, 1, 0])


@pytest.mark.parametrize("seed", range(8))
def test_costs_are_those_of_the_instance(seed: int) -> None:
    """All splits together cost what the unpruned forest does in integers; nothing free and nothing paid is left in."""
    problem = random_problem(seed)
    whole = parametric_subproblem(problem, problem.splits)
    price, ints = problem.purchase_price(), problem.integers
    needed = np.unique(problem.usage_arcs().head)
    assert whole.total_cost == price[needed].sum() + ints.evaluation[problem.splits].sum()
    assert (whole.price > 0).all()
    paid = np.zeros(problem.n_purchases, dtype=bool)
    paid[needed[::2]] = True
    assert not paid[parametric_subproblem(problem, problem.splits, paid).purchases].any()
