"""Branch and bound for integer programs with rows of limits, whose points are not believed before they are recomputed.

HiGHS sees these rows in integers of moderate size (`formulations.programs.limit_matrix`). Where these had to be rounded down its
optimum may exceed a limit by a hair. Then the purchases and splits S that use more of row r than there is are cut off,

    sum_{j in S} x_j <= |S| - 1,          use_r(S) > B_r  in fractions                                                      (1)

which no pruning within the limits breaks, and the search begins again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.pruning import Pruning
from formulations.programs.limit_rows import LimitRows
from formulations.programs.linear_program import Block, LinearProgram, Names
from solvers.closures.level_sets import pruning_of_point
from solvers.programs.engines.answer import LinearAnswer
from solvers.programs.engines.highs import MOST_NODES, highs
from solvers.programs.params import PARAMS


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

    The program's block "budget" is in integers, see `formulations.programs.limit_matrix.in_integers`.
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
