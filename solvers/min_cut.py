"""The exact optimum for one lambda: one minimum cut.

    y_h <= y_parent(h),   y_u <= w_{m,i} for every usage arc (u, (m, i)):  a maximum-weight closure          (1)

with profit gain_h - lambda * evaluation_h at splits and price lambda * omega_i c_m / N at purchases; see
`formulations.problem` for (OBJ) and `solvers.closure_cut` for the network. The flow shares the price of each purchase
out among the splits that need it; these loads prove the bound, which is recomputed from them tree by tree, not taken
from the solver.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.cost_items import exact
from formulations.errors import SolverFailedError
from formulations.merging import merge_purchases, split_loads, starts_by_tail
from formulations.problem import PruningProblem
from formulations.pruning import Pruning
from formulations.solution import ItemLoads, Solution, StopReason
from formulations.usage import UsageArcs
from solvers.closure_cut import ClosureProblem, Ties, best_closure
from solvers.numbering import compact, local_forest
from solvers.tree_closure import best_tree_closures, free_of_charge, without_prices

TOTAL_BITS = 61
"""Bits of the sum of capacities at the source."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """(OBJ) at a lambda as integers: `profit` of every node, `price` of every purchase, each worth `unit` of (OBJ).

    `lam` may be a little below what was asked for, where that does not fit 62 bits. `slack` bounds, in (OBJ), how much better a
    pruning can really be than these integers say; 0 where they are exact.
    """

    profit: NDArray[np.int64]
    price: NDArray[np.int64]
    lam: Fraction
    unit: Fraction
    slack: float

    @property
    def exact(self) -> bool:
        """Whether nothing was rounded."""
        return self.slack == 0.0


def min_cut(problem: PruningProblem, lam: float, *, time_limit: float = math.inf, ties: Ties = "smallest") -> Solution:
    """The optimal pruning for one lambda, with proof.

        minimise  error + lam * cost                                                                (OBJ)

    Parameters
    ----------
    lam
        error per unit of cost, >= 0. A float counts as the shortest decimal that denotes it; a fraction is taken exactly.
    time_limit
        seconds. It is looked at before the cut, which itself cannot be stopped: past it the answer is the best
        pruning that is free of charge, FEASIBLE, with the bound that the trees give separately.
    ties
        which optimum where there are several: the one with the fewest splits or the one with the most.

    Returns
    -------
    Solution
        gap 0 where ``problem.integers.exact`` and lambda is a ratio that fits 62 bits; else the cut runs at the next
        fraction below lambda, or on a grid of 2^-60 of all capacities, and the gap says what that left open.
        Certificate: `ItemLoads`.

    Raises
    ------
    InvalidInputError
        for a negative, NaN or infinite lambda.
    """
    start = time.perf_counter()
    rate = exact(lam, "lam")
    scaled = _scale(problem, rate)
    arcs = problem.usage_arcs()
    load = np.zeros(arcs.tail.size, dtype=np.int64)
    stopped, kept, n_arcs = StopReason.TIME_LIMIT, free_of_charge(problem, ties), 0
    if time.perf_counter() - start <= time_limit:
        kept, n_arcs = _cut(problem, scaled, arcs, ties, load)
        stopped = StopReason.CONVERGED
    certificate = ItemLoads(load, scaled.unit, scaled.lam)
    pruning = Pruning(problem, kept)
    value = pruning.value(float(lam))
    bound = _bound(problem, scaled, pruning, arcs.tail, load, rate)
    stats = {"seconds": time.perf_counter() - start, "arcs": float(n_arcs), "usage_arcs": float(load.size)}
    tolerance = 0.0 if scaled.exact and scaled.lam == rate else 1e-9
    return Solution(problem, lam, pruning, value, bound, stopped, tolerance, certificate, stats)


def _scale(problem: PruningProblem, lam: Fraction) -> Scaled:
    """Exact integers, at the largest lambda' <= lambda whose products fit; for rounded instances a fine grid."""
    ints = problem.integers
    if not ints.exact:
        return _on_grid(problem, lam)
    total_gain = int(np.abs(ints.gain).sum())
    dearest = int(ints.price.sum()) * int(ints.weight.sum()) + int(ints.evaluation.sum())
    # beyond this every priced purchase costs more than all gains together: no larger lambda changes anything
    ratio = min(lam / ints.lam_unit, Fraction(total_gain + 1))
    room = (1 << TOTAL_BITS) // (total_gain + math.ceil(ratio + 1) * dearest + 1)
    ratio = largest_below(ratio, max(1, room))
    p, q = ratio.numerator, ratio.denominator
    price = problem.purchase_price()
    return Scaled(ints.gain * q - ints.evaluation * p, price * p, ratio * ints.lam_unit, ints.gain_unit / q, 0.0)


def largest_below(number: Fraction, largest_denominator: int) -> Fraction:
    """The largest fraction <= number whose denominator is at most that: number itself, or its neighbour in the Farey sequence."""
    near = number.limit_denominator(largest_denominator)
    if near <= number:
        return near
    p, q = near.numerator, near.denominator
    if q == 1:
        inverse = largest_denominator
    else:
        inverse = pow(p, -1, q)
        inverse += (largest_denominator - inverse) // q * q
    return Fraction(p * inverse - 1, q * inverse)


def _on_grid(problem: PruningProblem, lam: Fraction) -> Scaled:
    """Profits rounded to the nearest grid point, prices down, so that no load ever exceeds a real price."""
    rate = float(lam)
    total = float(np.abs(problem.gain).sum()) or 1.0
    real = problem.real_purchase_price()
    # nothing dearer than all gains together is ever bought, so prices need not be larger than that
    rate = min(rate, 2.0 * total / min(_least(real), _least(problem.evaluation_price)))
    price = np.minimum(rate * real, total)
    profit = np.maximum(problem.gain - rate * problem.evaluation_price, -2.0 * total)
    largest = max(float(np.abs(profit).sum()), float(price.sum()), total)
    exponent = TOTAL_BITS - 1 - math.frexp(largest)[1]
    scaled = np.ldexp(profit, exponent)
    rounded = np.rint(scaled)
    # a relative 2^-48 below: what floating point may have added to the product
    whole = np.floor(np.ldexp(price, exponent) * (1 - 2.0**-48)).astype(np.int64)
    # what floating point may have lost in gains (three errors each) and evaluation prices of splits that can be kept at all
    lost = float(problem.node_error.sum()) + float((rate * problem.evaluation_price)[profit > -2.0 * total].sum())
    slack = float(np.abs(scaled - rounded).sum()) + math.ldexp(lost, exponent) * 2.0**-50
    return Scaled(rounded.astype(np.int64), whole, lam, Fraction(2) ** -exponent, math.ldexp(slack, -exponent))


def _least(price: NDArray[np.float64]) -> float:
    """The least positive number, inf if there is none."""
    return float(price[price > 0].min(initial=math.inf))


def _cut(
    problem: PruningProblem, scaled: Scaled, arcs: UsageArcs, ties: Ties, load: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], int]:
    """Solve (1) on the splits that are optimal for free items; write the loads of all usage arcs in canonical order.

    No other split is kept at any lambda, and their trees' parts below are worth nothing, so they need no loads either.
    """
    wanted, n_nodes = without_prices(problem, ties), problem.ensemble.n_nodes
    nodes = np.flatnonzero(wanted).astype(np.int32)
    mine = np.flatnonzero(wanted[arcs.tail] & (scaled.price[arcs.head] > 0))
    tail = arcs.tail[mine]
    purchases, head = compact(arcs.head[mine], np.empty(problem.n_purchases, dtype=np.int32))
    price = scaled.price[purchases]
    merged = merge_purchases(tail, head, price)
    group_tail, group_head = tail[merged.arc], head[merged.arc]
    parent, place = local_forest(problem.ensemble.parent, nodes, group_tail, np.full(n_nodes, -1, dtype=np.int32))
    closure = best_closure(ClosureProblem(scaled.profit[nodes], parent, place, group_head, merged.price), ties=ties)
    part = np.zeros(tail.size, dtype=np.int64)
    start = starts_by_tail(group_tail, n_nodes)
    split_loads(tail, part, merged.representative, start, group_head, closure.loads(), price, head)
    load[mine] = part
    kept = np.zeros(n_nodes, dtype=bool)
    kept[nodes] = closure.keep
    return kept, closure.n_arcs


def _bound(
    problem: PruningProblem,
    scaled: Scaled,
    pruning: Pruning,
    tail: NDArray[np.int32],
    load: NDArray[np.int64],
    lam: Fraction,
) -> float:
    """What the loads prove: OPT >= value - (best closures of the trees, profits less loads) + (what the pruning gains)."""
    value = pruning.value(float(lam))
    charged = scaled.profit.copy()
    np.subtract.at(charged, tail, load)
    _, best = best_tree_closures(problem.ensemble, charged, problem.ensemble.is_split, "smallest")
    if scaled.exact:
        gained = pruning.integer_gain * problem.integers.gain_unit - scaled.lam * pruning.exact_cost
        gap = best * scaled.unit - gained
        if gap < 0:
            raise SolverFailedError(f"the loads of the cut prove a bound above a pruning's value, by {float(-gap):g}")
        gap += (lam - scaled.lam) * pruning.exact_cost
        return value - float(gap)
    roots = Pruning.all_roots(problem).error
    return min(value, roots - float(best * scaled.unit) - scaled.slack)
