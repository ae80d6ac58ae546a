"""LP1 with any number of limits in closure form, as a sparse matrix.

    minimise  error of the all-roots forest - sum_h gain_h y_h
    s.t.      y_h <= y_parent(h),    y_u <= w_j for every usage arc (u, j)     as in `formulations.programs.matrix` (6)
              sum_j amount_{r,j} w_j + sum_h amount_{r,h} y_h  <=  B_r     for every row r of the limits                     (1)

Purchases are those of the metered instance (`formulations.programs.limit_rows`). Those with the same users are one variable,
whichever examples make them; it has an amount of its own in every row (1).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from formulations.programs.columns import usage_columns
from formulations.programs.integer_rows import with_integer_rows
from formulations.programs.limit_rows import LimitRows
from formulations.programs.linear_program import Block, LinearProgram, Names
from formulations.programs.matrix import closure_matrix


def limit_matrix(rows: LimitRows, *, relax: bool = False, merge: bool = True) -> LinearProgram:
    """The closure form with the rows (1).

    Parameters
    ----------
    relax
        the linear relaxation. Without it the rows (1) are integers that no tolerance can blur, see
        `formulations.programs.integer_rows`.
    merge
        one variable for purchases with the same usage.
    """
    problem = rows.metered
    closure = closure_matrix(problem, lam=0, relax=relax, merge=merge)
    prices = sparse.hstack([rows.of_splits()[:, problem.splits], rows.of_purchases(usage_columns(problem, merge=merge))])
    block = Block("budget", (np.arange(len(rows.rows)),))
    program = replace(
        closure,
        matrix=sparse.csr_array(sparse.vstack([closure.matrix, prices], format="csr")),
        row_lower=np.append(closure.row_lower, np.full(len(block), -np.inf)),
        row_upper=np.append(closure.row_upper, rows.at_most),
        rows=Names((*closure.rows.blocks, block)),
    )
    return program if relax else in_integers(program, rows)


def in_integers(program: LinearProgram, rows: LimitRows) -> LinearProgram:
    """A program whose block "budget" has the rows (1), with these in integers."""
    room = tuple(rows.room(r) for r in range(len(rows.rows)))
    return with_integer_rows(program, "budget", room, rows.integer_scales, rows.relative_error)
