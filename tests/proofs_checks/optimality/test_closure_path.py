"""Paths of precedence graphs are proven by their flow, and whatever is changed in them is refuted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from formulations import ClosureCertificate, ClosurePath, ParametricClosure
from proofs_checks import check_closure_path
from solvers import closure_path
from tests.instances import closure_of, random_grid, random_known
from tests.loops import looped


@looped("seed", range(24))
def test_the_solver_s_paths_are_proven(seed: int) -> None:
    """Exact instances hold with a gap of nothing, with zeros, negative gains, and nodes that are free."""
    path = closure_path(random_known(seed).problem)
    verdict = check_closure_path(path)
    assert verdict.holds, verdict
    assert verdict.certificate == {"rows": len(path), "largest gap": 0.0}


def test_errors_that_cancel_are_those_of_their_parts() -> None:
    """Two free nodes whose gains are the error of the empty closure: what floats leave of 0.3 - 0.2 - 0.1 refuted the path."""
    gain, none = np.array([0.21232056244048478, 0.08992890458795677]), np.zeros(0, dtype=np.int32)
    path = closure_path(ParametricClosure(gain, np.zeros(2), none, none, base_error=float(gain.sum())))
    assert abs(path.error[0]) < 1e-15
    assert check_closure_path(path)


@pytest.mark.parametrize("seed", range(6))
def test_rounded_instances_hold_with_a_gap(seed: int) -> None:
    """Where cuts round, the verdict says by how much a row can miss the optimum, and a path that states less is refuted."""
    rng = np.random.default_rng(seed)
    grid = random_grid(6, 6, seed)
    problem = ParametricClosure(rng.normal(size=36), rng.random(36), grid.tail, grid.head)
    path = closure_path(problem)
    verdict = check_closure_path(path)
    assert verdict.holds, verdict
    assert 0 < verdict.certificate["largest gap"] <= path.gap < 1e-14
    assert "is stated" in check_closure_path(replace(path, gap=path.gap / 2)).certificate


@pytest.mark.parametrize("base_error", [4 / 3, 0.25, Fraction(1, 3) + Fraction(1, 10**9)])
def test_a_base_error_is_read_as_the_instance_reads_it(base_error: float | Fraction) -> None:
    """A float near a multiple of the gains' unit is that multiple, another one a decimal, and a fraction is what it is."""
    arcs = (np.zeros(0, int), np.zeros(0, int))
    problem = ParametricClosure(np.array([1 / 3]), np.array([1.0]), *arcs, base_error, gain_unit=Fraction(1, 3))
    assert check_closure_path(closure_path(problem))


def test_without_a_certificate_nothing_is_decided() -> None:
    """No flow, no answer; and a flow of another kind is refused."""
    path = closure_path(random_grid(3, 3), certificate=False)
    assert check_closure_path(path).holds is None
    assert check_closure_path(replace(path, certificate=[1, 2])).holds is False  # type: ignore[arg-type]


@looped("seed", range(12))
def test_no_other_path_passes(seed: int) -> None:
    """A node moved to any other level is refuted, whatever the flow, as optima that are smallest are unique."""
    path = closure_path(random_known(seed).problem)
    for v in range(path.level.size):
        for k in range(len(path) + 1):
            if k != path.level[v]:
                level = path.level.copy()
                level[v] = k
                assert check_closure_path(replace(path, level=level)).holds is False


@looped("seed", range(12))
def test_no_other_flow_passes_where_it_is_unique(seed: int) -> None:
    """One unit more or less on any arc between levels 1 and the last breakpoint is refuted."""
    path = closure_path(random_known(seed).problem)
    flow, top = proof(path).flow, len(path)
    for k, (u, v) in enumerate(zip(path.problem.tail.tolist(), path.problem.head.tolist(), strict=True)):
        for change in (-1, 1):
            changed = flow.copy()
            changed[k] += change
            forged = replace(path, certificate=replace(proof(path), flow=changed))
            ends = {int(path.level[u]), int(path.level[v])}
            if changed[k] < 0 or len(ends) > 1 or not ends & {0, top}:
                assert check_closure_path(forged).holds is False


def proof(path: ClosurePath) -> ClosureCertificate:
    assert path.certificate is not None
    return path.certificate


@cache
def golden() -> ClosurePath:
    """0 is free and kept for ever; 1 requires 0 and 2; 1 and 2 go together at 2, with a flow of 1; 3 requires 1, and goes at 1. 4
    is never kept: its gain of 1 does not pay for the loss of 3 in 5, which it requires.
    """
    arcs = [(1, 0), (1, 2), (3, 1), (4, 5)]
    path = closure_path(closure_of([1, 3, 1, 1, 1, -3], [0, 1, 1, 1, 0, 0], arcs, base_error=6))
    assert path.breakpoints == (0, 1, 2)
    assert path.level.tolist() == [3, 2, 2, 1, 0, 0]
    assert proof(path).flow.tolist() == [0, 1, 0, 1]
    assert proof(path).unit == (1, 1, 1, 1)
    assert check_closure_path(path)
    return path


def with_flow(*flow: int) -> ClosurePath:
    return replace(golden(), certificate=replace(proof(golden()), flow=np.array(flow, dtype=np.int64)))


def with_unit(*unit: Any) -> ClosurePath:
    return replace(golden(), certificate=replace(proof(golden()), unit=unit))


def with_level(*level: int) -> ClosurePath:
    return replace(golden(), level=np.array(level, dtype=np.int32))


def with_points(*points: Any) -> ClosurePath:
    return replace(golden(), breakpoints=points)


def with_column(name: str, change: Callable[[Any], Any]) -> ClosurePath:
    """A path whose column is not what its prunings give."""
    path = replace(golden())
    _ = path.error, path.cost  # not made of what is changed
    path.__dict__[name] = change(getattr(golden(), name))
    return path


def with_problem(**changes: Any) -> ClosurePath:
    """The path with arrays of its problem changed behind the constructor's back."""
    problem = replace(golden().problem)
    _ = problem.integers
    for name, change in changes.items():
        if name.startswith("integer_"):
            problem.__dict__["integers"] = replace(problem.integers, **{name.removeprefix("integer_"): change})
        else:
            object.__setattr__(problem, name, change)
    return replace(golden(), problem=problem)


def numbers(*values: float) -> Any:
    return np.array(values, dtype=float)


FORGED: dict[str, tuple[Callable[[], ClosurePath], str]] = {
    "a node kept longer than required": (lambda: with_level(3, 2, 1, 1, 0, 0), "node 1 is kept longer than node 2"),
    "a level below 0": (lambda: with_level(3, 2, 2, 1, -1, 0), "node 4 has level -1; there are 0 to 3"),
    "a level above the last": (lambda: with_level(4, 2, 2, 1, 0, 0), "node 0 has level 4"),
    "an unused breakpoint": (lambda: with_level(3, 2, 2, 2, 0, 0), "no node goes at breakpoint 1"),
    "levels that are floats": (lambda: replace(golden(), level=np.ones(6)), "no array of 6 integers"),  # type: ignore[arg-type]
    "too few levels": (lambda: with_level(3, 2, 2, 1, 0), "no array of 6 integers"),
    "a priced node for ever": (lambda: with_level(3, 3, 3, 1, 0, 0), "no node goes at breakpoint 2"),
    "a free node that goes": (lambda: with_level(2, 2, 2, 1, 0, 0), "node 0 is not worth nothing at breakpoint 2"),
    "a loss for ever": (lambda: with_level(3, 2, 2, 1, 3, 3), "node 5 is kept for all lambda, where it does not pay"),
    "what pays is never kept": (lambda: with_level(3, 2, 2, 0, 0, 0), "no node goes at breakpoint 1"),
    "a negative flow": (lambda: with_flow(0, -1, 0, 1), "the flow from node 1 to node 2 is negative"),
    "a flow between levels": (lambda: with_flow(1, 1, 0, 1), "flow from node 1 to node 0 of another level"),
    "too little flow": (lambda: with_flow(0, 0, 0, 1), "node 1 is not worth nothing at breakpoint 2, with what flows: 1"),
    "too much flow": (lambda: with_flow(0, 2, 0, 1), "node 1 is not worth nothing at breakpoint 2, with what flows: -1"),
    "too little where never kept": (lambda: with_flow(0, 1, 0, 0), "node 4 is never kept, though it pays at lambda = 0"),
    "too much where never kept": (lambda: with_flow(0, 1, 0, 4), "node 5 is never kept, though it pays"),
    "flow of floats": (
        lambda: replace(golden(), certificate=ClosureCertificate(numbers(0, 1, 0, 1), (1, 1, 1, 1))),
        "the flow is no array of 4 integers",
    ),
    "too short a flow": (lambda: with_flow(0, 1, 0), "the flow is no array of 4 integers"),
    "a breakpoint moved": (lambda: with_points(Fraction(0), Fraction(1), Fraction(3)), "is not worth nothing at breakpoint 2"),
    "breakpoints that do not ascend": (lambda: with_points(Fraction(0), Fraction(2), Fraction(2)), "breakpoint 2 is not above"),
    "units too few": (lambda: with_unit(1, 1, 1), "3 units of flow for 4 levels"),
    "a unit of 0": (lambda: with_unit(1, 1, 0, 1), "the unit of flow of level 2 is 0"),
    "a unit that is a float": (lambda: with_unit(1, 1, 1.0, 1), "the unit of flow of level 2 is 1.0"),
    "a unit that does not fit the flow": (lambda: with_unit(1, 1, Fraction(1, 2), 1), "node 1 is not worth nothing"),
    "a gap nan": (lambda: replace(golden(), gap=math.nan), "states the gap nan"),
    "a gap of -1": (lambda: replace(golden(), gap=-1.0), "states the gap -1"),
    "an error": (lambda: with_column("error", lambda e: e + 1e-9), "row 0 has the error 0.0"),
    "an error nan": (lambda: with_column("error", lambda e: e * math.nan), "row 0 has the error"),
    "a cost": (lambda: with_column("cost", lambda c: c - np.array([0, 1e-6, 0])), "row 1 has the cost 2.0"),
    "a cost missing": (lambda: with_column("cost", lambda c: c[1:]), "the path's column cost"),
    "an exact error": (lambda: with_column("exact_error", lambda e: (*e[:2], e[2] + 1)), "the path's exact_error"),
    "an exact cost": (lambda: with_column("exact_cost", lambda c: c[::-1]), "the path's exact_cost"),
    "a size": (lambda: with_column("n_kept", lambda n: n + 1), "the path's n_kept"),
    "a lambda": (lambda: with_column("lam", lambda x: x * 2), "the path's lam"),
    "another gain": (lambda: with_problem(gain=numbers(1, 3, 1, 2, 1, -3)), "node 3 is not worth nothing at breakpoint 1"),
    "a gain nan": (lambda: with_problem(gain=numbers(1, 3, 1, math.nan, 1, -3)), "gain is no array of 6 finite numbers"),
    "another price": (lambda: with_problem(price=numbers(0, 1, 1, 2, 0, 0)), "node 3 is not worth nothing at breakpoint 1"),
    "a negative price": (lambda: with_problem(price=numbers(0, 1, 1, 1, 0, -1)), "the price of node 5 is negative"),
    "another base error": (lambda: with_problem(base_error=7.0), "row 0 has the error 1"),
    "a base cost nan": (lambda: with_problem(base_cost=math.nan), "of the empty closure is nan"),
    "other integer gains": (lambda: with_problem(integer_gain=np.array([1, 3, 1, 2, 1, -3])), "row 0 has the error"),
    "other integer prices": (lambda: with_problem(integer_price=np.array([1, 1, 1, 1, 0, 0])), "row 0 has the cost"),
    "another integer base cost": (lambda: with_problem(integer_base_cost=Fraction(1)), "row 0 has the cost"),
    "another integer base error": (lambda: with_problem(integer_base_error=Fraction(5)), "row 0 has the error"),
    "another unit": (lambda: with_problem(integer_gain_unit=Fraction(2)), "row 0 has the error"),
    "no multiple of its unit": (lambda: with_problem(gain_unit=Fraction(2)), "the gain of node 0 is 1.0, no whole multiple of 2"),
    "an arc to another node": (lambda: with_problem(head=np.array([0, 3, 1, 5])), "node 1 is kept longer than node 3"),
    "an arc to no node": (lambda: with_problem(head=np.array([0, 2, 1, 6])), "the head of arc 3 is node 6"),
    "an arc too few": (lambda: with_problem(tail=np.array([1, 1, 3])), "head is no array of 3 integers"),
}


@looped("name", FORGED)
def test_what_was_changed_is_refuted(name: str) -> None:
    """Levels, flows, breakpoints, columns and instances that are not what they were: refuted, saying where."""
    forged, message = FORGED[name]
    verdict = check_closure_path(forged())
    assert verdict.holds is False
    assert re.search(re.escape(message), str(verdict.certificate)), verdict.certificate


def path_of(
    problem: ParametricClosure, level: list[int], points: list[int], flow: list[int], unit: tuple[Fraction, ...] = ()
) -> ClosurePath:
    certificate = ClosureCertificate(np.array(flow, dtype=np.int64), unit or (Fraction(1),) * (len(points) + 1))
    return ClosurePath(problem, np.array(level, dtype=np.int32), tuple(map(Fraction, points)), certificate)


def test_a_larger_optimum_is_not_the_smallest() -> None:
    """Rows that are optimal, but not the smallest optima, are refuted: with a free node that gains nothing, or several of them.
    In the last one node 2 gains what node 1 loses, and both are free: they can go without node 0, whose price they do not pay.
    """
    alone = closure_of([1, 0], [1, 0], [])
    assert "node 1 could go before breakpoint 1" in str(check_closure_path(path_of(alone, [1, 1], [0, 1], [])).certificate)
    assert check_closure_path(path_of(alone, [1, 0], [0, 1], []))
    assert "node 1 could go before breakpoint 2" in str(check_closure_path(path_of(alone, [1, 2], [0, 1], [])).certificate)
    on_top = closure_of([1, 0], [1, 0], [(1, 0)])
    assert "node 1 could go" in str(check_closure_path(path_of(on_top, [1, 1], [0, 1], [0])).certificate)
    below = closure_of([1, 0], [1, 0], [(0, 1)])  # what 0 requires has to stay with it
    assert check_closure_path(path_of(below, [1, 1], [0, 1], [0]))
    pair = closure_of([2, -1, 1], [2, 0, 0], [(2, 1), (1, 0)])
    assert "node 1 could go" in str(check_closure_path(path_of(pair, [1, 1, 1], [0, 1], [1, 0])).certificate)
    assert check_closure_path(path_of(pair, [1, 0, 0], [0, 1], [1, 0]))


def test_what_pays_for_others_stays() -> None:
    """A free node that sends flow to one with a price is needed: the chain of (6) that follows the flow."""
    problem = closure_of([0, 2], [1, 0], [(1, 0)])
    assert check_closure_path(path_of(problem, [1, 1], [0, 2], [1], (Fraction(1), Fraction(2), Fraction(1))))
