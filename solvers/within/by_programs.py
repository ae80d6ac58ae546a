"""LP1 as a linear or integer program, by HiGHS as arrays or through Pyomo; no point is believed before it is recomputed.

Branch and bound for the integer program: HiGHS sees these rows in integers of moderate size (`formulations.programs.limit_rows`).
Where these had to be rounded down its optimum may exceed a limit by a hair. Then the purchases and splits S that use more of row
r than there is are cut off,

    sum_{j in S} x_j <= |S| - 1,          use_r(S) > B_r  in fractions                                                      (1)

which no pruning within the limits breaks, and the search begins again.

At an optimum of the relaxation every level set {h : y_h >= theta} is optimal for the Lagrangian at lambda*. A mixture of one that
costs at most B and a dearer one is an optimum again, and of any point an upper bound:

    value = weight error_dearer + (1 - weight) error_cheaper,       weight cost_dearer + (1 - weight) cost_cheaper = B      (2)

The coupling rows' dual values prove a lower bound of (OBJ) at any lambda >= 0 (`solvers.closures.min_cut`), and so of LP1:

    error  >=  (bound of (OBJ) at lambda)  -  lambda B                                                                      (3)

No other number of an engine is trusted: (3) is computed in integers, at the budget row's lambda and at the mixture's.

The integer program is solved after its relaxation. Errors are whole multiples of one unit, so HiGHS' bound, less what its
tolerances may hide, is raised to the next multiple.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.limited_solution import LimitedSolution, LP1Relaxation
from formulations.answers.nested_prunings import NestedPrunings, level_sets
from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.arguments import Seconds, checking
from formulations.extras import naming_extras
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import limit_of_mean_cost
from formulations.instance.problem import PruningProblem
from formulations.programs.limit_rows import LimitRows, in_integers, one_row
from formulations.programs.linear_program import Block, LinearProgram, Names, PurchaseColumns, usage_columns
from solvers.closures.integer_objective import integer_objective
from solvers.closures.min_cut import integer_duals, worth_of_trees
from solvers.closures.tree_pass import free_of_charge, lower_to_parents, pruning_of_point, splits_kept
from solvers.programs.engines import PARAMS, Given, LinearAnswer, program_nonzeros, stoppable
from solvers.programs.highs import MOST_NODES, highs
from solvers.programs.linear_program import solve_model
from solvers.programs.rounding import engine_named, program_of, program_stats
from solvers.within.by_path import budget_solution, raised, rounded_down


@dataclass(frozen=True, eq=False)
class BranchAnswer:
    """What branch and bound found."""

    bound: float  # of the error of all prunings within the limits: HiGHS' bound less what its tolerances may hide
    program: LinearProgram
    last: LinearAnswer  # HiGHS' last answer, and the program that it is about
    nodes: int  # of all searches


def branch_within(
    program: LinearProgram,
    rows: LimitRows,
    offer: Callable[[Pruning], object],
    *,
    time_limit: float,
) -> BranchAnswer:
    """Search for the least error within limits. `offer` is called with every optimum that HiGHS claims, within the limits or not.

    The program's block "budget" is in integers, see `formulations.programs.limit_rows.in_integers`.
    """
    deadline, bound, nodes = time.perf_counter() + time_limit, -math.inf, 0
    for _ in range(PARAMS.most_searches):
        answer = highs(program, time_limit=max(0.0, deadline - time.perf_counter()), most_nodes=MOST_NODES - nodes)
        bound, nodes = max(bound, answer.bound), nodes + int(answer.nodes)
        if answer.x is None:
            break
        found = pruning_of_point(rows.problem, program, answer.x)
        offer(found)
        over = [r for r, (use, row) in enumerate(zip(rows.uses(found), rows.rows, strict=True)) if use > row.at_most]
        if not over or time.perf_counter() >= deadline or nodes >= MOST_NODES:
            break
        program = _without(program, over, answer.x)
    return BranchAnswer(bound, program, answer, nodes)


def _without(program: LinearProgram, over: list[int], x: NDArray[np.float64]) -> LinearProgram:
    """The program with a row (1) for each limit that is exceeded; S is all that it counts."""
    first, start = program.rows.of("budget").start, program.matrix.indptr
    chosen = [program.matrix.indices[start[first + c] : start[first + c + 1]] for c in over]
    supports = [columns[x[columns] > 0.5] for columns in chosen]
    cuts = sparse.csr_array(
        (np.ones(sum(s.size for s in supports)), np.concatenate(supports), np.cumsum([0, *(s.size for s in supports)])),
        shape=(len(over), program.shape[1]),
    )
    block = Block("exceeded", (np.arange(len(program.row_upper), len(program.row_upper) + len(over)),))
    return replace(
        program,
        matrix=sparse.csr_array(sparse.vstack([program.matrix, cuts], format="csr")),
        row_lower=np.append(program.row_lower, np.full(len(over), -np.inf)),
        row_upper=np.append(program.row_upper, [s.size - 1.0 for s in supports]),
        rows=Names((*program.rows.blocks, block)),
    )


Solved = Callable[[float], tuple[LinearProgram, LinearAnswer]]
"""Builds and solves the relaxation of LP1, with merged purchases, within so many seconds."""


@checking
@stoppable(program_nonzeros, PARAMS.most_nonzeros, lambda given, seconds: _unsolved(given, seconds))
def linear_program_within(
    problem: PruningProblem, budget: Price, *, time_limit: Seconds = math.inf, engine: str = "highs"
) -> LimitedSolution:
    """LP1's relaxation as arrays, by any engine for linear programs, and the best of its point's level sets within the budget.

    Parameters
    ----------
    budget
        B >= 0: the largest cost of an average example, in the unit of the prices.
    time_limit
        seconds for building and solving, see `solvers.programs.engines`. If no point was found in time, `relaxation` is the
        best pruning free of charge.
    engine
        a name in `solvers.programs.rounding.LINEAR_ENGINES`.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or not a number, and an unknown engine.
    SolverFailedError
        if the engine fails.
    InterruptedSolveError
        on Ctrl-C.
    """
    started, limit, solver = time.perf_counter(), limit_of_mean_cost(problem, budget), engine_named(engine)

    def solved(seconds: float) -> tuple[LinearProgram, LinearAnswer]:
        program = program_of(problem, "LP1", budget=budget, relax=True, merge=True)
        return program, solver(program, time_limit=max(0.0, seconds - (time.perf_counter() - started)))

    return _relaxed(problem, limit, solved, time_limit, started)


@checking
@stoppable(program_nonzeros, PARAMS.most_pyomo_nonzeros, lambda given, seconds: _unsolved(given, seconds))
def pyomo_within(problem: PruningProblem, budget: Price, *, time_limit: Seconds = math.inf) -> LimitedSolution:
    """LP1's relaxation as a Pyomo model, solved by HiGHS. Parameters and errors as in `linear_program_within`."""
    started, limit = time.perf_counter(), limit_of_mean_cost(problem, budget)

    def solved(seconds: float) -> tuple[LinearProgram, LinearAnswer]:
        with naming_extras():
            from formulations.models import FORMULATIONS

        model = FORMULATIONS["LP1"](problem, budget=budget, relax=True, merge=True)
        return solve_model(model, time_limit=max(0.0, seconds - (time.perf_counter() - started)))

    return _relaxed(problem, limit, solved, time_limit, started)


@checking
def integer_program_within(problem: PruningProblem, budget: Price, *, time_limit: Seconds = math.inf) -> LimitedSolution:
    """LP1 in 0-1 variables by HiGHS' branch and bound, after its relaxation. Parameters and errors as above.

    The bound beyond that of the relaxation is HiGHS' own, less what its tolerances may hide: nothing proves it.
    """
    started = time.perf_counter()
    found = linear_program_within(problem, budget, time_limit=time_limit)
    if found.stopped is not StopReason.CONVERGED or found.relaxation.is_integral:
        return found
    seconds_left = max(0.0, time_limit - (time.perf_counter() - started))
    branched = _branch_and_bound(problem, budget, time_limit=seconds_left)
    claimed = [Pruning(problem, kept) for kept in branched.kept]
    within = [found.pruning, *(pruning for pruning in claimed if pruning.exact_cost <= found.at_most[0])]
    best = max(within, key=lambda pruning: pruning.integer_gain)
    stats = {**branched.stats, "seconds": time.perf_counter() - started}
    bound = found.bound
    if branched.bound > -math.inf:
        bound = max(bound, float(raised(problem, Fraction(branched.bound))))
    return budget_solution(problem, found.at_most[0], best, bound, found.relaxation, stopped=branched.stopped, stats=stats)


@dataclass(frozen=True, eq=False)
class _Branched:
    """The splits of each pruning that branch and bound claims to be optimal, and the bound that it claims."""

    kept: tuple[NDArray[np.bool_], ...]
    bound: float
    stopped: StopReason
    stats: dict[str, float]


def _not_branched(_: Given, seconds: float) -> _Branched:
    return _Branched((), -math.inf, StopReason.TIME_LIMIT, {"seconds": seconds})


@stoppable(program_nonzeros, PARAMS.most_nonzeros, _not_branched)
def _branch_and_bound(problem: PruningProblem, budget: Price, *, time_limit: float) -> _Branched:
    """LP1 in 0-1 variables."""
    started, rows = time.perf_counter(), one_row(problem, budget)
    program = in_integers(program_of(problem, "LP1", budget=budget, merge=True), rows)
    kept: list[NDArray[np.bool_]] = []
    seconds_left = max(0.0, time_limit - (time.perf_counter() - started))
    found = branch_within(program, rows, lambda pruning: kept.append(pruning.kept), time_limit=seconds_left)
    return _Branched(tuple(kept), found.bound, found.last.stopped, program_stats(found.program, found.last, started))


def _relaxed(problem: PruningProblem, budget: Fraction, solved: Solved, time_limit: float, started: float) -> LimitedSolution:
    """The solution that follows from the relaxation's point and dual values."""
    program, answer = solved(time_limit)
    y, lam, row_dual = np.zeros(problem.ensemble.n_nodes), 0.0, None
    if answer.row_dual is not None:
        lam = max(0.0, -float(answer.row_dual[program.rows.of("budget")][0]))
        row_dual = -answer.row_dual[program.rows.of("coupling")]
    if answer.x is not None and answer.stopped is StopReason.CONVERGED:
        y = np.where(problem.ensemble.is_split, splits_kept(problem, program, answer.x), 0.0)
        lower_to_parents(problem.ensemble.parent, y)
    return _solution(problem, budget, y, lam, row_dual, answer.stopped, program_stats(program, answer, started))


def _unsolved(given: Given, seconds: float) -> LimitedSolution:
    """The solution where nothing was found in time."""
    problem = given["problem"]
    budget, y = limit_of_mean_cost(problem, given["budget"]), np.zeros(problem.ensemble.n_nodes)
    return _solution(problem, budget, y, 0.0, None, StopReason.TIME_LIMIT, {"seconds": seconds})


def _solution(
    problem: PruningProblem,
    budget: Fraction,
    y: NDArray[np.float64],
    lam: float,
    row_dual: NDArray[np.float64] | None,
    stopped: StopReason,
    stats: dict[str, float],
) -> LimitedSolution:
    """What is proven of a point, which keeps whatever is free of charge, and of the coupling rows' dual values; None: zeros."""
    kept = np.maximum(np.clip(y, 0.0, 1.0), free_of_charge(problem, "smallest"))
    pruning, mixture = best_of_levels(problem, kept, budget, lam)
    columns = usage_columns(problem, merge=True)
    dual = np.zeros(columns.node.size) if row_dual is None else row_dual
    bound = max(bound_within(problem, columns, dual, budget, rate) for rate in {exact(lam, "lam"), Fraction(mixture.lam)})
    return budget_solution(problem, budget, pruning, bound, mixture, stopped=stopped, stats=stats)


def best_of_levels(
    problem: PruningProblem, y: NDArray[np.float64], budget: Fraction, lam: float
) -> tuple[Pruning, LP1Relaxation]:
    """The best level set of y within the budget, and the best mixture (2) of two of them.

    `y`: the fraction to which each split is kept, shape (n,); it never rises on the way down a tree. `lam`: recorded as the
    mixture's lambda if the mixture is a single pruning that costs exactly the budget.
    """
    sets, numbers = level_sets(problem, y), problem.exact_numbers
    gain, cost, room = sets.integer_gain, sets.integer_cost, budget / numbers.price_unit
    within = _best_within(sets, room)
    inner, outer = _edge(sets, room, within)
    cheaper, spare = sets[inner], room - cost[inner]
    if outer is None or spare == 0:
        rate = Fraction(repr(lam)) if spare == 0 else Fraction(0)
        return sets[within], LP1Relaxation.of_budget(budget, rate, cheaper, cheaper, Fraction(1))
    weight = spare / (cost[outer] - cost[inner])
    slope = Fraction(gain[outer] - gain[inner], cost[outer] - cost[inner]) * numbers.lam_unit
    return sets[within], LP1Relaxation.of_budget(budget, slope, cheaper, sets[outer], weight)


def bound_within(
    problem: PruningProblem, columns: PurchaseColumns, row_dual: NDArray[np.float64], budget: Fraction, lam: Fraction
) -> float:
    """(3) in exact integers, from any dual values; parameters as in `solvers.closures.min_cut.integer_duals`.

    A split that alone needs a purchase pays its full price. No other pays more than the sum of its tree's gains, for which no
    closure keeps it; so more of a price that `objective` reduced is left for the others.
    """
    objective, ensemble = integer_objective(problem, lam).refined(), problem.ensemble
    gains = np.add.reduceat(np.maximum(problem.gain, 0.0), ensemble.roots)[ensemble.tree_of[columns.node]]
    alone = np.bincount(columns.column, minlength=columns.n_columns)[columns.column] == 1
    dual = np.where(alone, math.inf, np.minimum(row_dual, gains))
    best = worth_of_trees(problem, objective, integer_duals(problem, objective, columns, dual))
    # objective.lam may be slightly below lambda, but any lambda >= 0 gives a valid bound
    return rounded_down(problem.roots_error - best * objective.unit - objective.lam * budget)


def _best_within(sets: NestedPrunings, room: Fraction) -> int:
    """The row of most gain that costs at most so much; among several the cheapest, the smallest. The last one costs nothing."""
    gain, cost = sets.integer_gain, sets.integer_cost
    return max((k for k in reversed(range(len(sets))) if cost[k] <= room), key=lambda k: (gain[k], -cost[k]))


def _edge(sets: NestedPrunings, room: Fraction, inner: int) -> tuple[int, int | None]:
    """The two rows whose mixture of this cost gains most; the second is None if the budget is not binding."""
    gain, cost = sets.integer_gain, sets.integer_cost

    def slope(cheaper: int, dearer: int) -> Fraction:
        return Fraction(gain[dearer] - gain[cheaper], cost[dearer] - cost[cheaper])

    smallest_first = range(len(sets) - 1, -1, -1)
    inside = [k for k in smallest_first if cost[k] <= room]
    outside = [k for k in smallest_first if cost[k] > room and gain[k] > gain[inner]]
    if not outside:
        return inner, None
    while True:  # improve the line through both until no other row lies above it
        outer = max(outside, key=lambda k: slope(inner, k))
        better = min(inside, key=lambda k: slope(k, outer))
        if slope(better, outer) == slope(inner, outer):
            return inner, outer
        inner = better
