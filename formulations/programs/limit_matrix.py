"""LP1 with any number of limits in closure form, as a sparse matrix.

    minimise  error of the all-roots forest - sum_h gain_h y_h
    s.t.      y_h <= y_parent(h),    y_u <= w_j for every usage arc (u, j)     as in `formulations.programs.matrix` (6)
              sum_j amount_{r,j} w_j + sum_h amount_{r,h} y_h  <=  B_r     for every row r of the limits                     (1)

Purchases are those of the metered instance (`formulations.programs.limit_rows`). Those with the same users are one variable,
whichever examples make them; it has an amount of its own in every row (1).

For branch and bound the rows (1) have integers of moderate size, and half a unit of room:

    sum_j price_j x_j <= B        becomes        sum_j n_j x_j <= floor(s B) + 1/2,        n_j = s price_j                   (2)

with a scale s at which all prices are integers. A 0-1 point that keeps the first row is at least half a unit inside the second,
and one that exceeds the first is at least half a unit outside: no tolerance and no rounding of floats can move a point from one
side to the other. Where (2) takes integers that are too large for that, s is smaller and n_j is rounded down, so that every point
that keeps the first row still keeps the second, but some that exceed the first keep it, too: a relaxation.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.programs.columns import usage_columns
from formulations.programs.limit_rows import LimitRows
from formulations.programs.linear_program import Block, LinearProgram, Names
from formulations.programs.matrix import closure_matrix

MOST = 2**24
"""Largest sum of a row's integers: half a unit is then 30 times a tolerance of 1e-9 of the row."""


def integer_row(price: NDArray[np.float64], limit: Fraction, scale: Fraction, error: float) -> tuple[NDArray[np.float64], float]:
    """The coefficients and the right-hand side of (2). Prices are >= 0, each off by at most `error` times its size."""
    total = math.fsum(price)
    size = Fraction(total) * scale
    if size <= MOST and float(size) * error < 0.25:
        return np.rint(price * float(scale)), math.floor(limit * scale) + 0.5
    smaller = Fraction(MOST) / Fraction(total) if total > 0 else Fraction(1)
    # two more roundings, of the factor and of the product
    down = np.floor(price * float(smaller) * (1.0 - error - 2.0**-50))
    return down, math.floor(min(limit * smaller, Fraction(2 * MOST))) + 0.5


def limit_matrix(rows: LimitRows, *, relax: bool = False, merge: bool = True) -> LinearProgram:
    """The closure form with the rows (1); without `relax` these are those of (2)."""
    problem = rows.metered
    closure = closure_matrix(problem, lam=0, relax=relax, merge=merge)
    prices = sparse.hstack([rows.of_splits()[:, problem.usage.splits], rows.of_purchases(usage_columns(problem, merge=merge))])
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
    """A program whose block "budget" has the rows (1), with these as in (2); what was rounded down to 0 stays as an entry."""
    place, start = program.rows.of("budget"), program.matrix.indptr
    entries, upper = program.matrix.data.copy(), program.row_upper.copy()
    for r, row in enumerate(range(place.start, place.stop)):
        mine = slice(start[row], start[row + 1])
        entries[mine], upper[row] = integer_row(entries[mine], rows.room(r), rows.integer_scales[r], rows.relative_error)
    matrix = sparse.csr_array((entries, program.matrix.indices, start), shape=program.matrix.shape)
    return replace(program, matrix=matrix, row_upper=upper)
