"""From an engine's answer to a solution. No number of the engine is trusted but the point and the dual values themselves.

The pruning is the best level set of the point (`solvers.closures.tree_levels`). Where that does not help it is the best pruning
that is free of charge.

The bound of a relaxation is recomputed in integers from the dual values of the rows that bind nodes to purchases
(`solvers.closures.min_cut`). A relaxation with fractional vertices is worth less than the optimum. Such an engine states what the
relaxation is worth, by weak duality,

    offset + sum_r (row_lower_r q_r^+ - row_upper_r q_r^-) + sum_j min(d_j lower_j, d_j upper_j),   d = cost - q A          (1)

even where the same dual values prove more of the optimum. The bound of an integer program is the engine's, less what its
tolerances can hide.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import ItemDuals, Solution, StopReason
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.programs.columns import columns_of
from formulations.programs.formulation import BY_NAME
from formulations.programs.linear_program import INTEGRAL, LinearProgram
from solvers.closures.integer_objective import IntegerObjective, integer_objective
from solvers.closures.min_cut import integer_duals, proven_bound, zero_duals
from solvers.closures.tree_levels import best_level_set, splits_kept
from solvers.closures.tree_pass import free_of_charge
from solvers.programs.engines.answer import LinearAnswer


def relaxation_solution(
    problem: PruningProblem,
    lam: float,
    program: LinearProgram,
    answer: LinearAnswer,
    formulation: str,
    *,
    merge: bool,
    started: float,
) -> Solution:
    """The solution that follows from a relaxation's answer, with its duals as certificate.

    Parameters
    ----------
    formulation, merge
        the formulation of `program`, and whether its purchases are merged.
    started
        `time.perf_counter()` when building the program began.
    """
    rate = exact(lam, "lam")
    pruning = _rounded(problem, program, answer, lam)
    objective = integer_objective(problem, rate).refined()
    duals = _duals(problem, objective, program, answer, formulation, merge=merge)
    bound = proven_bound(problem, objective, duals, pruning, rate)
    if not BY_NAME[formulation].integral and answer.row_dual is not None:
        bound = min(bound, relaxation_bound(program, answer.row_dual))
    stats = program_stats(program, answer, started)
    value = pruning.value(float(lam))
    return Solution(problem, lam, pruning, value, bound, answer.stopped, duals, stats, "linear_program")


def integer_solution(
    problem: PruningProblem,
    lam: float,
    program: LinearProgram,
    answer: LinearAnswer,
    *,
    started: float,
) -> Solution:
    """The solution that follows from branch and bound, without a certificate.

    The trees without prices give a bound, too, which counts where branch and bound has none yet. Parameters as in
    `relaxation_solution`.
    """
    rate = exact(lam, "lam")
    pruning = _rounded(problem, program, answer, lam)
    value, objective = pruning.value(float(lam)), integer_objective(problem, rate)
    trees_alone = proven_bound(problem, objective, zero_duals(problem, objective), pruning, rate)
    bound = min(value, max(answer.bound, trees_alone))
    stats = program_stats(program, answer, started)
    return Solution(problem, lam, pruning, value, bound, answer.stopped, None, stats, "integer_program")


def unsolved(given: dict[str, Any], seconds: float) -> Solution:
    """The solution where nothing was found in time: the best pruning free of charge, and the trees' bound without prices.

    Parameters
    ----------
    given
        arguments of an engine: problem and lam.
    """
    problem, lam = given["problem"], given["lam"]
    rate = exact(lam, "lam")
    pruning = Pruning(problem, free_of_charge(problem, "smallest"))
    objective = integer_objective(problem, rate).refined()
    duals = zero_duals(problem, objective)
    bound, value = proven_bound(problem, objective, duals, pruning, rate), pruning.value(float(lam))
    return Solution(problem, lam, pruning, value, bound, StopReason.TIME_LIMIT, duals, {"seconds": seconds})


def relaxation_bound(program: LinearProgram, row_dual: NDArray[np.float64]) -> float:
    """(1): a lower bound of the program from any dual values, even if they are far from optimal.

    The largest possible rounding error of the sums is subtracted.
    """
    # a dual value against an absent side of its row would cost infinity
    q = np.where(np.isinf(program.row_lower), np.minimum(row_dual, 0.0), row_dual)
    q = np.where(np.isinf(program.row_upper), np.maximum(q, 0.0), q)
    sides = np.where(q > 0, program.row_lower, np.where(q < 0, program.row_upper, 0.0)) * q
    reduced = program.cost - program.matrix.T @ q
    ends = np.minimum(reduced * program.lower, reduced * program.upper)
    # a sum has at most one relative rounding error for each term; the sums over columns are the longest
    charged = abs(program.matrix).T @ np.abs(q)
    size = abs(program.offset) + sum(float(np.abs(a).sum()) for a in (program.cost, sides, charged))
    terms = 64 + int(np.bincount(program.matrix.indices, minlength=1).max(initial=0))
    return program.offset + float(sides.sum()) + float(ends.sum()) - size * terms * 2.0**-53


def is_integral(x: NDArray[np.float64]) -> bool:
    """Whether every number is an integer up to `INTEGRAL`."""
    return bool((np.abs(x - np.rint(x)) <= INTEGRAL).all())


def program_stats(program: LinearProgram, answer: LinearAnswer, started: float) -> dict[str, float]:
    """Sizes of the program and figures of its solution, for reports."""
    rows, columns = program.shape
    stats = {
        "seconds": time.perf_counter() - started,
        "solve_seconds": answer.seconds,
        "rows": float(rows),
        "columns": float(columns),
        "nonzeros": float(program.matrix.nnz),
        "iterations": answer.iterations,
    }
    if not math.isnan(answer.nodes):
        stats["nodes"] = answer.nodes
    if answer.x is not None:
        stats |= {"objective": answer.objective, "integral": float(is_integral(answer.x))}
    return stats


def _rounded(problem: PruningProblem, program: LinearProgram, answer: LinearAnswer, lam: float) -> Pruning:
    """The best level set, or the best pruning free of charge if that is better or if there is no point."""
    free = Pruning(problem, free_of_charge(problem, "smallest"))
    if answer.x is None:
        return free
    rounded = best_level_set(problem, splits_kept(problem, program, answer.x), float(lam))
    return min(rounded, free, key=lambda pruning: pruning.value(float(lam)))


def _duals(
    problem: PruningProblem,
    objective: IntegerObjective,
    program: LinearProgram,
    answer: LinearAnswer,
    formulation: str,
    *,
    merge: bool,
) -> ItemDuals:
    """The certificate that the dual values of the relaxation give."""
    known = BY_NAME[formulation]
    if answer.row_dual is None or (known.binding_rows is None and not known.one_tree):
        return zero_duals(problem, objective)
    columns = columns_of(problem, known.arcs, merge=merge)
    if known.binding_rows is None:
        return integer_duals(problem, objective, columns, np.full(columns.node.size, math.inf))
    return integer_duals(problem, objective, columns, -answer.row_dual[program.rows.of(known.binding_rows)])
