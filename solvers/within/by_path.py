"""Budgets answered without a search: by the path alone, with LP1's relaxation, or by listing the prunings of a small forest.

The path's rows k have falling costs, and lambda_k is the breakpoint between the rows k and k + 1. Then

    cost_{k+1} <= B < cost_k:    the mixture of k + 1 and k that costs B,     lambda* = lambda_k                        (1)
    B >= cost_0:                 the row 0,                                  lambda* = 0                               (2)

are optimal for the relaxation by weak duality: error >= opt(lambda*) - lambda* B for every point of it within B.

LP1's optimum is rounded along a chain of optimal prunings, which says how far from LP1 the best pruning can be. Components
are added to the cheaper end of the mixture one at a time: of those that need no missing one, the dearest that fits.
When none fits, the unused part of the budget is smaller than the cost of each component that could be next, and the chain
goes on with the cheapest of them. See `formulations.answers.limited_solution` and ``docs/budgets.md``.

Components are splits between two neighbouring prunings of the path that are tied to each other at lambda*. At lambda* all splits
between the two, with the purchases that the cheaper one has not paid, are together worth 0, and no closure of them is worth more.
So a maximum flow fills every arc at the source and at the sink, and a closure is worth 0 exactly if no arc of the residual
network leaves it:

    h -> parent of h,       and parent of h -> h where the flow on it is positive                                          (3)
    u -> j for every usage arc (u, j),       and j -> u where the flow on it is positive                                     (4)

The flow on h -> parent of h is the sum, over h and all splits below it, of the profits less what they ship to purchases. The
components are the strongly connected components of (3) and (4). Each purchase has a price, hence receives flow, and is in the
component of one of its users. A component is worth 0 at lambda*, given those that it needs, so its gain tells its cost:

    cost of a component  =  gain of its splits / lambda*                                                                     (5)

Of a small forest all prunings can be listed instead: the reference for all engines, and the end of tiny searches.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from formulations.answers.limited_solution import Chain, LimitedSolution, LP1Relaxation
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status, StopReason
from formulations.arguments import Seconds, checked, checking
from formulations.errors import InvalidInputError, SolverFailedError
from formulations.instance.cost_items import Price
from formulations.instance.limit import Limit, limit_of_mean_cost
from formulations.instance.problem import PruningProblem
from formulations.long_steps import interruption_as_error
from solvers.brute_force import all_prunings, count_prunings
from solvers.closures.cut import best_closure
from solvers.closures.subproblem import ParametricSubproblem, open_part
from solvers.closures.tree_pass import subtree_sums
from solvers.path.pruning_path import pruning_path


def relaxed_optimum(path: PruningPath, budget: Fraction) -> LP1Relaxation:
    """(1) and (2), in exact fractions."""
    costs, errors = path.exact_cost, path.exact_error
    k = next((k for k in range(len(path)) if costs[k] <= budget), len(path) - 1)
    lam = path.between(k - 1) if k > 0 else Fraction(0)
    if k == 0 or costs[k] == budget:
        # at a breakpoint's cost any lambda of its interval is a dual value; the larger end is the value of a smaller budget
        return LP1Relaxation(errors[k], (lam,), ((path[k], Fraction(1)),), budget)
    weight = (budget - costs[k]) / (costs[k - 1] - costs[k])
    return LP1Relaxation.of_budget(budget, lam, path[k], path[k - 1], weight)


def path_of(problem: PruningProblem, path: PruningPath | None) -> PruningPath:
    """The path of smallest optima; computed if it is not given."""
    if path is None:
        return pruning_path(problem, certificate=False)
    if path.problem is not problem:
        raise InvalidInputError("path belongs to another problem; give pruning_path(problem), or None")
    if path.status is not Status.OPTIMAL:
        raise InvalidInputError(
            f"path has a relative gap of {path.relative_gap:.2g}, budgets take an exact one; give pruning_path(problem), or None"
        )
    return path


def row_within(path: PruningPath, budget: Fraction) -> int:
    """The first row of the path that costs at most the budget, compared exactly; the last one costs nothing."""
    return next((k for k in range(len(path)) if path.exact_cost[k] <= budget), len(path) - 1)


def gap_of(path: PruningPath) -> float:
    """How much less error than a row's, at its lambda, an optimum may have: what rounding hides of the path, or is told of it."""
    return max(float(max(path.gaps, default=0)), path.stats.get("gap", 0.0))


def raised(problem: PruningProblem, bound: Fraction) -> Fraction:
    """A bound of the error of prunings, raised to the next error that a pruning can have."""
    numbers = problem.numbers
    if not numbers.exact:
        return bound
    roots, step = problem.roots_error, numbers.gain_step * numbers.gain_unit
    return roots - (roots - bound) // step * step


def rounded_down(number: Fraction) -> float:
    """The largest float that is not above a number."""
    found = float(number)
    return math.nextafter(found, -math.inf) if Fraction(found) > number else found


def error_of(pruning: Pruning) -> float:
    """The exact error, rounded once."""
    return float(pruning.exact_error)


def gain_of(pruning: Pruning) -> Fraction:
    """How much less a pruning errs than the forest of single leaves, exactly."""
    return pruning.integer_gain * pruning.problem.exact_numbers.gain_unit


def budget_solution(
    problem: PruningProblem,
    budget: Fraction,
    pruning: Pruning,
    bound: float,
    relaxation: LP1Relaxation,
    *,
    stopped: StopReason = StopReason.CONVERGED,
    stats: Mapping[str, float],
) -> LimitedSolution:
    """The answer of an engine that leaves no proof."""
    limits, uses = (Limit(budget),), (pruning.exact_cost,)
    return LimitedSolution(
        problem, limits, (budget,), uses, pruning, error_of(pruning), bound, relaxation, None, stopped, dict(stats)
    )


@dataclass(frozen=True, eq=False)
class Components:
    """The components of a part."""

    of_split: NDArray[np.int64]  # int64, shape (k,): the component of each split of the part
    cost: tuple[int, ...]  # integer cost (5) of each component
    users: tuple[tuple[int, ...], ...]  # for each component those that need it directly
    n_needs: tuple[int, ...]  # for each component how many others it needs directly


def components_of(part: ParametricSubproblem) -> Components:
    """The components of the splits between two prunings that are both optimal at lambda* = gain / cost > 0."""
    lam = Fraction(part.total_gain, part.total_cost)
    part, _, _ = part.merged()
    network = part.at(lam)
    closure = best_closure(network)
    if closure.value:
        raise SolverFailedError("a closure between two neighbours of the path gains at their breakpoint: they are not optimal")
    flow = closure.duals()
    shipped = np.zeros(part.nodes.size, dtype=np.int64)
    np.add.at(shipped, part.tail, flow)
    to_parent = subtree_sums(part.parent, network.profit - shipped)
    tail, head = _residual_arcs(part, to_parent, flow)
    size = part.nodes.size + part.price.size
    graph = sparse.csr_array((np.ones(tail.size, dtype=np.int8), (tail, head)), shape=(size, size))
    count, label = csgraph.connected_components(graph, directed=True, connection="strong")
    of_split = label[: part.nodes.size].astype(np.int64)
    gain = np.zeros(count, dtype=np.int64)
    np.add.at(gain, of_split, part.gain)
    cost = tuple(int(g) * lam.denominator // lam.numerator for g in gain)
    pairs = np.unique(np.stack([label[tail], label[head]])[:, label[tail] != label[head]], axis=1)
    users: list[list[int]] = [[] for _ in range(count)]
    for needs, needed in pairs.T.tolist():
        users[needed].append(needs)
    n_needs = np.bincount(pairs[0], minlength=count)
    return Components(of_split, cost, tuple(map(tuple, users)), tuple(n_needs.tolist()))


def _residual_arcs(
    part: ParametricSubproblem, to_parent: NDArray[np.int64], flow: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(3) and (4); purchase j is vertex k + j."""
    below = np.flatnonzero(part.parent >= 0)
    above = part.parent[below].astype(np.int64)
    back = to_parent[below] > 0
    split, purchase = part.tail.astype(np.int64), part.head.astype(np.int64) + part.nodes.size
    paid = flow > 0
    tail = np.concatenate([below, above[back], split, purchase[paid]])
    return tail, np.concatenate([above, below[back], purchase, split[paid]])


@checked
def solve_lp1(problem: PruningProblem, budget: Price, *, path: PruningPath | None = None) -> LP1Relaxation:
    """LP1 by the minimum cut at lambda*: the mixture that solves it, its dual value, and the pruning that this is rounded to.

        LP1  <=  least error within B  <=  error of the pruning  =  LP1 + lambda* (B - its cost)
                                                                 <  LP1 + lambda* (cost of any component that could be next)

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices.
    path
        `pruning_path(problem)`, if it is known already.

    Returns
    -------
    LP1Relaxation
        the mixture, the optimum that NWS15's Corollary 4.3 delivers, ``dual`` the dual value of the budget's
        row, ``pruning`` the rounded pruning. ``bound`` is lambda* (B - cost of the pruning), ``largest_bound`` lambda* times the
        cost of the dearest component. `prunemodels.checks.check_relaxation` checks both. Where weights or errors are real
        numbers no two prunings are worth the same, and the two of the mixture are the chain.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number, and a path of another problem.
    InterruptedSolveError
        on Ctrl-C; nothing was changed.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> lp1 = pm.budgets.solve_lp1(problem, 10)
    >>> print(f"LP1 {float(lp1.value):.4f}; dual value {lp1.dual:.4f}; rounded to cost {lp1.pruning.cost:g}")
    LP1 0.1182; dual value -0.0312; rounded to cost 6
    """
    limit = limit_of_mean_cost(problem, budget)
    with interruption_as_error("while rounding LP1's optimum"):
        return rounded(relaxed_optimum(path_of(problem, path), limit))


def rounded(relaxation: LP1Relaxation) -> LP1Relaxation:
    """A budget's relaxation with the chain between the two ends of its mixture."""
    cheaper, dearer, lam = relaxation.cheaper, relaxation.dearer, Fraction(relaxation.lam)
    problem = cheaper.problem
    step = np.where(cheaper.kept, np.int32(0), np.int32(1)).astype(np.int32)
    if relaxation.is_integral:
        return replace(relaxation, chain=Chain(step, (cheaper.exact_cost,), 0))
    if not problem.numbers.exact:  # real numbers have no ties: nothing between the ends is worth as much as they are
        step[~dearer.kept] = 2
        return replace(relaxation, chain=Chain(step, (cheaper.exact_cost, dearer.exact_cost), 0))
    cost = [cheaper.integer_cost]
    part = open_part(problem, dearer.kept, cheaper.kept)
    assert relaxation.budget is not None
    room = int((relaxation.budget / problem.numbers.price_unit) // 1) - cost[0]
    costs: tuple[int, ...]
    if lam == 0:  # nothing is gained by spending more
        order, fits, of_split, costs = [0], 0, np.zeros(part.nodes.size, dtype=np.int64), (part.total_cost,)
    else:
        found = components_of(part)
        order, fits = _chain(found, room)
        of_split, costs = found.of_split, found.cost
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(1, len(order) + 1)
    step[~cheaper.kept] = len(order) + 1
    step[part.nodes] = place[of_split]
    cost += [costs[c] for c in order]
    unit = problem.numbers.price_unit
    return replace(relaxation, chain=Chain(step, tuple(Fraction(c) * unit for c in itertools.accumulate(cost)), fits))


def _chain(components: Components, room: int) -> tuple[list[int], int]:
    """An order in which each component comes after those that it needs, and how many of them fit the room."""
    missing = list(components.n_needs)
    cost = components.cost
    order: list[int] = []

    def add(c: int, heap: list[tuple[int, int]], sign: int) -> None:
        order.append(c)
        for user in components.users[c]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(heap, (sign * cost[user], user))

    too_dear: list[tuple[int, int]] = []
    fitting = [(-cost[c], c) for c, needs in enumerate(missing) if needs == 0]
    heapq.heapify(fitting)
    while fitting:
        _, c = heapq.heappop(fitting)
        if cost[c] <= room:
            room -= cost[c]
            add(c, fitting, -1)
        else:
            heapq.heappush(too_dear, (cost[c], c))
    fits = len(order)
    while too_dear:
        add(heapq.heappop(too_dear)[1], too_dear, 1)
    return order, fits


def best_allowed(problem: PruningProblem, allowed: Callable[[Pruning], bool]) -> Pruning | None:
    """The pruning of most gain that is allowed, of several the cheapest, then the smallest; None if none is.

    `allowed`: called with prunings, the most gainful first, until it says yes.
    """
    every = all_prunings(problem)
    for k in np.lexsort((every.kept.sum(axis=1), every.cost, -every.gain)):
        pruning = Pruning(problem, every.kept[k])
        if allowed(pruning):
            return pruning
    return None


@checking
def brute_force_budget(problem: PruningProblem, budget: Price, *, time_limit: Seconds = math.inf) -> LimitedSolution:
    """The best pruning of a small forest within the budget; among equally good ones the cheapest, then the smallest.

    Raises
    ------
    InvalidInputError
        for forests with more than a million prunings, and for a budget that is negative or not a number.
    """
    started = time.perf_counter()
    limit = limit_of_mean_cost(problem, budget)
    pruning = best_allowed(problem, lambda found: found.exact_cost <= limit)
    assert pruning is not None, "the forest of single leaves costs nothing"
    relaxation = relaxed_optimum(path_of(problem, None), limit)
    stats = {"seconds": time.perf_counter() - started, "prunings": float(count_prunings(problem.ensemble))}
    return budget_solution(problem, limit, pruning, error_of(pruning), relaxation, stats=stats)
