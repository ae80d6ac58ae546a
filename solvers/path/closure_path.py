"""All optimal closures of a precedence graph, for every lambda, by divide and conquer with minimum cuts.

    maximise  sum_v (gain_v - lambda price_v) y_v,      y_u <= y_v for every arc (u requires v)                            (1)

The scheme is that of `solvers.path.pruning_path`. A0, the smallest optimum at lambda = 0, is one cut; Ainf, the smallest best
closure among the nodes that are free together with all that they require, is another. What lies between two nested optima is a
part D, with

    lambda* = (total gain of D) / (total price of D)                                                                       (2)

both above 0. If no closure of D has a positive value at lambda*, all of D leaves at lambda*, and the flow of that cut proves it.
Otherwise the smallest best closure of D and the rest of D are two parts, whose breakpoints lie above and below lambda*.

A cut at lambda* = q / d is one maximum flow in integers: source -> v with the profit d gain_v - q price_v where that is positive,
v -> sink with its size where it is negative, u -> v unlimited where u requires v. Its smallest source side is the smallest best
closure. The flow on the arcs u -> v is the certificate. No flow crosses the minimum cut on them, and conservation in v says

    profit_v + inflow - outflow  >=  0  on the source side,  <=  0  on the sink side,  =  0  where the cut is worth nothing (3)
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.instance.parametric_closure import ClosureCertificate, ClosurePath, ParametricClosure
from formulations.long_steps import interruption_as_error
from solvers.closures.cut import FlowNetwork, check_products


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
        exact for the integer instance ``problem.integers``; where ``problem.integers.exact`` is False its rounding bounds say how
        far the real instance can differ.

    Raises
    ------
    CapacityOverflowError
        if products of gains and prices do not fit 62 bits.
    InterruptedSolveError
        on Ctrl-C; nothing was changed.
    """
    started = time.perf_counter()
    with interruption_as_error("while computing the path"):
        work = _ClosureDecomposition(problem)
        work.solve()
    return work.path(started, certificate=certificate)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Nodes between two optimal closures, and the arcs between them (indices)."""

    nodes: NDArray[np.int32]
    arcs: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Cut:
    """The smallest best closure of a part, bool over its nodes; its value; the flow on the part's arcs."""

    keep: NDArray[np.bool_]
    value: int
    flow: NDArray[np.int64]


class _ClosureDecomposition:
    """The pieces of a path, and the flow of each."""

    def __init__(self, problem: ParametricClosure) -> None:
        self.problem = problem
        self.ratio: list[Fraction] = []
        self.pieces: list[_Nodes] = []
        self.flow = np.zeros(problem.tail.size, dtype=np.int64)
        self.stats = {"cuts": 0.0, "arcs_cut": 0.0}
        self._place = np.zeros(problem.n, dtype=np.int32)

    def solve(self) -> None:
        """Find A0, Ainf and all pieces between them."""
        everything = _Nodes(np.arange(self.problem.n, dtype=np.int32), np.arange(self.problem.tail.size, dtype=np.int32))
        first = self._cut(everything, Fraction(0))
        outer, never = self._halves(everything, first.keep)
        self._keep_flow(never, everything, first)
        free, _ = self._halves(outer, self._free()[outer.nodes])
        last = self._cut(free, Fraction(0))
        self.forever, _ = self._halves(free, last.keep)
        self._keep_flow(self.forever, free, last)
        between = np.ones(self.problem.n, dtype=bool)
        between[never.nodes] = between[self.forever.nodes] = False
        todo = [self._halves(everything, between)[0]]
        while todo:
            part = todo.pop()
            if part.nodes.size:
                todo += self._divided(part)

    def _divided(self, part: _Nodes) -> list[_Nodes]:
        """The two parts of a part, outer and inner; none if it is a piece."""
        ints = self.problem.integers
        ratio = Fraction(int(ints.gain[part.nodes].sum()), int(ints.price[part.nodes].sum()))
        cut = self._cut(part, ratio)
        if cut.value == 0:
            self.ratio.append(ratio)
            self.pieces.append(part)
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
        gain, price = ints.gain[part.nodes], ints.price[part.nodes]
        # half of 62 bits, because the profit of one node has a part of both
        check_products(2.0 * max(int(np.abs(gain).sum()) * ratio.denominator, int(price.sum()) * ratio.numerator))
        profit = gain * ratio.denominator - price * ratio.numerator
        self._place[part.nodes] = np.arange(k, dtype=np.int32)
        ends = self._place[self.problem.tail[part.arcs]], self._place[self.problem.head[part.arcs]]
        total = int(np.maximum(profit, 0).sum())
        self.stats["cuts"] += 1
        self.stats["arcs_cut"] += part.arcs.size
        if total == 0:
            return _Cut(np.zeros(k, dtype=bool), 0, np.zeros(part.arcs.size, dtype=np.int64))
        return _solved(profit, *ends, total)

    def path(self, started: float, *, certificate: bool) -> ClosurePath:
        """Breakpoints in ascending order, each node's level among them, and the flow."""
        ratios = sorted({Fraction(0), *self.ratio})
        index = {r: k for k, r in enumerate(ratios)}
        level = np.zeros(self.problem.n, dtype=np.int32)
        for ratio, piece in zip(self.ratio, self.pieces, strict=True):
            level[piece.nodes] = index[ratio]
        level[self.forever.nodes] = len(ratios)
        proof = ClosureCertificate(self.flow, (*(r.denominator for r in ratios), 1)) if certificate else None
        unit = self.problem.integers.lam_unit
        stats = {"seconds": time.perf_counter() - started, **self.stats}
        return ClosurePath(self.problem, level, tuple(r * unit for r in ratios), proof, stats)


def _solved(profit: NDArray[np.int64], tail: NDArray[np.int32], head: NDArray[np.int32], total: int) -> _Cut:
    """Solve one cut; `total` is the sum of the positive profits."""
    source, sink = profit.size, profit.size + 1
    earns, pays = np.flatnonzero(profit > 0), np.flatnonzero(profit < 0)
    network = FlowNetwork(source, sink)
    network.add(source, sink, 0)  # without an arc at the sink OR-Tools solves nothing and reports no source side
    arcs = network.add(tail, head, total + 1)
    network.add(source, earns, profit[earns])
    network.add(pays, sink, -profit[pays])
    value = total - network.maximum_flow()
    return _Cut(network.source_side()[: profit.size], value, network.flow_on(arcs))
