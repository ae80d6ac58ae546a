"""Is every closure of a path optimal, for every lambda at once?

Node v has level l and is kept for lambda < lambda_l, the breakpoint of its level; top, the last level, stands for ever. The
certificate is a flow f >= 0 on the arcs, from u who requires to v who is required, and nothing flows between levels. With

    worth_v  =  gain_v  -  lambda_l price_v,      at the breakpoint of v's own level l; gain_v at the top                  (1)

all that optimality asks for is

    level_u <= level_v                              for every arc (u requires v)                                           (2)
    worth_v + inflow_v - outflow_v  =   0           for every v of a level between 0 and the top                           (3)
                                    <=  0           for every v of level 0, where lambda_l = 0                             (4)
                                    >=  0           for every v of the top level, and its price is 0                       (5)

Proof. Let lambda be any number >= 0. By (2) the nodes that are kept form a closure C. Let X be another one; compare the two
within the nodes L of one level l. X within L is left by no arc of L, so flow can only enter it. Hence inflow - outflow, summed
over it, is some F >= 0, and by (3) or (4) its worth is at most -F <= 0. The rest of L is entered by no arc of L, F flows from
it into X, and by (3) or (5) its worth is at least F >= 0. At lambda a node is worth (lambda_l - lambda) price_v more than at
lambda_l, where prices are >= 0. So

    lambda >= lambda_l:  what X has of L is worth at most 0, C has nothing of L
    lambda <  lambda_l:  what X lacks of L is worth at least 0, C has all of L; at the top, where all is free, for any lambda

and C is worth at least as much as X, level by level. Both statements hold at lambda = lambda_l, so each row is optimal at both
ends of its interval, and no breakpoint is missing.

C is the *smallest* optimum unless some part U of the nodes of one level, entered by no arc from the others, can go just before
lambda_l for nothing. By the above that is so if and only if nothing in U has a price, no flow leaves U, and, at the top, (5) is
an equation all over U. With a node, such a U contains the nodes of its level that require it, and those to which it sends flow.
So

    the path holds the smallest optima  <=>  from every node of a level above 0 some chain of steps within its level,
    from v to u, or where f > 0 from u to v, over arcs (u requires v), leads to a node with a price, or, at the top,
    to one for which (5) is > 0                                                                                            (6)

Cuts of real numbers round, so that (3) to (5) hold up to something, s_v. With it, what X has of L is worth at most the sum of
s_v > 0, and what it lacks at least the sum of s_v < 0. So no row misses the optimum by more, at any lambda, than

    the sum over v of  |s_v| of levels between 0 and the top,  max(0, s_v) of level 0,  max(0, -s_v) of the top            (7)

which must not be above the gap that the path states. Where that is above 0, (6) is not asked for: the smallest optimum is that
up to the gap. A float stands for the shortest decimal that denotes it, or, where its unit is given, for the nearest whole
multiple of it; nothing is rounded here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from formulations.answers.nested_rows import ClosureCertificate, ClosurePath
from formulations.arguments import checked
from formulations.instance.parametric_closure import ParametricClosure
from proofs_checks.optimality.path_evidence import check_breakpoints, read_levels
from proofs_checks.optimality.path_optimality import check_column, suffixes
from proofs_checks.optimality.recount import Refuted, shown
from proofs_checks.verdict import DEFAULTS, Verdict

METHOD = "one flow for all lambda, in fractions"


@checked
def check_closure_path(path: ClosurePath) -> Verdict:
    """Is every row of the path the smallest optimum on all of its interval, and are they nested?

    Exact, by one pass over the arcs, in the numbers of the instance. Cost and error, the columns that the path reports, are
    counted again.

    Returns
    -------
    Verdict
        certificate: rows, and what bounds the gap of each, as a float; or what is wrong. None where the path
        carries no certificate.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> cascade = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
    >>> pm.checks.check_closure_path(cascade.exit_path_.closures).holds
    True
    """
    claim = f"all {len(path)} closures of the path are optimal, each the smallest optimum, and nested"
    certificate: object = path.certificate  # whatever it is
    if certificate is None:
        return Verdict(claim, None, METHOD, "the path carries no certificate")
    if not isinstance(certificate, ClosureCertificate):
        return Verdict(claim, False, METHOD, f"the certificate is {type(certificate).__name__}, no flow of a path")
    try:
        gap = _proven_gap(path, certificate)
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    return Verdict(claim, True, METHOD, {"rows": len(path), "largest gap": float(gap)})


def _proven_gap(path: ClosurePath, certificate: ClosureCertificate) -> Fraction:
    """(7), after checking everything else."""
    instance, points = ClosureRecount(path.problem), path.breakpoints
    check_breakpoints(points)
    level = read_levels(path.level, instance.n, range(instance.n), (0, len(points)), "node", "goes")
    flow: Any = certificate.flow
    if not isinstance(flow, np.ndarray) or flow.shape != (len(instance.arcs),) or flow.dtype.kind != "i":
        raise Refuted(f"the flow is no array of {len(instance.arcs)} integers, one for each arc")
    unit = _units(certificate.unit, len(points) + 1)
    evidence = _Evidence(instance, level, [*map(Fraction, points), Fraction(0)], unit, flow.tolist())
    evidence.check_arcs()
    surplus = evidence.surplus()
    if not 0 <= path.gap < math.inf:
        raise Refuted(f"the path states the gap {path.gap!r}")
    gap = evidence.check_worth(surplus, Fraction(path.gap))
    if not path.gap:
        evidence.check_smallest(surplus)
    _check_columns(path, evidence)
    return gap


def _units(given: Sequence[Any], levels: int) -> list[Fraction]:
    if len(given) != levels:
        raise Refuted(f"{len(given)} units of flow for {levels} levels")
    for k, unit in enumerate(given):
        if not isinstance(unit, Rational) or unit <= 0:
            raise Refuted(f"the unit of flow of level {k} is {unit!r}; it must be a fraction above 0")
    return [Fraction(unit) for unit in given]


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What was read: levels of nodes, of every level its lambda (0 at the top) and its unit of flow, flows of arcs."""

    instance: ClosureRecount
    level: list[int]
    lam: list[Fraction]
    unit: list[Fraction]
    flow: list[int]

    @property
    def top(self) -> int:
        """The level of what is kept for all lambda."""
        return len(self.unit) - 1

    def check_arcs(self) -> None:
        """(2), and no flow below 0 or between levels."""
        for (u, v), f in zip(self.instance.arcs, self.flow, strict=True):
            if self.level[u] > self.level[v]:
                raise Refuted(f"node {u} is kept longer than node {v}, which it requires: the path is not nested")
            if f < 0:
                raise Refuted(f"the flow from node {u} to node {v} is negative")
            if f > 0 and self.level[u] != self.level[v]:
                raise Refuted(f"there is a flow from node {u} to node {v} of another level")

    def surplus(self) -> list[Fraction]:
        """Worth + inflow - outflow of every node."""
        across = [0] * len(self.level)
        for (u, v), f in zip(self.instance.arcs, self.flow, strict=True):
            across[u] -= f
            across[v] += f
        amounts = zip(self.instance.gain, self.instance.price, across, self.level, strict=True)
        return [g - self.lam[k] * p + f * self.unit[k] for g, p, f, k in amounts]

    def check_worth(self, surplus: list[Fraction], stated: Fraction) -> Fraction:
        """(3) to (5) up to (7)."""
        gap, first = Fraction(0), ""
        for v, (k, s) in enumerate(zip(self.level, surplus, strict=True)):
            if k == self.top and self.instance.price[v]:
                raise Refuted(f"node {v} is kept for all lambda, yet it has a price")
            if s == 0 or (s > 0 if k == self.top else k == 0 and s < 0):
                continue
            gap += abs(s)
            if not first and k == self.top:
                first = f"node {v} is kept for all lambda, where it does not pay"
            elif not first and k == 0:
                first = f"node {v} is never kept, though it pays at lambda = 0"
            elif not first:
                first = f"node {v} is not worth nothing at breakpoint {k}, with what flows: {shown(s)} is left"
        if gap > stated:
            raise Refuted(f"{first}; all such nodes leave a gap of {float(gap):.3g}, {float(stated):.3g} is stated")
        return gap

    def check_smallest(self, surplus: list[Fraction]) -> None:
        """(6): from nodes with a price, or a surplus at the top, all chains backwards."""
        steps: list[list[int]] = [[] for _ in self.level]
        for (u, v), f in zip(self.instance.arcs, self.flow, strict=True):
            if self.level[u] == self.level[v]:
                steps[u].append(v)  # u has to go where v goes: once u is settled, so is v
                if f > 0:
                    steps[v].append(u)
        settled = [p > 0 or s > 0 for p, s in zip(self.instance.price, surplus, strict=True)]
        todo = [v for v, done in enumerate(settled) if done]
        while todo:
            for w in steps[todo.pop()]:
                if not settled[w]:
                    settled[w] = True
                    todo.append(w)
        for v, k in enumerate(self.level):
            if k > 0 and not settled[v]:
                raise Refuted(f"node {v} could go before breakpoint {k} for nothing: not the smallest optimum")


def _check_columns(path: ClosurePath, evidence: _Evidence) -> None:
    """Errors, costs, sizes and lambdas of the rows must be what the path says they are."""
    instance, rows = evidence.instance, len(path.breakpoints)

    def sums(amounts: Sequence[Any]) -> list[Any]:
        by_level = [Fraction(0)] * (rows + 1)
        for k, amount in zip(evidence.level, amounts, strict=True):
            by_level[k] += amount
        return suffixes(by_level)[1:-1]

    error = [instance.base_error - g for g in sums(instance.gain)]
    cost = [instance.base_cost + p for p in sums(instance.price)]
    check_column("error", path.error, error, abs(instance.base_error) + sum(map(abs, instance.gain)))
    check_column("cost", path.cost, cost, abs(instance.base_cost) + sum(instance.price))
    for name, given, mine in (
        ("exact_error", path.exact_error, error),
        ("exact_cost", path.exact_cost, cost),
        ("lam", path.lam.tolist(), [float(b) for b in path.breakpoints]),
        ("n_kept", path.n_kept.tolist(), sums([1] * instance.n)),
    ):
        if list(given) != mine:
            raise Refuted(f"the path's {name} is not that of its closures")


class ClosureRecount:
    """Nodes, arcs, gains and prices of an instance whose arrays need not be what they were once."""

    def __init__(self, problem: ParametricClosure) -> None:
        self.n = len(problem.gain)
        self.arcs = _arcs(problem, self.n)
        self.gain = _reals("gain", problem.gain, self.n, problem.gain_unit)
        self.price = _reals("price", problem.price, self.n, problem.price_unit)
        for v in range(self.n):
            if self.price[v] < 0:
                raise Refuted(f"the price of node {v} is negative")
        self.base_error = _base(problem.base_error, problem.gain_unit)
        self.base_cost = _base(problem.base_cost, problem.price_unit)


def _arcs(problem: ParametricClosure, n: int) -> list[tuple[int, int]]:
    """Pairs (u, v): u requires v."""
    ends = [_integers(name, a, len(problem.tail)) for name, a in (("tail", problem.tail), ("head", problem.head))]
    for name, nodes in zip(("tail", "head"), ends, strict=True):
        for k, v in enumerate(nodes):
            if not 0 <= v < n:
                raise Refuted(f"the {name} of arc {k} is node {v}; there are 0 to {n - 1}")
    return list(zip(*ends, strict=True))


def _integers(name: str, given: Any, length: int) -> list[int]:
    if not isinstance(given, np.ndarray) or given.shape != (length,) or given.dtype.kind not in "iu":
        raise Refuted(f"{name} is no array of {length} integers")
    return [int(x) for x in given.tolist()]


def _reals(name: str, given: Any, length: int, unit: Fraction | None) -> list[Fraction]:
    """What floats stand for."""
    if not isinstance(given, np.ndarray) or given.shape != (length,) or not np.isfinite(given).all():
        raise Refuted(f"{name} is no array of {length} finite numbers")
    numbers = given.astype(np.float64).tolist()
    meant = [_meant(x, unit) for x in numbers]
    for v, (x, m) in enumerate(zip(numbers, meant, strict=True)):
        if unit is not None and m % unit:
            raise Refuted(f"the {name} of node {v} is {x!r}, no whole multiple of {unit}")
    return meant


def _base(given: float | Fraction, unit: Fraction | None) -> Fraction:
    """The exact error or cost of the empty closure."""
    if not isinstance(given, Fraction) and not math.isfinite(given):
        raise Refuted(f"the error or cost of the empty closure is {given!r}")
    return given if isinstance(given, Fraction) else _meant(float(given), unit)


def _meant(x: float, unit: Fraction | None) -> Fraction:
    """The multiple of the unit that a float stands for, the shortest decimal that denotes it where none is near."""
    number = Fraction(repr(x))
    if unit is None:
        return number
    multiple = unit * math.floor(number / unit + Fraction(1, 2))
    return multiple if abs(number - multiple) <= DEFAULTS.multiple_tolerance * unit else number
