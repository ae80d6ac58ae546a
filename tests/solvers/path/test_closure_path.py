"""All optimal closures of a precedence graph, and the best one within a budget."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations import (
    CapacityOverflowError,
    ClosurePath,
)
from solvers import closure_path
from tests.instances import closure_of, random_known

SEEDS = range(12)


def shown(path: ClosurePath) -> tuple[list[Fraction], list[int]]:
    return list(path.breakpoints), path.level.tolist()


def test_a_chain_pools_what_pays_only_together() -> None:
    """Gains 1, 3, 1 at unit prices in a chain: node 0 alone pays up to 1, together with node 1 up to 2; node 2 up to 1."""
    path = closure_path(closure_of([1, 3, 1], [1, 1, 1], [(1, 0), (2, 1)], base_error=5))
    assert shown(path) == ([0, 1, 2], [2, 2, 1])
    assert path.error.tolist() == [0, 1, 5]
    assert path.cost.tolist() == [3, 2, 0]


def test_a_purchase_that_two_share() -> None:
    """A diamond: 3 requires 1 and 2, both require 0. Only 3 gains, 6, and everything costs 1 + 1 + 1 + 0: one breakpoint, 2.

    With a gain of 2, node 1 pays with node 0 up to 1, and the remaining two pay up to 6: still all go together, at 8/3.
    """
    arcs = [(3, 1), (3, 2), (1, 0), (2, 0)]
    assert shown(closure_path(closure_of([0, 0, 0, 6], [1, 1, 1, 0], arcs))) == ([0, 2], [1] * 4)
    assert shown(closure_path(closure_of([0, 2, 0, 6], [1, 1, 1, 0], arcs))) == ([0, Fraction(8, 3)], [1] * 4)
    # a gain of 12 for node 1 pays with node 0 up to 6, where the other two, worth 4, have long gone, at 4
    assert shown(closure_path(closure_of([0, 12, 0, 4], [1, 1, 1, 0], arcs))) == ([0, 4, 6], [2, 2, 1, 1])


def test_what_is_never_and_what_is_always_kept() -> None:
    """A free loss of 2 is borne by a free gain of 3; what is worth nothing goes; what requires a priced node is not free."""
    problem = closure_of([-2, 3, 0, 5, 1, -1], [0, 0, 0, 0, 2, 0], [(1, 0), (3, 4)])
    assert shown(closure_path(problem)) == ([0, 3], [2, 2, 0, 1, 1, 0])
    # what gains nothing in all is left out, although one of its nodes gains
    assert shown(closure_path(closure_of([-3, 3], [0, 0], [(1, 0)]))) == ([0], [0, 0])
    assert shown(closure_path(closure_of([-3, 3], [0, 1], [(1, 0)]))) == ([0], [0, 0])


def test_no_breakpoint_above_zero() -> None:
    """Without nodes, and where nothing pays or all is free, the path has one row."""
    assert shown(closure_path(closure_of([], [], []))) == ([0], [])
    assert shown(closure_path(closure_of([-1, 0], [1, 1], [(0, 1)]))) == ([0], [0, 0])
    assert shown(closure_path(closure_of([1, 1], [0, 0], [(0, 1)]))) == ([0], [1, 1])


@pytest.mark.parametrize("seed", SEEDS)
def test_every_row_is_the_smallest_optimum(seed: int) -> None:
    """At every breakpoint, between them, and beyond, against all closures of the graph; breakpoints are where it changes."""
    known = random_known(seed)
    path = closure_path(known.problem)
    points = list(path.breakpoints)
    between = [(a + b) / 2 for a, b in itertools.pairwise(points)]
    for lam in [*points, *between, points[-1] + 1]:
        k = path.row_at_lam(lam)
        kept = path.kept(k).tolist()
        assert kept == known.smallest_optimum(lam)
        assert (path.exact_error[k], path.exact_cost[k]) == (known.error(kept), known.cost(kept))
    assert sorted(set(path.level.tolist()) - {0, len(points)}) == list(range(1, len(points)))


@pytest.mark.parametrize("seed", SEEDS)
def test_rounded_numbers_cost_no_more_than_their_rounding(seed: int) -> None:
    """Where the instance had to be rounded, the rows' objectives are the optima up to twice what rounding may move them."""
    known, rng = random_known(seed), np.random.default_rng(seed)
    problem = known.problem
    gain, price = rng.normal(size=problem.n), rng.random(problem.n)
    real = replace(problem, gain=gain, price=price, gain_unit=None, price_unit=None)
    path, ints = closure_path(real), real.integers
    closures = np.array(known.closures())
    for k, lam in enumerate(path.lam):
        value = (lam * (closures @ price) - closures @ gain).min()
        mine = lam * price[path.kept(k)].sum() - gain[path.kept(k)].sum()
        assert value - 1e-9 <= mine <= value + 2 * (ints.error_rounding + lam * ints.cost_rounding) + 1e-9
        assert path.cost[k] == pytest.approx(path.problem.base_cost + price[path.kept(k)].sum(), abs=1e-12)
        assert path.error[k] == pytest.approx(path.problem.base_error - gain[path.kept(k)].sum(), abs=1e-12)


def test_sums_beyond_62_bits_are_refused() -> None:
    """Integers that were not made by the instance may be too large for a cut, and int64 would wrap silently."""
    problem = closure_of([1, 1], [1, 2], [])
    ints = replace(problem.integers, gain=np.array([2**40, 2**40]), price=np.array([2**40 + 1, 2**40]))
    problem.__dict__["integers"] = ints
    with pytest.raises(CapacityOverflowError, match="62 bits hold"):
        closure_path(problem)
