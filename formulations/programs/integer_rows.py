"""Budget rows for branch and bound: integers of moderate size, and half a unit of room.

    sum_j price_j x_j <= B        becomes        sum_j n_j x_j <= floor(s B) + 1/2,        n_j = s price_j                   (1)

with a scale s at which all prices are integers. A 0-1 point that keeps the first row is at least half a unit inside the second,
and one that exceeds the first is at least half a unit outside: no tolerance and no rounding of floats can move a point from one
side to the other. Where (1) takes integers that are too large for that, s is smaller and n_j is rounded down, so that every point
that keeps the first row still keeps the second, but some that exceed the first keep it, too: a relaxation.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.programs.linear_program import LinearProgram

MOST = 2**24
"""Largest sum of a row's integers: half a unit is then 30 times a tolerance of 1e-9 of the row."""


def integer_row(price: NDArray[np.float64], limit: Fraction, scale: Fraction, error: float) -> tuple[NDArray[np.float64], float]:
    """The coefficients and the right-hand side of (1).

    Parameters
    ----------
    price
        float64, shape (k,), each >= 0 and off by at most `error` times its size.
    limit
        B, exactly.
    scale
        s, at which all exact prices are integers.
    """
    total = math.fsum(price)
    size = Fraction(total) * scale
    if size <= MOST and float(size) * error < 0.25:
        return np.rint(price * float(scale)), math.floor(limit * scale) + 0.5
    smaller = Fraction(MOST) / Fraction(total) if total > 0 else Fraction(1)
    # two more roundings, of the factor and of the product
    down = np.floor(price * float(smaller) * (1.0 - error - 2.0**-50))
    return down, math.floor(min(limit * smaller, Fraction(2 * MOST))) + 0.5


def with_integer_rows(
    program: LinearProgram, component: str, limits: tuple[Fraction, ...], scales: tuple[Fraction, ...], error: float
) -> LinearProgram:
    """The program with the rows of a block replaced by (1); what was rounded down to 0 stays as an entry.

    Parameters
    ----------
    component
        a block of rows without lower sides and with entries >= 0.
    limits, scales, error
        as in `integer_row`, for each row of the block.
    """
    place, start = program.rows.of(component), program.matrix.indptr
    entries, upper = program.matrix.data.copy(), program.row_upper.copy()
    for k, row in enumerate(range(place.start, place.stop)):
        mine = slice(start[row], start[row + 1])
        entries[mine], upper[row] = integer_row(entries[mine], limits[k], scales[k], error)
    matrix = sparse.csr_array((entries, program.matrix.indices, start), shape=program.matrix.shape)
    return replace(program, matrix=matrix, row_upper=upper)
