"""Both masters: dual signs worked out by hand, equal values, and duals that price their own columns at 0 or more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations import Pruning, PruningProblem
from formulations.instance.papers import two_trees
from solvers import brute_force
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.full_master import FullMaster
from solvers.column_generation.incumbent import Incumbent
from solvers.column_generation.loop import MasterAnswer
from solvers.column_generation.master import AggregatedMaster
from solvers.column_generation.pricing import TreePricing, TreePruning, columns_of
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import stump, twin_stumps

LAM = 0.05


def roots_and_whole(coupling: Coupling) -> list[TreePruning]:
    whole = coupling.problem.ensemble.is_split
    both = [*columns_of(coupling, np.zeros_like(whole)), *columns_of(coupling, whole)]
    return list({c.key: c for c in both}.values())


def aggregated(coupling: Coupling, frozen: NDArray[np.float64] | None = None) -> AggregatedMaster:
    return AggregatedMaster(coupling, Incumbent(Pruning.all_roots(coupling.problem), coupling.lam), frozen)


def answer_of(master: AggregatedMaster | FullMaster, columns: list[TreePruning]) -> MasterAnswer:
    master.add(columns)
    answer = master.solve(math.inf)
    assert answer is not None
    return answer


@pytest.mark.parametrize("kind", [FullMaster, aggregated])
def test_duals_of_twin_stumps_by_hand(kind: type) -> None:
    """Unpruned wins: .1 + .1 + a price of .1 = .3. Each tree's r is .1 + q, q >= 0 of both make the price: together .3."""
    coupling = Coupling.build(twin_stumps(), 0.1)
    answer = answer_of(kind(coupling), roots_and_whole(coupling))
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


@looped("seed", range(60))
def test_aggregated_rows_lose_nothing(seed: int) -> None:
    """Both masters have the same value; charges stay within prices, the r add up to the value, no column prices out."""
    problem = random_problem(seed)
    plain, merged = Coupling.build(problem, LAM, merge=False), Coupling.build(problem, LAM)
    # their random charges differ: the prunings that were found for both; costs are another, where a purchase has one user
    rows, aggregates = some_columns(plain, seed), some_columns(merged, seed)
    keys = {c.key for c in rows} & {c.key for c in aggregates}
    value = answer_of(FullMaster(plain), [c for c in rows if c.key in keys]).value
    columns = [c for c in aggregates if c.key in keys]
    for master in (FullMaster(merged), aggregated(merged)):
        answer = answer_of(master, columns)
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


@looped("seed", range(0, 60, 2))
def test_frozen_charges_lower_the_value_until_refined(seed: int) -> None:
    """Whatever charges are frozen, the value is no larger, duals are feasible, and refining ends at the exact value."""
    coupling = Coupling.build(random_problem(seed), LAM)
    columns = columns_of(coupling, brute_force(coupling.problem, LAM).pruning.kept)  # type: ignore[union-attr]
    exact = answer_of(aggregated(coupling), columns).value
    frozen = np.random.default_rng(seed).random(coupling.n_rows) * coupling.price[coupling.purchase]
    master = aggregated(coupling, frozen)
    master.add(columns)
    for _ in range(20):
        answer = master.solve(math.inf)
        assert answer is not None
        check_duals(coupling, answer, columns)
        assert answer.value <= exact + 1e-12
        if not master.refine():
            break
    assert answer.value == pytest.approx(exact, rel=1e-9, abs=1e-12)


def test_frozen_charges_are_dropped_where_a_purchase_is_made() -> None:
    """Papers' trees, all but one user of an item kept: its charge is frozen at first and counts as lost, then it is 0."""
    problem: PruningProblem = two_trees()
    coupling = Coupling.build(problem, 0.01)
    kept = problem.ensemble.is_split.copy()
    lower = int(coupling.node[-1])
    kept[lower] = False
    kept[np.flatnonzero(problem.ensemble.parent == lower)] = False
    columns = columns_of(coupling, kept)
    master = aggregated(coupling, 0.5 * coupling.price[coupling.purchase])
    first = answer_of(master, columns)
    dropped = (coupling.node == lower) & (first.charge > 0)
    assert dropped.any()
    assert master.refine()
    second = master.solve(math.inf)
    assert second is not None
    assert (second.charge[dropped] == 0).all()
    assert second.value == pytest.approx(first.value + first.charge[dropped].sum(), rel=1e-12)
    assert not master.refine()


def test_a_growing_program_is_solved_on_from_its_basis() -> None:
    """Solving again without new columns takes no simplex iteration and gives the same answer."""
    coupling = Coupling.build(random_problem(1), LAM, merge=False)
    master = FullMaster(coupling)
    first, before = answer_of(master, roots_and_whole(coupling)), master.iterations
    again = master.solve(math.inf)
    assert again is not None
    assert again.value == first.value
    assert master.iterations == before
