"""Parts of a path and the threads that work on them; shares of prices within levels, what moves, and what that proves."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations import PruningProblem
from formulations.instance.papers import two_trees
from proofs_checks import check_path
from solvers.closures.cut import ClosureProblem, Ties
from solvers.closures.preflow import UNLIMITED, Flow, shared_flow
from solvers.closures.subproblem import ParametricSubproblem, parametric_subproblem
from solvers.path.decomposition import Networks, PathDecomposition, PathPiece, contradictions
from solvers.path.level_shares import LevelBlocks, LevelShares, SharedArcs
from solvers.path.params import PathParams
from solvers.path.part_sequence import Parts, PartSequence, _summed
from solvers.path.proof_by_shares import ProofByShares
from solvers.path.pruning_path import Leaving, in_order, pruning_path
from solvers.price_sharing.params import SharingParams
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance, path_by_parts


def level_shares(
    problem: PruningProblem, level: NDArray[np.int32], pool: ThreadPoolExecutor, params: SharingParams
) -> LevelShares:
    """Of all splits with a level above 0."""
    is_open = problem.ensemble.is_split & (level > 0)
    highest = problem.usage.highest_user(np.flatnonzero(is_open).astype(np.int32), level)
    return LevelShares(problem, level, highest, is_open, 20, pool, params)


def by_definition(problem: PruningProblem, level: NDArray[np.int32], weight: NDArray[np.float64]) -> dict[tuple[int, int], float]:
    """The shares, unrounded, by split and purchase: the users of the highest level pay in proportion to weights."""
    users: dict[int, list[int]] = {}
    arcs = problem.usage.arcs(np.flatnonzero(problem.ensemble.is_split & (level > 0)).astype(np.int32))
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
def test_users_of_the_highest_level_share_each_price_in_proportion_to_weights(seed: int) -> None:
    """Shares are whole numbers of 2^-20, add up to the price exactly, and are those of the definition up to rounding. In one
    thread and in two.
    """
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    n = problem.ensemble.n_nodes
    level, weight = rng.integers(0, 4, n).astype(np.int32), rng.exponential(size=n)
    expected = by_definition(problem, level, weight)
    with ThreadPoolExecutor(1) as pool:
        shares = level_shares(problem, level, pool, SharingParams(one_thread_arcs=10**9 * (seed % 2)))
        of_open = weight[shares.nodes]
        arcs = shares.arcs(of_open, np.ones(problem.usage.n_purchases, dtype=bool))
        charges, rough = shares.charges(of_open), shares.rough_charges(of_open)
    found = dict(zip(zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True), arcs.share.tolist(), strict=True))
    assert found.keys() == expected.keys()
    for arc, share in expected.items():
        assert found[arc] / 2**20 == pytest.approx(share, abs=1e-4)
    paid = np.bincount(arcs.head, weights=arcs.share, minlength=problem.usage.n_purchases).astype(np.int64)
    bought = np.unique(arcs.head)
    np.testing.assert_array_equal(paid[bought], problem.purchase_price()[bought] << 20)
    np.testing.assert_array_equal(np.bincount(arcs.tail, weights=arcs.share, minlength=n)[shares.nodes], charges)
    np.testing.assert_allclose(rough / 2**20, charges / 2**20, atol=1e-2)


@pytest.mark.parametrize("bits", [1, 60])
def test_who_bears_too_much_gives_to_who_bears_too_little(bits: int) -> None:
    """Two splits share two prices of 3 in halves. Gains 4 and 2: the second lacks 1, which it gives; then each pays its gain.

    With 60 bits behind the point earnings leave int64: the same numbers. With gains 5 and 1 a share gives no more than it is: 2
    have to move, but along purchase 0 alone there are only 1.5.
    """
    nodes, tops, free, half = ids(0, 3), ids(-1, -1), np.zeros(2, dtype=np.int64), 1 << (bits - 1)
    arcs = SharedArcs(ids(0, 0, 3, 3), np.array([0, 1, 0, 1]), np.array([3, 3, 3, 3]) * half)
    for gains, amount in (((4, 2), 1), ((5, 1), 2)):
        blocks = LevelBlocks.of(nodes, tops, np.array(gains), free, Fraction(1), bits)
        assert blocks.earned.dtype == (np.int64 if bits == 1 else object)
        surplus = blocks.surplus(np.array([6 * half, 6 * half]))
        assert surplus.tolist() == [2 * amount * half, -2 * amount * half]
        assert blocks.shortfall(surplus) == (amount, amount)
        moves = blocks.moves(surplus, arcs)
        assert moves is not None
        assert sum(m.amount for m in moves) == amount
        assert all((m.giver, m.taker) == (3, 0) for m in moves)
    assert [x.tolist() for x in blocks.balance(surplus)] == [surplus.tolist(), [0, 0]]
    assert blocks.moves(surplus, SharedArcs(arcs.tail[::2], arcs.head[::2], arcs.share[::2])) is None


def test_a_child_helps_its_parent_but_not_the_other_way_round() -> None:
    """Parent 0 with child 1 in one tree, split 3 in another. What is missing at the parent, the child hands up. It gives a share
    to split 3, where something is left over. Where the child lacks, and only the parent can give, nothing helps.
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
    """By weights and moves alone, on random forests with everything that can occur."""
    problem = random_problem(seed)
    path = path_by_parts(problem, ties=ties, certificate=False, largest=0)
    assert path_by_parts(problem, ties=ties, largest=0).gaps == ()
    proof = ProofByShares(problem, path.level, [b / problem.numbers.lam_unit for b in path.breakpoints], ties)
    assert not proof.open.size
    assert proof.gaps() == ()


def test_few_purchases_suffice_where_there_is_no_room_for_all() -> None:
    """With room for no level's usage arcs, most levels are proven along four purchases for each split; the proof holds."""
    problem = instance("breast cancer, licence")
    path = path_by_parts(problem, 0, PathParams(all_arcs=0), gap=1e-3)
    assert path.relative_gap < 1e-6
    assert check_path(path).holds


def test_a_wrong_path_is_not_proven() -> None:
    """All that goes at two neighbouring breakpoints put together at the second one: a gap there, and at no other breakpoint."""
    problem = instance("breast cancer, licence")
    path = path_by_parts(problem)
    ratios = [b / problem.numbers.lam_unit for b in path.breakpoints]
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


def ids(*values: int) -> np.ndarray:
    """Ids as parts have them."""
    return np.array(values, dtype=np.int32)


def one_part(gain: list[int], tail: list[int], head: list[int], price: list[int], parent: tuple[int, ...] = ()) -> PartSequence:
    """One part of splits 10, 11, ... and purchases 5, 6, ..., trees with a split each unless their parents are given."""
    k, j = len(gain), len(price)
    return PartSequence.of(
        ParametricSubproblem(
            nodes=np.arange(10, 10 + k, dtype=np.int32),
            parent=ids(*(parent or [-1] * k)),
            tail=ids(*tail),
            head=ids(*head),
            purchases=np.arange(5, 5 + j, dtype=np.int32),
            gain=np.array(gain),
            evaluation=np.zeros(k, dtype=np.int64),
            price=np.array(price),
        )
    )


def three_splits(gain: tuple[int, int, int] = (1, 1, 0)) -> PartSequence:
    """Splits 10 and 11 share purchase 5; 11 and 12 below it share purchase 6."""
    return one_part(list(gain), [0, 1, 1, 2], [0, 0, 1, 1], [2, 3], (-1, -1, 1))


def test_new_parts_take_their_flows_along() -> None:
    """The inner part keeps the flow of its splits, the outer one those on purchases that the inner one does not pay."""
    flow = Flow(np.array([1, 2, 3, 4]), np.array([7, 8, 9]))
    whole = replace(three_splits(), flow=flow, scale=np.array([5]))
    assert Networks.of(whole).ratios == [Fraction(2, 5)]
    # a flow counts gains times the denominator of lambda: from one of 2 it starts at 5 halves, rounded down
    assert Networks.of(three_splits()).start() is None
    start = Networks.of(replace(whole, scale=np.array([2]))).start()
    assert start is not None
    assert (start.usage_flow.tolist(), start.parent_flow.tolist()) == ([2, 5, 7, 10], [17, 20, 22])
    both = Parts(two_trees()).divided(whole, ids(1, 0, 0))
    outer, inner = both.batches(0)
    for part, nodes, parent, purchases, head, usage_flow, parent_flow in (
        (inner, [10], [-1], [5], [0], [1], [7]),
        (outer, [11, 12], [-1, 0], [6], [0, 0], [3, 4], [8, 9]),
    ):
        found = part.subproblem
        assert (found.nodes.tolist(), found.parent.tolist()) == (nodes, parent)
        assert (found.purchases.tolist(), found.head.tolist()) == (purchases, head)
        assert (part.flow.usage_flow.tolist(), part.flow.parent_flow.tolist()) == (usage_flow, parent_flow)
    assert both.scale.tolist() == [5, 5]
    assert both.outside.tolist() == [0, 2]


def test_each_part_has_its_own_lambda() -> None:
    """Split 10 gains 3 for 2, the others 1 for 3: in integers 2 3 - 3 2 and 3 1 - 1 3, worth 0 in each part of one network."""
    networks = Networks.of(Parts(two_trees()).divided(three_splits((3, 1, 0)), ids(1, 0, 0)))
    assert networks.ratios == [Fraction(1, 3), Fraction(3, 2)]
    assert networks.instance.profit.tolist() == [3, 0, 6]
    assert networks.instance.price.tolist() == [3, 6]
    for kept in ([True, True, True], [True, False, False], [False, False, True]):
        assert networks.worth(np.array(kept)).tolist() == [0, 0]
    assert Networks.of(three_splits((1, -3, 0))).ratios == [None]  # a gain below 0, which only a wrong guess leaves


@pytest.mark.filterwarnings("error")
def test_scores_far_apart_leave_the_range_of_a_float_to_nobody() -> None:
    """Splits far behind the best of their part have weights above 0, in equal parts; other parts have a best one of their own."""
    parts = replace(three_splits(), first=np.array([0, 2, 3]), outside=np.array([0, 2]))
    weight = parts.weights(np.array([5000.0, 0.0, -9000.0]))
    assert weight[0] == weight[2]
    assert 0 < weight[1] < 1e-100 < weight[0] == 1


@pytest.mark.parametrize(
    ("ratios", "wrong"),
    [
        ([], []),
        ([1], []),
        ([1, 2, 2, 3], []),
        ([2, 1], [(0, 1)]),
        ([1, 3, 2, 4], [(1, 2)]),
        ([2, 3, 1, 4], [(0, 2)]),  # 1 is below both pieces outside it
        ([1, 4, 2, 3, 5], [(1, 3)]),  # 4 is above both pieces inside it
        ([1, 5, 2, 4, 3, 6, 8, 7], [(1, 4), (6, 7)]),
        ([2, 3, 4, 1, 5], [(0, 3)]),
        ([1, 2, None, 3, 4], [(1, 3)]),
        ([None, 1, 2], [(0, 1)]),
        ([1, 2, None], [(1, 2)]),
        ([None], [(0, 0)]),
    ],
)
def test_least_ranges(ratios: list[int | None], wrong: list[tuple[int, int]]) -> None:
    """Ranges join pieces until breakpoints never fall from one range to the next; a piece without breakpoint takes both sides."""
    assert contradictions([None if r is None else Fraction(r) for r in ratios]) == wrong


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        ([], []),
        ([(2, 4), (3, 3)], [(Fraction(1, 2), [0]), (Fraction(1), [1])]),
        ([(0, 1), (1, 1)], [(Fraction(0), [0]), (Fraction(1), [1])]),
        # Together the first two have (2 + 1) / (1 + 2), which is below 4 / 2.
        ([(2, 1), (1, 2), (4, 2)], [(Fraction(1), [0, 1]), (Fraction(2), [2])]),
        # 1 / 2 is below both pieces outside of it; joined with one of them it is above the other.
        ([(1, 1), (3, 1), (1, 2)], [(Fraction(1), [0]), (Fraction(4, 3), [1, 2])]),
        ([(1, 1), (3, 1), (1, 9)], [(Fraction(5, 11), [0, 1, 2])]),
    ],
)
def test_the_upper_hull_of_pieces(pieces: list[tuple[int, int]], joined: list[tuple[Fraction, list[int]]]) -> None:
    """Pieces with (gain, cost), outermost first: one with a lower breakpoint than the one outside of it joins that one."""
    leaving = [Leaving(Fraction(gain), Fraction(cost), np.array([k], dtype=np.int32)) for k, (gain, cost) in enumerate(pieces)]
    assert [(piece.ratio, piece.nodes.tolist()) for piece in in_order(leaving)] == joined


@pytest.mark.parametrize("threads", [2, 5])
def test_pieces_come_in_order(threads: int) -> None:
    """However many threads there are, and whoever is first: the path of one thread."""
    problem = instance("breast cancer, licence")
    one, several = (pruning_path(problem, params=PathParams(threads=k, one_thread_arcs=0)) for k in (1, threads))
    assert len(one) > 3
    assert several.breakpoints == one.breakpoints
    np.testing.assert_array_equal(several.level, one.level)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_faults_are_passed_on(threads: int, fault: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step raises arrives, and what waited is not begun."""
    problem, begun = two_trees(), list[PartSequence]()
    everything = PartSequence.of(parametric_subproblem(problem, problem.usage.splits))
    work = PathDecomposition(Parts(problem), "smallest", lambda _: None, PathParams(threads=threads, one_thread_arcs=0))

    def step(parts: PartSequence) -> tuple[list[PathPiece], list[PartSequence]]:
        begun.append(parts)
        if len(begun) == 1:
            return [], [everything] * 200
        if len(begun) == 3:
            raise fault("here")
        time.sleep(0.01)
        return [], []

    monkeypatch.setattr(work, "_step", step)
    with pytest.raises(fault):
        work._pieces(everything)
    assert len(begun) < 100


def test_flows_of_merged_purchases_are_added_up() -> None:
    """Split 0 pays 1, 2 and 3 for purchases 0, 1, 2, split 1 pays 4, 5, 6; 0 and 2 merge: they pay 4 and 10 for them together."""
    tail, group = ids(0, 0, 0, 1, 1, 1), ids(0, 1, 0, 0, 1, 0)
    assert _summed(tail, group, ids(0, 0, 1, 1), ids(0, 1, 0, 1), np.array([1, 2, 3, 4, 5, 6])).tolist() == [4, 2, 10, 5]


def test_what_scores_let_splits_pay() -> None:
    """With weights 1 and 3 of 4 two splits share a price of 8 as 2 and 6; the third pays its own 5 alone."""
    none, price = ids(-1, -1, -1), np.array([8, 5])
    problem = ClosureProblem(np.ones(3, dtype=np.int64), none, ids(0, 1, 2), ids(0, 0, 1), price)
    flow = shared_flow(problem, np.array([1.0, 3.0, 2.0]))
    assert flow.usage_flow.tolist() == [2, 6, 5]
    assert (flow.parent_flow == UNLIMITED).all()
