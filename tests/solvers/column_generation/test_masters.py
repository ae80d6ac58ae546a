"""Both masters: dual signs worked out by hand, equal values, and duals that price their own columns at 0 or more."""

from __future__ import annotations

import math

import numpy as np
import pytest

from formulations import Pruning
from solvers.column_generation.bundle import BundleMaster
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.full_master import FullMaster
from solvers.column_generation.loop import MasterAnswer
from solvers.column_generation.pricing import Incumbent, TreePricing, TreePruning, columns_of
from solvers.column_generation.soft_prices import SoftPrices
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import stump, twin_stumps

LAM = 0.05


def roots_and_whole(coupling: Coupling) -> list[TreePruning]:
    whole = coupling.problem.ensemble.is_split
    both = [*columns_of(coupling, np.zeros_like(whole)), *columns_of(coupling, whole)]
    return list({c.key: c for c in both}.values())


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
    """One tree, gain .2, price .1 for two rows of two examples: the rows bear .05 each, and r = .2 + .1, the value."""
    coupling = Coupling.build(stump((4, 1, 1), [1], [[0], [1]]), 0.1, merge=False)
    answer = answer_of(FullMaster(coupling), roots_and_whole(coupling))
    np.testing.assert_allclose(answer.charge, [0.05, 0.05], atol=1e-12)
    np.testing.assert_allclose(answer.convexity, [0.3], atol=1e-12)
    pruned = TreePricing(coupling).reduced_costs(roots_and_whole(coupling), answer)
    np.testing.assert_allclose(pruned, [0.4 - 0.3, 0.2 + 0.1 - 0.3], atol=1e-12)


def some_columns(coupling: Coupling, seed: int) -> list[TreePruning]:
    """Single leaves, unpruned, and what pricing finds at some random charges."""
    rng, pricing, found = np.random.default_rng(seed), TreePricing(coupling), roots_and_whole(coupling)
    for _ in range(4):
        found += pricing.price(rng.random(coupling.n_rows) * coupling.price[coupling.purchase]).columns
    return list({c.key: c for c in found}.values())


@looped("seed", range(20))
def test_merged_rows_lose_nothing(seed: int) -> None:
    """Rows merged or not, the value is the same; charges stay within prices, the r add up to it, no column prices out."""
    problem = random_problem(seed)
    plain, merged = Coupling.build(problem, LAM, merge=False), Coupling.build(problem, LAM)
    # their random charges differ: the prunings that were found for both; costs are another, where a purchase has one user
    rows, aggregates = some_columns(plain, seed), some_columns(merged, seed)
    keys = {c.key for c in rows} & {c.key for c in aggregates}
    value = answer_of(FullMaster(plain), [c for c in rows if c.key in keys]).value
    columns = [c for c in aggregates if c.key in keys]
    answer = answer_of(FullMaster(merged), columns)
    check_duals(merged, answer, columns)
    assert answer.value == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert float(answer.convexity.sum()) == pytest.approx(value, rel=1e-9, abs=1e-12)


def check_duals(coupling: Coupling, answer: MasterAnswer, columns: list[TreePruning]) -> None:
    assert (answer.charge >= 0).all()
    assert (coupling.by_purchase(answer.charge) <= coupling.price * (1 + 1e-9) + 1e-15).all()
    reduced = TreePricing(coupling).reduced_costs(columns, answer)
    assert reduced.min() >= -1e-9
    by_tree = [min(r for r, c in zip(reduced, columns, strict=True) if c.tree == t) for t in range(len(answer.convexity))]
    np.testing.assert_allclose(by_tree, 0.0, atol=1e-9)  # each tree has a column in the basis


def bundle(coupling: Coupling) -> BundleMaster:
    incumbent = Incumbent(Pruning.all_roots(coupling.problem), coupling.lam)
    return BundleMaster(coupling, incumbent, np.zeros(coupling.stop.size), -math.inf)


def test_a_bundle_step_by_hand() -> None:
    """Twin stumps at a price of .1: keeping or pruning both costs the same charges, so every step keeps the shares at .05 each.

    The single leaves cost .2 + .2, unpruned .1 + .05 each. The mixture is all unpruned, whose value as a linear program is .3.
    """
    coupling = Coupling.build(twin_stumps(), 0.1)
    master = bundle(coupling)
    answer = answer_of(master, roots_and_whole(coupling))
    np.testing.assert_allclose(answer.charge, [0.05, 0.05], rtol=1e-9)
    np.testing.assert_allclose(answer.convexity, [0.15, 0.15], rtol=1e-9)
    assert answer.upper == pytest.approx(0.3, rel=1e-12)
    assert answer.upper <= answer.value <= 0.3 + 2e-3


@looped("seed", range(20))
def test_a_bundle_ends_at_the_linear_programs_value(seed: int) -> None:
    """Serious steps without new columns lead to the value of the restricted linear program; charges stay within the prices."""
    coupling = Coupling.build(random_problem(seed), LAM)
    columns = some_columns(coupling, seed)
    exact = answer_of(FullMaster(coupling), columns).value
    master = bundle(coupling)
    master.add(columns)
    best = -math.inf
    for _ in range(60):
        answer = master.solve(math.inf)
        assert answer is not None
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
    master = bundle(coupling)
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
