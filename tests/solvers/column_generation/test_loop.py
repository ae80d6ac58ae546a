"""Column generation without a word of trees, and the masters of pruning."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from formulations import Pruning, SolverFailedError, StopReason
from solvers.column_generation.bundle import BundleMaster, SoftPrices
from solvers.column_generation.full_master import FullMaster
from solvers.column_generation.loop import MasterAnswer, PricingAnswer, Round, generate_columns, relative_gap
from solvers.column_generation.params import DEFAULTS
from solvers.column_generation.pricing import Coupling, Incumbent, TreePricing, TreePruning, columns_of
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import stump, twin_stumps

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


REFERENCE = float(PENALTY @ DEMAND)  # everything bought


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
    # a column whose reduced cost is not below -tolerance does not enter, and the generation ends
    script = Scripted()
    script.price = lambda charge: PricingAnswer(["dear"], charge, 0.0)  # type: ignore[method-assign]
    script.reduced_costs = lambda columns, answer: np.array([-1e-12])  # type: ignore[method-assign]
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


LAM = 0.05


def roots_and_whole(coupling: Coupling) -> list[TreePruning]:
    whole = coupling.problem.ensemble.is_split
    return distinct([*columns_of(coupling, np.zeros_like(whole)), *columns_of(coupling, whole)])


def distinct(columns: list[TreePruning]) -> list[TreePruning]:
    return list({c.key: c for c in columns}.values())


def answer_of(master: BundleMaster | FullMaster, columns: list[TreePruning]) -> MasterAnswer:
    master.add(columns)
    answer = master.solve(math.inf)
    assert answer is not None
    return answer


def test_duals_of_twin_stumps_by_hand() -> None:
    """Unpruned wins: .1 + .1 + a price of .1 = .3. Each tree's r is .1 + q, q >= 0 of both make the price: together .3."""
    coupling = Coupling.build(twin_stumps(), 0.1)
    answer = answer_of(FullMaster(coupling), roots_and_whole(coupling))
    assert answer.value == pytest.approx(0.3, abs=1e-12)
    assert (answer.charge >= 0).all()
    assert answer.charge.sum() == pytest.approx(0.1, abs=1e-12)
    np.testing.assert_allclose(answer.convexity, 0.1 + answer.charge, atol=1e-12)


def test_a_dual_of_one_stump_by_hand() -> None:
    """One tree, gain .2, price .1 for two rows of two examples: the rows pay .05 each, and r = .2 + .1, the value."""
    coupling = Coupling.build(stump((4, 1, 1), [1], [[0], [1]]), 0.1, merge=False)
    both = roots_and_whole(coupling)
    answer = answer_of(FullMaster(coupling), both)
    np.testing.assert_allclose(answer.charge, [0.05, 0.05], atol=1e-12)
    np.testing.assert_allclose(answer.convexity, [0.3], atol=1e-12)
    np.testing.assert_allclose(TreePricing(coupling).reduced_costs(both, answer), [0.4 - 0.3, 0.2 + 0.1 - 0.3], atol=1e-12)


def some_columns(coupling: Coupling, seed: int) -> list[TreePruning]:
    """Single leaves, unpruned, and what pricing finds at some random charges."""
    rng, pricing, found = np.random.default_rng(seed), TreePricing(coupling), roots_and_whole(coupling)
    for _ in range(4):
        found += pricing.price(rng.random(coupling.n_rows) * coupling.price[coupling.purchase]).columns
    return distinct(found)


def bundle(coupling: Coupling, lam: float) -> BundleMaster:
    incumbent = Incumbent(Pruning.all_roots(coupling.problem), lam)
    return BundleMaster(coupling, incumbent, np.zeros(coupling.stop.size), -math.inf, DEFAULTS)


def test_a_bundle_step_by_hand() -> None:
    """Twin stumps at a price of .1: keeping or pruning both costs the same charges, so every step keeps the shares at .05 each.
    The single leaves cost .2 + .2, unpruned .1 + .05 each. The mixture is all unpruned, whose value as a linear program is .3.
    """
    coupling = Coupling.build(twin_stumps(), 0.1)
    master = bundle(coupling, 0.1)
    answer = answer_of(master, roots_and_whole(coupling))
    np.testing.assert_allclose(answer.charge, [0.05, 0.05], rtol=1e-9)
    np.testing.assert_allclose(answer.convexity, [0.15, 0.15], rtol=1e-9)
    assert answer.upper == pytest.approx(0.3, rel=1e-12)
    assert answer.upper <= answer.value <= 0.3 + 2e-3


@pytest.mark.slow
@looped("seed", range(20))
def test_a_bundle_ends_at_the_linear_programs_value(seed: int) -> None:
    """Serious steps without new columns lead to the value of the restricted linear program; charges stay within the prices."""
    coupling = Coupling.build(random_problem(seed), LAM)
    columns = some_columns(coupling, seed)
    exact = answer_of(FullMaster(coupling), columns).value
    master = bundle(coupling, LAM)
    master.add(columns)
    best = -math.inf
    for _ in range(60):
        answer = master.solve(math.inf)
        assert (coupling.by_purchase(answer.charge) <= coupling.price * (1 + 1e-9)).all()
        assert answer.value >= exact - 1e-9
        model = float(answer.convexity.sum())
        assert model <= exact + 1e-9
        best = max(best, model)
        master.judge(model, found_columns=False)
    assert best == pytest.approx(exact, rel=1e-4, abs=1e-6)


def test_a_bad_step_is_not_taken() -> None:
    """A bound below the centre's leaves the scores, and lowers eta if it loses more than the model promised."""
    coupling = Coupling.build(twin_stumps(), 0.1)
    master = bundle(coupling, 0.1)
    answer_of(master, roots_and_whole(coupling))
    master.judge(0.25, found_columns=True)
    eta, score = master.bundle.eta, master.bundle.score
    master.solve(math.inf)
    master.judge(0.1, found_columns=True)
    assert master.bundle.bound == 0.25
    assert master.bundle.score is score
    assert master.bundle.eta == eta / 2


def test_soft_prices_share_the_price() -> None:
    """Shares add up to the prices, are the derivatives of the smooth value, and scores far apart lose nothing."""
    coupling = Coupling.build(random_problem(3), LAM)
    soft, rng = SoftPrices(coupling), np.random.default_rng(0)
    for spread in (1.0, 30.0, 3000.0):
        score = spread * rng.random(coupling.stop.size)
        charge, by_node = soft.shares(score)
        used = np.unique(coupling.purchase)
        np.testing.assert_allclose(coupling.by_purchase(charge)[used], coupling.price[used], rtol=1e-12)
        np.testing.assert_allclose(by_node, coupling.by_node(charge), rtol=1e-9, atol=1e-18)
        # F(s) lies between the largest scores and those plus log of the number of users
        value, hard = soft.value(score)[0], soft.hard_value(score)
        users = np.bincount(coupling.purchase, minlength=coupling.price.size)[used]
        assert hard <= value * (1 + 1e-12) <= (hard + float(coupling.price[used] @ np.log(users))) * (1 + 1e-9)
    score = rng.random(coupling.stop.size)
    for h in np.unique(coupling.node).tolist()[:5]:
        step = np.zeros(score.size)
        step[h] = 1e-6
        slope = (soft.value(score + step)[0] - soft.value(score - step)[0]) / 2e-6
        assert slope == pytest.approx(soft.value(score)[1][h], rel=1e-4)
