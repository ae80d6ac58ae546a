"""A path is proven by one number for each split: exactly, or up to the gaps that follow from it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from formulations import CostItems, PruningPath, PruningProblem
from formulations.answers.pruning_path import PathCertificate, PathShares
from proofs_checks import Verdict, check_path
from solvers import pruning_path
from solvers.closures.cut import Ties
from tests.instances import Node, ensemble_of, plain_errors, problem_of, random_items, random_tree
from tests.loops import looped
from tests.proofs_checks.optimality.slow_shares import (
    true_gaps,
    with_moves,
    with_proven_gaps,
    with_shares,
)
from tests.proofs_checks.optimality.test_tampering import riders


def two_users() -> PruningProblem:
    """Gains of 2/20 and 1/20, of the splits 0 and 3, share a purchase of price 1: at 3/20 both go."""
    return problem_of([Node(4, 0, 0.5, Node(1), Node(1)), Node(3, 0, 0.5, Node(1), Node(1))], [1])


def by_hand(bits: int, *gaps: Fraction, move: Fraction | None = None) -> PruningPath:
    """The path of `two_users` with weights of 2 and 1, and a move from the second to the first."""
    path = pruning_path(two_users(), certificate=False)
    weight = np.array([2, 0, 0, 1, 0, 0], dtype=np.float64)
    n = int(move is not None)
    purchase, giver, taker = np.zeros(n, dtype=np.int64), np.full(n, 3, dtype=np.int32), np.zeros(n, dtype=np.int32)
    shares = PathShares(weight, bits, purchase, giver, taker, () if move is None else (move,))
    return replace(path, certificate=shares, gaps=gaps)


def test_shares_by_hand() -> None:
    """Of 8 eighths of the price the first split bears floor(16/3), the second what is left over, 3.

    At 3/20, three integer gains for an integer price, the first has 2 - 15/8 to spare and the second lacks 9/8 - 1. To keep
    the first alone might be better by 1/8 of 1/20. In halves each bears one, and the first alone might be better by 1/2.
    As nothing is better than the forest of single leaves there, that is all that could be attained: a relative gap of 1.
    """
    assert two_users().integers.gain_unit == Fraction(1, 20)
    none = Fraction(0)
    for bits, gap in ((3, Fraction(1, 160)), (1, Fraction(1, 40))):
        verdict = check_path(by_hand(bits, none, gap))
        assert verdict
        assert verdict.certificate == {"rows": 2, "largest gap": float(gap)}
        too_small = check_path(by_hand(bits, none, gap - Fraction(1, 10**30)))
        assert too_small.holds is False
        assert "the gap at breakpoint 1 is stated as" in too_small.certificate
        assert "keeping it still pays" in check_path(by_hand(bits)).certificate
    assert check_path(by_hand(3, none, Fraction(1, 160))).claim == (
        "all 2 prunings of the path are worth the optimum up to a relative gap of 1, and nested"
    )


def test_the_last_bears_what_is_left_over() -> None:
    """Equal weights, and a unit of the whole price: it falls to the last split, which lacks 3 - 1; the first alone gains 2."""
    equal = with_shares(pruning_path(two_users()), [1] * 6, 0)
    assert check_path(equal)
    assert equal.gaps == (0, Fraction(1, 10))


def test_a_move_by_hand() -> None:
    """When 1/24 of the price moves from the second to the first, they bear 2/3 and 1/3, as they gain: the path is exact."""
    verdict = check_path(by_hand(3, move=Fraction(1, 24)))
    assert verdict
    assert verdict.claim == "all 2 prunings of the path are optimal, each the smallest optimum, and nested"
    assert verdict.certificate == {"rows": 2, "largest gap": 0.0}
    assert check_path(by_hand(3, move=Fraction(1, 25))).holds is False
    assert check_path(with_shares(pruning_path(two_users()), [2, 0, 0, 1, 0, 0], 2)).holds


def crowded(seed: int) -> PruningProblem:
    """Four small trees of two features, so that most purchases have several users; items, prices and evaluation of all kinds."""
    rng = np.random.default_rng(seed)
    ensemble, error = ensemble_of([random_tree(rng, 2, int(rng.integers(1, 5)), 6) for _ in range(4)], 2)
    for h in reversed(range(ensemble.n_nodes)):
        if ensemble.left[h] >= 0:
            error[h] = max(error[h], error[ensemble.left[h]] + error[ensemble.right[h]] + int(rng.integers(0, 3)))
    x = rng.integers(0, 5, (int(rng.integers(2, 6)), 2)).astype(float)
    items = random_items(rng, 2) if seed % 3 == 0 else CostItems.plain([1, 2])
    evaluation = 0.1 if seed % 4 == 0 else 0
    return PruningProblem.build(ensemble, plain_errors(ensemble, error, 10.0), x, items, evaluation_cost=evaluation)


def check_against_all_prunings(path: PruningPath) -> int:
    """The least gaps that are proven hold, at the breakpoints the true ones are no larger, and by a hair less is refuted.

    Returns
    -------
    int
        the number of gaps above 0.
    """
    assert check_path(path).holds, check_path(path)
    for k, (true, stated) in enumerate(zip(true_gaps(path), path.gaps, strict=True) if path.gaps else ()):
        assert 0 <= true <= stated
        if stated:
            less = (*path.gaps[:k], stated - Fraction(1, 10**30), *path.gaps[k + 1 :])
            verdict = check_path(replace(path, gaps=less))
            assert verdict.holds is False
            assert f"the gap at breakpoint {k} is stated as" in verdict.certificate
    if not path.gaps:
        assert max(true_gaps(path)) == 0
    return sum(gap > 0 for gap in path.gaps)


def test_what_is_never_or_always_kept_counts() -> None:
    """A path that never keeps what gains 3/20 without a price, or always keeps what loses 1/10, misses so much at any lambda."""
    none = pruning_path(two_users(), certificate=False)
    never = with_shares(replace(none, level=np.zeros(6, dtype=np.int32), breakpoints=(Fraction(0),)), [1] * 6)
    assert never.gaps == (Fraction(3, 20),)
    free = problem_of([Node(1, 0, 0.5, Node(1), Node(1))], [0], np.zeros((2, 1)))
    always = with_shares(replace(pruning_path(free), level=np.array([1, 0, 0], dtype=np.int32)), [1] * 3)
    assert always.gaps == (Fraction(1, 10),)
    assert check_against_all_prunings(never) == check_against_all_prunings(always) == 1


@looped("seed", range(6))
def test_gaps_of_duals(seed: int) -> None:
    """A path with a dual for each usage arc can have gaps too: its duals moved between users of one purchase prove them."""
    path = pruning_path(crowded(seed))
    rng, arcs = np.random.default_rng(seed), path.problem.usage_arcs()
    assert isinstance(path.certificate, PathCertificate)
    dual = path.certificate.dual.copy()
    for _ in range(4 * dual.size):
        a, b = rng.integers(dual.size, size=2)
        if a != b and arcs.head[a] == arcs.head[b] and path.level[arcs.tail[a]] == path.level[arcs.tail[b]]:
            amount = int(rng.integers(dual[a] + 1))
            dual[a], dual[b] = dual[a] - amount, dual[b] + amount
    moved = with_proven_gaps(replace(path, certificate=replace(path.certificate, dual=dual)))
    assert check_against_all_prunings(moved) > 0


def test_ties_are_told_from_shares() -> None:
    """A split of no gain that only largest optima keep bears nothing: each path is proven, and neither passes for the other.

    Where both splits are on one level, the last one bears what is left over, all of it, and moves it to the first.
    """

    def by_weights(ties: Ties, *levels: int) -> Verdict:
        path = pruning_path(riders(), ties=ties)
        level = np.array([levels[0], -1, -1, levels[1], -1, -1], dtype=np.int32)
        found = with_shares(path, [1, 0, 0, 1, 0, 0], 0, gaps=False)
        assert isinstance(found.certificate, PathShares)
        every = enumerate(path.problem.purchase_price()[: path.problem.n_rows].tolist())
        moves = [(j, 3, 0, Fraction(price)) for j, price in every] if levels[0] == levels[1] else []
        return check_path(replace(found, certificate=with_moves(found.certificate, moves), level=level))

    assert by_weights("smallest", 1, 0)
    assert by_weights("largest", 1, 1)
    assert "split 3 could go before breakpoint 1 for nothing" in by_weights("smallest", 1, 1).certificate
    assert "split 3 is never kept, though it costs nothing" in by_weights("largest", 1, -1).certificate
    assert "split 3 could stay beyond breakpoint 0 for nothing" in by_weights("largest", 1, 0).certificate
