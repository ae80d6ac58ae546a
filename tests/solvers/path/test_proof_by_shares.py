"""Shares of prices within levels, what moves between them, and what that proves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations import PruningProblem
from proofs_checks import check_path
from solvers.closures.cut import Ties
from solvers.path import proof_by_shares
from solvers.path.level_repairs import LevelBlocks
from solvers.path.level_shares import LevelShares, SharedArcs
from solvers.path.proof_by_shares import ProofByShares
from solvers.path.pruning_path import divide_and_conquer
from solvers.price_sharing import shares as shares_module
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance


def level_shares(problem: PruningProblem, level: NDArray[np.int32], pool: ThreadPoolExecutor, bits: int = 20) -> LevelShares:
    """Of all splits with a level above 0."""
    is_open = problem.ensemble.is_split & (level > 0)
    highest = problem.usage.highest_user(np.flatnonzero(is_open).astype(np.int32), level)
    return LevelShares(problem, level, highest, is_open, bits, pool)


def by_definition(problem: PruningProblem, level: NDArray[np.int32], weight: NDArray[np.float64]) -> dict[tuple[int, int], float]:
    """The shares, unrounded, by split and purchase: the users of the highest level pay in proportion to weights."""
    users: dict[int, list[int]] = {}
    arcs = problem.usage_arcs(np.flatnonzero(problem.ensemble.is_split & (level > 0)).astype(np.int32))
    for h, j in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
        users.setdefault(j, []).append(h)
    price, found = problem.purchase_price(), {}
    for j, candidates in users.items():
        top = max(level[h] for h in candidates)
        paying = [h for h in candidates if level[h] == top]
        for h in paying:
            found[h, j] = float(price[j] * weight[h] / sum(weight[g] for g in paying))
    return found


@looped("seed", range(12))
def test_users_of_the_highest_level_share_each_price_in_proportion_to_weights(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares are whole numbers of 2^-20, add up to the price exactly, and are those of the definition up to rounding.

    In one thread and in two.
    """
    monkeypatch.setattr(shares_module, "ONE_THREAD_ARCS", 10**9 * (seed % 2))
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    n = problem.ensemble.n_nodes
    level, weight = rng.integers(0, 4, n).astype(np.int32), rng.exponential(size=n)
    expected = by_definition(problem, level, weight)
    with ThreadPoolExecutor(1) as pool:
        shares = level_shares(problem, level, pool)
        of_open = weight[shares.nodes]
        arcs = shares.arcs(of_open, np.ones(problem.n_purchases, dtype=bool))
        charges, rough = shares.charges(of_open), shares.rough_charges(of_open)
    found = dict(zip(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True), arcs.share.tolist(), strict=True))
    assert found.keys() == expected.keys()
    for arc, share in expected.items():
        assert found[arc] / 2**20 == pytest.approx(share, abs=1e-4)
    paid = np.bincount(arcs.head, weights=arcs.share, minlength=problem.n_purchases).astype(np.int64)
    bought = np.unique(arcs.head)
    np.testing.assert_array_equal(paid[bought], problem.purchase_price()[bought] << 20)
    np.testing.assert_array_equal(np.bincount(arcs.tail, weights=arcs.share, minlength=n)[shares.nodes], charges)
    np.testing.assert_allclose(rough, charges / 2**20, atol=1e-2)


def two_stumps(gains: tuple[int, int]) -> LevelBlocks:
    """Two trees of one split; both need purchases 0 and 1 at a price of 3 each, at lambda = 1, in halves."""
    nodes, tops, free = np.array([0, 3], dtype=np.int32), np.array([-1, -1], dtype=np.int32), np.zeros(2, dtype=np.int64)
    return LevelBlocks.of(nodes, tops, np.array(gains), free, Fraction(1), 1)


HALVES = SharedArcs(np.array([0, 0, 3, 3], dtype=np.int32), np.array([0, 1, 0, 1]), np.array([3, 3, 3, 3]))
"""Each of the two splits pays a half of each price."""


def test_who_bears_too_much_gives_to_who_bears_too_little() -> None:
    """Gains 4 and 2, charges 3 each: the second split lacks 1, which it gives; then each pays what it gains."""
    blocks = two_stumps((4, 2))
    surplus = blocks.surplus(np.array([6, 6]))
    assert surplus.tolist() == [2, -2]
    assert [x.tolist() for x in blocks.balance(surplus)] == [[2, -2], [0, 0]]
    assert blocks.shortfall(surplus) == (1, 1)
    moves = blocks.moves(surplus, HALVES)
    assert moves is not None
    assert sum(m.amount for m in moves) == 1
    assert all((m.giver, m.taker) == (3, 0) for m in moves)


def test_amounts_beyond_64_bits_are_the_same_numbers() -> None:
    """With 60 bits behind the point earnings of 4 and 2 leave int64: the same is missing, and moved."""
    blocks, finer = two_stumps((4, 2)), 1 << 59
    wide = LevelBlocks.of(blocks.nodes, blocks.parent, np.array([4, 2]), np.zeros(2, dtype=np.int64), Fraction(1), 60)
    assert (blocks.earned.dtype, wide.earned.dtype) == (np.int64, object)
    surplus = wide.surplus(np.array([6 * finer, 6 * finer]))
    assert surplus.tolist() == [2 * finer, -2 * finer]
    assert wide.shortfall(surplus) == (1, 1)
    moves = wide.moves(surplus, SharedArcs(HALVES.tail, HALVES.head, HALVES.share * finer))
    assert moves is not None
    assert sum(m.amount for m in moves) == 1


def test_a_share_gives_no_more_than_it_is() -> None:
    """Gains 5 and 1: 2 have to move, but along purchase 0 alone there are only 1.5."""
    blocks = two_stumps((5, 1))
    surplus = blocks.surplus(np.array([6, 6]))
    only_first = SharedArcs(HALVES.tail[::2], HALVES.head[::2], HALVES.share[::2])
    assert blocks.moves(surplus, only_first) is None
    moves = blocks.moves(surplus, HALVES)
    assert moves is not None
    assert sum(m.amount for m in moves) == 2


def test_a_child_helps_its_parent_but_not_the_other_way_round() -> None:
    """Parent 0 with child 1 in one tree, split 3 in another. What is missing at the parent, the child hands up.

    It gives a share to split 3, where something is left over. Where the child lacks, and only the parent can give, nothing helps.
    """
    for earned, helps in (([-2, 6, 8], True), ([6, -2, 8], False)):
        nodes, tops = np.array([0, 1, 3], dtype=np.int32), np.array([-1, 0, -1], dtype=np.int32)
        blocks = LevelBlocks.of(nodes, tops, np.array(earned), np.zeros(3, dtype=np.int64), Fraction(1), 0)
        giver = 1 if helps else 0
        charge = np.array([0, 0, 6])
        charge[giver] = 6
        arcs = SharedArcs(np.array([giver, 3], dtype=np.int32), np.array([0, 0]), np.array([6, 6]))
        surplus = blocks.surplus(charge)
        moves = blocks.moves(surplus, arcs)
        assert (moves is not None) == helps
        if moves is not None:
            assert [(m.giver, m.taker, m.amount) for m in moves] == [(1, 3, 2)]


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("seed", range(30))
def test_an_exact_path_is_proven(seed: int, ties: Ties) -> None:
    """By weights and moves alone, on random forests with everything that can occur, rounded instances included."""
    problem = random_problem(seed, rounded=seed % 5 == 0)
    path = divide_and_conquer(problem, ties=ties, certificate=False, largest=0)
    assert divide_and_conquer(problem, ties=ties, largest=0).gaps == ()
    proof = ProofByShares(problem, path.level, [b / problem.integers.lam_unit for b in path.breakpoints], ties)
    assert not proof.open.size
    assert proof.gaps() == ()


def test_few_purchases_suffice_where_there_is_no_room_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for no level's usage arcs, most levels are proven along four purchases for each split; the proof holds."""
    monkeypatch.setattr(proof_by_shares, "ALL_ARCS", 0)
    problem = instance("breast cancer, licence")
    path = divide_and_conquer(problem, largest=0, gap=1e-3)
    assert path.relative_gap < 1e-6
    assert check_path(path).holds


def test_a_wrong_path_is_not_proven() -> None:
    """All that goes at two neighbouring breakpoints put together at the second one: a gap there, and at no other breakpoint."""
    problem = instance("breast cancer, licence")
    path = divide_and_conquer(problem)
    ratios = [b / problem.integers.lam_unit for b in path.breakpoints]
    level = path.level.copy()
    level[level == 2] = 3
    level[level > 2] -= 1
    gain, cost = (np.asarray(column).tolist() for column in (path.integer_gain, path.integer_cost))
    ratios[2:4] = [Fraction(gain[1] - gain[3], cost[1] - cost[3])]
    proof = ProofByShares(problem, level, ratios, "smallest")
    assert proof.open.tolist() == [2]
    gaps = proof.gaps()
    assert min(gaps) > 0 or [k for k, gap in enumerate(gaps) if gap] == [2]
    assert gaps[2] > 0
