"""All optimal closures of a precedence graph, for every lambda, by divide and conquer with minimum cuts.

    maximise  sum_v (gain_v - lambda price_v) y_v,      y_u <= y_v for every arc (u requires v)                            (1)

The scheme is that of `solvers.path.pruning_path`. A0, the smallest optimum at lambda = 0, is one cut; Ainf, the smallest best
closure among the nodes that are free together with all that they require, is another. What lies between two nested optima is a
part D, with

    lambda* = (total gain of D) / (total price of D)                                                                       (2)

both above 0. If no closure of D has a positive value at lambda*, all of D leaves at lambda*, and the flow of that cut proves it.
Otherwise the smallest best closure of D and the rest of D are two parts, whose breakpoints lie above and below lambda*.

A cut at lambda* = q / d is one maximum flow in 64-bit integers: source -> v with the profit d gain_v - q price_v where that is
positive, v -> sink with its size where it is negative, u -> v unlimited where u requires v. Its smallest source side is the
smallest best closure. The flow on the arcs u -> v is the certificate. No flow crosses the minimum cut on them, and conservation
in v says

    profit_v + inflow - outflow  >=  0  on the source side,  <=  0  on the sink side,  =  0  where the cut is worth nothing (3)

Profits that do not fit are rounded up to multiples of a power of two. Then a part goes at lambda* where the best closure of its
cut is worth nothing in the numbers of the instance; rounding may have hidden a better one. What that leaves of (3), summed over
all nodes in the numbers of the instance, is the gap of the path; the proof is in `proofs_checks.optimality.closure_path`.
"""

from __future__ import annotations

import math
import operator
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_rows import ClosureCertificate, ClosurePath, pooled
from formulations.arguments import checked
from formulations.errors import InterruptedSolveError
from formulations.instance.parametric_closure import ParametricClosure
from solvers.closures.cut import FlowNetwork
from solvers.closures.integer_objective import TOTAL_BITS


@checked
def closure_path(problem: ParametricClosure, *, certificate: bool = True) -> ClosurePath:
    """Every optimal closure for every lambda >= 0, the smallest where there are several.

    Parameters
    ----------
    certificate
        keep the flow that proves the path: 8 bytes an arc.

    Returns
    -------
    ClosurePath
        with rows, costs, errors and breakpoints in the numbers of the instance, and with its `gap`.

    Raises
    ------
    InterruptedSolveError
        on Ctrl-C; nothing was changed.
    """
    started = time.perf_counter()
    try:
        work = _ClosureDecomposition(problem)
        work.solve()
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted while computing the path; nothing was changed") from stop
    return work.path(started, certificate=certificate)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Nodes between two optimal closures, and the arcs between them (indices)."""

    nodes: NDArray[np.int32]
    arcs: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Cut:
    """The smallest best closure of a part, bool over its nodes; what it is worth; the flow on the part's arcs, in its unit."""

    keep: NDArray[np.bool_]
    value: int  # in the numbers of the instance, times the denominator of lambda
    flow: NDArray[np.int64]
    unit: Fraction  # in integer gains


@dataclass(frozen=True, eq=False)
class _Piece:
    """Nodes that go at one lambda, given in integers, and the unit of the flow between them."""

    part: _Nodes
    gain: int
    price: int
    unit: Fraction


class _ClosureDecomposition:
    """The pieces of a path, and the flow of each."""

    def __init__(self, problem: ParametricClosure) -> None:
        self.problem = problem
        self.pieces: list[_Piece] = []  # innermost first
        self.flow = np.zeros(problem.tail.size, dtype=np.int64)
        self.stats = {"cuts": 0.0, "arcs_cut": 0.0}
        self._place = np.zeros(problem.n, dtype=np.int32)

    def solve(self) -> None:
        """Find A0, Ainf and all pieces between them."""
        everything = _Nodes(np.arange(self.problem.n, dtype=np.int32), np.arange(self.problem.tail.size, dtype=np.int32))
        first = self._cut(everything, Fraction(0))
        outer, self.never = self._halves(everything, first.keep)
        self._keep_flow(self.never, everything, first)
        free, _ = self._halves(outer, self._free()[outer.nodes])
        last = self._cut(free, Fraction(0))
        self.forever, _ = self._halves(free, last.keep)
        self._keep_flow(self.forever, free, last)
        self.unit = first.unit, last.unit  # of the flows within what is never kept, and within what always is
        between = np.ones(self.problem.n, dtype=bool)
        between[self.never.nodes] = between[self.forever.nodes] = False
        todo = [self._halves(everything, between)[0]]
        while todo:
            part = todo.pop()
            if part.nodes.size:
                todo += self._divided(part)

    def _divided(self, part: _Nodes) -> list[_Nodes]:
        """The two parts of a part, outer and inner; none if it is a piece."""
        ints = self.problem.integers
        gain, price = int(ints.gain[part.nodes].sum()), int(ints.price[part.nodes].sum())
        sensible = gain > 0 and price > 0  # where rounding did not let in what pays nothing, or leave out what is free
        cut = self._cut(part, Fraction(gain, price) if sensible else Fraction(0))
        if cut.value <= 0 or not sensible:
            self.pieces.append(_Piece(part, gain, price, cut.unit))
            self.flow[part.arcs] = cut.flow
            return []
        inner, outer = self._halves(part, cut.keep)
        return [outer, inner]

    def _keep_flow(self, part: _Nodes, within: _Nodes, cut: _Cut) -> None:
        """The flow of a cut, on the arcs of a part of what was cut."""
        inside = np.isin(within.arcs, part.arcs, assume_unique=True)
        self.flow[within.arcs[inside]] = cut.flow[inside]

    def _halves(self, part: _Nodes, keep: NDArray[np.bool_]) -> tuple[_Nodes, _Nodes]:
        """The nodes that are kept and the others, each with the arcs between them."""
        side = self._place
        side[part.nodes] = keep
        tail, head = side[self.problem.tail[part.arcs]], side[self.problem.head[part.arcs]]
        inside, outside = (tail & head).astype(bool), (tail | head) == 0
        return _Nodes(part.nodes[keep], part.arcs[inside]), _Nodes(part.nodes[~keep], part.arcs[outside])

    def _free(self) -> NDArray[np.bool_]:
        """Nodes that have no price and require none that has one."""
        problem = self.problem
        needs: list[list[int]] = [[] for _ in range(problem.n)]
        for u, v in zip(problem.tail.tolist(), problem.head.tolist(), strict=True):
            needs[u].append(v)
        free = (problem.integers.price == 0).tolist()
        for v in problem.order.tolist():
            free[v] = free[v] and all(free[w] for w in needs[v])
        return np.array(free, dtype=bool)

    def _cut(self, part: _Nodes, ratio: Fraction) -> _Cut:
        """(1) on a part at lambda = ratio, in integers; (3) holds of the flow."""
        ints, k = self.problem.integers, part.nodes.size
        worth = ints.gain[part.nodes] * ratio.denominator - ints.price[part.nodes] * ratio.numerator
        bits = int(np.abs(worth).sum()).bit_length()
        shift = bits - TOTAL_BITS if bits > TOTAL_BITS + 2 else 0
        profit = (-((-worth) >> shift)).astype(np.int64)
        unit = Fraction(1 << shift, ratio.denominator)
        self._place[part.nodes] = np.arange(k, dtype=np.int32)
        ends = self._place[self.problem.tail[part.arcs]], self._place[self.problem.head[part.arcs]]
        total = int(np.maximum(profit, 0).sum())
        self.stats["cuts"] += 1
        self.stats["arcs_cut"] += part.arcs.size
        if total == 0:
            return _Cut(np.zeros(k, dtype=bool), 0, np.zeros(part.arcs.size, dtype=np.int64), unit)
        keep, flow = _solved(profit, *ends, total)
        return _Cut(keep, int(worth[keep].sum()), flow, unit)

    def path(self, started: float, *, certificate: bool) -> ClosurePath:
        """Breakpoints in ascending order, each node's level among them, the flow, and the gap that rounding leaves."""
        # innermost first; pieces are one row where their ratios rise, as rounding may have let them
        each = [[piece] for piece in self.pieces]
        rows, _ = pooled(each, lambda inner, outer: _ratio(inner) < _ratio(outer), operator.add)
        ratios = sorted({Fraction(0), *(ratio for ratio in map(_ratio, rows) if isinstance(ratio, Fraction))})
        index: dict[Fraction | float, int] = {r: k for k, r in enumerate(ratios)} | {math.inf: len(ratios)}
        level = np.zeros(self.problem.n, dtype=np.int32)
        level[self.forever.nodes] = len(ratios)
        units = [self.unit[0], *[Fraction(0)] * (len(ratios) - 1), self.unit[1]]
        for row in rows:
            k = index[_ratio(row)]
            units[k] = max(units[k], *(piece.unit for piece in row))
            for piece in row:
                level[piece.part.nodes] = k
        for row in rows:
            for piece in row:
                self._in_unit(piece, units[index[_ratio(row)]])
        ints = self.problem.integers
        gap = self._left_open(level, ratios, units) * ints.gain_unit
        proof = ClosureCertificate(self.flow, tuple(unit * ints.gain_unit for unit in units)) if certificate else None
        stats = {"seconds": time.perf_counter() - started, **self.stats}
        points = tuple(r * ints.lam_unit for r in ratios)
        return ClosurePath(self.problem, level, points, proof, stats, math.nextafter(float(gap), math.inf) if gap else 0.0)

    def _in_unit(self, piece: _Piece, unit: Fraction) -> None:
        """Bring the flow of a piece to a larger unit, rounded down."""
        factor = piece.unit / unit
        if factor != 1:
            flow = self.flow[piece.part.arcs].astype(object)
            self.flow[piece.part.arcs] = (flow * factor.numerator // factor.denominator).astype(np.int64)

    def _left_open(self, level: NDArray[np.int32], ratios: list[Fraction], units: list[Fraction]) -> Fraction:
        """What is left of (3), summed over all nodes, in integer gains."""
        ints = self.problem.integers
        if ints.gain.dtype != object:
            return Fraction(0)
        across = np.zeros(self.problem.n, dtype=object)
        np.subtract.at(across, self.problem.tail, self.flow.astype(object))
        np.add.at(across, self.problem.head, self.flow.astype(object))
        total = Fraction(0)
        for k, (ratio, unit) in enumerate(zip([*ratios, Fraction(0)], units, strict=True)):
            here = level == k
            common = math.lcm(ratio.denominator, unit.denominator)
            left = ints.gain[here] * common - ints.price[here] * int(ratio * common) + across[here] * int(unit * common)
            left = np.maximum(left, 0) if k == 0 else np.maximum(-left, 0) if k == len(ratios) else np.abs(left)
            total += Fraction(int(left.sum()), common)
        return total


def _ratio(row: list[_Piece]) -> Fraction | float:
    """The lambda >= 0 at which some pieces together gain what they cost; inf for what is free."""
    gain, price = sum(piece.gain for piece in row), sum(piece.price for piece in row)
    return max(Fraction(gain, price), Fraction(0)) if price else math.inf if gain > 0 else Fraction(0)


def _solved(
    profit: NDArray[np.int64], tail: NDArray[np.int32], head: NDArray[np.int32], total: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """The smallest best closure and the flow of one cut; `total` is the sum of the positive profits."""
    source, sink = profit.size, profit.size + 1
    earns, pays = np.flatnonzero(profit > 0), np.flatnonzero(profit < 0)
    network = FlowNetwork(source, sink)
    network.add(source, sink, 0)  # without an arc at the sink OR-Tools solves nothing and reports no source side
    arcs = network.add(tail, head, total + 1)
    network.add(source, earns, profit[earns])
    network.add(pays, sink, -profit[pays])
    network.maximum_flow()
    return network.source_side()[: profit.size], network.flow_on(arcs)
