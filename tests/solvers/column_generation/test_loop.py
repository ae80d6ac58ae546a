"""The loop on cutting stock and on scripted parts: it has no word of trees.

Cutting stock, two machines: block t chooses one pattern of cuts; together they must give `DEMAND` pieces of each length, and what
is missing is bought at `PENALTY`. In the form of (1): A_j = -pieces of pattern j, b = -DEMAND, and the bought pieces are columns
that the master always has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from formulations import SolverFailedError, StopReason
from solvers.column_generation.history import Round
from solvers.column_generation.loop import MasterAnswer, PricingAnswer, generate_columns, relative_gap

LENGTHS, ROLLS = np.array([3, 4, 6]), (10, 13)
DEMAND, PENALTY = np.array([2.3, 1.9, 2.1]), np.array([2.0, 3.0, 4.0])


@dataclass(frozen=True)
class Pattern:
    """Pieces of each length from one roll of block t; a roll of more cuts costs more."""

    block: int
    pieces: tuple[int, ...]

    @property
    def cost(self) -> float:
        return 0.3 * sum(self.pieces)


def patterns(t: int) -> list[Pattern]:
    ranges = [range(ROLLS[t] // n + 1) for n in LENGTHS.tolist()]
    return [Pattern(t, p) for p in itertools.product(*ranges) if np.dot(p, LENGTHS) <= ROLLS[t]]


def solved(columns: Sequence[Pattern]) -> MasterAnswer:
    """The program with these patterns, by scipy."""
    cost = np.array([*PENALTY, *(c.cost for c in columns)])
    rows = np.hstack([-np.eye(3), -np.array([c.pieces for c in columns], dtype=float).T])
    blocks = np.array([[0.0] * 3 + [float(c.block == t) for c in columns] for t in range(2)])
    found = linprog(cost, rows, -DEMAND, blocks, np.ones(2), method="highs-ds")
    return MasterAnswer(found.fun, found.fun, -found.ineqlin.marginals, found.eqlin.marginals)


OPTIMUM = solved([*patterns(0), *patterns(1)]).value


@dataclass
class Stock:
    """Master and pricing in one."""

    columns: list[Pattern] = field(default_factory=lambda: [Pattern(0, (0, 0, 0)), Pattern(1, (0, 0, 0))])
    sign: float = 1.0

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    def solve(self, time_limit: float) -> MasterAnswer | None:
        return solved(self.columns)

    def add(self, columns: Sequence[Pattern]) -> None:
        assert (self.reduced_costs(columns, solved(self.columns)) < 0).all()
        self.columns += columns

    def refine(self) -> bool:
        return False

    def price(self, charge: NDArray[np.float64]) -> PricingAnswer[Pattern]:
        """Bought pieces price out unless q <= PENALTY; then sum_t min (c - q pieces) + q DEMAND is a bound."""
        q = np.minimum(charge, PENALTY)
        best = [min(patterns(t), key=lambda p: p.cost - q @ p.pieces) for t in range(2)]
        return PricingAnswer(best, q, float(sum(p.cost - q @ p.pieces for p in best) + q @ DEMAND))

    def reduced_costs(self, columns: Sequence[Pattern], answer: MasterAnswer) -> NDArray[np.float64]:
        return np.array([p.cost - answer.charge @ p.pieces - self.sign * answer.convexity[p.block] for p in columns])

    def key(self, column: Pattern) -> Hashable:
        return column


REFERENCE = float(PENALTY @ DEMAND)
"""Everything bought."""


@pytest.mark.parametrize("smoothing", [0.0, 0.3, 0.5, 0.9])
def test_it_finds_the_optimum_over_all_columns(smoothing: float) -> None:
    """Value and bound meet at the optimum of the program with every column; the best bound rises and never passes it."""
    stock = Stock()
    seen: list[Round] = []
    found = generate_columns(stock, stock, reference=REFERENCE, smoothing=smoothing, known=stock.columns, progress=seen.append)
    assert found.stopped is StopReason.CONVERGED
    assert found.upper == pytest.approx(OPTIMUM, rel=1e-12)
    assert found.bound == pytest.approx(OPTIMUM, rel=1e-12)
    assert found.rounds == tuple(seen)
    assert OPTIMUM < REFERENCE - 0.1
    assert len(seen) > 2
    assert all(a.bound <= b.bound for a, b in itertools.pairwise(seen))
    assert max(r.round_bound for r in seen) <= OPTIMUM + 1e-12
    assert all(a.columns + a.added == b.columns for a, b in itertools.pairwise(seen))
    assert stock.n_columns == len(set(stock.columns)) < len(patterns(0)) + len(patterns(1))
    assert found.charge is not None
    assert stock.price(found.charge).bound == found.bound


def test_a_stated_gap_ends_it_early() -> None:
    """It stops as soon as (upper - bound) / (reference - bound) is at most the gap."""
    stock, whole = Stock(), Stock()
    stated = generate_columns(whole, whole, reference=REFERENCE, smoothing=0.0, known=whole.columns).rounds[-2].gap
    found = generate_columns(stock, stock, reference=REFERENCE, gap=stated, smoothing=0.0, known=stock.columns)
    gaps = [r.gap for r in found.rounds]
    assert found.stopped is StopReason.CONVERGED
    assert gaps[-1] <= stated < min(gaps[:-1])
    assert gaps[-1] == relative_gap(found.upper, found.bound, REFERENCE) > 0


def test_limits_end_it() -> None:
    """After the rounds that are allowed, without time, and where the master has too little of it, what there is comes back."""
    stock = Stock()
    found = generate_columns(stock, stock, reference=REFERENCE, rounds=2, known=stock.columns)
    assert found.stopped is StopReason.ITERATION_LIMIT
    assert len(found.rounds) == 2
    assert found.bound <= OPTIMUM <= found.upper
    none = generate_columns(stock, stock, reference=REFERENCE, time_limit=0.0)
    assert (none.stopped, none.rounds, none.charge) == (StopReason.TIME_LIMIT, (), None)
    stock.solve = lambda time_limit: None  # type: ignore[method-assign]
    assert generate_columns(stock, stock, reference=REFERENCE, time_limit=1.0).stopped is StopReason.TIME_LIMIT


def test_a_wrong_sign_is_found_by_the_column_that_comes_back() -> None:
    """With convexity duals of the wrong sign a column comes again and again: refused, not repeated to the time limit."""
    stock = Stock(sign=-1.0)
    right = stock.price
    stock.price = lambda q: replace(right(q), bound=-math.inf)  # type: ignore[method-assign]
    with pytest.raises(SolverFailedError, match=r"already has, with the reduced cost -.*: a sign"):
        generate_columns(stock, stock, reference=REFERENCE, smoothing=0.0, known=stock.columns)


class Scripted:
    """A master whose value is true only once it was refined twice, and a pricing that finds nothing."""

    n_columns = 1

    def __init__(self) -> None:
        self.refined, self.asked = 0, []

    def solve(self, time_limit: float) -> MasterAnswer | None:
        return MasterAnswer(20.0, 20.0, np.array([float(self.refined)]), np.zeros(1))

    def add(self, columns: Sequence[str]) -> None:
        assert not columns

    def refine(self) -> bool:
        self.refined += 1
        return self.refined <= 2

    def price(self, charge: NDArray[np.float64]) -> PricingAnswer[str]:
        self.asked.append(float(charge[0]))
        return PricingAnswer([], charge, 0.25 * float(charge[0]))

    def reduced_costs(self, columns: Sequence[str], answer: MasterAnswer) -> NDArray[np.float64]:
        raise AssertionError

    def key(self, column: str) -> Hashable:
        return column


def test_a_master_is_refined_when_no_column_prices_out() -> None:
    """Without new columns the master is made truer and solved again, until it says that it is exact."""
    script = Scripted()
    found = generate_columns(script, script, reference=40.0, smoothing=0.0)
    assert [r.bound for r in found.rounds] == [0.0, 0.25, 0.5]
    assert found.stopped is StopReason.CONVERGED


class Dear(Scripted):
    """Pricing finds a column that costs more than its block's dual."""

    def price(self, charge: NDArray[np.float64]) -> PricingAnswer[str]:
        return PricingAnswer(["dear"], charge, 0.0)

    def reduced_costs(self, columns: Sequence[str], answer: MasterAnswer) -> NDArray[np.float64]:
        return np.array([-1e-12])


def test_columns_that_do_not_price_out_stay_outside() -> None:
    """A column whose reduced cost is not below -tolerance does not enter, and the generation ends."""
    script = Dear()
    found = generate_columns(script, script, reference=40.0, tolerance=1e-9)
    assert [r.added for r in found.rounds] == [0, 0, 0]


def test_smoothing_prices_between_the_best_and_the_last_charges() -> None:
    """With alpha = 3/4 and nothing found, priced are 3/4, 1/2, 1/4 and 0 parts of the best charges; a better bound moves them."""
    script = Scripted()
    generate_columns(script, script, reference=40.0, smoothing=0.75, best=(np.array([8.0]), 10.0), rounds=2)
    assert script.asked == [6.0, 4.0, 2.0, 0.0, 6.25, 4.5, 2.75, 1.0]


def test_gaps() -> None:
    """The share of what can be gained that is open; 0 for the difference of floats, infinite where the bound says nothing."""
    assert relative_gap(3.0, 2.0, 6.0) == 0.25
    assert relative_gap(1.0 + 1e-13, 1.0, 1.0) == 0.0
    assert relative_gap(2.0, 1.0, 1.0) == math.inf
    assert relative_gap(2.0, -math.inf, 3.0) == math.inf
