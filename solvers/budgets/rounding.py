"""LP1's optimum rounded along a chain of optimal prunings, and how far from LP1 the best pruning can be.

Components are added to the cheaper end of the mixture one at a time: of those that need no missing one, the dearest that fits.
When none fits, the unused part of the budget is smaller than the cost of each component that could be next, and the chain
goes on with the cheapest of them. See `formulations.answers.lp1_solution` and ``docs/budgets.md``.
"""

from __future__ import annotations

import heapq
import itertools
from fractions import Fraction

import numpy as np

from formulations.answers.budget_solution import Mixture
from formulations.answers.lp1_solution import LP1Solution
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.instance.budget import limit_of_mean_cost
from formulations.instance.cost_items import Price
from formulations.instance.problem import PruningProblem
from formulations.long_steps import interruption_as_error
from solvers.budgets.by_path import path_of, relaxed_optimum
from solvers.budgets.components import Components, components_of
from solvers.budgets.open_part import open_part


@checked
def solve_lp1(problem: PruningProblem, budget: Price, *, path: PruningPath | None = None) -> LP1Solution:
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
    LP1Solution
        ``relaxation`` is the mixture, the optimum that NWS15's Corollary 4.3 delivers, ``dual`` the dual value of the budget's
        row, ``pruning`` the rounded pruning. ``bound`` is lambda* (B - cost of the pruning), ``largest_bound`` lambda* times the
        cost of the dearest component. `prunemodels.checks.check_lp1_solution` checks both. If the instance had to be rounded,
        all this holds for the rounded instance, and the pruning's cost exceeds B by at most ``problem.integers.cost_rounding``.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number, and a path of another problem.
    CapacityOverflowError
        if products of gains and prices do not fit 62 bits.
    InterruptedSolveError
        on Ctrl-C; nothing was changed.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> lp1 = pm.budgets.solve_lp1(problem, 10)
    >>> lp1.relaxation
    Mixture(error 0.118232: 0.795 of cost 11.0333, 0.205 of cost 6)
    >>> print(f"dual value {lp1.dual:.4f}; rounded to cost {lp1.pruning.cost:g}")
    dual value -0.0312; rounded to cost 6
    """
    limit = limit_of_mean_cost(problem, budget)
    with interruption_as_error("while rounding LP1's optimum"):
        return _rounded(relaxed_optimum(path_of(problem, path), limit))


def _rounded(relaxation: Mixture) -> LP1Solution:
    """The chain between the two ends of a mixture."""
    cheaper, dearer = relaxation.cheaper, relaxation.dearer
    problem = cheaper.problem
    step = np.where(cheaper.kept, np.int32(0), np.int32(1)).astype(np.int32)
    cost = [cheaper.integer_cost]
    if relaxation.is_integral:
        return LP1Solution(relaxation, step, (cost[0] * problem.integers.price_unit,), 0)
    part = open_part(problem, dearer.kept, cheaper.kept)
    room = int((relaxation.budget / problem.integers.price_unit) // 1) - cost[0]
    costs: tuple[int, ...]
    if relaxation.lam == 0:  # nothing is gained by spending more
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
    unit = problem.integers.price_unit
    return LP1Solution(relaxation, step, tuple(Fraction(c) * unit for c in itertools.accumulate(cost)), fits)


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
