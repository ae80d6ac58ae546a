"""Gauss-Jordan elimination in fractions on sparse rows: the rank, and a direction in the kernel.

    rank A < n     if and only if     A d = 0 for some d that is not 0                                              (1)

so a rank below n has a certificate of n numbers, as full rank has one of n pivots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from proofs_checks.integrality.exact_numbers import Number, simple

Row = dict[int, Number]


def rank_and_kernel(rows: Iterable[Mapping[int, Number]], columns: Iterable[int]) -> tuple[int, Row | None]:
    """The rank of sparse rows, and d of (1) by column; None where there is none.

    Parameters
    ----------
    rows
        entries by column.
    columns
        all columns, those without entries as well.
    """
    pivots: dict[int, Row] = {}
    for given in rows:
        row = {j: simple(x) for j, x in given.items() if x}
        for j in [j for j in row if j in pivots]:
            _subtract(row, row[j], pivots[j])
        if not row:
            continue
        pivot = min(row, key=lambda j: (abs(row[j]) != 1, j))
        unit = row[pivot]
        row = {j: simple(Fraction(x) / unit) for j, x in row.items()}
        for other in pivots.values():  # no pivot's column stands in another pivot's row
            if pivot in other:
                _subtract(other, other[pivot], row)
        pivots[pivot] = row
    free = next((j for j in columns if j not in pivots), None)
    if free is None:
        return len(pivots), None
    return len(pivots), {free: 1, **{j: -row[free] for j, row in pivots.items() if free in row}}


def _subtract(row: Row, factor: Number, other: Row) -> None:
    """Row less a multiple of another, in place."""
    for j, x in other.items():
        entry = simple(row.get(j, 0) - factor * x)
        if entry:
            row[j] = entry
        else:
            row.pop(j, None)
