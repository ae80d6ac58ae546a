"""Instances of precedence graphs, their integers, and the rows of a path that is written down by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations import ClosurePath, InvalidInputError, ParametricClosure
from tests.instances import closure_of
from tests.loops import looped

TENTH = Fraction(1, 10)


def three_rows() -> ClosurePath:
    """Node 1 requires 0, node 2 requires 1. Gains .1, .3, .2 and prices 0, .5, 1; node 3 is never kept."""
    problem = closure_of([0.1, 0.3, 0.2, -0.4], [0, 0.5, 1, 2], [(1, 0), (2, 1), (3, 0)], base_error=0.9)
    level = np.array([3, 2, 1, 0], dtype=np.int32)
    return ClosurePath(problem, level, (Fraction(0), Fraction(1, 5), Fraction(3, 5)))


def test_rows_by_hand() -> None:
    """Row 0 keeps 0, 1, 2, row 1 keeps 0 and 1, row 2 keeps node 0, which is free, for ever."""
    path = three_rows()
    assert len(path) == 3
    assert path.lam.tolist() == [0, 0.2, 0.6]
    assert path.exact_cost == (Fraction(3, 2), Fraction(1, 2), 0)
    assert path.cost.tolist() == [1.5, 0.5, 0]
    assert path.exact_error == (3 * TENTH, 5 * TENTH, 8 * TENTH)
    assert path.error.tolist() == [0.3, 0.5, 0.8]
    assert path.n_kept.tolist() == [3, 2, 1]
    assert [path.kept(k).tolist() for k in (0, 1, -1)] == [[True] * 3 + [False], [True] * 2 + [False] * 2, [True] + [False] * 3]
    with pytest.raises(IndexError, match="row 3 of a path with 3 rows"):
        path.kept(3)
    assert path.to_frame().to_dict("list") == {
        "lambda": [0, 0.2, 0.6],
        "cost": [1.5, 0.5, 0],
        "error": [0.3, 0.5, 0.8],
        "nodes": [3, 2, 1],
    }
    assert repr(path) == "ClosurePath(3 breakpoints, cost 0 to 1.5, error 0.3 to 0.8)"
    assert repr(path.problem) == "ParametricClosure(4 nodes, 3 arcs)"


def test_rows_at_a_lambda() -> None:
    """At a breakpoint the smaller closure is the answer, whether lambda is a fraction or the float nearest to the breakpoint."""
    path = three_rows()
    assert [path.row_at_lam(lam) for lam in (0, 0.1, 0.2, 0.5, 0.6, 7, math.inf)] == [0, 0, 1, 1, 2, 2, 2]
    assert [path.row_at_lam(Fraction(k, 5)) for k in (0, 1, 2, 3, 4)] == [0, 1, 1, 2, 2]
    assert path.row_at_lam(Fraction(1, 5) - Fraction(1, 10**30)) == 0


def test_rows_at_a_cost() -> None:
    """The least error within a budget, which may be met exactly; no row is below the price of the empty closure."""
    path = three_rows()
    assert [path.row_at_cost(b) for b in (0, 0.49, 0.5, 1.49, Fraction(3, 2), 9)] == [2, 2, 1, 1, 0, 0]
    dear = ClosurePath(closure_of([1], [1], [], base_cost=0.5), np.array([1], dtype=np.int32), (Fraction(0), Fraction(1)))
    assert dear.exact_cost == (Fraction(3, 2), Fraction(1, 2))
    assert dear.row_at_cost(0.5) == 1
    for ask, bad, message in (
        *((path.row_at_lam, bad, "lam is") for bad in (-0.1, Fraction(-1, 10), math.nan)),
        *((path.row_at_cost, bad, "budget is") for bad in (-1, math.nan)),
        (dear.row_at_cost, 0.4, r"the cheapest closure costs 0\.5"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            ask(bad)


def test_decimals_are_exact() -> None:
    """0.1 is a tenth: gains and prices become whole multiples of their largest common unit."""
    ints = closure_of([0.1, 0.3, -0.25], [7.27, 0, 1], [], base_error=0.7).integers
    assert ints.gain.dtype == np.int64
    assert (ints.gain_unit, ints.price_unit, ints.base_error) == (Fraction(1, 20), Fraction(1, 100), Fraction(7, 10))
    assert (ints.gain.tolist(), ints.price.tolist()) == ([2, 6, -5], [727, 0, 100])
    assert ints.lam_unit == 5
    # the error of the empty closure may be counted over other examples; a Fraction is taken as it is
    third = Fraction(1, 3)
    for base, unit in ((0.25, third), (third + Fraction(1, 10**9), third), (-0.5, None)):
        assert closure_of([1 / 3], [1], [], base, gain_unit=unit).integers.base_error == Fraction(base)


def test_counts_over_a_unit_are_exact() -> None:
    """Sevenths are no decimals, but with their unit they are exact, the base error among them; without it floats are decimals."""
    thirds, sevenths = [1 / 3, 4 / 3], [3 / 7, 5 / 7]
    units = {"base_cost": 9 / 7, "gain_unit": Fraction(1, 3), "price_unit": Fraction(1, 7)}
    ints = closure_of(thirds, sevenths, [], 4 / 3, **units).integers
    assert ints.gain.dtype == np.int64
    assert [g * ints.gain_unit for g in ints.gain.tolist()] == [Fraction(1, 3), Fraction(4, 3)]
    assert [p * ints.price_unit for p in ints.price.tolist()] == [Fraction(3, 7), Fraction(5, 7)]
    assert (ints.base_error, ints.base_cost) == (Fraction(4, 3), Fraction(9, 7))
    decimals = closure_of(thirds, sevenths, []).integers
    assert decimals.gain[0] * decimals.gain_unit == Fraction("0.3333333333333333")
    assert decimals.price.dtype == object


@looped("scale", [1e-9, 1.0, 1e12, 1e200])
def test_numbers_of_any_size_are_kept(scale: float) -> None:
    """What does not fit 64 bits is in integers of any length, and every float stands for its decimal."""
    rng = np.random.default_rng(0)
    problem = closure_of(rng.normal(size=200) * scale, rng.random(200) ** 9, [])
    ints = problem.integers
    for whole, unit, real in ((ints.gain, ints.gain_unit, problem.gain), (ints.price, ints.price_unit, problem.price)):
        assert whole.dtype == object
        assert [k * unit for k in whole.tolist()] == [Fraction(repr(x)) for x in real.tolist()]


def test_rows_have_the_numbers_that_were_given() -> None:
    """Costs and errors of rows are those of the decimals, rounded once."""
    problem = closure_of([math.pi, math.e], [math.sqrt(3), math.sqrt(2)], [(1, 0)], 9.5, base_cost=0.25)
    path = ClosurePath(problem, np.array([2, 1], dtype=np.int32), (Fraction(0), Fraction(1)))
    assert path.error.tolist() == pytest.approx([9.5 - math.pi - math.e, 9.5 - math.pi], abs=1e-15)
    assert path.cost.tolist() == pytest.approx([0.25 + math.sqrt(3) + math.sqrt(2), 0.25 + math.sqrt(3)], abs=1e-15)
    assert path.exact_cost[1] == Fraction("0.25") + Fraction(repr(math.sqrt(3)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gain": [1, math.nan]}, "gain of node 1 is nan; give a finite number"),
        ({"gain": [[1, 2]]}, "gain has the shape"),
        ({"gain": [1]}, "1 gains for 2 prices"),
        ({"price": [1, math.inf]}, "price of node 1 is inf"),
        ({"price": [-0.5, 1]}, r"price of node 0 is -0\.5, negative"),
        ({"tail": [2]}, "tail of arc 0 is node 2; the nodes are 0 to 1"),
        ({"head": [-1]}, "head of arc 0 is node -1"),
        ({"tail": [1.0]}, "tail is float64"),
        ({"tail": [1, 1]}, "2 tails for 1 heads"),
        ({"head": [1]}, "node 1 requires itself"),
        ({"base_error": math.nan}, "base_error is nan"),
        ({"base_cost": -1.0}, r"base_cost is -1\.0, negative"),
        ({"gain_unit": Fraction(3, 7)}, r"gain of node 0 is 1\.0, no whole multiple of gain_unit = 3/7"),
        ({"price_unit": Fraction(0)}, "price_unit is Fraction"),
        ({"price_unit": 0.5}, r"price_unit is 0\.5; give a Fraction"),
        # of 0 <- 1 -> 2 -> 3 -> 2, where 4 requires 1, only 2 and 3 lie on a cycle
        (
            {"gain": [1] * 5, "price": [1] * 5, "tail": [1, 1, 2, 3, 4], "head": [0, 2, 3, 2, 1]},
            r"node [23] requires itself through a cycle",
        ),
    ],
)
def test_what_is_no_instance_is_refused(changes: dict[str, Any], message: str) -> None:
    """Shapes, numbers and arcs that the problem is not defined for are refused by the name of the node or arc."""
    good: dict[str, Any] = {"gain": [1.0, 2.0], "price": [1.0, 0.0], "tail": [1], "head": [0]}
    ParametricClosure(**good)
    with pytest.raises(InvalidInputError, match=message):
        ParametricClosure(**{**good, **changes})


def test_the_order_has_requirements_first() -> None:
    """Every node comes behind what it requires, also where arcs are given twice."""
    problem = closure_of([0] * 4, [0] * 4, [(0, 3), (3, 1), (0, 1), (0, 1), (2, 0)])
    assert problem.order.tolist() == [1, 3, 0, 2]
