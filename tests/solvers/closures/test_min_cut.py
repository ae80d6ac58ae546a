"""The minimum cut for one lambda, and the engines' common promises."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import solvers.closures.cut
import solvers.closures.integer_objective
from formulations import (
    CapacityOverflowError,
    InterruptedSolveError,
    Status,
)
from formulations.instance.papers import two_trees
from proofs_checks import check_solution
from solvers import brute_force, min_cut
from solvers.closures.cut import ClosureProblem, best_closure
from solvers.closures.integer_objective import largest_below
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped

LAMBDAS = [0, 0.003, 0.02, 0.1, 1 / 3, math.pi, 1234.5, 1e300]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**9), lam=st.fractions(0, 2), ties=st.sampled_from(["smallest", "largest"]))
def test_cut_on_arbitrary_forests(seed: int, lam: Fraction, ties: str) -> None:
    """For any forest and any fraction, the cut finds the optimum, and a checker that shares no code accepts its proof."""
    problem = random_problem(seed)
    found = min_cut(problem, lam, ties=ties)  # type: ignore[arg-type]
    assert found.value == pytest.approx(brute_force(problem, lam).value, abs=1e-12)  # type: ignore[arg-type]
    verdict = check_solution(problem, found)
    assert verdict.holds, verdict


@pytest.mark.parametrize("bits", [4, 9])
@pytest.mark.parametrize("rounded", [False, True])
@looped("seed", range(12))
def test_bounds_stay_true_on_a_coarse_grid(seed: int, rounded: bool, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a few bits instead of 61, lambda and prices are badly rounded; the bound is then loose, and still a bound."""
    monkeypatch.setattr(solvers.closures.integer_objective, "TOTAL_BITS", bits)
    problem = random_problem(seed, rounded=rounded)
    for lam in (0, 0.0123456, 1 / 7, math.pi / 10):  # at 0 no price is rounded down, so gains rounded down show
        found, best = min_cut(problem, lam), brute_force(problem, lam)
        assert found.bound <= best.value + 1e-12
        assert found.value >= best.value - 1e-12
        assert check_solution(problem, found).holds


def test_golden_instance_by_hand() -> None:
    """At lambda = 1/4 feature 3 is given up: error 2/8 + 1/4 * 2 features = 3/4; see test_path for the gains."""
    found = min_cut(two_trees(), 0.25)
    assert found.value == found.bound == 0.75
    assert found.gap == 0
    assert found.pruning is not None
    assert found.pruning.kept.nonzero()[0].tolist() == [0, 2, 5, 6]


def test_prices_make_the_sign() -> None:
    """One split of gain 1/2 at price 2 is kept below lambda = 1/4 and given up from there on: a wrong sign turns it round."""
    problem = problem_of([Node(2, 0, 0.5, Node(0), Node(1))], [2], np.ones((1, 1)), weight=2.0)
    assert [min_cut(problem, lam).pruning.n_splits for lam in (0, 0.24, 0.25, 0.26)] == [1, 1, 0, 0]  # type: ignore[union-attr]


def test_interrupt_in_the_cut_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while OR-Tools works raises our exception, which is a KeyboardInterrupt."""

    class Stopped(solvers.closures.cut.max_flow.SimpleMaxFlow):  # type: ignore[misc]
        def solve(self, *_: int) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(solvers.closures.cut.max_flow, "SimpleMaxFlow", Stopped)
    with pytest.raises(InterruptedSolveError):
        min_cut(two_trees(), 0.1)


def test_capacities_beyond_62_bits_are_refused() -> None:
    """A network whose capacities add up to more than 62 bits is refused before it is built."""
    big = np.array([2**61, 2**61], dtype=np.int64)
    none = np.zeros(0, dtype=np.int32)
    with pytest.raises(CapacityOverflowError, match="62 bits"):
        best_closure(ClosureProblem(big, np.array([-1, -1], dtype=np.int32), none, none, np.zeros(0, dtype=np.int64)))


@given(st.fractions(0, 1000), st.integers(1, 10_000))
def test_largest_fraction_below(number: Fraction, limit: int) -> None:
    """largest_below is the largest fraction up to the number with a small denominator: nothing fits in between."""
    below = largest_below(number, limit)
    assert below <= number
    assert below.denominator <= limit
    if limit <= 200:
        assert below == max(Fraction(math.floor(number * q), q) for q in range(1, limit + 1))


@pytest.mark.parametrize("lam", [0.5, 10, 1e6])
def test_a_price_above_all_gains_is_never_paid_on_the_grid(lam: float) -> None:
    """One split earns all there is, one purchase costs more: capped and rounded down, its price stays above the gain."""
    split = Node(np.pi / 3, 0, 0.5, Node(0.1234567890123), Node(0.0))
    problem = problem_of([split], [1], weight=3.0, sample_weight=[0.3141592653589793])
    assert not problem.integers.exact
    solution = min_cut(problem, lam)
    assert solution.pruning is not None
    assert solution.pruning.n_splits == 0
    assert solution.status is Status.OPTIMAL
