"""The closure of least error within a budget: a knapsack with precedences.

    maximise  sum_v gain_v y_v      s.t.  sum_v price_v y_v <= B,    y_u <= y_v for every arc (u requires v),   y in {0, 1}   (1)

Nodes of level 0 can be left out of any closure without loss, and nodes that are kept for all lambda can be added without loss.
The others are open. Let row r of the path be its best within B, lambda* its breakpoint, and lambda_v that of node v. Then, for
every closure,

    total gain  <=  gain of row r  +  lambda* (B - cost of row r)  -  sum of loss_v over the nodes on the wrong side       (2)
    loss_v  =  |lambda* - lambda_v| price_v

where a node is on the wrong side if it is taken and lambda_v < lambda*, or omitted and lambda_v > lambda*. (The path's flow
proves it as in `proofs_checks.optimality.closure_path`, where the losses are dropped.) Taking a node means taking what it
requires, and omitting a node means omitting what requires it. So a node is decided if the losses along such a chain lower (2) to
the gain of the best known closure within B. HiGHS solves the open nodes by branch and bound; its answer is recomputed in
integers.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.solution import Status
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.budget import budget_limit
from formulations.instance.parametric_closure import ClosurePath, ParametricClosure
from formulations.programs.integer_rows import integer_row
from formulations.programs.linear_program import Block, LinearProgram, Names
from solvers.path.closure_path import closure_path
from solvers.programs.engines.highs import highs

HIDDEN_SHARE = Fraction(1, 10**9)
"""What HiGHS' tolerances can hide, as a share of the sum of all |gains|."""


@dataclass(frozen=True, eq=False)
class ClosureSolution:
    """The best closure found within a budget.

    Parameters
    ----------
    kept
        bool, shape (n,).
    error, cost
        of `kept`, computed from the instance; the cost is at most the budget.
    bound
        no closure within the budget has a smaller error, provided that HiGHS' own bound is right.
    status
        OPTIMAL if error and bound differ by no more than rounding and HiGHS' tolerances explain.
    stats
        seconds and counts: for reports only.
    """

    kept: NDArray[np.bool_]
    error: float
    cost: float
    bound: float
    status: Status
    stats: Mapping[str, float] = field(default_factory=dict)


@checked
def best_closure_within(
    problem: ParametricClosure, budget: float | Fraction, path: ClosurePath | None = None, *, time_limit: Seconds = 30.0
) -> ClosureSolution:
    """The least error of all closures that cost at most the budget, never above that of the path's best row.

    Parameters
    ----------
    path
        of the same problem, if it is known already.
    time_limit
        seconds for branch and bound.

    Raises
    ------
    InvalidInputError
        if the budget is negative, NaN or below every closure's cost, or if the path belongs to another problem.
    InterruptedSolveError
        on Ctrl-C; nothing was changed.
    """
    started = time.perf_counter()
    if path is None:
        path = closure_path(problem, certificate=False)
    elif path.problem is not problem:
        raise InvalidInputError("path belongs to another problem; give closure_path(problem), or None")
    row = path.row_at_cost(budget)
    search = _ClosureSearch(path, budget_limit(budget), row)
    if row > 0:  # otherwise the least error of all closures is affordable
        search.consider(search.shed(path.kept(row - 1)))
        search.branch_and_bound(time_limit)
    return search.solution(time.perf_counter() - started)


class _ClosureSearch:
    """The best closure so far that certainly costs no more than the budget, and a bound; both in integer gains."""

    def __init__(self, path: ClosurePath, budget: Fraction, row: int) -> None:
        self.path, self.problem, self.budget, self.row = path, path.problem, budget, row
        ints = self.problem.integers
        allowed, rounding = budget - ints.base_cost, Fraction(ints.cost_rounding)
        self.limit = math.floor((allowed + rounding) / ints.price_unit)  # integer cost above which no closure fits
        self.safe = math.floor((allowed - rounding) / ints.price_unit)  # integer cost up to which every closure fits
        self.kept = path.kept(row)
        self.gain = self._total(ints.gain, self.kept)
        self.lam = path.breakpoints[row] / ints.lam_unit
        room = self.limit - self._total(ints.price, self.kept)
        self.relaxed = self.gain + self.lam * room if row > 0 else Fraction(self.gain)  # (2) without losses
        self.most = math.floor(self.relaxed)
        self.stats = {"open": 0.0, "nodes": 0.0}

    def _total(self, amounts: NDArray[np.int64], kept: NDArray[np.bool_]) -> int:
        return int(amounts[kept].sum())

    def cost(self, kept: NDArray[np.bool_]) -> float | Fraction:
        """The cost: exact if prices are exact, else computed from the real prices in floating point."""
        ints = self.problem.integers
        if ints.cost_rounding == 0:
            return ints.base_cost + self._total(ints.price, kept) * ints.price_unit
        return float(self.problem.base_cost) + float(self.problem.price[kept].sum())

    def consider(self, kept: NDArray[np.bool_]) -> None:
        """Keep a set of nodes if it is a closure within the budget and better than the present one."""
        gain = self._total(self.problem.integers.gain, kept)
        closed = not (kept[self.problem.tail] & ~kept[self.problem.head]).any()
        if gain > self.gain and closed and self.cost(kept) <= self.budget:
            self.kept, self.gain = kept, gain

    def shed(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Remove nodes that no kept node requires, those with the least gain per price first, until the closure fits."""
        ints, problem = self.problem.integers, self.problem
        kept = kept.copy()
        needs: list[list[int]] = [[] for _ in range(problem.n)]
        users = [0] * problem.n
        for u, v in zip(problem.tail.tolist(), problem.head.tolist(), strict=True):
            if kept[u]:
                needs[u].append(v)
                users[v] += 1
        gain, price = ints.gain.tolist(), ints.price.tolist()
        ratio = [g / p if p else math.copysign(math.inf, g) for g, p in zip(gain, price, strict=True)]
        heap = [(ratio[v], v) for v in np.flatnonzero(kept).tolist() if users[v] == 0]
        heapq.heapify(heap)
        over = self._total(ints.price, kept) - self.safe
        while over > 0 and heap:
            _, v = heapq.heappop(heap)
            kept[v] = False
            over -= price[v]
            for w in needs[v]:
                users[w] -= 1
                if users[w] == 0:
                    heapq.heappush(heap, (ratio[w], w))
        return kept

    def decided(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Nodes that every better closure may be assumed to contain, and nodes that it may be assumed not to contain."""
        level, last = self.path.level, len(self.path)
        lam = [abs(self.lam - b / self.problem.integers.lam_unit) for b in (*self.path.breakpoints, Fraction(0))]
        loss = [lam[k] * p for k, p in zip(level.tolist(), self.problem.integers.price.tolist(), strict=True)]
        tail, head, order = self.problem.tail, self.problem.head, self.problem.order
        slack = self.relaxed - self.gain
        taken = _chains(loss, level < self.row, tail, head, order)
        omitted = _chains(loss, level > self.row, head, tail, order[::-1])
        inside = (level == last) | ((level > self.row) & np.array([x >= slack for x in omitted], dtype=bool))
        outside = (level == 0) | ((level < self.row) & np.array([x >= slack for x in taken], dtype=bool))
        return inside, outside

    def branch_and_bound(self, time_limit: float) -> None:
        """Solve (1) on the open nodes."""
        inside, outside = self.decided()
        ints = self.problem.integers
        nodes = np.flatnonzero(~inside & ~outside).astype(np.int32)
        self.stats["open"] = float(nodes.size)
        room = self.limit - self._total(ints.price, inside)  # >= 0: the path's row contains all of these nodes
        answer = highs(self._program(nodes, room), time_limit=time_limit)
        self.stats["nodes"] = answer.nodes
        if answer.x is not None:
            kept = inside.copy()
            kept[nodes] = answer.x > 0.5
            self.consider(kept)
            self.consider(self.shed(kept))  # the same closure, unless it exceeds the budget within HiGHS' tolerances
        if answer.bound > -math.inf:
            # gains are integers
            bound = self._total(ints.gain, inside) + math.floor(-answer.bound)
            self.most = max(self.gain, min(self.most, bound))

    def _program(self, nodes: NDArray[np.int32], room: int) -> LinearProgram:
        """(1) in integer gains and prices."""
        ints, k = self.problem.integers, nodes.size
        place = np.full(self.problem.n, -1, dtype=np.int64)
        place[nodes] = np.arange(k)
        tail, head = place[self.problem.tail], place[self.problem.head]
        arcs = np.flatnonzero((tail >= 0) & (head >= 0))
        each, last = np.arange(arcs.size), np.full(k, arcs.size)
        rows, columns = np.concatenate([each, each, last]), np.concatenate([tail[arcs], head[arcs], np.arange(k)])
        price, room_for_all = integer_row(ints.price[nodes].astype(np.float64), Fraction(room), Fraction(1), 2.0**-53)
        entries = np.concatenate([np.ones(arcs.size), -np.ones(arcs.size), price])
        return LinearProgram(
            cost=-ints.gain[nodes].astype(np.float64),
            offset=0.0,
            matrix=sparse.csr_array((entries, (rows, columns)), shape=(arcs.size + 1, k)),
            row_lower=np.full(arcs.size + 1, -np.inf),
            row_upper=np.append(np.zeros(arcs.size), room_for_all),
            lower=np.zeros(k),
            upper=np.ones(k),
            integer=np.ones(k, dtype=bool),
            columns=Names((Block("y", (nodes,)),)),
            rows=Names((Block("requires", (arcs,)), Block("budget", ()))),
        )

    def solution(self, seconds: float) -> ClosureSolution:
        """The solution in the units of the instance."""
        ints, problem = self.problem.integers, self.problem
        rounding = Fraction(ints.error_rounding)
        error: Fraction | float = ints.base_error - self.gain * ints.gain_unit
        if rounding:
            error = float(problem.base_error) - float(problem.gain[self.kept].sum())
        bound = min(float(error), float(ints.base_error - self.most * ints.gain_unit - rounding))
        hidden = HIDDEN_SHARE * int(np.abs(ints.gain).sum())
        status = Status.OPTIMAL if self.most - self.gain <= hidden else Status.FEASIBLE
        stats = {"seconds": seconds, **self.stats}
        return ClosureSolution(self.kept, float(error), float(self.cost(self.kept)), bound, status, stats)


def _chains(
    loss: list[Fraction], within: NDArray[np.bool_], tail: NDArray[np.int32], head: NDArray[np.int32], order: NDArray[np.int32]
) -> list[Fraction]:
    """The largest sum of losses along a chain of arcs from each node, of nodes `within`; heads come first in `order`."""
    following: list[list[int]] = [[] for _ in loss]
    for u, v in zip(tail.tolist(), head.tolist(), strict=True):
        following[u].append(v)
    sums = [Fraction(0)] * len(loss)
    for v in order[within[order]].tolist():
        sums[v] = loss[v] + max((sums[w] for w in following[v]), default=Fraction(0))
    return sums
