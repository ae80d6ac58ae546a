"""Whatever is changed in a path's shares or gaps, the checker notices; nothing passes by accident, nothing crashes."""

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
from formulations.answers.pruning_path import PathShares
from proofs_checks import check_corollary, check_lp1_solution, check_path
from prunemodels.budgets import solve_lp1
from solvers import pruning_path
from solvers.closures.cut import Ties
from tests.instances import Node, problem_of
from tests.loops import looped
from tests.proofs_checks.optimality.slow_shares import exact_shares, with_moves, with_shares


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


def level_of(h: int, level: int) -> Callable[[PruningPath], PruningPath]:
    return lambda p: replace(p, level=put(h, level)(p.level))


def breakpoint_of(k: int, factor: Fraction) -> Callable[[PruningPath], PruningPath]:
    return lambda p: replace(p, breakpoints=(*p.breakpoints[:k], p.breakpoints[k] * factor, *p.breakpoints[k + 1 :]))


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
    "a move from a split of another item": (move((0, 6, 0, PART)), "split 6, which bears no part of purchase 0"),
    "a move to a split of another item": (move((0, 0, 6, PART)), "split 6, which bears no part of purchase 0"),
    "a move to a split of a lower level": (move((1, 0, 11, PART)), "split 11, which bears no part of purchase 1"),
    "a move to a split that no row reaches": (move((2, 6, 3, PART)), "split 3, which bears no part of purchase 2"),
    "a move to a leaf": (move((0, 0, 1, PART)), "split 1, which bears no part"),
    "a move of what is never bought": (move((4, 9, 9, PART)), "split 9, which bears no part of purchase 4"),
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
    "a level later": (level_of(6, 2), "no split is pruned at breakpoint 1"),
    "a level above all": (level_of(0, 4), "split 0 has level 4"),
    "kept for ever": (level_of(0, 3), "'x0' by row 0 has a price, yet it is bought at any lambda|split 3, which bears no part"),
    "not nested": (level_of(11, 1), "the path is not nested"),
    "levels missing": (lambda p: replace(p, level=p.level[:-1]), "no array of 14 integers"),
    "a breakpoint moved": (breakpoint_of(2, Fraction(101, 100)), f"are not worth the same there|{NO_OPTIMUM}"),
    "breakpoints exchanged": (lambda p: replace(p, breakpoints=(p.breakpoints[0], *p.breakpoints[:0:-1])), "is not above"),
    "breakpoints as floats": (lambda p: replace(p, breakpoints=tuple(map(float, p.breakpoints))), "no fractions"),
    "a gap missing": (lambda p: replace(p, gaps=(Fraction(0),) * 2), "one for each of 3 breakpoints"),
    "gaps as floats": (lambda p: replace(p, gaps=(1.0,) * 3), "the gaps are no fractions >= 0"),
    "gaps as an array": (lambda p: replace(p, gaps=np.ones(3)), "the gaps are no fractions >= 0"),  # type: ignore[arg-type]
    "gaps as a list": (lambda p: replace(p, gaps=[Fraction(1)] * 3), "the gaps are no fractions >= 0"),  # type: ignore[arg-type]
    "a gap of nan": (lambda p: replace(p, gaps=(Fraction(0), math.nan, Fraction(0))), "the gaps are no fractions"),
    "a gap below 0": (lambda p: replace(p, gaps=(Fraction(1), Fraction(1), -PART)), "the gaps are no fractions >= 0"),
    "another kind": (lambda p: replace(p, certificate="yes"), "is str, no duals of a path"),  # type: ignore[arg-type]
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
@looped("what", BOTH)
def test_tampered_shares_are_refuted(what: str, ties: Ties) -> None:
    """Shares with anything changed are refuted for the reason that they should be, with gaps and without."""
    change, reason = BOTH[what]
    for path in (exact(ties), near(ties)):
        verdict = check_path(change(path))
        assert verdict.holds is False, verdict
        assert re.search(reason, str(verdict.certificate)), verdict.certificate


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("what", {**EXACT, **NEAR})
def test_shares_that_prove_less_are_refuted(what: str, ties: Ties) -> None:
    """Shares that are some, but not those of the path or of its gaps, are refuted."""
    change, reason = {**EXACT, **NEAR}[what]
    verdict = check_path(change(exact(ties) if what in EXACT else near(ties)))
    assert verdict.holds is False, verdict
    assert re.search(reason, str(verdict.certificate)), verdict.certificate


JUNK = (None, "x", 1, -1, 1.5, math.nan, True, [], (), [1], {}, b"", np.zeros(0), np.array("x"), np.array([None]), object())


@looped("name", [field.name for field in fields(PathShares)])
def test_junk_in_place_of_shares_is_refuted(name: str) -> None:
    """Whatever stands where a number, an array or a tuple should, the answer is no."""
    for junk in JUNK:
        assert check_path(shares_with(**{name: junk})(exact())).holds is False, junk


def test_huge_integers_are_refuted() -> None:
    """Weights of rows that are no integers of the instance, but allowed by the rounding that it states, overflow nowhere."""
    licence = CostItems.from_items({"licence": 1}, [["licence"]], ["licence"])
    for items in (licence, CostItems.plain([1])):
        problem = problem_of([Node(8, 0, 0.5, Node(1), Node(1))], items, np.zeros((4, 1)), weight=9.0)
        path = exact_shares(pruning_path(problem))
        huge = replace(problem.integers, weight=np.full(4, 2**62), cost_rounding=1e300)
        verdict = check_path(replace(path, problem=replace(problem, integers=huge)))
        assert verdict.holds is False
        assert "the prices of all purchases, times 2^3, are 2^62 or more" in verdict.certificate


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
        for verdict in (check_corollary(other), check_lp1_solution(rounding, other)):
            assert verdict.holds is None
            assert why in verdict.certificate
    assert check_lp1_solution(rounding, path).holds
