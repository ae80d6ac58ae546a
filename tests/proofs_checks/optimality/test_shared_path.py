"""Points of a path prove each other: true ones are accepted, and whatever is changed in one is refuted and named."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations import CostItems, InvalidInputError, PruningProblem
from formulations.answers.pruning import Pruning
from formulations.answers.solution import FixingStage
from proofs_checks.optimality.shared_path import check_shared_path
from proofs_checks.optimality.shared_prices import _sum_below
from solvers import brute_force, pruning_path
from solvers.price_sharing import PathPoint, price_sharing_path
from solvers.price_sharing.shares import Sharing
from tests.instances import Node, ensemble_of, plain_errors, random_problem, with_usage
from tests.loops import looped
from tests.solvers.cases import instance

BEYOND = (1e299, 1e300)
"""Lambdas that stand for the same integers: nothing is dearer than this."""

LICENCE = (0.00218, 0.00813, 0.0207, 0.0325, 0.0742)

Points = tuple[PathPoint, ...]


def licence() -> PruningProblem:
    """A real forest whose items are features, groups of features, and one that is paid once for all rows."""
    return instance("breast cancer, licence")


def lambdas(problem: PruningProblem) -> list[Fraction]:
    """0, and some breakpoints of an instance with a lambda below each, where something is decided."""
    breakpoints = pruning_path(problem).breakpoints[1:]
    some = sorted({breakpoints[k * (len(breakpoints) - 1) // 2] for k in range(3)}) if breakpoints else []
    return [Fraction(0), *(b * f for b in some for f in (Fraction(9, 10), Fraction(1)))]


@cache
def exactly() -> Points:
    """Five points; the first and the middle rest on the last or on both ends, the others on the middle and an end."""
    return price_sharing_path(licence(), LICENCE, small_core=0)


@cache
def roughly() -> Points:
    """The same, each with a gap: points hand on what they decided, and nothing else."""
    return price_sharing_path(licence(), LICENCE, gap=0.2, small_core=0)


@cache
def cut_at_once() -> Points:
    """Every point cut at once, so that there are duals."""
    return price_sharing_path(licence(), LICENCE)


def changed(points: Points, k: int, **changes: Any) -> list[PathPoint]:
    """The points with something else in one of them."""
    return [replace(point, **changes) if j == k else point for j, point in enumerate(points)]


def with_solution(points: Points, k: int, **changes: Any) -> list[PathPoint]:
    return changed(points, k, solution=replace(points[k].solution, **changes))


def with_proof(points: Points, k: int, **changes: Any) -> list[PathPoint]:
    return changed(points, k, proof=replace(points[k].proof, **changes))


def with_stage(points: Points, k: int, **changes: Callable[[FixingStage], Any]) -> list[PathPoint]:
    first, *rest = points[k].proof.stages
    stage = replace(first, **{name: change(first) for name, change in changes.items()})
    return with_proof(points, k, stages=(stage, *rest))


def flipped(nodes: np.ndarray, h: int) -> np.ndarray:
    other = nodes.copy()
    other[h] = not other[h]
    return other


def kept_split(k: int, points: Points | None = None) -> int:
    """A split that a point keeps, and nobody below it."""
    kept = _pruning(exactly() if points is None else points, k).kept
    ensemble = licence().ensemble
    lowest = kept & ~kept[ensemble.left] & ~kept[ensemble.right]
    return int(np.flatnonzero(lowest)[-1])


def _pruning(points: Sequence[PathPoint], k: int) -> Pruning:
    pruning = points[k].solution.pruning
    assert pruning is not None
    return pruning


def without_one(k: int) -> list[PathPoint]:
    """A point whose pruning lacks a split, with the value that it then has."""
    points = exactly()
    pruning = Pruning(licence(), flipped(_pruning(points, k).kept, kept_split(k)))
    value = pruning.value(float(points[k].solution.lam))
    return with_solution(points, k, pruning=pruning, value=value, bound=value)


def leaf() -> int:
    return int(np.flatnonzero(~licence().ensemble.is_split)[0])


def open_split() -> int:
    """A split that a rough point could not decide, below one that it keeps, or the top of a tree."""
    point, ensemble = roughly()[1], licence().ensemble
    parent = ensemble.parent
    possible = (parent < 0) | point.kept[parent]
    return int(np.flatnonzero(ensemble.is_split & possible & ~point.kept & ~point.pruned)[0])


FIRST, MIDDLE = Fraction("0.00218"), Fraction("0.0207")

WRONG: dict[str, tuple[Callable[[], Sequence[PathPoint]], str]] = {
    "a value": (
        lambda: with_solution(exactly(), 2, value=exactly()[2].solution.value + 1e-9),
        r"= 0\.0207: the pruning is worth",
    ),
    "a value, nan": (lambda: with_solution(exactly(), 2, value=math.nan), r"= 0\.0207: the pruning is worth"),
    "a bound": (
        lambda: with_solution(exactly(), 1, bound=exactly()[1].solution.bound + 1e-9),
        r"= 0\.00813: the certificate proves",
    ),
    "a tolerance": (lambda: with_solution(roughly(), 1, tolerance=0.0), r"= 0\.00813: it says that there is no gap, but"),
    "a tolerance, nan": (lambda: with_solution(exactly(), 1, tolerance=math.nan), r"= 0\.00813: the tolerance is nan"),
    "a lambda": (lambda: with_solution(exactly(), 1, lam=Fraction("0.009")), r"= 0\.009: the pruning is worth"),
    "a smaller lambda": (lambda: with_solution(exactly(), 1, lam=Fraction("0.008")), r"= 0\.008: .*not between 0 and 1/125"),
    "a pruning, with its value": (lambda: without_one(2), r"= 0\.0207: "),
    "a leaf kept": (
        lambda: with_solution(exactly(), 2, pruning=_forced(flipped(_pruning(exactly(), 2).kept, leaf()))),
        r"= 0\.0207: node \d+ is kept, but it is a leaf",
    ),
    "a pruning of another point": (
        lambda: with_solution(exactly(), 2, pruning=_pruning(exactly(), 3)),
        r"= 0\.0207: ",
    ),
    "kept, a leaf": (
        lambda: changed(exactly(), 3, kept=flipped(exactly()[3].kept, leaf())),
        r"= 0\.0325: node \d+ is handed on as kept",
    ),
    "kept, an open split": (
        lambda: changed(roughly(), 1, kept=flipped(roughly()[1].kept, open_split())),
        r"= 0\.00813: node \d+ is handed on as kept, but nothing proves it",
    ),
    "pruned, an open split": (
        lambda: changed(roughly(), 1, pruned=flipped(roughly()[1].pruned, open_split())),
        r"= 0\.00813: node \d+ is handed on as pruned, but nothing proves it",
    ),
    "pruned, a kept split": (
        lambda: changed(exactly(), 1, pruned=flipped(exactly()[1].pruned, kept_split(1))),
        r"= 0\.00813: node \d+ is handed on as pruned",
    ),
    "kept of another shape": (lambda: changed(exactly(), 1, kept=exactly()[1].kept[1:]), r"= 0\.00813: kept is no array of"),
    "pruned as numbers": (
        lambda: changed(exactly(), 1, pruned=exactly()[1].pruned.astype(int)),
        r"= 0\.00813: pruned is no array of",
    ),
    "kept less its top": (
        lambda: changed(exactly(), 4, kept=exactly()[4].kept) and _without_top(2),
        r"split \d+ is fixed in, split \d+ above it is not",
    ),
    "nothing taken over": (lambda: changed(exactly(), 2, smaller=None, larger=None), r"= 0\.0207: "),
    "less taken over": (lambda: changed(exactly(), 3, smaller=None), r"= 0\.0325: "),
    "resting on a stranger": (
        lambda: changed(exactly(), 2, smaller=Fraction(1, 3)),
        r"= 0\.0207 rests on one at 0\.333.*not there",
    ),
    "resting on a float": (lambda: changed(exactly(), 2, smaller=0.002), r"= 0\.0207: smaller is 0\.002, no fraction"),
    "resting on itself": (lambda: changed(exactly(), 2, smaller=MIDDLE), r"= 0\.0207 rests, by way of others or not, on itself"),
    "resting on each other": (lambda: changed(exactly(), 0, larger=MIDDLE), r"rests, by way of others or not, on itself"),
    "resting on the wrong side": (
        lambda: changed(exactly(), 3, smaller=Fraction("0.0742"), larger=FIRST),
        r"= 0\.0325: it takes over what is kept at a lambda that is not larger",
    ),
    "resting on the wrong side below": (
        lambda: changed(exactly(), 3, smaller=Fraction("0.0742")),
        r"= 0\.0325: it takes over what is pruned at a lambda that is not smaller",
    ),
    "a point missing": (lambda: exactly()[1:], r"rests on one at 0\.00218, which is not there"),
    "a point twice": (lambda: [*exactly(), exactly()[1]], r"two points at lambda = 0\.00813"),
    "a proof that is none": (lambda: changed(exactly(), 2, proof="true"), r"= 0\.0207: its proof is str, no scores"),
    "the proof of another point": (
        lambda: changed(exactly(), 2, proof=exactly()[3].proof),
        r"= 0\.0207: the certificate was made for",
    ),
    "a certificate of its own": (
        lambda: with_solution(exactly(), 2, certificate=exactly()[2].proof),
        r"= 0\.0207: its solution carries a certificate of its own",
    ),
    "the certificate of another": (
        lambda: with_solution(exactly(), 4, certificate=exactly()[3].proof),
        r"= 0\.0742: its solution carries a certificate of its own",
    ),
    "a score, nan": (
        lambda: with_stage(exactly(), 2, score=lambda s: s.score * math.nan),
        r"= 0\.0207: split \d+ has no finite score",
    ),
    "a wrong decision": (
        lambda: with_stage(exactly(), 2, fixed_in=lambda s: s.fixed_out, fixed_out=lambda s: s.fixed_in),
        r"= 0\.0207: stage 0: split \d+ is fixed",
    ),
    "a split that was taken over": (
        lambda: with_stage(exactly(), 2, nodes=lambda s: np.append(s.nodes[1:], kept_split(4)).astype(np.int32)),
        r"= 0\.0207: split \d+ has a score, but it is decided already",
    ),
    "stages left out": (lambda: with_proof(exactly(), 2, stages=()), r"= 0\.0207: "),
    "duals": (lambda: with_proof(exactly(), 2, dual=np.array([2**62])), r"= 0\.0207: "),
    "no duals": (
        lambda: with_proof(cut_at_once(), 1, dual=None),
        r"= 0\.00813: the certificate proves the bound|= 0\.00813: it says",
    ),
    "duals twice": (
        lambda: with_proof(cut_at_once(), 1, dual=np.multiply(cut_at_once()[1].proof.dual, 2)),
        r"= 0\.00813: the duals on .* more than its price",
    ),
    "a unit": (
        lambda: with_proof(cut_at_once(), 1, unit=cut_at_once()[1].proof.unit * 2),
        r"= 0\.00813: the duals on .* more than its price",
    ),
    "a unit of floats": (lambda: with_proof(exactly(), 1, unit=0.5), r"= 0\.00813: the certificate's unit is 0\.5, no fraction"),
}


def _forced(kept: np.ndarray) -> Pruning:
    """A pruning changed behind the constructor's back."""
    pruning = Pruning.all_roots(licence())
    object.__setattr__(pruning, "kept", kept)
    return pruning


def _without_top(k: int) -> list[PathPoint]:
    """A point hands on what it keeps, but for a split above others."""
    kept = exactly()[k].kept
    inner = np.flatnonzero(kept & (kept[licence().ensemble.left] | kept[licence().ensemble.right]))
    return changed(exactly(), k, kept=flipped(kept, int(inner[0])))


@looped("what", WRONG)
def test_a_tampered_point_is_refuted(what: str) -> None:
    """Points with anything changed in one of them are refuted, with its lambda and the reason."""
    make, reason = WRONG[what]
    verdict = check_shared_path(licence(), make())
    assert verdict.holds is False
    assert re.search(reason, str(verdict.certificate)), verdict.certificate


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_true_points_are_accepted_in_any_order(order: slice) -> None:
    """Exact points have no gap, by fractions; rough ones at most what they say."""
    for points, exact_ones in ((exactly(), 5), (cut_at_once(), 5), (roughly(), None)):
        verdict = check_shared_path(licence(), points[order])
        assert verdict.holds, str(verdict)
        told = verdict.certificate
        assert (told["points"], told["resting on others"]) == (5, 4)
        assert exact_ones is None or (told["without a gap"], told["largest gap"]) == (exact_ones, 0)
        assert told["largest gap"] <= max(p.solution.gap for p in points) + 1e-15


@looped("seed", range(16))
def test_every_kind_of_path_is_proven(seed: int) -> None:
    """Both ties, with rounds cut short, with gaps, with and without cuts, standing alone, lambdas that become equal: all hold."""
    problem = random_problem(seed, rounded=seed % 4 == 0)
    for ties in ("smallest", "largest"):
        for options in ({}, {"small_core": 0}, {"small_core": 0, "rounds": 7}, {"gap": 0.1}, {"nested": False}):
            lams = sorted({*lambdas(problem), *map(Fraction, BEYOND)})
            points = price_sharing_path(problem, lams, ties=ties, **options)  # type: ignore[arg-type]
            verdict = check_shared_path(problem, points)
            assert verdict.holds, (ties, options, str(verdict))
            if not options and problem.integers.exact:
                assert points[0].lam == 0
                assert points[-1].lam == points[-2].lam  # nothing is dearer than this
                assert verdict.certificate["without a gap"] == len(points)


@pytest.mark.parametrize("seed", [11, 13, 29])
def test_lambdas_that_do_not_fit_are_proven_a_little_below(seed: int) -> None:
    """With too many digits for 64 bits points are proven, and nested, at the next smaller lambdas; the gap is what that costs."""
    problem = random_problem(seed)
    lams = [lam * Fraction(10**30 - 1, 10**30) for lam in lambdas(problem)[1:]]
    points = price_sharing_path(problem, lams)
    assert all(point.lam < point.solution.lam for point in points)
    assert any(point.larger is not None for point in points)
    verdict = check_shared_path(problem, points)
    assert verdict.holds, str(verdict)
    assert verdict.certificate["largest gap"] < 1e-12
    costly = sum(_pruning(points, k).cost > 0 for k in range(len(points)))
    assert verdict.certificate["without a gap"] == len(points) - costly < len(points)


@pytest.mark.parametrize("seed", [11, 13, 29])
def test_what_is_worth_nothing_is_not_handed_on(seed: int) -> None:
    """Splits that do not pay even without prices are left out from the start, not decided: no point may call them pruned."""
    problem = random_problem(seed)
    points = price_sharing_path(problem, HIGH, rounds=10, small_core=0)
    verdict = check_shared_path(problem, points)
    assert verdict.holds, str(verdict)


def test_a_point_that_happens_to_be_best_binds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped after some rounds a point may be optimal without being the largest optimum; it hands on no more than it decided.

    Among points that were cut it is accepted all the same: its own pruning need not fit theirs.
    """
    monkeypatch.setattr(Sharing, "merged", None)  # merged, the core would have no arc, and be cut
    problem = random_problem(45)
    points = price_sharing_path(problem, (*HIGH, *BEYOND), ties="largest", rounds=10, small_core=0)
    best = points[1]
    assert best.solution.gap == 0
    assert not (best.kept | best.pruned)[problem.splits].all()
    assert best.lam < points[2].lam
    assert (_pruning(points, 1).kept < points[2].kept).any()  # not nested
    verdict = check_shared_path(problem, points)
    assert verdict.holds, str(verdict)


HIGH = (0.05, 0, 0.003, 0.01, 0.02, 0.1)
CORRUPTIONS = ("kept", "pruned", "fixed_in", "fixed_out", "dual", "score", "refer", "pruning", "proof")


@settings(max_examples=60, deadline=None)
@given(data=st.data(), seed=st.integers(0, 15), gap=st.sampled_from([0.0, 0.2]))
def test_what_is_accepted_is_true(data: st.DataObject, seed: int, gap: float) -> None:
    """Whatever is changed in some points: if the checker still accepts them, every value and bound is true, by brute force."""
    problem, points = small_path(seed, gap)
    tampered = list(points)
    for _ in range(data.draw(st.integers(1, 3))):
        k = data.draw(st.integers(0, len(points) - 1))
        tampered[k] = _corrupted(tampered, k, data)
    if check_shared_path(problem, tampered).holds:
        for point, best in zip(tampered, optima(seed), strict=True):
            solution = point.solution
            assert solution.pruning is not None
            assert solution.value == pytest.approx(solution.pruning.value(float(solution.lam)), abs=1e-11)
            assert solution.bound <= best + 1e-11


@cache
def small_path(seed: int, gap: float) -> tuple[PruningProblem, Points]:
    problem = random_problem(seed)
    return problem, price_sharing_path(problem, lambdas(problem), gap=gap, small_core=0)


@cache
def optima(seed: int) -> tuple[float, ...]:
    problem, points = small_path(seed, 0.0)
    return tuple(brute_force(problem, float(point.solution.lam)).value for point in points)


def _corrupted(points: Sequence[PathPoint], k: int, data: st.DataObject) -> PathPoint:
    """A point with a random change."""
    point, problem = points[k], points[k].solution.problem
    what = data.draw(st.sampled_from(CORRUPTIONS))
    split = data.draw(st.sampled_from(problem.splits.tolist())) if problem.splits.size else 0
    if what in ("kept", "pruned"):
        return replace(point, **{what: flipped(getattr(point, what), split)})  # type: ignore[arg-type]
    if what in ("fixed_in", "fixed_out", "score") and point.proof.stages:
        first, *rest = point.proof.stages
        new = first.score[::-1].copy() if what == "score" else np.append(getattr(first, what), split).astype(np.int32)
        return replace(point, proof=replace(point.proof, stages=(replace(first, **{what: new}), *rest)))  # type: ignore[arg-type]
    if what == "dual" and point.proof.dual is not None and point.proof.dual.size:
        return replace(point, proof=replace(point.proof, dual=np.roll(point.proof.dual, 1)))
    lams = [None, *(Fraction(p.solution.lam) for p in points)]
    if what == "refer":
        return replace(point, smaller=data.draw(st.sampled_from(lams)), larger=data.draw(st.sampled_from(lams)))
    other = data.draw(st.sampled_from(list(points)))
    if what == "proof":
        return replace(point, proof=other.proof, kept=other.kept, pruned=other.pruned)
    pruning = _pruning([other], 0)
    value = pruning.value(float(point.solution.lam))
    return replace(point, solution=replace(point.solution, pruning=pruning, value=value, bound=value))


def test_optima_that_are_not_nested_do_not_go_together() -> None:
    """A split without gain or users may go or stay: one optimum keeps it, one at a smaller lambda does not.

    Each is an optimum and proves itself. But what rests on both would have to keep and to prune that split.
    """
    problem, lams = free_split(), (0.1, 0.15, 0.2)
    small, large = price_sharing_path(problem, lams), price_sharing_path(problem, lams, ties="largest")
    assert (small[0].kept[2], large[2].kept[2]) == (False, True)
    (low,) = price_sharing_path(problem, lams[:1])
    assert check_shared_path(problem, small).holds
    assert check_shared_path(problem, large).holds
    assert check_shared_path(problem, [low, large[2]]).holds
    for points, reason in (
        ([*small[:2], large[2]], r"0\.1: it prunes split 2, which is kept at lambda = 0\.2"),
        ([low, *large[1:]], r"0\.1: it prunes split 2, which is kept at lambda = 0\.15"),
    ):
        verdict = check_shared_path(problem, points)
        assert verdict.holds is False
        assert re.search(reason, str(verdict.certificate)), verdict.certificate


def free_split() -> PruningProblem:
    """One tree: a split worth 3 of 10 that all rows pay 1 for, and below it one that gains nothing and nobody reaches."""
    tree = Node(6, 0, 0.5, Node(1), Node(2, 1, 0.5, Node(1), Node(1)))
    ensemble, error = ensemble_of([tree], 2)
    return PruningProblem.build(ensemble, plain_errors(ensemble, error, 10.0), np.zeros((4, 2)), CostItems.plain([1, 5]))


def test_what_cannot_be_checked_is_said() -> None:
    """No points are refused; a point without a pruning leaves it open."""
    with pytest.raises(InvalidInputError, match="there are no points"):
        check_shared_path(licence(), ())
    verdict = check_shared_path(licence(), with_solution(exactly(), 3, pruning=None))
    assert verdict.holds is None
    assert "at lambda = 0.0325 carries no pruning" in str(verdict.certificate)
    with pytest.raises(InvalidInputError, match=r"points\[1\]\.solution\.lam"):
        check_shared_path(licence(), with_solution(exactly(), 1, lam=math.nan))


def test_another_instance_is_noticed() -> None:
    """The points of one instance prove nothing of another with other prices, or with other rows."""
    problem = licence()
    dearer = with_usage(problem, costs=CostItems.plain([1.01] * problem.costs.n_items))
    assert check_shared_path(dearer, exactly()).holds is False
    assert check_shared_path(problem, exactly(), np.array(problem.X)[::-1]).holds is False
    assert check_shared_path(problem, exactly(), np.array(problem.X)).holds


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e290), max_size=300))
def test_sums_are_never_above(rates: list[float]) -> None:
    """A sum that is rounded down is at most the sum of the fractions, and at most 2^-45 of it below."""
    exactly = sum(map(Fraction, rates))
    found = Fraction(_sum_below(np.array(rates)))
    assert found <= exactly
    assert found >= exactly * (1 - Fraction(1, 2**45)) - Fraction(5e-324) * 2
