"""Shares that prove a path, by hand, and tampered ones."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from formulations import CostItems, PruningPath, PruningProblem
from formulations.answers.pruning_path import PathCertificate, PathShares
from proofs_checks import Verdict, check_corollary, check_path, check_relaxation
from prunemodels.budgets import solve_lp1
from solvers import pruning_path
from solvers.closures.cut import Ties
from tests.instances import Node, ensemble_of, plain_errors, problem_of, random_items, random_tree
from tests.loops import looped
from tests.proofs_checks.optimality.slow_recount import exact_shares, true_gaps, with_moves, with_proven_gaps, with_shares
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
    """Of 8 eighths of the price the first split pays floor(16/3), the second what is left over, 3.

    At 3/20, three integer gains for an integer price, the first has 2 - 15/8 to spare and the second lacks 9/8 - 1. To keep
    the first alone might be better by 1/8 of 1/20. In halves each pays one, and the first alone might be better by 1/2.
    As nothing is better than the forest of single leaves there, that is all that could be attained: a relative gap of 1.
    """
    assert two_users().numbers.gain_unit == Fraction(1, 20)
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


def test_a_move_by_hand() -> None:
    """When 1/24 of the price moves from the second to the first, they pay 2/3 and 1/3, as they gain: the path is exact."""
    verdict = check_path(by_hand(3, move=Fraction(1, 24)))
    assert verdict
    assert verdict.claim == "all 2 prunings of the path are optimal, each the smallest optimum, and nested"
    assert verdict.certificate == {"rows": 2, "largest gap": 0.0}
    assert check_path(by_hand(3, move=Fraction(1, 25))).holds is False
    assert check_path(with_shares(pruning_path(two_users()), [2, 0, 0, 1, 0, 0], 2)).holds
    # equal weights, and a unit of the whole price: it falls to the last split, which lacks 3 - 1; the first alone gains 2
    equal = with_shares(pruning_path(two_users()), [1] * 6, 0)
    assert check_path(equal)
    assert equal.gaps == (0, Fraction(1, 10))


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
    rng, arcs = np.random.default_rng(seed), path.problem.usage.arcs()
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
    """A split of no gain that only largest optima keep pays nothing: each path is proven, and neither passes for the other. Where
    both splits are on one level, the last one pays what is left over, all of it, and moves it to the first.
    """

    def by_weights(ties: Ties, *levels: int) -> Verdict:
        path = pruning_path(riders(), ties=ties)
        level = np.array([levels[0], -1, -1, levels[1], -1, -1], dtype=np.int32)
        found = with_shares(path, [1, 0, 0, 1, 0, 0], 0, gaps=False)
        assert isinstance(found.certificate, PathShares)
        every = enumerate(path.problem.purchase_price()[: path.problem.usage.n_rows].tolist())
        moves = [(j, 3, 0, Fraction(price)) for j, price in every] if levels[0] == levels[1] else []
        return check_path(replace(found, certificate=with_moves(found.certificate, moves), level=level))

    assert by_weights("smallest", 1, 0)
    assert by_weights("largest", 1, 1)
    assert "split 3 could go before breakpoint 1 for nothing" in by_weights("smallest", 1, 1).certificate
    assert "split 3 is never kept, though it costs nothing" in by_weights("largest", 1, -1).certificate
    assert "split 3 could stay beyond breakpoint 0 for nothing" in by_weights("largest", 1, 0).certificate


def three_users() -> PruningProblem:
    """Four trees of the splits 0, 3, 6, and 9 above 11; item m has the purchases 2 m and 2 m + 1.

    0 and 3 need item 0 and go at the second breakpoint, 6 needs item 1 and goes at the first. 9 needs item 2 and 11 needs item 0:
    they gain nothing and are never kept by smallest optima, nor by largest ones, as 9 loses.
    """
    leaf = Node(1)
    trees = [Node(8, 0, 0.5, leaf, leaf), Node(7, 0, 0.5, leaf, leaf), Node(3, 1, 0.5, leaf, leaf)]
    X = np.array([[0.0, 0, 1], [1, 1, 1]])
    return problem_of([*trees, Node(1, 2, 0.5, leaf, Node(1, 0, 0.5, leaf, leaf))], [1, 1, 1], X)


@cache
def exact(ties: Ties = "smallest") -> PruningPath:
    """An exact path, proven by shares with moves: of both purchases of item 0, from 3 to 0 of the first, back of the second."""
    return exact_shares(pruning_path(three_users(), ties=ties), 2)


@cache
def near(ties: Ties = "smallest") -> PruningPath:
    """The same path with shares by weights alone, and the gaps that they prove."""
    return with_shares(pruning_path(three_users(), ties=ties), [*range(2, 16)], 2)


def shares_with(**changes: Any) -> Callable[[PruningPath], PruningPath]:
    """Change fields of the certificate: by a function of what they are, or to something else."""

    def change(path: PruningPath) -> PruningPath:
        was = path.certificate
        new = {name: f(getattr(was, name)) if callable(f) else f for name, f in changes.items()}
        return replace(path, certificate=replace(was, **new))  # type: ignore[type-var]

    return change


def put(place: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    """A copy with one number changed."""

    def change(array: np.ndarray) -> np.ndarray:
        copy = array.copy()
        copy[place] = value
        return copy

    return change


def move(*moves: tuple[int, int, int, Fraction]) -> Callable[[PruningPath], PruningPath]:
    """The certificate with more moves."""

    def change(path: PruningPath) -> PruningPath:
        was = path.certificate
        assert isinstance(was, PathShares)
        old = zip(was.purchase.tolist(), was.giver.tolist(), was.taker.tolist(), was.amount, strict=True)
        return replace(path, certificate=with_moves(was, [*old, *moves]))

    return change


def gap_of(k: int, change: Any) -> Callable[[PruningPath], PruningPath]:
    """One gap changed."""
    return lambda p: replace(p, gaps=(*p.gaps[:k], change(p.gaps[k]) if callable(change) else change, *p.gaps[k + 1 :]))


def of_relative_gap(path: PruningPath) -> PruningPath:
    fresh = replace(path)
    fresh.__dict__["relative_gap"] = path.relative_gap / 2
    return fresh


PART = Fraction(1, 100)
NO_OPTIMUM = "which does not pay|keeping it still pays"

BOTH: dict[str, tuple[Callable[[PruningPath], PruningPath], str]] = {
    "a weight of 0": (shares_with(weight=put(0, 0)), "split 0 has the weight 0.0, not 1e-150 to 1e\\+150"),
    "a weight below 0": (shares_with(weight=put(6, -1)), "split 6 has the weight -1.0"),
    "a large weight": (shares_with(weight=put(3, 1e301)), "split 3 has the weight 1e\\+301"),
    "very small weights": (shares_with(weight=lambda w: w * 1e-200), "split 0 has the weight .*e-(199|20[0-9]), not 1e-150"),
    "a weight of nan": (shares_with(weight=put(3, math.nan)), "split 3 has the weight nan"),
    "an infinite weight": (shares_with(weight=put(3, math.inf)), "split 3 has the weight inf"),
    "weights missing": (shares_with(weight=lambda w: w[:-1]), "the weights are no array of 14"),
    "weights as integers": (shares_with(weight=lambda w: w.astype(np.int64)), "the weights are no array of 14"),
    "short weights": (shares_with(weight=lambda w: w.astype(np.float32)), "the weights are no array of 14"),
    "bits below 0": (shares_with(bits=-1), "bits is -1, not 0 to 61"),
    "very many bits": (shares_with(bits=10**9), "bits is 1000000000, not 0 to 61"),
    "too many bits": (shares_with(bits=60), r"the prices of all purchases, times 2\^60, are 2\^62 or more"),
    "bits as a float": (shares_with(bits=2.0), "bits is 2.0"),
    "a move from a split of another item": (move((0, 6, 0, PART)), "split 6, which pays no part of purchase 0"),
    "a move to a split of another item": (move((0, 0, 6, PART)), "split 6, which pays no part of purchase 0"),
    "a move to a split of a lower level": (move((1, 0, 11, PART)), "split 11, which pays no part of purchase 1"),
    "a move to a split that no row reaches": (move((2, 6, 3, PART)), "split 3, which pays no part of purchase 2"),
    "a move to a leaf": (move((0, 0, 1, PART)), "split 1, which pays no part"),
    "a move of what is never bought": (move((4, 9, 9, PART)), "split 9, which pays no part of purchase 4"),
    "a move of no purchase": (move((9, 0, 3, PART)), "purchase goes from 0 to 9, not 0 to 8|purchase goes from 9 to 9"),
    "a move of a purchase below 0": (move((-1, 0, 3, PART)), "purchase goes from -1"),
    "a move from no node": (move((0, 14, 3, PART)), "giver goes from .* to 14, not 0 to 13"),
    "a move to a node below 0": (move((0, 0, -1, PART)), "taker goes from -1"),
    "a move of all and more": (move((0, 0, 3, Fraction(101, 100))), "the share of split 0 in purchase 0 is negative"),
    "moves that are too much together": (
        move((1, 0, 3, Fraction(1, 2)), (1, 0, 3, Fraction(51, 100))),
        "the share of split 0 in purchase 1 is negative",
    ),
    "a move of 0": (move((0, 0, 3, Fraction(0))), "no fractions above 0"),
    "a move back": (move((0, 0, 3, -PART)), "no fractions above 0"),
    "a move of a float": (move((0, 0, 3, 0.01)), "no fractions above 0"),  # type: ignore[arg-type]
    "a move of nan": (move((0, 0, 3, math.nan)), "no fractions above 0"),  # type: ignore[arg-type]
    "amounts as a list": (shares_with(amount=list), "no fractions above 0"),
    "an amount too many": (shares_with(amount=lambda a: (*a, PART)), "not equally many"),
    "a giver too many": (shares_with(giver=lambda a: np.append(a, a[:1]) if a.size else np.zeros(1, int)), "not equally many"),
    "purchases as floats": (shares_with(purchase=lambda a: a.astype(float)), "the moves' purchase is no array of integers"),
    "unsigned purchases": (shares_with(purchase=lambda a: a.astype(np.uint64)), "the moves' purchase is no array of integers"),
    "takers as a table": (shares_with(taker=lambda a: a[None, :]), "the moves' taker is no array of integers"),
    "givers as objects": (shares_with(giver=lambda a: a.astype(object)), "the moves' giver is no array of integers"),
    "takers as a list": (shares_with(taker=lambda a: a.tolist()), "the moves' taker is no array of integers"),
    "kept for ever": (
        lambda p: replace(p, level=put(0, 3)(p.level)),
        "'x0' by row 0 has a price, yet it is bought at any lambda|split 3, which pays no part",
    ),
    "a breakpoint moved": (
        lambda p: replace(p, breakpoints=(*p.breakpoints[:2], p.breakpoints[2] * Fraction(101, 100), *p.breakpoints[3:])),
        f"are not worth the same there|{NO_OPTIMUM}",
    ),
    "a gap missing": (lambda p: replace(p, gaps=(Fraction(0),) * 2), "one for each of 3 breakpoints"),
    "gaps as floats": (lambda p: replace(p, gaps=(1.0,) * 3), "the gaps are no fractions >= 0"),
    "gaps as an array": (lambda p: replace(p, gaps=np.ones(3)), "the gaps are no fractions >= 0"),  # type: ignore[arg-type]
    "gaps as a list": (lambda p: replace(p, gaps=[Fraction(1)] * 3), "the gaps are no fractions >= 0"),  # type: ignore[arg-type]
    "a gap of nan": (lambda p: replace(p, gaps=(Fraction(0), math.nan, Fraction(0))), "the gaps are no fractions"),
    "a gap below 0": (lambda p: replace(p, gaps=(Fraction(1), Fraction(1), -PART)), "the gaps are no fractions >= 0"),
}
"""What is refuted of an exact path, and of one with gaps."""

EXACT: dict[str, tuple[Callable[[PruningPath], PruningPath], str]] = {
    "a move less": (move((0, 0, 3, Fraction(1, 10**20))), NO_OPTIMUM),
    "moves left out": (lambda p: shares_with(amount=(), **dict.fromkeys(MOVES, np.zeros(0, int)))(p), NO_OPTIMUM),
    "other weights": (shares_with(weight=put(0, 2)), "the share of split 0 in purchase 1 is negative"),
    "other bits": (shares_with(bits=0), "the share of split 0 in purchase 1 is negative"),
    "gaps of 0": (lambda p: move((0, 0, 3, PART))(replace(p, gaps=(Fraction(0),) * 3)), NO_OPTIMUM),
}

MOVES = ("purchase", "giver", "taker")

NEAR: dict[str, tuple[Callable[[PruningPath], PruningPath], str]] = {
    "a gap less by a hair": (gap_of(2, lambda s: s - Fraction(1, 10**30)), "the gap at breakpoint 2 is stated as"),
    "a gap of 0": (gap_of(2, Fraction(0)), NO_OPTIMUM),
    "no gaps": (lambda p: replace(p, gaps=()), NO_OPTIMUM),
    "gaps shifted": (lambda p: replace(p, gaps=(*p.gaps[1:], p.gaps[0])), "the gap at breakpoint 2 is stated as"),
    "weights that prove less": (shares_with(weight=put(0, 2**-20)), "the gap at breakpoint 2 is stated as"),
    "a move that proves less": (move((0, 0, 3, PART)), "the gap at breakpoint 2 is stated as"),
    "the relative gap": (of_relative_gap, "the path's relative gap is"),
}


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped(("made", "what"), [*((exact, what) for what in {**BOTH, **EXACT}), *((near, what) for what in {**BOTH, **NEAR})])
def test_tampered_shares_are_refuted(made: Callable[[Ties], PruningPath], what: str, ties: Ties) -> None:
    """Shares with anything changed, or that prove less, are refuted for the reason that they should be, with and without gaps."""
    change, reason = {**BOTH, **EXACT, **NEAR}[what]
    verdict = check_path(change(made(ties)))
    assert verdict.holds is False, verdict
    assert re.search(reason, str(verdict.certificate)), verdict.certificate


JUNK = (None, "x", 1, -1, 1.5, math.nan, True, [], (), [1], {}, b"", np.zeros(0), np.array("x"), np.array([None]), object())


@looped("name", [field.name for field in fields(PathShares)])
def test_junk_in_place_of_shares_is_refuted(name: str) -> None:
    """Whatever stands where a number, an array or a tuple should, the answer is no."""
    for junk in JUNK:
        assert check_path(shares_with(**{name: junk})(exact())).holds is False, junk


@pytest.mark.parametrize("field", ["gain", "price", "weight", "evaluation", "gain_unit", "price_unit"])
def test_other_integers_are_refuted(field: str) -> None:
    """Shares are counted in the instance's integers: one that is not the number that was given is refuted, huge ones too."""
    problem = problem_of(
        [Node(8, 0, 0.5, Node(1), Node(1))], CostItems.plain([1]), np.zeros((4, 1)), weight=9.0, evaluation_cost=1
    )
    path, numbers = exact_shares(pruning_path(problem)), problem.numbers
    given = getattr(numbers, field)
    for wrong in (given + 1, given * 0, given * 2**58):
        forged = replace(problem, numbers=replace(numbers, **{field: wrong}))
        verdict = check_path(replace(path, problem=forged))
        assert verdict.holds is False, wrong
        assert "the instance" in verdict.certificate or "the path's" in verdict.certificate


def test_moves_may_pass_through() -> None:
    """A share may be less than nothing in between, as long as it is not in the end; a move to the giver changes nothing."""
    there_and_back = move((0, 3, 0, Fraction(5)), (0, 0, 3, Fraction(5)), (1, 3, 3, Fraction(9)))
    assert check_path(there_and_back(exact())).holds


def test_edges_are_not_decided_by_shares() -> None:
    """What lies between two rows takes a dual for each usage arc and an exact path: else the checks say why not."""
    problem = three_users()
    path = pruning_path(problem)
    with_gaps = replace(path, gaps=(Fraction(0), Fraction(0), PART))
    assert check_path(with_gaps).holds
    rounding = solve_lp1(problem, 1.5, path=path)
    for other, why in ((exact(), "no dual for each usage arc"), (with_gaps, "only up to a relative gap of")):
        for verdict in (check_corollary(other), check_relaxation(rounding, other)):
            assert verdict.holds is None
            assert why in verdict.certificate
    assert check_relaxation(rounding, path).holds
